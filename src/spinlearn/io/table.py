"""Tables of files: named columns of cells, from text (CSV, TSV, gzipped or not), Parquet or Excel.

The first block of a file tells whether it is text at all, so that a large file of another kind is
refused at once. Quotes must close: one that does not would take the rest of the file into a cell.
Every cell of text stays text here; `spinlearn.io.features` makes numbers of them. (Python's csv
splits as fast as pandas does, and tells short rows and the line of every row, which pandas does
not.)

Decimal commas are read where the user says so, and not guessed: 1,234 is a thousand to some and
about one to others.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from spinlearn.errors import InvalidInputError, needing

SNIFFED_BYTES = 1 << 16
TABBED = (".tsv", ".tab", ".edges", ".txt")
WIDE = ("utf-16", "utf16", "utf_16", "utf-32", "utf32", "utf_32")  # encodings
EXCEL_FILE = ".xlsx"
EXCEL_MISSING = ("#N/A", "")
NAMES = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar", " ": "space"}
COMMENTS = ("#", "%")
# A first line that tells Excel the delimiter.
EXCEL = re.compile(r'"?sep=([^\r\n])"?[\r\n]*', re.IGNORECASE)
MOST_TITLES = 20  # lines above a heading among which it is looked for
MARK = "\ufeff"  # of the byte order, where the encoding's name already says it
LONGEST_LINE = 1 << 27  # letters: a few bytes of gzip can stand for a line that fills the memory
LONGEST = 40  # letters of a cell in a message
MOST_ROWS_UNASKED = 10**6  # no Parquet table is refused below
ROWS_PER_BYTE = 64  # a row that says anything takes more, however well it is packed
MOST_UNPACKED = 1 << 32  # bytes of an Excel file
POWER = r"(?:[eE][-+]?[0-9]+)?"
WITH_COMMA = re.compile(rf"\s*[-+]?(?:[0-9]+,[0-9]*|,[0-9]+){POWER}\s*")
WITH_POINT = re.compile(
    rf"\s*[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]{{1,3}}(?:\.[0-9]{{3}})+(?:,[0-9]*)?){POWER}\s*"
)

# How pandas calls its index: written to CSV, read again, written to Parquet.
NAMELESS = re.compile(r"|unnamed: \d+|__index_level_\d+__", re.IGNORECASE)
Row = tuple[int, list[str]]  # line in the file, cells
Needed = Callable[[Sequence[str]], Sequence[str]]  # the columns there are -> those that must be


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Columns of equal length."""

    path: Path
    cells: Mapping[str, Any]  # by column, a sequence of text or values
    index: frozenset[str] = frozenset()  # columns that name the rows, as pandas writes them
    lines: list[int] | None = None  # of every row in a text file
    notes: tuple[str, ...] = ()  # what the user should know about the reading

    def place(self, row: int) -> str:
        """Where a row is, for messages."""
        return f"row {row}, counted from 0" if self.lines is None else f"line {self.lines[row]}"


class MissingColumnError(InvalidInputError):
    """A column that was named is not there."""

    def __init__(self, path: Path, column: str, columns: Sequence[str]) -> None:
        self.column = column
        folded = {name.strip().casefold(): name for name in reversed(columns)}
        alike = get_close_matches(column.strip().casefold(), folded, n=1)
        meant = folded[alike[0]] if alike else None
        super().__init__(
            f"{path} has no column {column!r}: it has {listed(columns) or 'none'}; "
            + (f"did you mean {meant!r}?" if meant is not None else "name one of them")
        )


def check_columns(path: Path, columns: Sequence[str], needed: Sequence[str]) -> None:
    """Refuse a table that lacks a column, or has two of one name."""
    check_names(path, "the column", columns)
    for name in needed:
        if name not in columns:
            raise MissingColumnError(path, name, columns)
    twice = [name for name, times in Counter(columns).items() if times > 1]
    if twice:
        raise InvalidInputError(
            f"{path} has {len(twice)} column names twice, for example {min(twice)!r}: rename them"
        )


