"""Graphs in Matrix Market files (.mtx), every line looked at before SciPy reads them.

SciPy's reader takes `3.5E-` for a number, and reads beyond the end of a file that ends with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from spinlearn.errors import InvalidInputError
from spinlearn.io.graph_file import ReadGraph, check_node_count, matrix_graph

MAGIC = b"%%MatrixMarket"
BLOCK = 1 << 20  # bytes
LONGEST_LINE = 1 << 16
INDEX = rb"[0-9]{1,10}"
WHOLE = rb"-?[0-9]{1,18}"
REAL = rb"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?"
FIELDS = {"real": REAL, "double": REAL, "integer": WHOLE, "unsigned-integer": WHOLE, "pattern": b""}
SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
GAP = rb"[ \t]+"


@dataclass(frozen=True, slots=True)
class _Heading:
    """What the first lines say, and where the entries begin."""

    coordinate: bool
    field: str
    n_rows: int
    n_columns: int
    n_entries: int
    line: int
    place: int


def read_matrix_market(path: Path) -> ReadGraph:
    """Graph of a symmetric matrix; ids are the row numbers of the file, from 1."""
    from scipy.io import mmread

    try:
        heading = _heading(path)
        size = path.stat().st_size
        if heading.n_entries > size:  # an entry takes more than a byte
            raise InvalidInputError(
                f"{path} is truncated: its size line claims {heading.n_entries} entries, more than "
                "the file can hold"
            )
        check_node_count(path, heading.n_rows, heading.n_entries)
        _check_entries(path, heading)
        matrix = mmread(path)
        if matrix.shape != (heading.n_rows, heading.n_columns):
            raise ValueError(
                f"its size is read as {matrix.shape} and as {heading.n_rows} by {heading.n_columns}"
            )
        _check_finite(path, heading, matrix)
    except InvalidInputError:
        raise
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be opened: {error.strerror or error}") from error
    except (ValueError, OverflowError, MemoryError) as error:
        raise InvalidInputError(f"{path} cannot be read as Matrix Market: {error}") from error
    graph, notes = matrix_graph(path, matrix)
    return ReadGraph(graph, [str(k + 1) for k in range(graph.n_nodes)], notes)


def _heading(path: Path) -> _Heading:
    with open(path, "rb") as file:
        first = _line(file)
        if not first.startswith(MAGIC):
            raise InvalidInputError(
                f"{path} is not a Matrix Market file: it does not begin with %%MatrixMarket"
            )
        words = first.decode("ascii", errors="replace").lower().split()[1:]
        kind, field, symmetry = (*words[1:], "", "", "")[:3]
        known = words[:1] == ["matrix"] and kind in ("coordinate", "array")
        if not known or field not in FIELDS or symmetry not in SYMMETRIES:
            raise InvalidInputError(
                f"{path} begins with {' '.join(words)!r}, which is not a graph: write 'matrix "
                "coordinate', then real, integer or pattern, then symmetric or general"
            )
        line, text = 1, b"%"
        while text and (text.startswith(b"%") or not text.strip()):
            line, text = line + 1, _line(file)
        numbers = text.split()
        wanted = 3 if kind == "coordinate" else 2
        if len(numbers) != wanted or not all(re.fullmatch(INDEX, n) for n in numbers):
            raise InvalidInputError(
                f"{path} has no size in line {line}: give {wanted} whole numbers, rows, columns"
                + (" and entries" if wanted == 3 else "")
            )
        rows, columns, *entries = map(int, numbers)
        if rows == 0 or columns == 0:
            raise InvalidInputError(f"{path} holds no node: its size in line {line} is 0")
        n_entries = entries[0] if entries else _dense_entries(rows, columns, symmetry)
        return _Heading(kind == "coordinate", field, rows, columns, n_entries, line, file.tell())


def _line(file: IO[bytes]) -> bytes:
    """The beginning of the next line, however long that is."""
    line = part = file.readline(LONGEST_LINE)
    while part and not part.endswith(b"\n"):
        part = file.readline(LONGEST_LINE)
    return line


def _check_finite(path: Path, heading: _Heading, matrix: Any) -> None:
    """Refuse the first number that is too large for a float."""
    if np.all(np.isfinite(getattr(matrix, "data", matrix))):
        return
    line = heading.line
    for block in _blocks(path, heading.place):
        for text in block.splitlines():
            line += 1
            number = (text.split() or [b"0"])[-1].decode("ascii")
            if not np.isfinite(float(number)):
                raise InvalidInputError(
                    f"{path} has {number[:40]!r} in line {line}, which is too large for a number: "
                    "give a finite one"
                )


def _dense_entries(n_rows: int, n_columns: int, symmetry: str) -> int:
    """How many values a full matrix has: a symmetric one is stored by half."""
    if symmetry == "general":
        return n_rows * n_columns
    return n_rows * (n_rows - 1) // 2 + (0 if symmetry == "skew-symmetric" else n_rows)


def _check_entries(path: Path, heading: _Heading) -> None:
    """Refuse the first line that is no entry, and a file with more or fewer than it says."""
    value = FIELDS[heading.field]
    parts = [INDEX, INDEX] if heading.coordinate else []
    entry = GAP.join([*parts, value] if value else parts)
    one = re.compile(rb"[ \t]*+(?:%s)?+[ \t\r]*+\n" % entry)
    many = re.compile(rb"(?:%s)*+" % one.pattern)
    line, seen = heading.line, 0
    for block in _blocks(path, heading.place):
        n_lines = block.count(b"\n")
        if many.fullmatch(block) is None:
            for k, text in enumerate(block.splitlines(keepends=True)):
                if one.fullmatch(text) is None:
                    raise InvalidInputError(
                        f"{path} has {text.strip()[:40].decode('ascii', errors='replace')!r} in "
                        f"line {line + 1 + k}, which is not an entry of a matrix: "
                        + ("give row, column" if heading.coordinate else "give one")
                        + (" and a finite number" if value else "")
                    )
        line += n_lines
        seen += n_lines - sum(1 for _ in re.finditer(rb"^[ \t\r]*\n", block, re.MULTILINE))
    if seen != heading.n_entries:
        what = "is truncated" if seen < heading.n_entries else "is damaged"
        raise InvalidInputError(
            f"{path} {what}: it holds {seen} entries, but its size line claims {heading.n_entries}"
        )


def _blocks(path: Path, place: int) -> Iterator[bytes]:
    """Whole lines, many at a time; the last one ends too."""
    with open(path, "rb") as file:
        file.seek(place)
        while block := file.read(BLOCK):
            block += file.readline()
            yield block if block.endswith(b"\n") else block + b"\n"
