"""The memory layout of messages, and the states that cannot be told apart.

`MessageLayout` is the free part of a model, or a block of it, as message-passing kernels read it.
A *slot* is one direction of one edge: slots of node i, indptr[i] to indptr[i + 1], hold the
messages into i; `reverse` is the slot of the opposite direction. Clamped nodes are left out by
number, and are part of the fields of their neighbours. Nodes are renumbered so that neighbours lie
close together, which keeps the messages of a sweep in the cache: by reverse Cuthill-McKee, which
makes one sweep forth with one sweep back exact on a tree, and in single precision, meant for
millions of nodes, by `spinlearn.model.graph.near_order`. There nothing of the model is copied: what
belongs to an edge is looked up in it. Axes: N nodes, n of them free, m edges, q states.

`Symmetry`: if exchanging states leaves the energy of a part of the graph unchanged, their
probabilities are equal at every node of it. Messages break such a symmetry below the ordering
temperature: their fixed point is one of several equivalent ones, and would look like knowledge.
Agreements of pairs are the same in all of them; probabilities are not, and are averaged over the
*orbit*, the states that an exchange reaches. Looked for are exchanges of two states, the reversal
of their order, and their cyclic shift: what Potts, ordinal and clock costs have.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from spinlearn.model.arrays import BoolArray, FloatArray, IntArray
from spinlearn.model.graph import connected_parts, near_order
from spinlearn.model.potts import FREE, ConditionedModel, PottsModel

BROKEN = 1e-3  # difference in probability of states in one orbit that counts as breaking
BLOCK = 1 << 20  # nodes or edges that are treated at a time
STEPS = 30  # of power iteration
LEAST = 1e-12  # keeps its vector positive where messages end in a leaf

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Symmetry:
    """Orbits of states at every free node, in the order of `ConditionedModel.nodes`."""

    pattern: Indices  # which one holds at a node, (n,)
    exchanges: list[Indices]  # the permutations of states of every pattern, (permutations, q)

    @classmethod
    def of(
        cls,
        free: ConditionedModel,
        *,
        tied: bool = False,
        sizes: FloatArray | None = None,
        swaps_only: bool = False,
    ) -> Symmetry:
        """The symmetries of every connected part, or of the whole if class sizes make parts `tied`.

        `sizes` (k, q) must be equal too; with `swaps_only` only exchanges of two states count.
        """
        model, (n, q) = free.model, free.fields.shape
        part: IntArray = np.zeros(n, dtype=np.int32)
        if not tied:
            part = connected_parts(n, free.edges[free.couplings != 0])
        count = int(part.max(initial=0)) + 1
        identity = np.arange(q)
        permutations = [identity[::-1], np.roll(identity, 1)]
        for a, b in combinations(range(q), 2):
            exchanged = identity.copy()
            exchanged[[a, b]] = b, a
            permutations.append(exchanged)
        cost = model.pair_cost if len(free.edges) else np.zeros((q, q))
        equal = np.zeros((0, q)) if sizes is None else sizes
        allowed = [
            p
            for p in permutations
            if np.array_equal(cost, cost[np.ix_(p, p)])
            and np.array_equal(equal, equal[:, p])
            and not (swaps_only and np.sum(p != identity) > 2)
        ]
        holds = np.zeros((count, len(allowed)), dtype=np.bool_)
        sums = np.stack([np.bincount(part, column, minlength=count) for column in free.fields.T], 1)
        for k, permutation in enumerate(allowed):
            if np.all(
                np.abs(sums - sums[:, permutation]).max(axis=1) > n * model.energy_resolution
            ):
                continue  # most permutations change the sum of fields already
            changed = np.flatnonzero(permutation != identity)
            gap = np.abs(free.fields[:, changed] - free.fields[:, permutation[changed]])
            worst = np.zeros(count)
            np.maximum.at(worst, part, gap.max(axis=1, initial=0.0))
            holds[:, k] = worst <= model.energy_resolution
        kinds, kind_of_part = np.unique(holds, axis=0, return_inverse=True)
        table = np.array(allowed, dtype=np.intp).reshape(-1, q)
        return cls(kind_of_part.ravel()[part], [table[kind] for kind in kinds])

    def averaged(self, marginals: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Probabilities (n, q) equal within orbits, and the nodes at which they were not."""
        result: FloatArray = np.array(marginals)
        broken: BoolArray = np.zeros(len(marginals), dtype=np.bool_)
        for k in range(len(self.exchanges)):
            orbits, nodes = self.orbits(k), np.flatnonzero(self.pattern == k)
            for orbit in np.unique(orbits):
                states = np.flatnonzero(orbits == orbit)
                if len(states) > 1:
                    own = marginals[np.ix_(nodes, states)]
                    result[np.ix_(nodes, states)] = own.mean(axis=1, keepdims=True)
                    broken[nodes] |= np.ptp(own, axis=1) > BROKEN
        return result, broken

    def averaged_pair(self, law: FloatArray, node: int) -> FloatArray:
        """A free node's law with a neighbour (q, q), equal within orbits of pairs of states."""
        orbits = self.orbits(int(self.pattern[node]), 2)
        means = np.bincount(orbits, law.ravel()) / np.bincount(orbits)
        return np.asarray(means[orbits].reshape(law.shape))

    def orbits(self, pattern: int, n_nodes: int = 1) -> IntArray:
        """Number of the orbit of every joint state of some nodes, (q ** n_nodes,)."""
        exchanges = self.exchanges[pattern]
        q = exchanges.shape[1]
        states = np.arange(q**n_nodes)
        images = np.zeros((len(exchanges), len(states)), dtype=np.intp)
        for k in range(n_nodes):
            images += exchanges[:, states // q**k % q] * q**k
        links = np.column_stack([np.tile(states, len(exchanges)), images.ravel()])
        return connected_parts(len(states), links)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClassTerm:
    """c, t_s of (c/2) sum_s (V_s - t_s)^2, and what the sizes V_s are made of."""

    coefficient: float  # zero if there is no such term
    targets: FloatArray  # t_s, (q,)
    held: FloatArray  # sizes of the clamped nodes, (q,)
    total: float  # summed sizes of the free nodes

    @classmethod
    def of(cls, model: PottsModel) -> tuple[ClassTerm, FloatArray]:
        """The term of a model, and a_i of all nodes, (N,)."""
        penalty, q = model.class_penalty, model.n_states
        if penalty is None:
            zeros = np.zeros(model.n_nodes)
            return cls(coefficient=0.0, targets=np.zeros(q), held=np.zeros(q), total=0.0), zeros
        clamped = np.flatnonzero(model.clamped != FREE)
        sizes = np.asarray(penalty.sizes)
        held: FloatArray = np.zeros(q)
        np.add.at(held, model.clamped[clamped], sizes[clamped])
        total = float(sizes[model.clamped == FREE].sum())
        coefficient, targets = float(penalty.coefficient), np.array(penalty.targets)
        return cls(coefficient=coefficient, targets=targets, held=held, total=total), sizes


@dataclass(slots=True, eq=False, kw_only=True)
class MessageLayout:
    """Places of nodes and messages; a neighbour elsewhere is n, with rows beyond the slots."""

    n_states: int
    indptr: IntArray  # slots of the messages into every node, (n + 1,)
    neighbors: IntArray  # the node each comes from, (slots,)
    reverse: IntArray  # the opposite slot, (slots,)
    at_u: IntArray  # slots of an edge (u, v) at its ends, (m,), -1 if one of them is clamped
    at_v: IntArray
    couplings: FloatArray  # of the edges, in units of `factor`
    factor: float
    strength: InitVar[FloatArray]  # summed |couplings| to other free nodes, (n,)
    fields: npt.NDArray[Any]  # with those of clamped neighbours, (n, lanes); infinite if no state
    term: ClassTerm
    sizes: FloatArray  # a_i of the class term, (n,)
    n_rows: int  # of messages
    n_nodes: int = field(init=False)  # free ones
    n_slots: int = field(init=False)  # messages into them
    lanes: int = field(init=False)  # of a row of states
    lean: bool = field(init=False)  # whether all is kept in single precision
    # The largest difference in energy that anything can make at a node, if pairs have two costs
    stiffness: FloatArray = field(init=False)
    # Of a whole model only:
    model: PottsModel = field(init=False)
    order: IntArray = field(init=False)  # free nodes in the order of sweeps, (n,)
    place: IntArray = field(init=False)  # of a node in it, (N,), -1 if it is clamped
    symmetry: Symmetry = field(init=False)
    constant: float = field(init=False)  # energy of the clamped nodes among themselves

    @classmethod
    def of(cls, model: PottsModel, dtype: Any = np.float64) -> MessageLayout:
        """The free part of a model; in float32 in as little memory as can be."""
        from spinlearn.kernels.messages import place_slots

        graph, q = model.graph, model.n_states
        term, sizes = ClassTerm.of(model)
        free = ConditionedModel.of(model)
        n, m, slots = len(free.nodes), graph.n_edges, 2 * len(free.edges)
        symmetry = Symmetry.of(
            free, tied=term.coefficient != 0.0, sizes=np.stack([term.targets, term.held])
        )
        fields = np.full((n, lanes_for(q)), np.inf, dtype=dtype)
        constant, narrow = free.constant, fields.dtype == np.float64
        if narrow:
            u, v = free.edges.T
            ends = np.concatenate([u, v]), np.concatenate([v, u])
            links = csr_array((np.ones(slots), ends), shape=(n, n))
            near = reverse_cuthill_mckee(links, symmetric_mode=True) if n else np.arange(0)
            order: IntArray = free.nodes[near].astype(np.int32)
            fields[:, :q] = free.fields[near]
        del free  # a copy of half the model
        if not narrow:
            order = near_order(graph.indptr, graph.neighbors, model.clamped != FREE)
        place: IntArray = np.full(model.n_nodes, -1, dtype=np.int32)
        place[order] = np.arange(n, dtype=np.int32)
        if not narrow:
            _fill_fields(model, order, place, fields[:, :q])
        indptr: IntArray = np.empty(n + 1, dtype=np.int32)
        neighbors, reverse = (np.empty(slots, dtype=np.int32) for _ in range(2))
        at_u, at_v = (np.empty(m, dtype=np.int32) for _ in range(2))
        strength = np.empty(n)
        place_slots(
            graph.indptr, graph.neighbors, graph.edge_ids, model.couplings, order, place, indptr,
            strength, neighbors, at_u, at_v, reverse,
        )  # fmt: skip
        layout = cls(
            n_states=q, indptr=indptr, neighbors=neighbors, reverse=reverse, at_u=at_u, at_v=at_v,
            couplings=model.couplings, factor=float(model.pair_cost[0, 1] - model.pair_cost[0, 0]),
            strength=strength, fields=fields, term=term, sizes=sizes[order], n_rows=slots,
        )  # fmt: skip
        layout.model, layout.order, layout.place = model, order, place
        layout.symmetry, layout.constant = symmetry, constant
        return layout

    def __post_init__(self, strength: FloatArray) -> None:
        self.n_nodes, self.lanes = map(int, self.fields.shape)
        self.n_slots, self.lean = len(self.reverse), bool(self.fields.dtype == np.float32)
        term, q = self.term, self.n_states
        total = float(term.total + term.held.sum() + np.abs(term.targets).max(initial=0.0))
        in_sizes = abs(term.coefficient) * self.sizes * total
        self.stiffness = strength * abs(self.factor) + in_sizes
        for rows in blocks(self.n_nodes):
            self.stiffness[rows] += np.ptp(self.fields[rows, :q], axis=1)

    def slot_couplings(self) -> FloatArray:
        """Coupling of every slot, (slots,)."""
        couplings, inner = np.empty(self.n_slots), self.at_u >= 0
        couplings[self.at_u[inner]] = couplings[self.at_v[inner]] = self.couplings[inner]
        return couplings

    def class_energy(self, beliefs: npt.NDArray[Any]) -> tuple[float, float]:
        """<class term> of independent nodes with these laws (n, q), and its share in fields.

        The variance of a class size adds (c/2) sum_i a_i^2 p_i(s) (1 - p_i(s)) to the square of its
        mean; the derivative by p_i(s) is the field that the kernels use, so that the sum is the
        variational energy. The second number is sum_i sum_s p_i(s) field_i(s), with the field
        c a_i (V_s - a_i p_i(s) - t_s).
        """
        c, sums = self.term.coefficient, np.zeros((1, self.n_states))
        if c == 0.0:
            return 0.0, 0.0
        for rows in blocks(self.n_nodes):
            sums += self.sizes[None, rows] @ beliefs[rows].astype(np.float64, copy=False)
        gap = sums + self.term.held - self.term.targets
        variance = in_fields = 0.0
        for rows in blocks(self.n_nodes):
            a, p = self.sizes[rows, None], beliefs[rows].astype(np.float64, copy=False)
            variance += float(np.sum(a**2 * p * (1 - p)))
            in_fields += float(np.sum(p * (c * a * (gap - a * p))))
        return float(0.5 * c * (np.sum(gap**2) + variance)), in_fields

    def write_marginals(self, laws: Any, marginals: Any, *, averaged: bool = True) -> int:
        """Laws (n, q) of free nodes into all, (N, q); at how many nodes like states differed."""
        model, broken = self.model, 0
        if averaged and any(map(len, self.symmetry.exchanges)):
            nodes = np.flatnonzero(model.clamped == FREE)
            marginals[nodes], unequal = self.symmetry.averaged(laws[self.place[nodes]])
            broken = int(unequal.sum())
        else:
            marginals[self.order] = laws
        held = np.flatnonzero(model.clamped != FREE)
        marginals[held] = 0.0
        marginals[held, model.clamped[held]] = 1.0
        return broken


def _fill_fields(model: PottsModel, order: IntArray, place: IntArray, fields: Any) -> None:
    """Fields in the order of sweeps (n, q), those of clamped neighbours added."""
    for rows in blocks(len(order)):
        fields[rows] = model.fields[order[rows]]
    for rows in blocks(model.graph.n_edges):
        ends, couplings = model.graph.edges[rows].T, model.couplings[rows]
        for one, other in (ends, ends[::-1]):
            border = np.flatnonzero((model.clamped[one] != FREE) & (place[other] >= 0))
            costs = couplings[border, None] * model.pair_cost[model.clamped[one[border]]]
            np.add.at(fields, place[other[border]], costs)


def blocks(n_rows: int) -> list[slice]:
    """Ranges of rows to be treated one after the other."""
    return [slice(k, min(k + BLOCK, n_rows)) for k in range(0, n_rows, BLOCK)]


def lanes_for(n_states: int) -> int:
    """Lanes of a row that holds so many states: the next power of two."""
    return 1 << max(1, int(n_states - 1).bit_length())


def is_two_valued(model: PottsModel) -> bool:
    """Whether a pair costs one amount if alike and one if not."""
    cost = model.pair_cost
    apart = cost[~np.eye(len(cost), dtype=bool)]
    return bool(np.ptp(apart) == 0 and np.ptp(np.diag(cost)) == 0)


def has_one_fixed_point(layout: MessageLayout, temperature: float) -> bool:
    """Whether it is certain that messages have one fixed point; false where it is not known.

    A message changes by at most tanh(|J| spread / 2T) times what the messages before it change, in
    the logarithms of ratios, spread the largest difference of pair costs. If the matrix A of these
    factors over all pairs of successive messages has a spectral radius below one, every start leads
    to the same fixed point (Mooij & Kappen, IEEE Trans. Inf. Theory 53, 4422 (2007)). For a
    positive vector x the radius is at most max (A x)/x (Collatz-Wielandt), which power iteration
    makes sharp.
    """
    if layout.term.coefficient != 0.0 or temperature <= 0:
        return False  # the class field ties all messages to each other
    spread = float(np.ptp(layout.model.pair_cost))
    factors = np.tanh(np.abs(layout.slot_couplings()) * spread / (2 * temperature))
    ends = np.repeat(np.arange(layout.n_nodes), np.diff(layout.indptr))
    x = np.ones(layout.n_slots)
    for _ in range(STEPS):
        passed = factors * x
        sums = np.bincount(ends, weights=passed, minlength=layout.n_nodes)
        image = (sums[ends] - passed)[layout.reverse]
        if np.max(image / x, initial=0.0) < 1:
            return True
        x = image + LEAST * image.max()
        x /= x.max()
    return False
