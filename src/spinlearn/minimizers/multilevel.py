"""Multilevel minimisation, and how a graph is made coarser for it.

Multilevel minimisation: annealing of a few hundred modules instead of all nodes.

Where whole clusters sit in the wrong class, node moves are hopeless and cluster moves rare. So
nodes are joined into small modules (`spinlearn.minimizers.multilevel`), modules into larger ones
while there are too many, the model of the modules is annealed by `class_annealing`, and its
labellings are taken back level by level, at each down to the nearest that no single node can
improve. This is done with modules of several resolutions. Then all labellings found are laid over
each other: nodes on which they agree, whatever the class, become one module each, and the model of
those, a few dozen, is annealed too. Every labelling found is a labelling of it, so that good parts
of different ones are put together.

Blondel et al. (2008) for modules; Karypis & Kumar, SIAM J. Sci. Comput. 20, 359 (1998), for levels;
Houdayer & Martin, Phys. Rev. Lett. 83, 1030 (1999), for laying labellings over each other.

Coarsening: modules of a model's nodes that may well share a state, each made one node.

A labelling that is constant on modules has the same energy in the contracted model: couplings
between two modules, fields and sizes add up, and an edge inside a module becomes a field, what it
costs when both its ends are in one state. Modules come from greedy moves at high resolution
(`spinlearn.kernels.graph_tools`): small ones, a dozen nodes each, that hardly ever straddle a
border of the least energy, while a whole cluster is left in few enough pieces to be moved at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError
from spinlearn.kernels.rng import make_stream
from spinlearn.minimizers.annealing import N_RUNS, N_SWEEPS, NodeDescent, annealed
from spinlearn.minimizers.minimum import (
    Minimum,
    check_effort,
    contraction_reason,
    refuse,
    unreachable,
)
from spinlearn.model.arrays import FloatArray, IntArray, StateArray
from spinlearn.model.class_penalty import ClassPenalty
from spinlearn.model.graph import Graph
from spinlearn.model.potts import FREE, PottsModel, trusted_model
from spinlearn.model.protocols import seed_sequence

MAX_PASSES = 20  # over all nodes; few move after the fifth
SLACK = 1e-12  # of the strongest coupling: gains below are rounding


def modules(
    model: PottsModel,
    resolution: float,
    generator: np.random.Generator,
    mass: FloatArray | None = None,
) -> IntArray:
    """Module of every node, numbered from 0, (n,).

    Clamped nodes are not moved, others may join them: no module holds two of them. The higher the
    resolution of modularity's null model, the smaller the modules. Nodes that are modules
    themselves have for `mass` the sum of what they hold, the couplings inside them included;
    default: `masses`. The generator draws the order in which nodes take their turn.
    """
    from spinlearn.kernels.graph_tools import join_modules

    graph, n = model.graph, model.n_nodes
    weights = (model.couplings * likeness(model))[graph.edge_ids]
    mass = masses(model) if mass is None else mass
    total = float(mass.sum())
    null = resolution / total if total > 0 else 0.0
    fields = _preferences(model)
    member = np.arange(n, dtype=np.int32)
    module_mass, module_fields = mass.copy(), fields.copy()
    tally = np.zeros(n)
    touched = np.empty(int(graph.degrees.max(initial=0)) + 1, dtype=np.int32)
    slack = SLACK * (float(np.abs(weights).max(initial=0.0)) or 1.0)
    free = model.free_nodes.astype(np.int32)
    for _ in range(MAX_PASSES):
        moved = join_modules(
            generator.permutation(free), graph.indptr, graph.neighbors, weights, mass, null,
            fields, slack, member, module_mass, module_fields, tally, touched,
        )  # fmt: skip
        if moved == 0:
            break
    return numbered(member)


def _preferences(model: PottsModel) -> FloatArray:
    """Fields, a clamp as one that nothing outweighs, (n, q); (0, q) if no free node has any."""
    spans = np.ptp(model.fields, axis=1)
    held = np.flatnonzero(model.clamped != FREE)
    spans[held] = 0.0
    if not np.any(spans > 0):
        return np.empty((0, model.n_states))
    fields = np.array(model.fields)
    fields[held] = 2 * spans.sum()
    fields[held, model.clamped[held]] = 0.0
    return fields


def masses(model: PottsModel) -> FloatArray:
    """Summed attraction of every node to its neighbours, (n,)."""
    return model.graph.node_sums(np.maximum(model.couplings * likeness(model), 0.0))


def likeness(model: PottsModel) -> float:
    """Mean cost of two states that differ minus that of two equal ones: 1 for Potts."""
    q = model.n_states
    agree = float(np.trace(model.pair_cost))
    return (float(model.pair_cost.sum()) - agree) / (q * (q - 1)) - agree / q


def numbered(groups: npt.NDArray[np.integer]) -> IntArray:
    """Any group numbers as 0, 1, ... without gaps."""
    return np.asarray(np.unique(groups, return_inverse=True)[1], dtype=np.int32).reshape(-1)


def contracted(model: PottsModel, member: IntArray) -> PottsModel:
    """The model of the modules: E(coarse states) = E(coarse states[member]).

    Modules `member` are numbered from 0 without gaps; clamped nodes of one module are alike. A
    class term must be quadratic.
    """
    k, q = int(member.max()) + 1, model.n_states
    ends = member[model.graph.edges]
    inner = ends[:, 0] == ends[:, 1]
    fields = np.zeros((k, q))
    for c in range(q):
        fields[:, c] = np.bincount(member, weights=model.fields[:, c], minlength=k)
    bound = np.bincount(ends[inner, 0], weights=model.couplings[inner], minlength=k)
    fields += bound[:, None] * np.diag(model.pair_cost)
    clamped: StateArray = np.full(k, FREE, dtype=np.int8)
    held = np.flatnonzero(model.clamped != FREE)
    clamped[member[held]] = model.clamped[held]
    penalty = model.class_penalty
    if penalty is not None:
        sizes = np.bincount(member, weights=penalty.sizes, minlength=k)
        penalty = ClassPenalty.quadratic(
            sizes, penalty.coefficient * float(sizes.sum()), n_states=q, targets=penalty.targets
        )
    graph = Graph(k, ends[~inner], model.couplings[~inner], duplicates="sum")
    return trusted_model(
        graph,
        model.pair_cost,
        couplings=graph.weights,
        fields=fields,
        clamped=clamped,
        class_penalty=penalty,
    )


RESOLUTIONS = (2.0, 4.0, 8.0)  # of the modules: any from 1 to 32 come to about the same energy
COARSEST = 2000  # more modules are joined further before they are annealed
SHRINKS = 0.1  # of the nodes with edges: a level that takes away fewer is not worth its descent
LABELS_IN_WORK = 32_000  # labellings times nodes that are annealed, or descend, at one level
FEWEST = 2  # labellings, however large the model
OVERLAY_PARTS = 100  # modules of labellings laid over each other: more are not annealed as well
OVERLAYS = 4  # the last ones gain little
WARM, COLD = 2.0, 0.05  # mean couplings: temperatures between which single nodes are annealed
WARM_SWEEPS = 40
SMALL = 300  # free nodes: up to here `class_annealing` itself often finds the minimum


def multilevel(
    model: PottsModel,
    *,
    resolutions: Sequence[float] = RESOLUTIONS,
    n_sweeps: int = 100,
    n_runs: int = 12,
    seed: int | None = None,
) -> Minimum:
    """The lowest labelling found by annealing modules of the nodes instead of single nodes.

    A model of at most 300 free nodes is annealed itself besides, with the same seed: the energy is
    never above that of `class_annealing` there.

    Parameters
    ----------
    model : PottsModel
        Its term in whole classes, if any, is quadratic; any pair cost, couplings of either sign.
    resolutions : sequence of float, default (2, 4, 8)
        One try for each, with modules at that resolution: the higher, the smaller they are.
    n_sweeps : int, default 100
        Temperatures of an annealing run, one sweep each.
    n_runs : int, default 12
        Annealing runs of every try; fewer where more than 2000 modules are left.
    seed : int, optional
        Of random numbers; the same seed gives the same labelling.

    Returns
    -------
    Minimum

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import Modularity
    >>> from spinlearn.minimizers import multilevel
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], weights=[1.0, 0.5, 1.0])
    >>> multilevel(Modularity()(chain, [0, -1, -1, -1], 2), seed=0).labels.tolist()
    [0, 0, 1, 1]
    """
    refuse(contraction_reason(model))
    check_effort(n_sweeps, n_runs)
    tries = [float(r) for r in resolutions]
    if not tries or not all(0 < r < np.inf for r in tries):
        raise InvalidInputError(
            f"resolutions={resolutions!r} must be one or more positive numbers: 1 is modularity's "
            "own, higher ones make smaller modules"
        )
    source = seed_sequence(seed)
    *children, last = source.spawn(len(tries) + 1)
    n_free = len(model.free_nodes)
    search = _Search(model, n_sweeps, n_runs, last)
    if n_free <= SMALL:
        search.anneal(source)
    if n_free:
        for resolution, child in zip(tries, children, strict=True):
            search.descend_levels(child, resolution)
        search.overlay()
        if model.n_nodes > COARSEST:
            search.anneal_nodes()
    labels = search.lowest()
    return Minimum(
        labels=labels,
        energy=float(model.energy(labels)),
        exact=n_free == 0,
        method="multilevel",
        undecided=unreachable(model),
        sweeps=search.sweeps,
    )


class _Search:
    """Labellings of one model that were found, each a local minimum, with the work spent."""

    def __init__(
        self, model: PottsModel, n_sweeps: int, n_runs: int, seed: np.random.SeedSequence
    ) -> None:
        self.model, self.n_sweeps, self.n_runs, self.seed = model, n_sweeps, n_runs, seed
        self.nodes = NodeDescent(model, make_stream(seed))
        self.found: list[StateArray] = []
        self.sweeps = 0

    def anneal(self, seed: np.random.SeedSequence) -> None:
        """Add what `class_annealing` finds with the same seed."""
        states, count = annealed(self.model, N_SWEEPS, N_RUNS, seed)
        self.found.append(states)
        self.sweeps += N_RUNS * N_SWEEPS + count

    def descend_levels(
        self,
        seed: np.random.SeedSequence,
        resolution: float = RESOLUTIONS[0],
        first: IntArray | None = None,
    ) -> None:
        """Add labellings from modules of modules.

        Modules of the first level may be given; further levels follow where there are many.
        """
        generator = np.random.default_rng(seed.spawn(1)[0])
        fine = [self.model]
        members: list[IntArray] = []
        mass = masses(self.model)
        while not members or fine[-1].n_nodes > COARSEST:
            last = fine[-1]
            if first is not None and not members:
                member = first
            else:
                member = modules(last, resolution, generator, mass)
                linked = max(int(np.sum(last.graph.degrees > 0)), 1)
                if last.n_nodes - (int(member.max()) + 1) < SHRINKS * linked:
                    break
            mass = np.bincount(member, weights=mass).astype(np.float64)
            members.append(member)
            fine.append(contracted(last, member))
        coarsest = fine.pop()
        runs = _affordable(coarsest, self.n_runs)
        states, count = annealed(coarsest, self.n_sweeps, runs, seed)
        self.sweeps += runs * self.n_sweeps + count
        below = NodeDescent(coarsest, self.nodes.stream)
        while members:
            model = fine.pop()
            kept = different(below, states)[: _affordable(model, self.n_runs)]
            states = np.ascontiguousarray(kept[:, members.pop()])
            below = NodeDescent(model, self.nodes.stream) if fine else self.nodes
            self.sweeps += below.descend(states)
        self.found.append(states)

    def overlay(self) -> None:
        """Lay others over the best labelling in turn, and keep what is better.

        In order of energy, as many at once as make at most `OVERLAY_PARTS` modules.
        """
        best, *rest = different(self.nodes, np.concatenate(self.found))
        self.found = [best[None]]
        for child in self.seed.spawn(OVERLAYS):
            if not rest:
                break
            member = numbered(best)
            count = 0
            while count < len(rest):
                finer = numbered(member.astype(np.int64) * self.model.n_states + rest[count])
                if count and int(finer.max()) >= OVERLAY_PARTS:
                    break
                member = finer
                count += 1
            rest = rest[count:]
            self.descend_levels(child, first=member)
            best = self.lowest()
            self.found = [best[None]]

    def anneal_nodes(self) -> None:
        """Add what node moves from a low temperature make of the best labelling.

        On 70,000 points that gains 0.3 to 1 % for a fifth of the time; where one level of
        modules was enough, nothing.
        """
        couplings = np.abs(self.model.couplings * likeness(self.model))
        unit = float(couplings.sum()) / max(len(couplings), 1)
        if unit == 0:
            return
        states = self.lowest()[None].copy()
        for temperature in np.geomspace(WARM * unit, COLD * unit, WARM_SWEEPS):
            self.nodes.sweep(states, 1 / temperature)
        self.sweeps += WARM_SWEEPS + self.nodes.descend(states)
        self.found.append(states)

    def lowest(self) -> StateArray:
        """The labelling of least energy, (n,)."""
        return np.asarray(different(self.nodes, np.concatenate(self.found))[0])


def different(nodes: NodeDescent, states: StateArray) -> StateArray:
    """The labellings in order of energy, each once."""
    energies = nodes.energies(states)
    kept: list[int] = []
    for k in np.argsort(energies, kind="stable"):
        if not any(
            energies[k] == energies[other] and np.array_equal(states[k], states[other])
            for other in kept
        ):
            kept.append(int(k))
    return np.asarray(states[kept])


def _affordable(model: PottsModel, n_runs: int) -> int:
    """How many labellings of a model are worked on."""
    return min(n_runs, max(FEWEST, LABELS_IN_WORK // model.n_nodes))
