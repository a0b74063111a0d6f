"""Checks of arrays that came from a file, against what the code that reads them trusts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

FINITE = float(np.finfo(np.float64).max)


def same_shapes(
    arrays: Mapping[str, npt.NDArray[Any]],
    expected: Mapping[str, npt.NDArray[Any]],
    prefix: str = "",
) -> None:
    """Refuse arrays of another shape or kind: NumPy would stretch or round them in silence."""
    for name, values in expected.items():
        found = arrays[prefix + name]
        if found.shape != values.shape or found.dtype.kind != values.dtype.kind:
            raise ValueError(
                f"{prefix + name} is {found.dtype} of shape {found.shape}, expected "
                f"{values.dtype} of shape {values.shape}"
            )


def check_rows(
    arrays: Mapping[str, npt.NDArray[Any]],
    prefix: str,
    n_rows: int,
    wider: Mapping[str, tuple[int, ...]],
) -> None:
    """Refuse arrays of a prefix that have not so many rows, of single numbers unless said wider."""
    for name, values in arrays.items():
        expected = (n_rows, *wider.get(name, ()))
        if name.startswith(prefix) and values.shape != expected:
            raise ValueError(f"{name} has shape {values.shape}, expected {expected}")


def within(name: str, values: npt.ArrayLike, low: float, high: float) -> None:
    """Refuse numbers outside low <= x <= high; NaN is outside, and so is all that is no number."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or not np.all((array >= low) & (array <= high)):
        raise ValueError(f"{name} holds values outside {low:g} to {high:g}")
