"""Points as users have them: whatever the caller has, as finite numbers; fewer features.

Distances between points with thousands of features are all alike, by noise that adds up. Of more
features than POINTS_PER_COMPONENT points support each, within bounds, as many leading principal
components are kept.

Sparse features (n, d) are never written out: singular vectors take the place of the principal
components. Where none is negative, as in texts, a point is its direction: rows are brought to unit
length before and after, so that nearest is largest cosine, and an empty row stays zero.
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

LARGEST = 1e150  # squares of larger numbers overflow
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


def checked_features(X: Any, name: str = "X", metric: str = "euclidean") -> Any:
    """Rows of `X` as points, as `checked_points` gives them; of a sparse one a csr_array."""
    if not hasattr(X, "tocoo") or metric == PRECOMPUTED:
        return checked_points(X, name, metric)
    from scipy.sparse import csr_array

    if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"the sparse {name} must be a table of real numbers, one row per point, got shape "
            f"{X.shape} and dtype {X.dtype}: correct it"
        )
    rows = csr_array(X, dtype=np.float64)
    bad = np.flatnonzero(~(np.abs(rows.data) < LARGEST))  # NaN too
    if len(bad):
        row = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1
        raise InvalidInputError(
            f"the sparse {name} holds {len(bad)} values that are NaN, infinite or beyond "
            f"{LARGEST:g}, the first at row {row}, column {rows.indices[bad[0]]}, and their "
            "distances are undefined: correct them or drop those points"
        )
    return rows


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
    """Principal components of training points; singular vectors of sparse ones."""

    mean: FloatArray  # (d,)
    components: FloatArray  # (k, d)
    explained: float  # their share of the variance
    spread: FloatArray  # (d,), standard deviations of the features
    unit: bool = False  # whether points are directions: rows of unit length, before and after

    @classmethod
    def of(cls, points: Any, n_components: int) -> Self:
        """The leading components; deterministic."""
        from sklearn.decomposition import PCA

        if hasattr(points, "tocoo"):
            return cls._of_sparse(points, n_components)

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

    @classmethod
    def _of_sparse(cls, points: Any, n_components: int) -> Self:
        from sklearn.utils.extmath import randomized_svd

        if not np.any(points.data):
            raise InvalidInputError(
                "the sparse X holds no number but 0, so that all points are alike: give features"
            )
        unit = bool(points.data.min() >= 0)
        rows = _directions(points) if unit else points
        _, values, components = randomized_svd(rows, n_components, random_state=0)
        squares = np.asarray((rows * rows).mean(axis=0)).ravel()
        return cls(
            frozen(np.zeros(rows.shape[1]), np.float64),
            frozen(components, np.float64),
            float(np.sum(values**2) / (squares.sum() * rows.shape[0])),
            frozen(np.sqrt(np.maximum(squares - rows.mean(axis=0) ** 2, 0.0)), np.float64),
            unit,
        )

    @property
    def kind(self) -> str:
        """What the components are; those of dense points are centred."""
        return "principal" if np.any(self.mean) else "singular"

    def apply(self, points: Any) -> FloatArray:
        """Coordinates of points, sparse or not, along the components, (n, k)."""
        if self.unit:
            points = _directions(points)
        if hasattr(points, "tocoo"):
            places = points @ self.components.T - self.mean @ self.components.T
        else:
            places = (points - self.mean) @ self.components.T
        return np.asarray(_directions(places) if self.unit else places)


def _directions(points: Any) -> Any:
    """Rows at unit length; those of zeros stay zero."""
    from sklearn.preprocessing import normalize

    return normalize(normalize(points, "max"))  # squares of the largest do not overflow then


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
