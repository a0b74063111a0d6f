"""Forms in which a table of points may come, beyond those that scikit-learn knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from spinlearn.errors import InvalidInputError


class NoTableError(InvalidInputError, TypeError):
    """X is of a kind that holds no points; scikit-learn's contract asks for a TypeError."""


def plain_table(X: Any) -> Any:
    """X in a form that scikit-learn reads, or an error that says how to get there."""
    if isinstance(X, Mapping):
        raise NoTableError(
            "X is a mapping, whose order of points is not plain: pass pandas.DataFrame(X) if its "
            "values are columns, np.array(list(X.values())) if they are points"
        )
    if hasattr(X, "__next__"):
        raise NoTableError(f"X is a {type(X).__name__}, which can be read only once: pass list(X)")
    if isinstance(X, np.matrix):
        return np.asarray(X)
    if isinstance(X, np.ndarray) and X.dtype.names is not None:
        raise NoTableError(
            f"X is a structured array with the fields {', '.join(X.dtype.names)}, not a table of "
            "numbers: pass numpy.lib.recfunctions.structured_to_unstructured(X)"
        )
    kinds = list(getattr(X, "dtypes", ())) if hasattr(X, "sparse") else []
    if kinds and all(type(kind).__name__ == "SparseDtype" for kind in kinds):
        return X.sparse.to_dense()  # a frame is a table of features, never a graph
    _refuse_underscores(X)
    return X


def _refuse_underscores(X: Any) -> None:
    """Refuse text such as 1_000, which Python reads as a number and no one else does."""
    try:
        cells = np.asarray(X)
    except ValueError:  # rows of different length, of which more is said later
        return
    if cells.dtype.kind not in "OU" or not cells.ndim:
        return
    for place, cell in np.ndenumerate(cells):
        if isinstance(cell, str) and "_" in cell:
            axes = zip(("row", "column"), place, strict=False)
            where = ", ".join(f"{axis} {k}" for axis, k in axes)
            raise InvalidInputError(
                f"X holds the text {str(cell)!r} at {where}, but features are numbers: write them "
                "without _"
            )
