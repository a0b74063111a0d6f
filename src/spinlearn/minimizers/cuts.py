"""Minimum cuts: exact ground states for two states, moves by cuts and their bound for more.

`minimum_cut`: E(s) of two states with J (2 V(0,1) - V(0,0) - V(1,1)) >= 0 is the weight of a cut
between a source (state 0) and a sink (state 1), clamped nodes folded into terminal capacities; by
the theorem of Ford and Fulkerson the maximum flow is a lower bound that the minimum cut attains
(Blum & Chawla 2001).

`alpha_expansion`: every node keeps its state or takes alpha, all at once. For alpha = 0, 1, ... in
turn, until q moves in a row gain nothing. For the Potts cost the result is at most twice the least
energy (all terms >= 0), for a metric V at most 2 max V / min_{a != b} V times. `alpha_beta_swap`:
all nodes in state alpha or beta choose anew between the two, for any semi-metric. (Boykov, Veksler
& Zabih, ICCV (1999), IEEE PAMI 23, 1222 (2001), for both: every move is the best of exponentially
many, and the energy never rises.)

`isolation_bound`: with x^a_i = [s_i = a], an edge between two different states is cut in exactly
two of the q binary problems "a against the rest", and field_i(s_i) counts once if state a of node i
costs twice that in problem a:

    E(s) = 1/2 sum_a ( sum_e J_e |x^a_u - x^a_v| + 2 sum_i field_i(a) x^a_i )
         >= 1/2 sum_a min_x ( ... )

each minimum a cut (Dahlhaus et al., SIAM J. Comput. 23, 864 (1994), for clamps only). Fields are
counted from their least value at every node, which makes the bound tighter.

`randomized_cut`: a single minimum cut is one of possibly many, and often lopsided. Blum, Lafferty,
Rwebangira & Reddy (ICML 2004) add small noise to the weights, here uniform on [0, noise] in units
of the mean coupling, cut again and again, drop the cuts that give almost all points to one class,
and let the rest vote; the margin of the vote is the confidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple, TypeVar

import numpy as np

from spinlearn.errors import InvalidInputError
from spinlearn.kernels.cuts import (
    SINK,
    SOURCE,
    UNDECIDED,
    build_network,
    labelling_energy,
    max_flow,
    renumber,
)
from spinlearn.kernels.graph_tools import list_in_balls
from spinlearn.minimizers.minimum import (
    Minimum,
    MinimumCut,
    choices,
    class_level_reason,
    cut_reason,
    expansion_reason,
    refuse,
    swap_reason,
    unreachable,
)
from spinlearn.model.arrays import FloatArray, IntArray, StateArray
from spinlearn.model.potts import FREE, PottsModel, trusted_model
from spinlearn.model.protocols import seed_sequence

# Of the strongest pair term: residual capacities below are rounding errors of sums of flows. Ties
# between sums of real weights would be missed without this.
ROUNDING = 1e-12
CLOSE = 0.05  # mean distance of neighbours' numbers, as a share of all: 1/3 for random numbers

Stop = Callable[[], bool]
Turn = TypeVar("Turn")


class Cut(NamedTuple):
    """The minimum cut of a move, over the nodes that had a choice, as in `kernels.cuts`.

    `gain` is the energy of all members at zero minus the least energy, by the maximum flow.
    """

    members: IntArray  # (k,), their numbers in the model
    side: StateArray  # (k,), SOURCE: zero in every minimum cut, SINK: one, UNDECIDED: either
    gain: float
    arc_ptr: IntArray
    arcs: IntArray
    residual: FloatArray
    tolerance: float  # residual capacities up to this are zero


class BinaryMoves:
    """Work space for the moves of one model, its nodes in an order that keeps neighbours close."""

    def __init__(self, model: PottsModel) -> None:
        graph = model.graph
        n, m = graph.n_nodes, graph.n_edges
        self._flags = np.empty(n, dtype=np.bool_)
        self._node_work = np.empty((4, n), dtype=np.int32)
        self._tree_work = np.empty((2, n, 2), dtype=np.int32)
        self._network_ptr: IntArray = np.empty(n + 1, dtype=np.int32)
        self._network_arcs: IntArray = np.empty((2 * m, 2), dtype=np.int32)
        self._capacity: FloatArray = np.empty(2 * m)
        self._terminal: FloatArray = np.empty(n)
        self._side: StateArray = np.empty(n, dtype=np.int8)
        self._order: IntArray = np.arange(n, dtype=np.int32)
        gaps = graph.edges[:, 1] - graph.edges[:, 0]
        if m and gaps.mean() >= CLOSE * n:  # pixels are numbered well already
            # One ball for every part of the graph: breadth first.
            seen, borders = np.zeros(n, dtype=np.bool_), self._node_work[0]
            list_in_balls(graph.indptr, graph.neighbors, n, seen, borders, self._order)
        arc_ptr, arcs = np.empty(n + 1, dtype=np.int32), np.empty((2 * m, 2), dtype=np.int32)
        couplings = np.empty(2 * m)
        renumber(
            self._order, graph.indptr, graph.neighbors, graph.edge_ids, model.couplings,
            self._node_work[0], np.empty(m, dtype=np.int32), arc_ptr, arcs, couplings,
        )  # fmt: skip
        self._terms = arc_ptr, arcs, couplings, model.pair_cost, model.fields[self._order]
        pair_scale = np.abs(model.couplings).max(initial=0.0) * np.abs(model.pair_cost).max()
        self._tolerance = ROUNDING * float(pair_scale)

    def energy(self, states: StateArray) -> float:
        """E(s) of a labelling that respects the clamps."""
        return float(labelling_energy(*self._terms, states[self._order]))

    def cut(self, zero: StateArray, one: StateArray) -> Cut | None:
        """The best choice between zero[i] and one[i] of all nodes; None if all of them are equal.

        Its arrays are views into the work space: the next cut overwrites them.
        """
        local, members, queue, orphans = self._node_work
        k, all_zero = build_network(
            *self._terms, zero[self._order], one[self._order], local, members, self._network_ptr,
            self._network_arcs, self._capacity, self._terminal,
        )  # fmt: skip
        if k == 0:
            return None
        flow = max_flow(
            self._network_ptr, self._network_arcs, self._capacity, self._terminal[:k],
            self._tolerance, self._side, *self._tree_work, queue, self._flags, orphans,
        )  # fmt: skip
        return Cut(
            self._order[members[:k]],
            self._side[:k],
            float(all_zero - flow),
            self._network_ptr[: k + 1],
            self._network_arcs[: self._network_ptr[k]],
            self._capacity,
            self._tolerance,
        )


def minimum_cut(model: PottsModel) -> MinimumCut:
    """The labelling of least energy of a two-state model, with both extreme minimum cuts.

    Nodes that no clamp and no field reaches are undecided and take state 0.

    Parameters
    ----------
    model : PottsModel
        Two states, couplings >= 0; fields and clamps.

    Returns
    -------
    MinimumCut

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], weights=[1.0, 0.5, 1.0])
    >>> from spinlearn.minimizers import minimum_cut
    >>> minimum_cut(PottsModel(chain, 2, clamped=[0, -1, -1, 1])).labels.tolist()
    [0, 0, 1, 1]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    refuse(cut_reason(model))
    zero, one = choices(model, 0), choices(model, 1)
    moves = BinaryMoves(model)
    cut = moves.cut(zero, one)
    fewest_zeros, fewest_ones = one.copy(), zero.copy()
    undecided = np.zeros(model.n_nodes, dtype=np.bool_)
    n_blocks = n_parts = 0
    if cut is not None:
        fewest_zeros[cut.members[cut.side == SOURCE]] = 0
        fewest_ones[cut.members[cut.side == SINK]] = 1
        between = np.flatnonzero(cut.side == UNDECIDED)
        undecided[cut.members[between]] = True
        if len(between):  # strong and weak components of the residual network of these nodes
            heads, slots = cut.arcs.T
            left = (cut.residual[slots] > cut.tolerance).astype(np.int8)
            shape = (len(cut.members), len(cut.members))
            network = csr_array((left, heads, cut.arc_ptr), shape=shape)[between][:, between]
            network.eliminate_zeros()
            n_blocks = int(connected_components(network, directed=True, connection="strong")[0])
            n_parts = int(connected_components(network, directed=False)[0])
    energy = bound = float(model.energy(fewest_ones))
    if cut is not None:
        bound = min(energy, moves.energy(zero) - cut.gain)
    return MinimumCut(
        labels=fewest_ones,
        energy=energy,
        exact=True,
        method="min_cut",
        lower_bound=bound,
        undecided=undecided,
        fewest_zeros=fewest_zeros,
        fewest_ones=fewest_ones,
        n_blocks=n_blocks,
        n_parts=n_parts,
    )


