"""Parquet tables, with what pandas says about its index in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spinlearn.errors import InvalidInputError, MissingDependencyError
from spinlearn.io.table import Needed, Table, check_columns, nameless

MAGIC = b"PAR1"
MANY_ROWS = 10**6  # no table is refused below
ROWS_PER_BYTE = 64  # a row that says anything takes more, however well it is packed


def read_parquet_table(path: Path, needed: Needed) -> Table:
    """Read a Parquet file; `needed` columns are looked for before the rows are read."""
    check_magic(path, MAGIC, "Parquet")
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet files need pyarrow, which is not installed: pip install pyarrow"
        ) from error
    try:
        file = parquet.ParquetFile(path, page_checksum_verification=True)
        columns = tuple(file.schema_arrow.names)
        check_columns(path, columns, needed(columns))
        _check_size(path, file.metadata.num_rows)
        table = file.read()
        cells = {name: table.column(name).to_pylist() for name in columns}
        index = _index_columns(file.schema_arrow) | nameless(columns)
    except InvalidInputError:
        raise
    # Arrow, and the JSON and text inside, have many ways to fail.
    except Exception as error:
        raise InvalidInputError(f"{path} cannot be read as Parquet: {error}") from error
    return Table(path=path, cells=cells, index=index)


def _check_size(path: Path, n_rows: int) -> None:
    """Refuse a number of rows that a few bytes can claim and no memory can hold."""
    if n_rows > max(MANY_ROWS, ROWS_PER_BYTE * path.stat().st_size):
        raise InvalidInputError(
            f"{path} claims {n_rows} rows in {path.stat().st_size} bytes, more than it can hold: "
            "get it again"
        )


def check_magic(path: Path, magic: bytes, kind: str) -> None:
    """Refuse a file that does not begin as its kind does."""
    with open(path, "rb") as file:
        if file.read(len(magic)) != magic:
            raise InvalidInputError(
                f"{path} is not a {kind} file, whatever its ending says: check the file"
            )


def _index_columns(schema: Any) -> frozenset[str]:
    """Columns of pandas' index; a plain count of rows is described there, not stored."""
    described = (schema.pandas_metadata or {}).get("index_columns", [])
    return frozenset(name for name in described if isinstance(name, str))
