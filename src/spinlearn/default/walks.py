"""Random walks on a graph: how much of what starts at one point comes by another.

    G = (I - alpha S)^-1,    S = D^-1/2 W D^-1/2,

W the weights, D the summed weights of the points. Walks have about 1/(1 - alpha) steps. G is also
the covariance of a Gaussian field on the graph.

*Walks from the labels* end at the first label that they meet (u: points without label, l: labels,
c: class):

    F_u = alpha S_uu F_u + alpha S_ul [c_l = c],    r_ic = F_ic / (m_c^e M^(1-e))

is the share of the walks of class c that come by point i, over the mean. m_c is the mean of F_.c
over the points u, M that of the m_c, and e = DOUBT / (DOUBT + labels of c - 1): with one label, the
mass of a class's walks says little about its size; with many labels it says more. They serve twice:

- *Fields of the phase*, REACH sqrt(n) steps: P_i(c) ~ r_ic + FAINT, as a field -T ln P_i(c) at
  temperature T. With one label in a cluster of hundreds of points the couplings alone decide
  little: a whole cluster goes to whichever class costs least at its border. Walks know how far
  everything is.
- *A law of its own*, V_i(c) ~ r_ic^SHARPNESS, of walks so long that they always meet a label: the
  harmonic law (Zhu, Ghahramani & Lafferty 2003). Messages below their ordering temperature are sure
  wherever a domain reaches; this law is unsure wherever labels of several classes are equally far.

*A sample of a large graph* stands for it where only choices are to be made. Which energy and
temperature explain the labels, and whether a group stands apart, shows in a sample of the points as
well: what decides is the labels, which are all in it. Two points of the sample are joined if either
is among the NEIGHBORS of the other that random walks from it meet most often,

    v = sum_{h=1}^{hops} P^h,    P = D^-1 W,

with as many hops as it takes to meet that many points of the sample. On 70,000 images and on a
mixture of ten Gaussians a sample of 20,000 leads to the same strength of the null model, within
what labels can tell, and the same factor of temperature as all points do, in an eighth of the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.constants import DOUBT, FAINT, REACH, SHARPNESS
from spinlearn.energies.base import weighted_degrees
from spinlearn.linear import System, inverse_roots, scaled, weight_matrix
from spinlearn.model.arrays import BoolArray, FloatArray, IntArray
from spinlearn.model.graph import Graph

Labels = npt.NDArray[np.integer]

TOLERANCE = 1e-8
FIELD_TOLERANCE = 1e-5
LAW_TOLERANCE = 1e-3
MAX_STEPS = 10_000  # of the solver
MOST_STEPS = 100.0  # of the walks behind fields, beyond MANY points: a limit of time
MANY = 15_000
LONG = 10_000.0  # steps of walks that always meet a label, where there is one to be met
VERY_MANY = 500_000  # points beyond which single precision is enough, and half the memory,
SINGLE_TOLERANCE = 1e-5  # with what it allows
# Steps of walks that advise on labels, times sqrt(n) / (mean number of neighbours): in a small set,
# or one with many neighbours a point, long walks forget where they began. On mutual neighbours of
# the digits 100 steps, the alpha = 0.99 of Zhou et al. (2004).
ADVICE_REACH = 16.0
FEWEST_STEPS = 2.0


def alpha_of(graph: Graph) -> float:
    """Share of the walks that go on at every step, where they advise on labels."""
    neighbors = 2 * max(int(np.sum(graph.weights > 0)), 1) / graph.n_nodes
    steps = ADVICE_REACH * float(np.sqrt(graph.n_nodes)) / neighbors
    return 1 - 1 / max(steps, FEWEST_STEPS)


def precision(n_points: int) -> tuple[float, Any]:
    """Tolerance and number type of walks among so many points."""
    many = n_points > VERY_MANY
    return (SINGLE_TOLERANCE, np.float32) if many else (TOLERANCE, np.float64)


class RandomWalks:
    """Columns of G; edges of negative weight are left aside.

    Walks may enter `open_points` (default: all) and end at the others. `tol` is that of the linear
    systems, `alpha` the share of walks that go on at every step (default: `alpha_of`). Single
    precision halves the memory, and allows a tol of 1e-6 at best.
    """

    def __init__(
        self,
        graph: Graph,
        open_points: BoolArray | None = None,
        tol: float = TOLERANCE,
        alpha: float | None = None,
        dtype: Any = np.float64,
    ) -> None:
        if np.any(graph.weights < 0):
            graph = graph.with_weights(np.maximum(graph.weights, 0.0))
        scale = inverse_roots(weighted_degrees(graph))
        entered = scale if open_points is None else np.where(open_points, scale, 0.0)
        alpha = alpha_of(graph) if alpha is None else alpha
        self._weights = weight_matrix(graph, dtype)
        self._system = System(scaled(self._weights, entered, alpha))
        self._left = scale.astype(dtype)
        self._entered = (alpha * entered).astype(dtype)
        self._tol = tol

    def carried(self, values: FloatArray) -> FloatArray:
        """G B of values B (n, k) >= 0."""
        found = self._system.solve(values, tol=self._tol, max_iter=MAX_STEPS).x
        return np.maximum(found, 0.0, out=found)

    def columns(self, points: npt.NDArray[np.intp], power: int = 1) -> FloatArray:
        """Columns of a power of G at the points, (n, points)."""
        values = np.zeros((len(self._left), len(points)), dtype=self._left.dtype)
        values[points, np.arange(len(points))] = 1.0
        for _ in range(power):
            values = self.carried(values)
        return values

    def total(self) -> FloatArray:
        """sum_i G_il of every point l, (n,)."""
        return self.carried(np.ones((len(self._left), 1), dtype=self._left.dtype))[:, 0]

    def ended(self, values: FloatArray) -> FloatArray:
        """G B of what the first step of walks from values (n, k) brings to open points."""
        return self.carried(
            self._entered[:, None] * (self._weights @ (self._left[:, None] * values))
        )


def walk_fields(graph: Graph, labels: Labels, n_states: int, temperature: float) -> FloatArray:
    """-T ln P_i(c), (n, n_states), zero at labels; states without one have the mean law."""
    steps = REACH * float(np.sqrt(max(graph.n_nodes, 1)))
    steps = steps if graph.n_nodes <= MANY else min(steps, MOST_STEPS)
    laws, known = _arriving(graph, labels, n_states, steps, FIELD_TOLERANCE)
    laws += laws.dtype.type(FAINT)
    laws[:, ~known] = laws[:, known].mean(axis=1, keepdims=True) if np.any(known) else 1.0
    laws /= laws.sum(axis=1, keepdims=True)
    np.log(laws, out=laws)
    laws *= -temperature
    laws[labels >= 0] = 0.0
    return laws


def walk_law(graph: Graph, labels: Labels, n_states: int) -> FloatArray:
    """V_i(c), (n, n_states); equal for all classes with a label where no walk arrives."""
    laws, known = _arriving(graph, labels, n_states, LONG, LAW_TOLERANCE)
    laws **= laws.dtype.type(SHARPNESS)
    total = laws.sum(axis=1)
    laws[total <= 0] = known / max(int(known.sum()), 1)
    laws /= np.where(total > 0, total, 1.0)[:, None]
    given = np.flatnonzero(labels >= 0)
    laws[given] = 0.0
    laws[given, labels[given]] = 1.0
    return laws


def _arriving(
    graph: Graph, labels: Labels, n_states: int, steps: float, tolerance: float
) -> tuple[FloatArray, BoolArray]:
    """r_ic, (n, n_states), zero for states without a label; and whether each state has one."""
    dtype = precision(len(labels))[1]
    start = (labels[:, None] == np.arange(n_states)).astype(dtype)
    known = start.any(axis=0)
    arriving = np.zeros((len(labels), n_states), dtype=dtype)
    if np.any(known):
        free = labels < 0
        found = RandomWalks(graph, free, tolerance, 1 - 1 / steps, dtype).ended(start[:, known])
        labelled = start[:, known].sum(axis=0, dtype=np.float64)
        del start
        sent = np.ones(found.shape[1])
        if np.any(free):
            sent = found.mean(axis=0, where=free[:, None], dtype=np.float64)
        sent = np.where(sent > 0, sent, 1.0)
        doubt = DOUBT / (DOUBT + labelled - 1)
        found /= sent**doubt * sent.mean() ** (1 - doubt)
        arriving[:, known] = found
    return arriving, known


SAMPLE = 20_000  # points; smaller sets are taken whole
MOST_LABELS = 2_000  # in a sample; of more, as many of each class
NEIGHBORS = 10
BLOCK = 500  # points from which walks start at a time


def subsample(
    graph: Graph, labels: Labels, size: int, seed: int = 0
) -> tuple[npt.NDArray[np.intp], Graph]:
    """About `size` points, ascending, the labelled ones (others: -1) among them, and their graph.

    Its weights are one.
    """
    generator = np.random.default_rng(seed)
    n = graph.n_nodes
    drawn = generator.choice(n, min(size, n), replace=False)
    labelled = np.flatnonzero(labels >= 0)
    if len(labelled) > MOST_LABELS:
        classes = np.unique(labels[labelled])
        each = max(MOST_LABELS // len(classes), 2)
        own = [np.flatnonzero(labels == c) for c in classes]
        labelled = np.concatenate([generator.permutation(members)[:each] for members in own])
    points = np.unique(np.concatenate([labelled, drawn]))
    graph = graph.with_weights(np.maximum(graph.weights, 0.0))
    walk = weight_matrix(graph)
    degrees = weighted_degrees(graph)
    walk.data /= np.repeat(np.where(degrees > 0, degrees, 1.0), np.diff(walk.indptr))
    met = NEIGHBORS * n / len(points)
    hops = max(1, int(np.ceil(np.log(met) / np.log(max(2 * graph.n_edges / n, 2.0)))))
    place = np.full(n, -1, dtype=np.int32)
    place[points] = np.arange(len(points))
    blocks = range(0, len(points), BLOCK)
    edges = np.concatenate([_most_met(walk, points[k : k + BLOCK], hops, place) for k in blocks])
    return points, Graph(len(points), edges, np.ones(len(edges)), duplicates="first")


def _most_met(
    walk: object, starts: npt.NDArray[np.intp], hops: int, place: IntArray
) -> npt.NDArray[np.int64]:
    """Pairs (start, point of the sample) of those that walks from each start meet most often."""
    step = met = walk[starts]  # type: ignore[index]
    for _ in range(hops - 1):
        step = step @ walk
        met = met + step
    met = met.tocoo()
    column, row = place[met.col], met.row
    own = place[starts]
    kept = (column >= 0) & (column != own[row])
    row, column, value = row[kept], column[kept], met.data[kept]
    order = np.lexsort((column, -value, row))
    row, column = row[order], column[order]
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    best = rank < NEIGHBORS
    return np.column_stack([own[row[best]], column[best]]).astype(np.int64)
