"""Points as users have them: whatever the caller has, as a finite array; fewer features.

Distances between points with thousands of features are all alike, by noise that adds up. Of more
features than POINTS_PER_COMPONENT points support each, within bounds, as many leading principal
components are kept.
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

SQUARES_VANISH = 1e-150  # of a unit: the squares of smaller lengths are no normal numbers


def checked_points(X: Any, name: str = "X", metric: str = "euclidean") -> FloatArray:
    """Rows of `X` as points: float64, finite, C-contiguous, (n, d), not necessarily a copy.

    An array-like or a data frame with a row and a column at least, of numbers of any type. Errors
    call it `name`.
    """
    if hasattr(X, "tocoo"):
        raise InvalidInputError(
            "the precomputed distance matrix is sparse, so that an absent entry could mean far "
            "away or unknown: pass a dense matrix, or turn the entries into similarities and use "
            "as_graph"
            if metric == PRECOMPUTED
            else f"{name} is sparse, but neighbours are searched among dense points: pass "
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
    if array.size == 0:
        missing = "points" if len(array) == 0 else "features"
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

    Lengths are in units of the largest coordinate, lest squares overflow: one value of 1e300 leaves
    nothing of the differences between the others, lost below the part `relative` of it.
    """
    largest = max(points.max(), -points.min())
    least = largest * relative
    if not np.any((points < least) & (points > -least) & (points != 0)):
        return  # the usual case, without a copy
    n_distinct = len(np.unique(points, axis=0))
    n_left = len(np.unique(np.rint(points / least), axis=0))
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
    """How many components to keep, None for all; `asked` is that, or "auto"."""
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
