"""Tables of text (CSV, TSV), gzipped or not, checked before they are read.

The first block of a file tells whether it is text at all, so that a large file of another kind is
refused at once. Quotes must close: one that does not would take the rest of the file into a cell.
Every cell stays text here; `spinlearn.io.features` makes numbers of them.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, cast

from spinlearn.errors import InvalidInputError
from spinlearn.io.table import Needed, Table, check_columns, nameless

SNIFFED_BYTES = 1 << 16
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".edges": "\t", ".txt": "\t"}
WIDE = ("utf-16", "utf16", "utf_16", "utf-32", "utf32", "utf_32")  # encodings
NAMES = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar", " ": "space"}
COMMENTS = ("#", "%")
# A first line that tells Excel the delimiter.
EXCEL = re.compile(r'"?sep=([^\r\n])"?[\r\n]*', re.IGNORECASE)
MOST_TITLES = 20  # lines above a heading among which it is looked for
MARK = "\ufeff"  # of the byte order, where the encoding's name already says it
LONGEST_LINE = 1 << 27  # letters: a few bytes of gzip can stand for a line that fills the memory
Row = tuple[int, list[str]]  # line in the file, cells


def read_text_table(
    path: Path,
    needed: Needed,
    *,
    delimiter: str | None = None,
    others: Sequence[str] = (),
    encoding: str = "utf-8",
) -> Table:
    """Read a delimited table with a heading.

    Parameters
    ----------
    path : Path
    needed : callable
        Columns that must be there; looked for before the rows are read.
    delimiter : str, optional
        Default: by the ending, tab for .tsv and comma for .csv.
    others : sequence of str
        Delimiters that the heading may show instead of the default.
    encoding : str
    """
    with _opened_text(path, encoding) as text:
        mark = _delimiter(path, delimiter, text, others)
        return _parsed(path, _rows(path, text, mark), mark, needed)


def read_text_rows(
    path: Path, *, delimiter: str | None = None, encoding: str = "utf-8"
) -> list[Row]:
    """The lines of a file without a heading, comments left out; split at spaces if at nothing."""
    with _opened_text(path, encoding) as text:
        mark = _delimiter(path, delimiter, text, others=" ")
        rows = _rows(path, text, mark)
        return [(line, row) for line, row in rows if not row[0].startswith(COMMENTS)]


def _rows(path: Path, text: IO[str], mark: str) -> Iterator[Row]:
    """Rows that hold anything, each with the line in which it begins."""
    reader = csv.reader(_lines(path, text), delimiter=mark, strict=True)
    line = 1
    try:
        for row in reader:
            if row:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise InvalidInputError(
            f"{path} cannot be read as a table ({error}, in the row that begins in line {line}): "
            "check for a missing quote or a wrong delimiter there"
        ) from error


def _lines(path: Path, text: IO[str]) -> Iterator[str]:
    while line := text.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise InvalidInputError(
                f"{path} has a line of more than {LONGEST_LINE >> 20} million letters: it is "
                "damaged, or no table"
            )
        yield line


def default_delimiter(path: Path) -> str:
    """What separates cells in a file with this ending."""
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return DELIMITERS.get(plain.suffix.lower(), ",")


def _delimiter(path: Path, given: str | None, text: IO[str], others: Iterable[str]) -> str:
    """What separates cells: as given, by the ending, or what else the first line shows."""
    if given is not None:
        if len(given) != 1:
            raise InvalidInputError(
                f"delimiter {given!r} is not one character: use for example ';'"
            )
        return given
    marks = (default_delimiter(path), *filter(None, others))
    lines = _lines(path, text)
    lines = (line for line in lines if line.strip() and not line.startswith(COMMENTS))
    first = next(lines, "").partition("{")[0]  # networkx writes attributes in braces
    text.seek(0)
    said = EXCEL.fullmatch(first)
    if said is not None:
        return said[1]
    return next((mark for mark in marks if mark in first), marks[0])


@contextmanager
def _opened_text(path: Path, encoding: str) -> Iterator[IO[str]]:
    """A file of text; whatever is wrong with it is said in one line."""
    if encoding.lower() in ("utf-8", "utf8"):
        encoding = "utf-8-sig"  # a byte order mark is no part of the first name
    try:
        "".encode(encoding)
    except (LookupError, UnicodeError) as error:
        raise InvalidInputError(
            f"encoding {encoding!r} is unknown: try utf-8 or latin-1"
        ) from error
    try:
        with _opened(path) as file:
            _check_is_text(file, path, encoding)
            with io.TextIOWrapper(file, encoding=encoding, newline="") as text:
                yield text
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{path} is not {error.encoding} text (byte 0x{error.object[error.start]:02x}): save "
            "it as UTF-8 or name its encoding, for example --encoding latin-1"
        ) from error
    except UnicodeError as error:  # a stream without its mark
        raise InvalidInputError(
            f"{path} is not {encoding} text ({error}): save it as UTF-8 or name its encoding"
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidInputError(
            f"{path} is not a whole gzip file ({error}): get it again"
        ) from error


def _opened(path: Path) -> IO[bytes]:
    try:
        if path.suffix.lower() == ".gz":
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


def _parsed(path: Path, rows: Iterator[Row], mark: str, needed: Needed) -> Table:
    comments = 0
    for _, row in rows:
        columns = tuple(name.strip() for name in row)
        columns = (columns[0].removeprefix(MARK), *columns[1:])
        wanted = needed(columns)
        is_comment = columns[0].startswith("#") and _names_nothing(columns, wanted)
        if not is_comment and EXCEL.fullmatch(mark.join(row)) is None:
            break
        comments += 1
    else:
        raise InvalidInputError(f"{path} is empty: give a table with a heading and rows")
    _check_titles(path, columns, wanted, rows)
    _check_delimiter(path, columns, mark, wanted)
    # Spreadsheets end rows with several cells of nothing.
    check_columns(path, [c for k, c in enumerate(columns) if c or "" not in columns[:k]], wanted)
    cells: list[list[str]] = []
    lines: list[int] = []
    for line, row in rows:
        if len(row) == len(columns) + 1 and not cells and row[-1].strip():
            raise InvalidInputError(
                f"{path} has a cell more in line {line} than in its heading, as R's write.table "
                "leaves it: write it with col.names=NA, or name the first column in the heading"
            )
        if len(row) != len(columns):
            raise InvalidInputError(
                f"{path} has {len(row)} cells in line {line}, but {len(columns)} columns: check "
                "for a stray delimiter or a missing quote there"
            )
        cells.append(row)
        lines.append(line)
    empty = _empty_at_end(cells) if len(columns) > 1 else 0
    del cells[len(cells) - empty :], lines[len(lines) - empty :]
    nothing = [
        k for k, name in enumerate(columns)
        if not name and name not in wanted and not any(row[k].strip() for row in cells)
    ]  # fmt: skip
    by_name = {
        name: [row[k] for row in cells] for k, name in enumerate(columns) if k not in nothing
    }
    if len(by_name) + len(nothing) < len(columns):
        raise InvalidInputError(
            f"{path} has several columns that hold something but have no name in the heading: name "
            "them, or delete them"
        )
    return Table(
        path=path,
        cells=by_name,
        index=nameless(tuple(by_name)),
        lines=lines,
        notes=_skipped(comments, empty),
    )


def _check_titles(
    path: Path, columns: Sequence[str], wanted: Sequence[str], rows: Iterator[Row]
) -> None:
    """Refuse a table with a title above its heading, and say where that is."""
    if not wanted or set(wanted) <= set(columns) or len(list(filter(None, columns))) > 1:
        return
    for line, row in islice(rows, MOST_TITLES):
        if set(wanted) <= {name.strip() for name in row}:
            raise InvalidInputError(
                f"{path} has its heading in line {line}, below {columns[0]!r}: delete the lines "
                "above the heading"
            )


def _names_nothing(columns: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a line is no heading: a name may begin with # too."""
    return set(wanted).isdisjoint(columns) if wanted else len(columns) == 1


def _empty_at_end(rows: list[list[str]]) -> int:
    """How many rows of nothing follow the data, as spreadsheets write them."""
    filled = (any(map(str.strip, row)) for row in reversed(rows))
    return next((k for k, is_filled in enumerate(filled) if is_filled), len(rows))


def _skipped(comments: int, empty: int) -> tuple[str, ...]:
    notes = (
        f"skipped {comments} lines of comments before the heading" if comments else "",
        f"skipped {empty} empty rows at the end" if empty else "",
    )
    return tuple(filter(None, notes))


def _check_delimiter(
    path: Path, columns: tuple[str, ...], mark: str, needed: Sequence[str]
) -> None:
    if len(columns) > 1 or set(needed) <= set(columns):
        return
    inside = [d for d in NAMES if d != mark and d in columns[0]]
    if inside:
        raise InvalidInputError(
            f"{path} has a single column when split at {NAMES.get(mark, mark)}s, but its heading "
            f"holds {NAMES[inside[0]]}s: pass --delimiter {inside[0]!r}"
        )
