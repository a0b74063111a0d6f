"""Reduction: many features to a few principal components, where points are too few for them.

Distances between points with thousands of features are all alike: noise of features that say
nothing adds up. Of more features than POINTS_PER_COMPONENT points support each, within bounds, as
many leading principal components are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from spinlearn.core.arrays import FloatArray, frozen
from spinlearn.core.constants import (
    FEWEST_COMPONENTS,
    MOST_COMPONENTS,
    POINTS_PER_COMPONENT,
)
from spinlearn.errors import InvalidInputError
from spinlearn.graphs.points import refuse_lost_distances

ROUNDING = 1e-17  # principal components are right up to this part of the largest value


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """Principal components of training points.

    Attributes
    ----------
    mean : float array (d,)
    components : float array (k, d)
    explained : float
        Their share of the variance.
    spread : float array (d,)
        Standard deviations of the features.
    """

    mean: FloatArray
    components: FloatArray
    explained: float
    spread: FloatArray

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
