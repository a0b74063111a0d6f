"""Multilevel minimisation: annealing of a few hundred modules instead of all nodes.

Where whole clusters sit in the wrong class, node moves are hopeless and cluster moves rare. So
nodes are joined into small modules, modules into larger ones while there are too many, the model of
the modules is annealed by `class_annealing`, and its labellings are taken back level by level, at
each down to the nearest that no single node can improve. This is done for several resolutions. Then
all labellings are laid over each other: nodes on which they agree, whatever the class, become one
module each, and the model of those, a few dozen, is annealed too: it puts good parts of different
labellings together.

A labelling that is constant on modules has the same energy in the contracted model: couplings
between two modules, fields and sizes add up, and an edge inside a module becomes a field. Modules
come from greedy moves at high resolution (`spinlearn.kernels.graph_tools`): small ones, a dozen
nodes each, that hardly ever straddle a border of the least energy, while a whole cluster is left in
few enough pieces to be moved at once.

Blondel et al. (2008) for modules; Karypis & Kumar, SIAM J. Sci. Comput. 20, 359 (1998), for levels;
Houdayer & Martin, Phys. Rev. Lett. 83, 1030 (1999), for laying labellings over each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError
from spinlearn.kernels.graph_tools import join_modules
from spinlearn.kernels.nodes import energies_of, heat_bath
from spinlearn.kernels.rng import make_stream
from spinlearn.minimizers.annealing import N_RUNS, N_SWEEPS, annealed, descend_walkers
from spinlearn.minimizers.minimum import Minimum, contraction_reason, refuse, unreachable
from spinlearn.model.arrays import FloatArray, IntArray, StateArray
from spinlearn.model.class_penalty import ClassPenalty
from spinlearn.model.graph import Graph
from spinlearn.model.kernel_arguments import KernelModel, kernel_model
from spinlearn.model.potts import FREE, PottsModel, trusted_model
from spinlearn.model.protocols import seed_sequence

MAX_PASSES = 20  # over all nodes; few move after the fifth
SLACK = 1e-12  # of the strongest coupling: gains below are rounding
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


def modules(
    model: PottsModel,
    resolution: float,
    generator: np.random.Generator,
    mass: FloatArray | None = None,
) -> IntArray:
    """Module of every node, numbered from 0, (n,).

    Clamped nodes are not moved, others may join them: no module holds two. The higher the
    resolution of modularity's null model, the smaller the modules. Nodes that are modules
    themselves have for `mass` the sum of what they hold, couplings inside them included (default:
    `masses`). The generator draws the order in which nodes take their turn.
    """
    graph, n = model.graph, model.n_nodes
    weights = (model.couplings * likeness(model))[graph.edge_ids]
    mass = masses(model) if mass is None else mass
    total = float(mass.sum())
    null = resolution / total if total > 0 else 0.0
    spans = np.ptp(model.fields, axis=1)
    clamped = np.flatnonzero(model.clamped != FREE)
    spans[clamped] = 0.0
    fields = np.empty((0, model.n_states))
    if np.any(spans > 0):
        fields = np.array(model.fields)
        fields[clamped] = 2 * spans.sum()  # a clamp is a field that nothing outweighs
        fields[clamped, model.clamped[clamped]] = 0.0
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
    return np.unique(member, return_inverse=True)[1].astype(np.int32)


def masses(model: PottsModel) -> FloatArray:
    """Summed attraction of every node to its neighbours, (n,)."""
    return model.graph.node_sums(np.maximum(model.couplings * likeness(model), 0.0))


def likeness(model: PottsModel) -> float:
    """Mean cost of two states that differ minus that of two equal ones: 1 for Potts."""
    q = model.n_states
    agree = float(np.trace(model.pair_cost))
    return (float(model.pair_cost.sum()) - agree) / (q * (q - 1)) - agree / q


def contracted(model: PottsModel, member: IntArray) -> PottsModel:
    """The model of the modules: E(coarse states) = E(coarse states[member]).

    Modules are numbered from 0 without gaps; their clamped nodes are alike, a class term quadratic.
    """
    k, q = int(member.max()) + 1, model.n_states
    ends = member[model.graph.edges]
    inner = ends[:, 0] == ends[:, 1]
    fields = np.column_stack([np.bincount(member, f, minlength=k) for f in model.fields.T])
    bound = np.bincount(ends[inner, 0], weights=model.couplings[inner], minlength=k)
    fields += bound[:, None] * np.diag(model.pair_cost)
    clamped: StateArray = np.full(k, FREE, dtype=np.int8)
    labelled = np.flatnonzero(model.clamped != FREE)
    clamped[member[labelled]] = model.clamped[labelled]
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
    n_sweeps, n_runs : int, default 100, 12
        Temperatures of an annealing run, one sweep each; runs of every try, fewer where more than
        2000 modules are left.
    seed : int, optional

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
    refuse(contraction_reason(model), n_sweeps, n_runs)
    tries = [float(r) for r in resolutions]
    if not tries or not all(0 < r < np.inf for r in tries):
        raise InvalidInputError(
            f"resolutions={resolutions!r} must be one or more positive numbers: 1 is modularity's "
            "own, higher ones make smaller modules"
        )
    source = seed_sequence(seed)
    *children, last = source.spawn(len(tries) + 1)
    n_free, kernel, stream = len(model.free_nodes), kernel_model(model), make_stream(last)
    levels = partial(_by_levels, model, n_sweeps, n_runs, stream)
    runs: list[tuple[StateArray, int]] = []  # labellings, each a local minimum, and sweeps made
    if n_free <= SMALL:
        runs.append(annealed(model, N_SWEEPS, N_RUNS, source))
    if n_free:
        runs += [levels(child, r) for r, child in zip(tries, children, strict=True)]
    # Others are laid over the best labelling in turn, in order of energy, as many at once as make
    # at most OVERLAY_PARTS modules.
    best, *rest = different(np.concatenate([states for states, _ in runs]), kernel)
    for child in last.spawn(OVERLAYS if n_free else 0):
        if not rest:
            break
        member, count = best.astype(np.int64), 0
        while count < len(rest):
            finer = np.unique(member * model.n_states + rest[count], return_inverse=True)[1]
            if count and int(finer.max()) >= OVERLAY_PARTS:
                break
            member = finer
            count += 1
        rest = rest[count:]
        runs.append(levels(child, first=member.astype(np.int32)))
        best = different(np.concatenate([best[None], runs[-1][0]]), kernel)[0]
    if n_free and model.n_nodes > COARSEST:
        runs.append(_anneal_nodes(best, model, kernel, stream))
        best = different(np.concatenate([best[None], runs[-1][0]]), kernel)[0]
    return Minimum(
        labels=best,
        energy=float(model.energy(best)),
        exact=n_free == 0,
        method="multilevel",
        undecided=unreachable(model),
        sweeps=sum(count for _, count in runs),
    )


def _by_levels(
    model: PottsModel,
    n_sweeps: int,
    n_runs: int,
    stream: npt.NDArray[np.uint64],
    seed: np.random.SeedSequence,
    resolution: float = RESOLUTIONS[0],
    first: IntArray | None = None,
) -> tuple[StateArray, int]:
    """Labellings from modules of modules, annealed and taken back, and the number of sweeps.

    `first` are the modules of the first level; further levels follow where there are many.
    """
    generator = np.random.default_rng(seed.spawn(1)[0])
    fine = [model]
    members: list[IntArray] = []
    mass = masses(model)
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
    affordable = [min(n_runs, max(FEWEST, LABELS_IN_WORK // level.n_nodes)) for level in fine]
    coarse = fine.pop()
    states, sweeps = annealed(coarse, n_sweeps, affordable.pop(), seed)
    kernel = kernel_model(coarse)
    while members:
        best = different(states, kernel)[: affordable.pop()]
        states = np.ascontiguousarray(best[:, members.pop()])
        coarse = fine.pop()
        kernel = kernel_model(coarse)
        sweeps += descend_walkers(states, coarse, kernel, stream)
    return states, sweeps


def _anneal_nodes(
    labels: StateArray, model: PottsModel, kernel: KernelModel, stream: npt.NDArray[np.uint64]
) -> tuple[StateArray, int]:
    """What node moves from a low temperature make of a labelling, (1, n), and their sweeps.

    On 70,000 points that gains 0.3 to 1 % for a fifth of the time; after one level only, nothing.
    """
    couplings = np.abs(model.couplings * likeness(model))
    unit = float(couplings.sum()) / max(len(couplings), 1)
    states = labels[None].copy()
    if unit == 0:
        return states, 0
    for temperature in np.geomspace(WARM * unit, COLD * unit, WARM_SWEEPS):
        heat_bath(states, np.full(1, 1 / temperature), kernel, stream)
    return states, WARM_SWEEPS + descend_walkers(states, model, kernel, stream)


def different(states: StateArray, kernel: KernelModel) -> StateArray:
    """The labellings in order of energy, each once."""
    kept: dict[bytes, int] = {}
    for k in np.argsort(energies_of(states, kernel), kind="stable").tolist():
        kept.setdefault(states[k].tobytes(), k)
    return states[list(kept.values())]
