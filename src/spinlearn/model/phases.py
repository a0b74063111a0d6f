"""Grains and phases of an equilibrium, the grid of temperatures, clusters followed over it.

Grains are points that agree at one temperature: the connected parts of the edges with C_ij at or
above a threshold. Blatt, Wiseman & Domany (Neural Computation 9, 1805, 1997) use 1/2 and then also
join every point to the neighbour with which it agrees most, which gathers the fringe of a cluster.

The three phases of a granular ferromagnet, section 4 of the paper, after Blatt, Wiseman & Domany:
at low temperature the points agree as one (*ferromagnetic*), at high temperature they are
independent (*paramagnetic*); in between grains are ordered but not with each other
(*super-paramagnetic*), which is where clusters and classes show. With (1 + 1/q)/2 as the threshold
of grains:

    ferromagnetic       the largest grain holds nearly all points
    paramagnetic        no grain holds more than a few
    super-paramagnetic  in between

The susceptibility is that of the grains, sum over grains of (size/n)^2 n = mean grain size seen by
a point; it falls in steps as grains break up, and the heat capacity peaks there.

The first grid of temperatures comes from the couplings alone: mean-field theory bounds the ordering
temperature of a ferromagnet from above,

    T_mf = lambda_max(|J|) * (q - 2) / (2 (q - 1) ln(q - 1)),   lambda_max / 2 for q = 2,

lambda_max the largest eigenvalue of the matrix of couplings (on the square lattice T_mf = 2 for
q = 2, where the transition is at 1.135). Above it nothing is ordered: that is the top of the grid.
Towards zero the grid is geometric, because clusters of different density order at temperatures of
different magnitude, and it starts with T = 0 itself. Once averages are known on a coarse grid, the
top is lowered to just above the temperature at which the last grains break up.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import groupby

import numpy as np

from spinlearn.model.arrays import TIE, BoolArray, FloatArray, IntArray, cell_ends
from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.graph import Graph, connected_parts
from spinlearn.model.potts import PottsModel

LEAST_AGREEMENT = 0.0005  # of the way from chance to full agreement: less is noise

WHOLE = 0.9  # share of the points in the largest grain, above which all act as one
GRAIN = 0.03  # share (at least GRAIN_POINTS) below which even the largest grain is none
GRAIN_POINTS = 3
GRAINS = 4  # the largest, whose sizes are kept


class Phase(Enum):
    """State of the system as a whole, from the coldest."""

    FERROMAGNETIC = "ferromagnetic"
    SUPERPARAMAGNETIC = "super-paramagnetic"
    PARAMAGNETIC = "paramagnetic"


@dataclass(frozen=True, slots=True)
class PhaseInterval:
    """A range of temperatures in one phase."""

    phase: Phase
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Phases:
    """Phases over a grid of ascending temperatures."""

    temperatures: FloatArray  # (T,)
    phases: tuple[Phase, ...]
    largest_grain: FloatArray  # (T,), share of all points
    susceptibility: FloatArray  # (T,), mean size of the grain of a point
    heat_capacity: FloatArray  # (T,)
    grains: FloatArray  # (T, GRAINS), shares of all points in the largest, descending

    def intervals(self) -> list[PhaseInterval]:
        """Maximal ranges of one phase, see `cell_ends`."""
        ends = cell_ends(self.temperatures).tolist()
        runs = [list(k) for _, k in groupby(range(len(self.phases)), self.phases.__getitem__)]
        return [PhaseInterval(self.phases[k[0]], ends[k[0]], ends[k[-1] + 1]) for k in runs]


def grains(
    equilibrium: Equilibrium, row: int, threshold: float, *, join_all: bool = False
) -> IntArray:
    """Number of every node's grain at the row-th temperature: edges agree by `threshold`.

    `join_all` joins each point to the neighbour it agrees with most, of equals the most coupled.
    """
    graph = equilibrium.model.graph
    agreement = equilibrium.edge_agreement[row]
    kept = agreement >= threshold - TIE
    if join_all:
        strength = np.abs(equilibrium.model.couplings)
        kept[_best_edges(graph, np.rint(agreement / TIE), strength)] = True
    return connected_parts(graph.n_nodes, graph.edges[kept])


def _best_edges(graph: Graph, agreement: FloatArray, strength: FloatArray) -> IntArray:
    """Of every point that has neighbours, the edge of largest agreement, then strength."""
    starts = graph.indptr[:-1][graph.degrees > 0]
    if len(starts) == 0:
        return np.empty(0, dtype=np.int32)
    lengths = graph.degrees[graph.degrees > 0]
    ids = graph.edge_ids
    value = agreement[ids]
    top = value == np.repeat(np.maximum.reduceat(value, starts), lengths)
    value = np.where(top, strength[ids], -1.0)
    top = value == np.repeat(np.maximum.reduceat(value, starts), lengths)
    last = np.maximum.reduceat(np.where(top, np.arange(len(ids)), -1), starts)
    return np.asarray(ids[last])


def joined(
    equilibrium: Equilibrium, row: int, parts: IntArray, small: BoolArray, chance: float
) -> IntArray:
    """Grains after the small ones have joined that of the others with which they agree most.

    How much two agree is summed over their links, C_ij - chance each, so that no answer hangs on
    which link is a little the stronger in a sample. A sum within LEAST_AGREEMENT of 0, as part of
    the way to 1, joins nothing. Small grains join others, not each other, and all that are equally
    good.
    """
    graph = equilibrium.model.graph
    beyond = (equilibrium.edge_agreement[row] - chance) / max(1 - chance, TIE)
    strength = np.abs(equilibrium.model.couplings)
    from_to = [graph.edges, graph.edges[:, ::-1]]
    leaving = [np.flatnonzero(small[e[:, 0]] & ~small[e[:, 1]]) for e in from_to]
    ends = np.concatenate([e[kept] for e, kept in zip(from_to, leaving, strict=True)])
    ids = np.concatenate(leaving)
    ways, way = np.unique(parts[ends], axis=0, return_inverse=True)
    n_parts, origin = int(parts.max(initial=-1)) + 1, ways[:, 0]
    top = np.ones(len(ways), dtype=np.bool_)
    for value, least in ((beyond, LEAST_AGREEMENT), (strength, 0.0)):
        # Of equals, the more strongly coupled.
        total = np.bincount(way.ravel(), weights=value[ids], minlength=len(ways))
        best = np.full(n_parts, least)
        np.maximum.at(best, origin[top], total[top])
        top &= total >= best[origin] - TIE * np.maximum(best[origin], 1.0)
    return np.asarray(connected_parts(n_parts, ways[top])[parts])


def phases(equilibrium: Equilibrium) -> Phases:
    order = np.argsort(equilibrium.temperatures, kind="stable")
    n, q = equilibrium.model.n_nodes, equilibrium.model.n_states
    sizes = [np.bincount(grains(equilibrium, int(k), (1 + 1 / q) / 2)) for k in order]
    largest = np.array([s.max() / n for s in sizes])
    few = max(GRAIN, GRAIN_POINTS / n)
    ranks = np.where(largest >= WHOLE, 0, np.where(largest > few, 1, 2))  # from the coldest phase
    return Phases(
        temperatures=equilibrium.temperatures[order],
        phases=tuple(list(Phase)[rank] for rank in ranks),
        largest_grain=largest,
        susceptibility=np.array([float(np.sum(s.astype(float) ** 2)) / n for s in sizes]),
        heat_capacity=equilibrium.heat_capacity[order],
        grains=np.array(
            [np.sort(np.pad(s, (0, GRAINS)))[::-1][:GRAINS] / n for s in sizes]
        ).reshape(-1, GRAINS),
    )


COARSE_SIZE = 16
DEFAULT_SIZE = 32
SPAN = 40.0  # highest over lowest non-zero temperature
STEPS = 60  # of power iteration; the root is then right to a few percent, which is enough
MANY, FEWER_STEPS = 200_000, 15  # nodes from which on each step takes its time


def temperature_grid(model: PottsModel, size: int = DEFAULT_SIZE) -> FloatArray:
    """T = 0 and size - 1 geometrically spaced temperatures up to the mean-field bound."""
    top = 1.1 * mean_field_temperature(model)
    if top <= 0:  # no couplings: the fields, if any, set the scale
        spread = float(np.max(np.ptp(model.fields, axis=1), initial=0.0))
        top = spread if spread > 0 else 1.0
    return np.concatenate([[0.0], np.geomspace(top / SPAN, top, size - 1)])


def refined_grid(coarse: Equilibrium, size: int = DEFAULT_SIZE) -> FloatArray:
    """A grid like `temperature_grid` that ends where the paramagnetic phase begins."""
    found = phases(coarse)
    ordered = [k for k, phase in enumerate(found.phases) if phase is not Phase.PARAMAGNETIC]
    first = max(ordered, default=-1) + 1  # of the paramagnetic phase
    top = float(found.temperatures[min(first, len(found.phases) - 1)])
    if top <= 0:  # too few points to call anything a grain
        top = float(found.temperatures[-1])
    return np.concatenate([[0.0], np.geomspace(top / SPAN, top, size - 1)])


def mean_field_temperature(model: PottsModel) -> float:
    """Upper bound of the ordering temperature, in the unit of the couplings."""
    from scipy.sparse import csr_array

    q = model.n_states
    factor = 0.5 if q == 2 else (q - 2) / (2 * (q - 1) * np.log(q - 1))
    spread = 1.0 if np.all(model.couplings == 0) else float(np.ptp(model.pair_cost))
    # The Perron root of the matrix |J|, by power iteration.
    strength = np.abs(model.effective_couplings)
    largest = float(strength.max(initial=0.0))
    if largest == 0:
        return 0.0
    strength = strength / largest  # squares of tiny couplings would vanish
    graph, n = model.graph, model.n_nodes
    matrix = csr_array((strength[graph.edge_ids], graph.neighbors, graph.indptr), shape=(n, n))
    vector = np.ones(n)
    value = 0.0
    for _ in range(STEPS if n <= MANY else FEWER_STEPS):
        # (plus the vector itself: without that shift bipartite graphs would oscillate)
        image: FloatArray = matrix @ vector + vector
        value = float(np.linalg.norm(image) / np.linalg.norm(vector))
        vector = image / np.linalg.norm(image)
    return float(factor * spread * ((value - 1) * largest))


def tracked(
    components: IntArray,
    new: BoolArray,
    previous: IntArray | None,
    fresh: int,
    after: IntArray | None = None,
) -> tuple[IntArray, int]:
    """Numbers of clusters, from `previous`, else `after`, where they share over half of the union.

    Points that are not `new` get -1; `fresh` is the first number not yet used.
    """
    numbers = np.full(len(components), -1, dtype=np.int32)
    if not np.any(new):
        return numbers, fresh
    ids, compact, sizes = np.unique(components[new], return_inverse=True, return_counts=True)
    inherited = np.full(len(ids), -1, dtype=np.int64)
    for numbered in (previous, after):
        if numbered is None:
            continue
        before = numbered[new].astype(np.int64)
        old_sizes = np.bincount(numbered[numbered >= 0])
        shared = before >= 0
        keys = compact[shared] * max(len(old_sizes), 1) + before[shared]
        pairs, overlap = np.unique(keys, return_counts=True)
        now, then = np.divmod(pairs, max(len(old_sizes), 1))
        same = 2 * overlap > sizes[now] + old_sizes[then] - overlap
        same &= (inherited[now] < 0) & ~np.isin(then, inherited)
        inherited[now[same]] = then[same]
    unmatched = inherited < 0
    inherited[unmatched] = fresh + np.arange(int(unmatched.sum()))
    numbers[new] = inherited[compact]
    return numbers, fresh + int(unmatched.sum())