def check_names(path: Path, what: str, names: Iterable[object]) -> None:
    """Refuse names with zero bytes, which many programs take for their end, and broken text."""
    for name in names:
        if not isinstance(name, str) or (name.isascii() and "\0" not in name):
            continue
        if "\0" in name:
            raise InvalidInputError(
                f"{path} has {what} {name!r}, which holds a zero byte: remove it there"
            )
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            raise InvalidInputError(
                f"{path} has {what} {name!r}, which is not text that could be written: correct it "
                "there, or name the encoding of the file"
            )


def listed(names: Sequence[object], most: int = 8) -> str:
    """Some names, and how many more there are."""
    shown = ", ".join(map(str, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def shown(cell: object) -> str:
    """A cell in a message, cut short."""
    text = str(cell)
    return repr(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")


def read_table(
    path: Path,
    needed: Needed,
    *,
    delimiter: str | None = None,
    others: Sequence[str] = (),
    encoding: str = "utf-8",
) -> Table:
    """Read Parquet, Excel, or text with a heading; the `needed` columns are looked for first.

    The default delimiter is that of the ending; the heading may show one of `others` instead.
    """
    if path.suffix.lower() == ".parquet":
        return _read_parquet(path, needed)
    if path.suffix.lower() == EXCEL_FILE:
        return _read_excel(path, needed)
    with _opened_text(path, encoding) as text:
        mark = _delimiter(path, delimiter, text, others)
        rows = _rows(path, text, mark)
        columns, wanted, comments = _heading(path, rows, mark, needed)
        cells: list[list[str]] = []
        lines: list[int] = []
        for line, row in rows:
            if len(row) != len(columns):
                raise _ragged(path, line, row, columns, first=not cells)
            cells.append(row)
            lines.append(line)
    filled = len(cells)
    if len(columns) > 1:  # rows of nothing follow the data, as spreadsheets write them
        while filled and not any(map(str.strip, cells[filled - 1])):
            filled -= 1
    empty = len(cells) - filled
    del cells[filled:], lines[filled:]
    by_name: dict[str, list[str]] = {}
    for k, name in enumerate(columns):
        column = [row[k] for row in cells]
        if not name and name not in wanted and not any(map(str.strip, column)):
            continue  # spreadsheets end rows with cells of nothing
        if name in by_name:
            raise InvalidInputError(
                f"{path} has several columns that hold something but have no name: name them"
            )
        by_name[name] = column
    notes = (
        f"skipped {comments} lines of comments before the heading" if comments else "",
        f"skipped {empty} empty rows at the end" if empty else "",
    )
    return Table(
        path=path,
        cells=by_name,
        index=frozenset(filter(NAMELESS.fullmatch, by_name)),
        lines=lines,
        notes=tuple(filter(None, notes)),
    )


def read_text_rows(
    path: Path, *, delimiter: str | None = None, encoding: str = "utf-8"
) -> list[Row]:
    """The lines of a file without a heading, comments left out; split at spaces if at nothing."""
    with _opened_text(path, encoding) as text:
        mark = _delimiter(path, delimiter, text, others=" ")
        rows = _rows(path, text, mark)
        return [(line, row) for line, row in rows if not row[0].startswith(COMMENTS)]


def default_delimiter(path: Path) -> str:
    """What separates cells in a file with this ending."""
    return "\t" if path.name.lower().removesuffix(".gz").endswith(TABBED) else ","


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
                f"{path} has a line of more than {LONGEST_LINE >> 20} million letters: get it again"
            )
        yield line


def _delimiter(path: Path, given: str | None, text: IO[str], others: Iterable[str]) -> str:
    """What separates cells: as given, by the ending, or what else the first line shows."""
    if given is not None:
        if len(given) != 1:
            raise InvalidInputError(f"delimiter {given!r} is not one character: use ',' or ';'")
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
        raise InvalidInputError(f"encoding {encoding!r} is unknown: try utf-8") from error
    packed = path.suffix.lower() == ".gz"
    try:
        with cast("IO[bytes]", gzip.open(path) if packed else open(path, "rb")) as file:
            first = file.read(SNIFFED_BYTES)
            file.seek(0)
            wide = encoding.lower().startswith(WIDE)  # zero bytes are part of such text
            if not wide and first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise InvalidInputError(
                    f"{path} is UTF-16 text: save it as UTF-8, or pass --encoding utf-16"
                )
            if not wide and b"\0" in first:
                raise InvalidInputError(
                    f"{path} is not a text table (it holds zero bytes): give CSV or TSV, or the "
                    "right ending for another kind (.parquet, .npz, .npy, .h5ad, .mtx)"
                )
            with io.TextIOWrapper(file, encoding=encoding, newline="") as text:
                yield text
    except UnicodeError as error:
        byte = getattr(error, "object", b"")[getattr(error, "start", 0) :][:1]
        said = f"byte 0x{byte.hex()}" if byte else str(error)  # or a stream without its mark
        raise InvalidInputError(
            f"{path} is not {encoding.removesuffix('-sig')} text ({said}): save it as UTF-8 or "
            "name its encoding, for example --encoding latin-1"
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidInputError(
            f"{path} is not a whole gzip file ({error}): get it again"
        ) from error
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be opened: {error.strerror or error}") from error


def _heading(
    path: Path, rows: Iterator[Row], mark: str, needed: Needed
) -> tuple[tuple[str, ...], Sequence[str], int]:
    """Names of the columns, those that must be among them, and how many comments stood above."""
    comments = 0
    for _, row in rows:
        columns = tuple(name.strip() for name in row)
        columns = (columns[0].removeprefix(MARK), *columns[1:])
        wanted = needed(columns)
        # A name may begin with # too.
        no_name = set(wanted).isdisjoint(columns) if wanted else len(columns) == 1
        is_comment = columns[0].startswith("#") and no_name
        if not is_comment and EXCEL.fullmatch(mark.join(row)) is None:
            break
        comments += 1
    else:
        raise InvalidInputError(f"{path} is empty: give a table with a heading and rows")
    if not set(wanted) <= set(columns) and len(list(filter(None, columns))) == 1:
        for line, row in islice(rows, MOST_TITLES):
            if set(wanted) <= {name.strip() for name in row}:
                raise InvalidInputError(
                    f"{path} has its heading in line {line}, below {columns[0]!r}: delete what is "
                    "above it"
                )
        inside = [d for d in NAMES if d != mark and d in columns[0]]
        if len(columns) == 1 and inside:
            raise InvalidInputError(
                f"{path} has a single column when split at {NAMES.get(mark, mark)}s, but its "
                f"heading holds {NAMES[inside[0]]}s: pass --delimiter {inside[0]!r}"
            )
    # Several cells of nothing may end a heading.
    check_columns(path, [c for k, c in enumerate(columns) if c or "" not in columns[:k]], wanted)
    return columns, wanted, comments


def _ragged(
    path: Path, line: int, row: list[str], columns: Sequence[str], *, first: bool
) -> InvalidInputError:
    if first and len(row) == len(columns) + 1 and row[-1].strip():
        return InvalidInputError(
            f"{path} has a cell more in line {line} than in its heading, as R's write.table "
            "leaves it: write it with col.names=NA, or name the first column in the heading"
        )
    return InvalidInputError(
        f"{path} has {len(row)} cells in line {line}, but {len(columns)} columns: check for a "
        "stray delimiter or a missing quote there"
    )


def _read_parquet(path: Path, needed: Needed) -> Table:
    check_magic(path, b"PAR1", "Parquet")
    parquet = import_parquet()
    try:
        file = parquet.ParquetFile(path, page_checksum_verification=True)
        columns, n_rows = tuple(file.schema_arrow.names), file.metadata.num_rows
        check_columns(path, columns, needed(columns))
        if n_rows > max(MOST_ROWS_UNASKED, ROWS_PER_BYTE * path.stat().st_size):
            raise InvalidInputError(  # before memory is taken for them
                f"{path} claims {n_rows} rows in {path.stat().st_size} bytes, more than it can "
                "hold: get it again"
            )
        table = file.read()
        cells = {name: table.column(name).to_pylist() for name in columns}
        # pandas' index; a plain count of rows is described there, not stored.
        described = (file.schema_arrow.pandas_metadata or {}).get("index_columns", [])
        index = {name for name in described if isinstance(name, str)}
    except InvalidInputError:
        raise
    # Arrow, and the JSON and text inside, have many ways to fail.
    except Exception as error:
        raise InvalidInputError(f"{path} cannot be read as Parquet: {error}") from error
    nameless = filter(NAMELESS.fullmatch, columns)
    return Table(path=path, cells=cells, index=frozenset([*index, *nameless]))


def _read_excel(path: Path, needed: Needed) -> Table:
    """The first sheet; formulas count as what they last gave."""
    check_magic(path, b"PK", "workbook (.xlsx)")
    with needing(
        "Excel files need openpyxl, which is not installed: pip install 'spinlearn[xlsx]'"
    ):
        from openpyxl import load_workbook
    most = max(MOST_ROWS_UNASKED, ROWS_PER_BYTE * path.stat().st_size)
    rows: list[Sequence[Any]] = []
    numbers: list[int] = []  # of the rows, as Excel shows them
    try:
        with zipfile.ZipFile(path) as parts:
            claimed = sum(part.file_size for part in parts.infolist())
        if claimed > MOST_UNPACKED:  # before anything is unpacked
            raise ValueError(f"it claims {claimed >> 20} MB unpacked")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles, which say nothing here
            book = load_workbook(path, read_only=True, data_only=True)
            try:
                for number, row in enumerate(book.worksheets[0].iter_rows(values_only=True), 1):
                    most -= len(row)
                    if most < 0:  # a single cell can stand far below and far to the right
                        raise ValueError("its cells stand too far apart")
                    cells = [None if cell in EXCEL_MISSING else cell for cell in row]
                    if any(cell is not None for cell in cells):
                        rows.append(cells)
                        numbers.append(number)
            finally:
                book.close()
    except Exception as error:  # openpyxl, the archive and the XML inside fail in many ways
        raise InvalidInputError(
            f"{path} cannot be read as an Excel table ({type(error).__name__}: {error}): save it "
            "again, or as CSV"
        ) from error
    if not rows:
        raise InvalidInputError(f"{path} is empty: give a table with a heading and rows")
    heading = ["" if name is None else str(name).strip() for name in rows.pop(0)]
    del numbers[0]
    width = max(map(len, [heading, *rows]))
    heading += [""] * (width - len(heading))
    columns = [[row[k] if k < len(row) else None for row in rows] for k in range(width)]
    kept = [k for k in range(width) if heading[k] or any(cell is not None for cell in columns[k])]
    names = [heading[k] for k in kept]
    check_columns(path, names, needed(names))
    return Table(
        path=path,
        cells={heading[k]: columns[k] for k in kept},
        index=frozenset(filter(NAMELESS.fullmatch, names)),
        lines=numbers,
    )


def import_parquet() -> Any:
    """pyarrow.parquet, or how to get it."""
    with needing("Parquet files need pyarrow, which is not installed: pip install pyarrow"):
        from pyarrow import parquet
    return parquet


def check_magic(path: Path, magic: bytes, kind: str) -> None:
    """Refuse a file that does not begin as its kind does."""
    with open(path, "rb") as file:
        if file.read(len(magic)) != magic:
            raise InvalidInputError(
                f"{path} is not a {kind} file, whatever its ending says: check the file; a table "
                "of text is read as .csv or .tsv"
            )


# -- decimal commas --------------------------------------------------------------------------------


def pointed(text: str) -> str | None:
    """Decimal commas as points; None for a number with points, which may part thousands."""
    if WITH_POINT.fullmatch(text):
        return None
    return text.replace(",", ".") if WITH_COMMA.fullmatch(text) else text


def table_with_points(table: Table, columns: Sequence[str]) -> Table:
    """The table with decimal points instead of commas in `columns`, where none may be yet."""
    cells = dict(table.cells)
    for name in columns:
        cells[name] = [pointed(c) if isinstance(c, str) else c for c in cells[name]]
        for row, (cell, number) in enumerate(zip(table.cells[name], cells[name], strict=True)):
            if number is None and cell is not None:
                raise InvalidInputError(
                    f"{table.path} has points in the numbers of column {name!r} ({shown(cell)} in "
                    f"{table.place(row)}), but --decimal , says that decimals have commas: write "
                    "all alike, without separators of thousands, or leave it out with --features"
                )
    return replace(table, cells=cells)
