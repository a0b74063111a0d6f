"""One way to make the arrays of the core types: C-contiguous, one dtype each, read-only.

A single layout buys safety (no aliasing surprises) and one Numba signature per kernel.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]
StateArray = npt.NDArray[np.int8]
BoolArray = npt.NDArray[np.bool_]

MAX_STATES = 127  # states are int8

ScalarT = TypeVar("ScalarT", bound=np.generic)


def frozen(values: npt.ArrayLike, dtype: type[ScalarT]) -> npt.NDArray[ScalarT]:
    """A read-only, C-contiguous private copy of `values` with the given dtype."""
    copy = np.array(values, dtype=dtype, order="C", copy=True)
    copy.flags.writeable = False
    return copy


def real_array(values: Any, name: str, shape: tuple[int, ...]) -> FloatArray:
    """`values` as a frozen float array of the given shape, all entries finite."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must be numbers: {error}") from error
    if array.shape != shape:
        raise InvalidInputError(f"{name} has shape {array.shape}, expected {shape}")
    if not np.all(np.isfinite(array)):
        raise InvalidInputError(
            f"{name} holds {int(np.sum(~np.isfinite(array)))} NaN or infinite values; "
            "every entry must be finite (a hard label is a clamp, not an infinite field)"
        )
    return frozen(array, np.float64)


def integer_array(values: Any, name: str) -> npt.NDArray[np.int64]:
    """`values` as int64, refusing anything that is not a whole number."""
    array = np.asarray(values)
    if array.dtype == object:
        try:
            array = np.asarray(array.tolist(), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"{name} must be whole numbers: {error}") from error
    if array.dtype.kind in "ui":
        if array.size and array.max() > np.iinfo(np.int64).max:
            raise InvalidInputError(f"{name} holds values too large for a 64-bit integer")
        return array.astype(np.int64)
    if array.dtype.kind == "b" or (array.size == 0 and array.dtype.kind == "f"):
        return array.astype(np.int64)
    if array.dtype.kind == "f" and np.all(np.isfinite(array)) and np.all(array == np.rint(array)):
        return array.astype(np.int64)
    raise InvalidInputError(f"{name} must be whole numbers, got dtype {array.dtype}")


def temperature_array(temperatures: Any) -> FloatArray:
    """Checked temperatures: one-dimensional, at least one, 0 <= T <= infinity."""
    try:
        array = np.atleast_1d(np.asarray(temperatures, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"temperatures must be numbers: {error}") from error
    if array.ndim != 1 or array.size == 0:
        raise InvalidInputError(
            f"temperatures must be a non-empty list of numbers, got shape {array.shape}"
        )
    if np.any(np.isnan(array)) or np.any(array < 0):
        raise InvalidInputError(
            "temperatures must be >= 0 and not NaN (0 is the uniform law over ground states, "
            "inf the uniform law over all states)"
        )
    return frozen(array, np.float64)
