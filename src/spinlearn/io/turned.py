"""Tables with features as rows and points as columns, as genes often stand."""

from __future__ import annotations

from pathlib import Path

from spinlearn.errors import InvalidInputError

REMEDIES = {
    ".npy": "numpy.save({new!r}, numpy.load({old!r}).T)",
    ".npz": "save X.T instead of X",
    ".h5ad": "anndata.read_h5ad({old!r}).T.write_h5ad({new!r})",
    ".parquet": "pandas.read_parquet({old!r}).T.to_parquet({new!r})",
    ".tsv": "pandas.read_csv({old!r}, sep='\\t', index_col=0).T.to_csv({new!r}, sep='\\t')",
}
TEXT = "pandas.read_csv({old!r}, index_col=0).T.to_csv({new!r})"


def rows_are_features(path: Path, sign: str) -> InvalidInputError:
    """The error for such a file; `sign` is by what it was recognised."""
    remedy = REMEDIES.get(path.suffix.lower(), TEXT).format(
        old=path.name, new=f"turned-{path.name}"
    )
    return InvalidInputError(
        f"{path} has features as rows and points as columns, as genes often stand ({sign}): turn "
        f"it round, for example by {remedy}"
    )
