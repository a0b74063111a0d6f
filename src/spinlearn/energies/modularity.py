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
    """The cut beside a null model, so that no class gains by taking everything.

    ``E = cut(s) + (gamma / 4W) sum_c V_c^2`` plus the label term of `min_cut`. W is the weight of
    all edges, V_c the summed degree of the points of class c. In a random graph with the same
    degrees the second term is gamma times the weight inside the classes. With Newman's modularity Q
    and gamma = 1, E = W (1 - Q).

    Parameters
    ----------
    graph : Graph
        Similar points; n nodes, m edges. Its weights, > 0, are the couplings.
    labels : array-like of int, shape (n,)
        Class of every labelled point, from 0 to q - 1; -1 for the others.
    n_states : int
        Number of classes, q, from 2 to 127. States beyond the labelled ones are classes without a
        name.
    label_strength : float or array-like of shape (n,), default inf
        Cost of leaving a label, >= 0, in the unit of the couplings. Infinite holds the point in its
        class, a finite value lets the neighbours overrule it. Entries of unlabelled points are
        ignored.
    resolution : float, default 1
        gamma, >= 0; 0 is the minimum cut, and larger values make more and smaller classes.
    proportions : array-like of shape (q,), optional
        Expected shares of the classes in the volume (the summed degree), all equal by default; they
        are scaled to sum to one.

    Returns
    -------
    PottsModel
        The energy of every labelling, in the unit of the couplings.

    See Also
    --------
    Modularity : The same as an object, for ``PottsClassifier(energy=...)``.

    References
    ----------
    J. Reichardt and S. Bornholdt, Statistical mechanics of community detection, Phys. Rev. E 74,
    016110 (2006).

    Examples
    --------
    Without a label in the second class the cut alone would be least where all points are in one
    class:

    >>> from spinlearn import Graph
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, 0.5, 1.0])
    >>> from spinlearn.energies import min_cut, modularity
    >>> labels = [0, -1, -1, -1]
    >>> min_cut(chain, labels, 2).energy([[0, 0, 0, 0], [0, 0, 1, 1]]).tolist()
    [0.0, 0.5]
    >>> modularity(chain, labels, 2).energy([[0, 0, 0, 0], [0, 0, 1, 1]]).round(2).tolist()
    [2.5, 1.75]
    """
    model = min_cut(graph, labels, n_states, label_strength=label_strength)
    number = isinstance(resolution, (int, float, np.integer, np.floating))
    if not (number and 0 <= resolution < np.inf):
        raise InvalidInputError(
            f"resolution={resolution!r} is not a number >= 0: 1 is usual, less makes fewer and "
            "larger classes, and 0 leaves the minimum cut"
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
