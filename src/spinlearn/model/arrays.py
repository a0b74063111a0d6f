"""Arrays of the core types: C-contiguous, one dtype each, read-only; the intervals of a grid.

A single layout buys safety (no aliasing surprises) and one Numba signature per kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from numbers import Number
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]
StateArray = npt.NDArray[np.int8]
BoolArray = npt.NDArray[np.bool_]
IndexArray = npt.NDArray[np.integer[Any]]

MAX_STATES = 127  # states are int8
# Exact answers meet the thresholds exactly (4 of 5 ground states ...); rounding must not decide.
TIE = 1e-9

ScalarT = TypeVar("ScalarT", bound=np.generic)


def frozen(values: npt.ArrayLike, dtype: type[ScalarT]) -> npt.NDArray[ScalarT]:
    """A read-only, C-contiguous private copy of `values`, or they themselves if they are one."""
    private = isinstance(values, np.ndarray) and values.base is None
    if private and not values.flags.writeable and values.flags.c_contiguous:  # type: ignore[union-attr]
        same: npt.NDArray[ScalarT] = np.asarray(values)
        if same.dtype == dtype:
            return same
    copy = np.array(values, dtype=dtype, order="C", copy=True)
    copy.flags.writeable = False
    return copy


def restore(instance: Any, state: Sequence[Any]) -> None:
    """Fill an unpickled or copied dataclass; NumPy forgets that its arrays were read-only."""
    for item, value in zip(fields(instance), state, strict=True):
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        object.__setattr__(instance, item.name, value)


def float_array(values: Any, name: str) -> FloatArray:
    """`values` as float64, refusing text, complex numbers, dates and None."""
    try:
        array = np.asarray(values)
        if array.dtype == object:
            strangers = [v for v in array.flat if not isinstance(v, Number)]
            if strangers:
                raise TypeError(f"got {strangers[0]!r}")
        elif array.dtype.kind not in "biuf":
            raise TypeError(f"got dtype {array.dtype}")
        with np.errstate(over="ignore"):  # beyond float64: infinite, and refused as such
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"{name} must be real numbers: {error}") from error


def real_array(
    values: Any, name: str, shape: tuple[int, ...], remedy: str = "correct or drop them"
) -> FloatArray:
    """`values` as a frozen float array of the given shape, all entries finite."""
    array = float_array(values, name)
    if array.shape != shape:
        raise InvalidInputError(f"{name} has shape {array.shape}, expected {shape}")
    if not np.all(np.isfinite(array)):
        raise InvalidInputError(
            f"{name} holds {int(np.sum(~np.isfinite(array)))} NaN or infinite values, but every "
            f"entry must be finite: {remedy}"
        )
    return frozen(array, np.float64)


def integer_array(values: Any, name: str) -> npt.NDArray[np.int64]:
    """`values` as int64, refusing anything that is not a whole number."""
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different length
        raise InvalidInputError(f"{name} must be whole numbers: {error}") from error
    if array.dtype == object:
        array = float_array(array, name)
    kind = array.dtype.kind
    if kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise InvalidInputError(f"{name} holds values too large for a 64-bit integer")
    whole = kind == "f" and np.all((array == np.rint(array)) & (np.abs(array) < 2.0**63))
    if kind in "uib" or whole:
        return array.astype(np.int64)
    raise InvalidInputError(f"{name} must be whole numbers, got dtype {array.dtype}")


def temperature_array(temperatures: Any) -> FloatArray:
    """Checked temperatures: one-dimensional, at least one, 0 <= T <= infinity."""
    array = np.atleast_1d(float_array(temperatures, "temperatures"))
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


def cell_ends(temperatures: FloatArray) -> FloatArray:
    """Ends of the cells of ascending temperatures, half way; before infinity at the last."""
    low, high = temperatures[:-1], temperatures[1:]
    middle = np.where(np.isinf(high), low, (low + high) / 2)
    return np.concatenate([temperatures[:1], middle, temperatures[-1:]])


def nearest_row(temperatures: FloatArray, temperature: float) -> int:
    """Row of the temperature closest to the given one; to infinity, of the highest."""
    if np.isinf(temperature):
        return int(np.argmax(temperatures))
    return int(np.argmin(np.abs(temperatures - temperature)))
