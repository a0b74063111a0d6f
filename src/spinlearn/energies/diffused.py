"""Balanced cut guided by diffused labels: for very few labels, down to one a class.

With one label a class, a labelling in which two classes have changed places costs only the edges
of two labelled points, so the cut says well which points belong together, but hardly which class
they are. Diffusion says the opposite: it carries a label far, but blurs borders. The energy

    E = cut(s) + (lambda <J> / 2N) sum_c (V_c - N p_c)^2 - (gamma <J> / m) sum_i (P_i(s_i) - 1/k)

is the balanced cut plus a weak field at every unlabelled point. P_i(c) is what reaches point i of
the labels of class c in random walks over the graph (Zhou et al. 2004 with alpha near one),

    G = (I - alpha S)^-1 Y,    S = D^-1/2 W D^-1/2,    P_i(c) = G_ic / g_c / sum_c' G_ic' / g_c',

g_c = sum_i G_ic, so that all classes carry the same mass however well their labels are placed. k is
the number of labelled classes; a state without label has no field. m is the mean over the
unlabelled points of the largest minus the second largest P_i, so that gamma is the usual field
difference of a point in units of the mean coupling <J>, whatever alpha and the graph: at 0.2 a
single neighbour outweighs it at one point, while a group of a hundred points feels twenty.

lambda <J> is by default the mean degree, mean_i sum_j w_ij: as many mean couplings as a point has
neighbours. That is the strength of the null model of `modularity` (gamma = 1 there), which the
energy becomes with V_c as volumes and without fields.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel, checked_n_states
from spinlearn.energies.class_level import balanced_cut, counted_points
from spinlearn.energies.label_terms import UNLABELLED, checked_labels
from spinlearn.energies.pairwise import weighted_degrees
from spinlearn.errors import InvalidInputError
from spinlearn.minimizers.linear_system import inverse_roots, scaled, solve, weight_matrix

TOLERANCE = 1e-8  # residual relative to the labels, far below the margins that fields are made of
MAX_STEPS = 10_000


def diffused_cut(
    graph: Graph,
    labels: npt.ArrayLike,
    n_states: int,
    *,
    label_strength: npt.ArrayLike = np.inf,
    diffusion: float = 0.2,
    alpha: float = 0.999,
    strength: float | None = None,
    size: str = "count",
    proportions: npt.ArrayLike | None = None,
) -> PottsModel:
    """The balanced cut with a weak field from diffused labels, for one or two labels a class.

    The cut says well which points belong together, but with few labels hardly which class they are;
    random walks from the labels say the opposite. The energy is that of `balanced_cut` minus
    ``(diffusion <J> / m) sum_i (P_i(s_i) - 1/k)`` over the unlabelled points: P_i(c) is the share
    of class c in what reaches point i, k the number of labelled classes, and m the mean difference
    between a point's two largest shares.

    Parameters
    ----------
    graph : Graph
        Similar points; n nodes, m edges. Its weights, > 0, are the couplings.
    labels : array-like of int, shape (n,)
        Class of every labelled point, from 0 to q - 1; -1 for the others.
    n_states : int
        Number of classes, q, from 2 to 127.
    label_strength : float or array-like of shape (n,), default inf
        Cost of leaving a label, >= 0, in the unit of the couplings. Infinite holds the point in its
        class, a finite value lets the neighbours overrule it. Entries of unlabelled points are
        ignored.
    diffusion : float, default 0.2
        Strength of the fields, in units of the mean coupling; 0 leaves the balanced cut.
    alpha : float, default 0.999
        Reach of the walks, 0 < alpha < 1: about 1/(1 - alpha) steps.
    strength : float, optional
        Of the balance, in units of the mean coupling. Default: the mean degree in that unit, which
        is the mean number of neighbours; then ``size="volume"`` and ``diffusion=0`` make the energy
        that of `modularity`.
    size : {"count", "volume"}, default "count"
        Whether the size of a class is its number of points or their summed degree.
    proportions : array-like of shape (q,), optional
        Expected shares of the classes, all equal by default; they are scaled to sum to one.

    Returns
    -------
    PottsModel
        The energy of every labelling, in the unit of the couplings.

    See Also
    --------
    DiffusedCut : The same as an object, for ``PottsClassifier(energy=...)``.

    Examples
    --------
    The unlabelled points in the middle prefer the class of the nearer label:

    >>> from spinlearn import Graph
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, 0.5, 1.0])
    >>> from spinlearn.energies import diffused_cut
    >>> diffused_cut(chain, [0, -1, -1, 1], n_states=2).fields.round(2).tolist()
    [[0.0, 0.0], [-0.08, 0.08], [0.08, -0.08], [0.0, 0.0]]
    """
    q = checked_n_states(n_states)
    model = balanced_cut(
        graph,
        labels,
        q,
        label_strength=label_strength,
        strength=_mean_degree(graph, labels, q) if strength is None else strength,
        size=size,
        proportions=proportions,
    )
    if not (isinstance(diffusion, (int, float, np.number)) and 0 <= diffusion < np.inf):
        raise InvalidInputError(
            f"diffusion={diffusion!r} is not a strength of a field: use a number >= 0, 0.2 is usual"
        )
    if not (isinstance(alpha, (int, float, np.number)) and 0 < alpha < 1):
        raise InvalidInputError(f"alpha={alpha!r} is not a share: use 0 < alpha < 1")
    states = checked_labels(graph, labels, q)
    unit = float(np.abs(graph.weights).mean()) if graph.n_edges else 1.0
    return model.replace(
        fields=model.fields - diffusion * unit * _preferences(graph, states, q, float(alpha))
    )


def _mean_degree(graph: Graph, labels: npt.ArrayLike, n_states: int) -> float:
    """Summed |coupling| of a point, mean over those that count, in units of the mean |coupling|."""
    if graph.n_edges == 0:
        return 0.0
    counted = counted_points(graph, labels, n_states)
    strength = np.abs(graph.weights)
    ends = counted[graph.edges].sum(axis=1)
    return float(np.sum(strength / strength.mean() * ends) / counted.sum())


def _preferences(
    graph: Graph, states: npt.NDArray[np.int64], n_states: int, alpha: float
) -> FloatArray:
    """(P_i(c) - 1/k) / m for unlabelled points, (n, q); zero where no label reaches."""
    preferences = np.zeros((graph.n_nodes, n_states))
    labelled = np.flatnonzero(states != UNLABELLED)
    classes = np.unique(states[labelled])
    if len(classes) < 2:
        return preferences  # one class everywhere says nothing
    roots = inverse_roots(weighted_degrees(graph))
    right = np.zeros((graph.n_nodes, len(classes)))
    right[labelled, np.searchsorted(classes, states[labelled])] = 1.0
    matrix = scaled(weight_matrix(graph), roots, alpha)
    reached = np.maximum(solve(matrix, right, tol=TOLERANCE, max_iter=MAX_STEPS).x, 0.0)
    reached /= reached.sum(axis=0)
    total = reached.sum(axis=1)
    # Below the solver's resolution shares are noise.
    known = (states == UNLABELLED) & (total > TOLERANCE * total.max())
    shares = reached[known] / total[known, None]
    two = np.sort(shares, axis=1)[:, -2:]
    margin = float(np.mean(two[:, 1] - two[:, 0])) if len(two) else 0.0
    if margin > 0:
        preferences[np.ix_(known, classes)] = (shares - 1 / len(classes)) / margin
    return preferences
