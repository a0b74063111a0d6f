"""Parquet tables, with what pandas says about its index in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spinlearn.errors import InvalidInputError, MissingDependencyError
from spinlearn.io.table import Needed, Table, check_columns, nameless

MAGIC = b"PAR1"


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
        file = parquet.ParquetFile(path)
        columns = tuple(file.schema_arrow.names)
        check_columns(path, columns, needed(columns))
        table = file.read()
    except InvalidInputError:
        raise
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path} cannot be read as Parquet: {error}") from error
    cells = {name: table.column(name).to_pylist() for name in columns}
    return Table(
        path=path, cells=cells, index=_index_columns(file.schema_arrow) | nameless(columns)
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
