"""Modularity: the cut beside a null model, so that no class gains by taking everything.

    E = cut(s) + (gamma / 4W) sum_c V_c^2,    V_c = sum_i d_i [s_i = c],    W = sum_<ij> w_ij

plus the label term of min_cut; d_i is the summed weight of the edges of point i. In a random graph
with the same degrees an edge joins i and j with weight d_i d_j / 2W, so the second term is gamma
times the weight that chance would put inside the classes. It is the Potts form of modularity
(Reichardt & Bornholdt 2006): with Newman's

    Q = (1/2W) sum_ij (w_ij - gamma d_i d_j / 2W) [s_i = s_j]        E = W (1 - Q).

gamma, the resolution, needs no tuning to begin with; below 1 there are fewer and larger classes.
The least second term is that of classes of equal volume. With expected shares p_c of the volume,

    E = cut(s) + (gamma / 4W) sum_c (V_c - 2W p_c)^2.

W, d and V count what counts in the sizes of classes, see `class_level`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.energies.class_level import balance, class_shares, counted_points, over_mean
from spinlearn.energies.pairwise import min_cut, weighted_degrees
from spinlearn.errors import InvalidInputError


def modularity(
    graph: Graph,
    labels: npt.ArrayLike,
    n_states: int,
    *,
    label_strength: npt.ArrayLike = np.inf,
    resolution: float = 1.0,
    proportions: npt.ArrayLike | None = None,
) -> PottsModel:
    """The cut plus the edges that chance would put inside the classes; others as in `min_cut`.

    Parameters
    ----------
    n_states : int
        q, from the number of labelled classes on: further states are classes without a name.
    resolution : float
        gamma; 0 is the min cut, and larger values make more and smaller classes.
    proportions : array-like (q,), optional
        Expected shares of the classes in the volume (the summed degree), all equal by default; they
        are scaled to sum to one.
    """
    model = min_cut(graph, labels, n_states, label_strength=label_strength)
    number = isinstance(resolution, (int, float, np.integer, np.floating))
    if not (number and 0 <= resolution < np.inf):
        raise InvalidInputError(
            f"resolution={resolution!r} is no number >= 0: 1 is usual, below it classes are fewer "
            "and larger, and 0 leaves the min cut"
        )
    q = model.n_states
    shares = None if proportions is None else class_shares(proportions, q)
    counted = counted_points(graph, labels, q)
    degrees = weighted_degrees(graph) * counted
    if resolution == 0 or not np.any(degrees > 0):
        return model  # without edges chance joins nothing
    # Volumes in units of the mean degree: their squares must not overflow.
    sizes, mean_degree = over_mean(degrees, counted)
    strength = float(resolution) * mean_degree
    if not np.isfinite(strength):
        raise InvalidInputError(
            f"energies overflow: resolution={resolution:g} times the mean degree {mean_degree:g} "
            "is too large a number; 1 is usual"
        )
    return model.replace(class_penalty=balance(sizes, strength, q, shares))
