"""Points as users have them: checked, measured by a metric, reduced to fewer features.

Checked input of the point builders: whatever the caller has, as a finite 2-D float array.

Metrics as Euclidean geometry, so that one exact search serves them all.

euclidean    |x - y|
cosine       1 - x.y / |x||y| = |x' - y'|^2 / 2     with x' = x / |x|
correlation  1 - Pearson r: cosine of the rows less their means

Reduction: many features to a few principal components, where points are too few for them.

Distances between points with thousands of features are all alike: noise of features that say
nothing adds up. Of more features than POINTS_PER_COMPONENT points support each, within bounds, as
many leading principal components are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from spinlearn.constants import FEWEST_COMPONENTS, MOST_COMPONENTS, POINTS_PER_COMPONENT
from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import FloatArray, float_array, frozen

PRECOMPUTED = "precomputed"
METRICS = ("euclidean", "cosine", "correlation", PRECOMPUTED)

_FAR = 1e150  # squares of larger numbers overflow


class Embedding:
    """Coordinates whose Euclidean distances order points as the metric does.

    `unit` of length is a power of two near the largest coordinate of the training points, lest
    squares overflow or vanish; 1 for "cosine" and "correlation".
    """

    def __init__(self, metric: str, X: FloatArray) -> None:
        self._metric = metric
        self.unit = float(_power_of_two(np.abs(X).max())) if metric == "euclidean" else 1.0

    def coordinates(self, X: FloatArray, name: str = "X") -> FloatArray:
        """Rows of `X` as coordinates, shape (n, d)."""
        if self._metric == "euclidean":
            with np.errstate(over="ignore"):
                return np.clip(X / self.unit, -_FAR, _FAR)
        shrunk = X / _power_of_two(np.abs(X).max(axis=1, keepdims=True))
        if self._metric == "cosine":
            _refuse_rows(~X.any(axis=1), name, "zero", self._metric)
            return _unit_rows(shrunk)
        _refuse_rows(np.ptp(shrunk, axis=1) == 0, name, "constant", self._metric)
        return _unit_rows(shrunk - shrunk.mean(axis=1, keepdims=True))

    def distances(self, separations: FloatArray) -> FloatArray:
        """Distances in the metric, in `unit`, from Euclidean ones between coordinates."""
        return separations if self._metric == "euclidean" else separations**2 / 2

    def separations(self, distances: FloatArray) -> FloatArray:
        """Euclidean distances between coordinates from those in the metric, in `unit`."""
        return distances if self._metric == "euclidean" else np.sqrt(2 * distances)


def _power_of_two(magnitude: Any) -> Any:
    """A power of two near `magnitude`, 1 for zero; dividing by it is free of rounding."""
    _, exponent = np.frexp(magnitude)
    return np.ldexp(1.0, np.where(magnitude > 0, np.minimum(exponent, 1023), 0))


def _unit_rows(X: FloatArray) -> FloatArray:
    shrunk = X / _power_of_two(np.abs(X).max(axis=1, keepdims=True))
    lengths = np.sqrt(np.einsum("id,id->i", shrunk, shrunk))
    return np.asarray(shrunk / lengths[:, None])


def _refuse_rows(bad: Any, name: str, kind: str, metric: str) -> None:
    if bad.any():
        raise InvalidInputError(
            f"{metric} distances are undefined for {np.count_nonzero(bad)} rows of {name} that "
            f"are {kind}, the first of them row {int(np.argmax(bad))}: drop these points or use "
            "metric='euclidean'"
        )


SQUARES_VANISH = 1e-150  # of a unit: the squares of smaller lengths are no normal numbers


def checked_points(X: Any, name: str = "X", metric: str = "euclidean") -> FloatArray:
    """Rows of `X` as points: float64, finite, C-contiguous, (n, d), not necessarily a copy.

    An array-like or a data frame with at least one row and one column; booleans, integers and
    objects that are numbers will do. Errors call it `name`.
    """
    if hasattr(X, "tocoo") and metric == PRECOMPUTED:
        raise InvalidInputError(
            "the precomputed distance matrix is sparse, so that an absent entry could mean far "
            "away or unknown: pass a dense matrix, or turn the entries into similarities and use "
            "as_graph"
        )
    if hasattr(X, "tocoo"):
        raise InvalidInputError(
            f"{name} is sparse, but neighbours are searched among dense points: pass "
            f"{name}.toarray(), reduce the dimension first, or, if it already holds the "
            "similarities of a graph, use as_graph"
        )
    if np.ma.is_masked(X):
        raise InvalidInputError(f"{name} holds masked values: fill them in or drop those points")
    if hasattr(X, "dtypes") and hasattr(X, "items"):
        array = _frame_to_array(X, name)
    else:
        try:
            array = float_array(X, name)
        except InvalidInputError as error:
            raise InvalidInputError(f"{error}; encode categories as numbers") from error
    if array.ndim != 2:
        raise InvalidInputError(
            f"{name} must be 2-D, one row per point, got shape {array.shape}: for points on a "
            "line pass X.reshape(-1, 1), for a single point X.reshape(1, -1)"
        )
    if array.shape[0] == 0 or array.shape[1] == 0:
        missing = "points" if array.shape[0] == 0 else "features"
        raise InvalidInputError(
            f"{name} has no {missing} (shape {array.shape}): at least one is needed"
        )
    finite = np.isfinite(array)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise InvalidInputError(
            f"{name} holds {np.count_nonzero(~finite)} NaN or infinite values, the first at row "
            f"{row}, column {column}, and their distances are undefined: impute them or drop "
            "those points"
        )
    return np.ascontiguousarray(array)


def refuse_lost_distances(points: FloatArray, relative: float = SQUARES_VANISH) -> None:
    """Refuse points most of which coincide once the largest value sets the scale.

    Lengths are measured in units of the largest coordinate, lest squares overflow; one value of
    1e300 then leaves nothing of the differences between the others, which are lost below the part
    `relative` of it.
    """
    largest = max(points.max(), -points.min())
    least = largest * relative
    if not np.any((points < least) & (points > -least) & (points != 0)):
        return  # the usual case, without a copy
    left = np.rint(points / least)
    n_distinct = len(np.unique(points, axis=0))
    n_left = len(np.unique(left, axis=0))
    if 2 * n_left <= n_distinct:
        row, column = np.argwhere(np.abs(points) == largest)[0]
        raise InvalidInputError(
            f"X holds {points[row, column]:.3g} at row {row}, column {column}, beside which "
            f"the distances between most points are too small to be told from 0 ({n_distinct} "
            f"different points become {n_left}): correct that value, drop that point, or bring the "
            "features to one scale"
        )


def _frame_to_array(frame: Any, name: str) -> FloatArray:
    """Columns of a data frame; missing values of any kind become NaN."""
    columns, refused = [], []
    for label, column in frame.items():
        if column.dtype.kind in "biuf":  # nullable ones hold an object that NumPy cannot read
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        elif column.dtype == "category":  # NumPy would take the categories for numbers
            values = np.asarray(column, dtype=str)
        else:
            values = np.asarray(column)
        try:
            columns.append(float_array(values, name))
        except InvalidInputError:
            refused.append(str(label))
    if refused:
        listed = ", ".join(refused[:5]) + (", ..." if len(refused) > 5 else "")
        raise InvalidInputError(
            f"{name} has {len(refused)} non-numeric columns ({listed}), but distances need "
            "numbers: drop or encode them"
        )
    return np.column_stack(columns) if columns else np.empty((len(frame), 0))


ROUNDING = 1e-17  # principal components are right up to this part of the largest value


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """Principal components of training points."""

    mean: FloatArray  # (d,)
    components: FloatArray  # (k, d)
    explained: float  # their share of the variance
    spread: FloatArray  # (d,), standard deviations of the features

    @classmethod
    def of(cls, points: FloatArray, n_components: int) -> Self:
        """The leading components; deterministic."""
        from sklearn.decomposition import PCA

        refuse_lost_distances(points, ROUNDING)
        n, d = points.shape
        solver = "full" if min(n, d) <= 500 else "randomized"
        fitted = PCA(n_components, svd_solver=solver, random_state=0).fit(points)
        return cls(
            frozen(fitted.mean_, np.float64),
            frozen(fitted.components_, np.float64),
            float(fitted.explained_variance_ratio_.sum()),
            frozen(points.std(axis=0), np.float64),
        )

    def apply(self, points: FloatArray) -> FloatArray:
        """Coordinates of points along the components, (n, k)."""
        return np.asarray((points - self.mean) @ self.components.T)


def checked_components(asked: Any, n_points: int, n_features: int) -> int | None:
    """How many components to keep, None for all features.

    `asked` is "auto", None for all features, or a number.
    """
    if asked is None:
        return None
    if isinstance(asked, str) and asked == "auto":
        supported = n_points // POINTS_PER_COMPONENT
        asked = int(np.clip(supported, FEWEST_COMPONENTS, MOST_COMPONENTS))
    if not isinstance(asked, (int, np.integer)) or isinstance(asked, bool) or asked < 1:
        raise InvalidInputError(
            f"n_components={asked!r} is not a number of components: use 'auto', None for all "
            "features, or a whole number >= 1"
        )
    most = min(n_points - 1, n_features)
    return None if most < 1 or asked >= n_features else min(int(asked), most)