def alpha_expansion(model: PottsModel, *, bound: bool = False, stop: Stop | None = None) -> Minimum:
    """A labelling that no expansion of any state improves.

    Parameters
    ----------
    model : PottsModel
        Couplings >= 0, and a pair cost that is a metric.
    bound : bool, default False
        Also compute a lower bound, by q more cuts; the result is `exact` if it attains it.
    stop : callable, optional
        Asked before every cut; if true, the best labelling so far is returned.

    Returns
    -------
    Minimum

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], weights=[1.0, 0.5, 1.0])
    >>> from spinlearn.minimizers import alpha_expansion
    >>> best = alpha_expansion(PottsModel(chain, 3, clamped=[0, -1, 1, 2]), bound=True)
    >>> best.labels.tolist(), best.energy, best.exact
    ([0, 0, 1, 2], 1.5, True)
    """
    refuse(expansion_reason(model))

    def expansion(states: StateArray, alpha: int) -> tuple[StateArray, StateArray]:
        """Ties are kept as they are."""
        return states, choices(model, alpha)

    return _by_moves(model, "expansion", range(model.n_states), expansion, stop, bound)


def alpha_beta_swap(model: PottsModel, *, stop: Stop | None = None) -> Minimum:
    """A labelling that no exchange between any two states improves.

    Parameters
    ----------
    model : PottsModel
        Couplings >= 0, and a pair cost that is a semi-metric: no triangle inequality is needed.
    stop : callable, optional
        Asked before every cut; if true, the best labelling so far is returned.

    Returns
    -------
    Minimum

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], weights=[1.0, 0.5, 1.0])
    >>> from spinlearn.minimizers import alpha_beta_swap
    >>> alpha_beta_swap(PottsModel(chain, 3, clamped=[0, -1, 1, 2])).labels.tolist()
    [0, 0, 1, 2]
    """
    refuse(swap_reason(model))
    free = model.clamped == FREE

    def swap(states: StateArray, pair: tuple[int, int]) -> tuple[StateArray, StateArray]:
        """All ties to alpha: leaving each as it is might cut a block that keeps together."""
        zero, one = states.copy(), states.copy()
        either = free & np.isin(states, pair)
        zero[either], one[either] = pair
        return zero, one

    pairs = list(combinations(range(model.n_states), 2))
    return _by_moves(model, "swap", pairs, swap, stop)


