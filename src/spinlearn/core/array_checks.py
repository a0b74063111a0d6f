"""Checks of what came from a file, against what the code that reads it trusts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

FINITE = float(np.finfo(np.float64).max)
SINGLE = float(np.finfo(np.float32).max)


def within(name: str, values: npt.ArrayLike, low: float, high: float) -> None:
    """Refuse numbers outside low <= x <= high; NaN is outside, and so is all that is no number."""
    array = np.asarray(values)
    least, most = np.float64(low), np.float64(high)  # no bound is rounded to single precision
    if array.dtype.kind not in "biuf" or not np.all((array >= least) & (array <= most)):
        raise ValueError(f"{name} holds values outside {low:g} to {high:g}")


def same_arrays(
    arrays: Mapping[str, npt.NDArray[Any]],
    expected: Mapping[str, tuple[npt.DTypeLike, tuple[int, ...]]],
    prefix: str = "",
) -> None:
    """Refuse arrays that are missing, or of another type or shape than the code wrote."""
    for name, (dtype, shape) in expected.items():
        if prefix + name not in arrays:
            raise ValueError(f"{prefix + name} is missing")
        found = arrays[prefix + name]
        if found.shape != shape or found.dtype != np.dtype(dtype):
            raise ValueError(
                f"{prefix + name} is {found.dtype} of shape {found.shape}, expected "
                f"{np.dtype(dtype)} of shape {shape}"
            )


def kinds_of(
    arrays: Mapping[str, npt.NDArray[Any]],
) -> dict[str, tuple[npt.DTypeLike, tuple[int, ...]]]:
    """Type and shape of arrays, by name, as `same_arrays` takes them."""
    return {name: (values.dtype, values.shape) for name, values in arrays.items()}


def close(name: str, values: npt.ArrayLike, others: npt.ArrayLike, off: npt.ArrayLike) -> None:
    """Refuse values that differ from others by more than `off`; NaN differs from everything."""
    if not np.all(np.abs(np.subtract(values, others)) <= off):
        raise ValueError(f"{name} disagree with each other")


def check_numbers(
    values: Mapping[str, Any], ranges: Mapping[str, tuple[type, float, float]]
) -> None:
    """Refuse numbers that are missing, of another type than said, or outside low <= x <= high.

    A truth value is no whole number, and a whole number no float: they are written apart.
    """
    for name, (kind, low, high) in ranges.items():
        value = values[name]
        fits = type(value) is kind
        if not fits or not low <= value <= high:
            shown = repr(value)[:40]
            raise ValueError(f"{name} is {shown}, expected {kind.__name__} in {low:g} to {high:g}")
