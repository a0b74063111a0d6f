"""Coarsening: modules of a model's nodes that may well share a state, each made one node.

A labelling that is constant on modules has the same energy in the contracted model: couplings
between two modules, fields and sizes add up, and an edge inside a module becomes a field, what it
costs when both its ends are in one state. Modules come from greedy moves at high resolution
(`spinlearn.kernels.module_moves`): small ones, a dozen nodes each, that hardly ever straddle a
border of the least energy, while a whole cluster is left in few enough pieces to be moved at once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, IntArray, StateArray
from spinlearn.core.class_penalty import ClassPenalty
from spinlearn.core.graph import Graph
from spinlearn.core.model import FREE, PottsModel, trusted_model

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
    from spinlearn.kernels.module_moves import join_modules

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