def _by_moves(
    model: PottsModel,
    method: str,
    turns: Sequence[Turn],
    move: Callable[[StateArray, Turn], tuple[StateArray, StateArray]],
    stop: Stop | None,
    with_bound: bool = False,
) -> Minimum:
    """The labelling after moves in turn until none gains, from the one state that costs least.

    A `move` says between which two states every node chooses in this turn; ties take the first.
    """
    work = BinaryMoves(model)
    constant = [choices(model, state) for state in range(model.n_states)]
    energies = [work.energy(states) for states in constant]
    energy, states = min(energies), constant[int(np.argmin(energies))]
    count = idle = 0
    while idle < len(turns) and not (stop is not None and stop()):
        zero, one = move(states, turns[count % len(turns)])
        cut, moved = work.cut(zero, one), zero.copy()
        if cut is not None:
            second = cut.members[cut.side == SINK]
            moved[second] = one[second]
        count += 1
        idle += 1
        lower = work.energy(moved)
        if lower < energy - model.energy_resolution:
            states, energy, idle = moved, lower, 1  # a second move of this turn gains nothing
    undecided = unreachable(model)
    states[undecided] = 0  # the lowest state, whatever the start was
    energy = float(model.energy(states))
    bound = isolation_bound(model, stop=stop) if with_bound else None
    return Minimum(
        labels=states,
        energy=energy,
        exact=bound is not None and energy <= bound + model.energy_resolution,
        method=method,
        lower_bound=bound,
        undecided=undecided,
        sweeps=count,
    )


