"""Tables of text: CSV and TSV, gzipped or not, checked before they are read.

The first block of a file tells whether it is text at all, so that a large file of another kind is
refused at once. Every cell stays text here; `spinlearn.io.features` makes numbers of them.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from spinlearn.errors import InvalidInputError

SNIFFED_BYTES = 1 << 16
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".edges": "\t", ".txt": "\t"}
WIDE = ("utf-16", "utf16", "utf_16", "utf-32", "utf32", "utf_32")  # encodings
NAMES = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar", " ": "space"}


@dataclass(frozen=True, slots=True)
class TextTable:
    """A heading and rows of equal length; `lines[k]` is the line number of row k in the file."""

    path: Path
    columns: tuple[str, ...]
    rows: list[list[str]]
    lines: list[int]

    def column(self, name: str) -> list[str]:
        """The cells of one column."""
        place = self.columns.index(name)
        return [row[place] for row in self.rows]


def delimiter_of(path: Path) -> str:
    """What separates the cells, by the file's ending."""
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    return DELIMITERS.get(plain.suffix.lower(), ",")


def read_text_table(
    path: Path,
    *,
    needed: Sequence[str] = (),
    delimiter: str | None = None,
    encoding: str = "utf-8",
    heading: bool = True,
) -> TextTable:
    """Read a delimited table.

    Parameters
    ----------
    path : Path
    needed : sequence of str
        Columns that must be there; looked for before the rows are read.
    delimiter : str, optional
        Default: by the ending, tab for .tsv and comma for .csv.
    encoding : str
    heading : bool
        Whether the first line names the columns; else they are called 1, 2, ...
    """
    mark = delimiter_of(path) if delimiter is None else delimiter
    if len(mark) != 1:
        raise InvalidInputError(f"delimiter {mark!r} is not one character: use for example ';'")
    if encoding.lower() in ("utf-8", "utf8"):
        encoding = "utf-8-sig"  # a byte order mark is no part of the first name
    try:
        "".encode(encoding)
    except LookupError as error:
        raise InvalidInputError(
            f"encoding {encoding!r} is unknown: try utf-8 or latin-1"
        ) from error
    try:
        with _opened(path) as file:
            _check_is_text(file, path, encoding)
            with io.TextIOWrapper(file, encoding=encoding, newline="") as text:
                return _parsed(path, csv.reader(text, delimiter=mark), mark, needed, heading)
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{path} is not {error.encoding} text (byte 0x{error.object[error.start]:02x}): save "
            "it as UTF-8 or name its encoding, for example --encoding latin-1"
        ) from error
    except csv.Error as error:
        raise InvalidInputError(
            f"{path} cannot be read as a table ({error}): check the file and its delimiter"
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidInputError(
            f"{path} is not a whole gzip file ({error}): get it anew"
        ) from error


def _opened(path: Path) -> IO[bytes]:
    try:
        if path.suffix == ".gz":
            return cast("IO[bytes]", gzip.open(path, "rb"))
        return open(path, "rb")
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be opened: {error.strerror or error}") from error


def _check_is_text(file: IO[bytes], path: Path, encoding: str) -> None:
    first = file.read(SNIFFED_BYTES)
    file.seek(0)
    if encoding.lower().startswith(WIDE):  # zero bytes are part of such text
        return
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InvalidInputError(
            f"{path} is UTF-16 text, as spreadsheets write it: save it as UTF-8, or pass "
            "--encoding utf-16"
        )
    if b"\0" in first:
        raise InvalidInputError(
            f"{path} is not a text table (it holds zero bytes): give CSV or TSV, or the right "
            "ending for another kind (.parquet, .npz, .npy, .h5ad, .mtx)"
        )


def _parsed(path: Path, reader: Any, mark: str, needed: Sequence[str], heading: bool) -> TextTable:
    first = next((row for row in reader if row), None)
    if first is None:
        raise InvalidInputError(f"{path} is empty: give a table with a heading and rows")
    rows: list[list[str]] = []
    lines: list[int] = []
    if heading:
        columns = tuple(name.strip() for name in first)
    else:
        columns = tuple(str(k + 1) for k in range(len(first)))
        rows.append(first)
        lines.append(reader.line_num)
    _check_columns(path, columns, mark, needed)
    for row in reader:
        if not row:
            continue
        if len(row) != len(columns):
            raise InvalidInputError(
                f"{path} has {len(row)} cells in line {reader.line_num}, but {len(columns)} "
                "columns: check for a stray delimiter or a missing quote there"
            )
        rows.append(row)
        lines.append(reader.line_num)
    return TextTable(path, columns, rows, lines)


def _check_columns(path: Path, columns: tuple[str, ...], mark: str, needed: Sequence[str]) -> None:
    twice = {name for name, times in Counter(columns).items() if times > 1}
    missing = [name for name in needed if name not in columns]
    if missing and len(columns) == 1:
        inside = [d for d in NAMES if d != mark and d in columns[0]]
        if inside:
            raise InvalidInputError(
                f"{path} has a single column when split at {NAMES.get(mark, mark)}s, but its "
                f"heading holds {NAMES[inside[0]]}s: pass --delimiter {inside[0]!r}"
            )
    if missing:
        raise InvalidInputError(
            f"{path} has no column {missing[0]!r}: it has {listed(columns)}; name one of them"
        )
    if twice:
        raise InvalidInputError(
            f"{path} has {len(twice)} column names twice, for example {min(twice)!r}: rename them"
        )


def listed(names: Sequence[object], most: int = 8) -> str:
    """Some names, and how many more there are."""
    shown = ", ".join(map(str, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
