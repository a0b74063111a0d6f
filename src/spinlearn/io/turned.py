"""Tables with features as rows and points as columns, as genes often stand."""

from __future__ import annotations

from pathlib import Path

from spinlearn.errors import InvalidInputError
from spinlearn.io.dataset import ReadOptions
from spinlearn.io.text_table import default_delimiter

NAMED = ".T.rename_axis('id')"
REMEDIES = {
    ".npy": "numpy.save({new!r}, numpy.load({old!r}).T)",
    ".npz": "save X.T instead of X",
    ".h5ad": "anndata.read_h5ad({old!r}).T.write_h5ad({new!r})",
    ".parquet": f"pandas.read_parquet({{old!r}}){NAMED}.reset_index().to_parquet({{new!r}}), and "
    "say --id id",
}
TEXT = (
    f"pandas.read_csv({{old!r}}, sep={{mark!r}}, index_col=0){NAMED}.to_csv({{new!r}}, "
    "sep={mark!r}), and say --id id"
)


def rows_are_features(path: Path, sign: str, options: ReadOptions) -> InvalidInputError:
    """The error for such a file; `sign` is by what it was recognised."""
    remedy = REMEDIES.get(path.suffix.lower(), TEXT).format(
        old=path.name, new=f"turned-{path.name}", mark=options.delimiter or default_delimiter(path)
    )
    return InvalidInputError(
        f"{path} has features as rows and points as columns, as genes often stand ({sign}): turn "
        f"it round, for example by {remedy}"
    )
