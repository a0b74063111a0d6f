"""Sparse matrices of files, checked before SciPy computes with them.

SciPy trusts the places that a matrix says its values have: wrong ones are read and written outside
its arrays, which ends the process or, worse, does not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.array_file import MOST_PACKED

SMALL = 10**7  # numbers that a matrix may have, however few of them are stored


def check_compressed(matrix: Any) -> None:
    """Refuse a matrix by rows or by columns whose places lie outside it, or overlap."""
    n_lists, n_places = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
    check_lists(matrix.data, matrix.indices, matrix.indptr, n_lists, n_places)


def check_lists(
    data: npt.NDArray[Any],
    indices: npt.NDArray[Any],
    indptr: npt.NDArray[Any],
    n_lists: int,
    n_places: int,
) -> None:
    """The same for the three arrays of such a matrix.

    Parameters
    ----------
    data, indices : array (nnz,)
        Values, list after list, and their places 0 .. n_places - 1 in it.
    indptr : array (n_lists + 1,)
        Where the lists begin; the last entry is nnz.
    n_lists, n_places : int
    """
    for name, values in (("indices", indices), ("indptr", indptr)):
        if values.ndim != 1 or values.dtype.kind not in "iu":
            raise ValueError(f"{name} is {values.dtype} of shape {values.shape}, no list of places")
    if data.shape != indices.shape:
        raise ValueError(f"there are {data.shape} values for {indices.shape} places")
    ends = (int(indptr[0]), int(indptr[-1])) if len(indptr) else ()
    if len(indptr) != n_lists + 1 or ends != (0, len(indices)) or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError("the beginnings of its rows are out of order")
    if len(indices) and not (indices.min() >= 0 and indices.max() < n_places):
        raise ValueError("values lie outside the matrix")


def check_dense_size(shape: tuple[int, ...], n_stored: int) -> None:
    """Refuse a matrix that would fill the memory with zeros if it were written out."""
    n_numbers = int(np.prod(shape, dtype=object))
    if n_numbers > max(SMALL, MOST_PACKED * n_stored):
        raise ValueError(
            f"its shape {shape} claims {n_numbers} numbers, of which {n_stored} are stored"
        )