def isolation_bound(model: PottsModel, *, stop: Stop | None = None) -> float | None:
    """A lower bound of all energies, from q minimum cuts; None where it does not apply.

    It applies to couplings >= 0 and pair costs that are zero for equal states and positive for
    different ones; the smallest of these takes the place of Potts' 1.

    Parameters
    ----------
    model : PottsModel
    stop : callable, optional
        Asked before every cut; if true, the result is None.

    Returns
    -------
    float or None
        No labelling has less energy than this. None where the bound does not apply.

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], weights=[1.0, 0.5, 1.0])
    >>> from spinlearn.minimizers import isolation_bound
    >>> isolation_bound(PottsModel(chain, 3, clamped=[0, -1, 1, 2]))
    1.5
    """
    q = model.n_states
    differ = model.pair_cost[~np.eye(q, dtype=np.bool_)]
    applies = np.all(model.couplings >= 0) and np.all(np.diag(model.pair_cost) == 0)
    if class_level_reason(model) is not None or not applies or np.any(differ <= 0):
        return None
    least = model.fields.min(axis=1)
    clamped = model.clamped != FREE
    least[clamped] = model.fields[clamped, model.clamped[clamped]]
    total = 0.0
    for state in range(q):
        if stop is not None and stop():
            return None
        fields = np.zeros((model.n_nodes, 2))
        fields[~clamped, 1] = 2 * (model.fields[~clamped, state] - least[~clamped])
        isolated = trusted_model(
            model.graph,
            1.0 - np.eye(2),
            couplings=model.couplings * differ.min(),
            fields=fields,
            clamped=np.where(clamped, model.clamped == state, FREE),
        )
        total += minimum_cut(isolated).energy
    return float(least.sum()) + total / 2


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Vote:
    """The vote of noisy minimum cuts; `randomized_cut` makes one.

    Attributes
    ----------
    shares : float array (n, q)
        Share of the cuts in which a node has a state; zero for nodes that no label reaches.
    n_balanced : int
        Cuts that passed the balance filter. If none did, all were counted.
    balances : float array (n_cuts,)
        Size of the smallest class of every cut in units of the fair share n / q.

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], weights=[1.0, 0.5, 1.0])
    >>> from spinlearn.minimizers import randomized_cut
    >>> vote = randomized_cut(PottsModel(chain, 2, clamped=[0, -1, -1, 1]), n_cuts=20, seed=0)
    >>> vote.shares.shape, vote.n_balanced
    ((4, 2), 20)
    """

    shares: FloatArray
    n_balanced: int
    balances: FloatArray


def randomized_cut(
    model: PottsModel,
    *,
    n_cuts: int = 100,
    noise: float = 0.2,
    min_balance: float = 0.1,
    seed: int | None = None,
) -> Vote:
    """Soft labels by the vote of minimum cuts with noisy weights.

    Parameters
    ----------
    model : PottsModel
        Couplings >= 0; two states are cut by `minimum_cut`, more by `alpha_expansion`.
    n_cuts : int, default 100
    noise : float, default 0.2
        Largest noise, in units of the mean coupling.
    min_balance : float, default 0.1
        A cut counts only if its smallest class has at least this share of n / q nodes; 0.1 asks for
        5 % of the points on either side of a cut in two, as the authors do.
    seed : int, optional

    Returns
    -------
    Vote

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.minimizers import randomized_cut
    >>> chain = PottsModel(Graph(4, [(0, 1), (1, 2), (2, 3)]), 2, clamped=[0, -1, -1, 1])
    >>> shares = randomized_cut(chain, seed=0).shares  # of equal weights, the noise decides
    >>> bool(shares[1, 0] > shares[2, 0] > 0)  # the nearer label gets more votes
    True
    """
    if isinstance(n_cuts, bool) or not isinstance(n_cuts, (int, np.integer)) or n_cuts < 1:
        raise InvalidInputError(f"n_cuts={n_cuts!r} must be a whole number, at least 1")
    if not (np.isfinite(noise) and noise >= 0):
        raise InvalidInputError(f"noise={noise!r} must be finite and >= 0 (0: no noise)")
    if not 0 <= min_balance <= 1:
        raise InvalidInputError(
            f"min_balance={min_balance!r} must lie between 0 (count all cuts) and 1"
        )
    refuse(class_level_reason(model))
    rng = np.random.default_rng(seed_sequence(seed))
    n, q = model.n_nodes, model.n_states
    amplitude = noise * float(np.mean(np.abs(model.couplings))) if len(model.couplings) else 0.0
    everyone, balanced = np.zeros((n, q)), np.zeros((n, q))
    balances = np.empty(n_cuts)
    for k in range(n_cuts):
        noisy = model.couplings + amplitude * rng.random(len(model.couplings))
        cut = minimum_cut if q == 2 else alpha_expansion
        minimum: Minimum = cut(model.replace(couplings=noisy))
        decided = np.flatnonzero(~minimum.undecided)
        states = minimum.labels[decided]
        sizes = np.bincount(states, minlength=q)
        balances[k] = q * sizes.min() / max(len(decided), 1)
        everyone[decided, states] += 1
        if balances[k] >= min_balance:
            balanced[decided, states] += 1
    n_balanced = int(np.sum(balances >= min_balance))
    votes = balanced if n_balanced else everyone
    return Vote(shares=votes / (n_balanced or n_cuts), n_balanced=n_balanced, balances=balances)
