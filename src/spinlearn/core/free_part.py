"""ConditionedModel: pair terms and fields of a model given its clamps, over its free nodes.

    E(s) = constant + sum_{e free-free} couplings[e] * pair_cost[s_u, s_v] + sum_i fields[i, s_i]

Indices here run over free nodes only; `nodes` and `edge_ids` map back to the model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import BoolArray, FloatArray, IntArray
from spinlearn.core.model import FREE, PottsModel


@dataclass(frozen=True, slots=True, eq=False)
class ConditionedModel:
    """The free nodes of a model: `nodes`, their `edges` (local numbers), couplings and fields."""

    model: PottsModel
    nodes: npt.NDArray[np.intp]
    edges: IntArray
    edge_ids: npt.NDArray[np.intp]
    couplings: FloatArray
    fields: FloatArray
    constant: float

    @classmethod
    def of(cls, model: PottsModel) -> ConditionedModel:
        """Condition `model` on its clamps; a class term is left out."""
        clamped, edges = model.clamped, model.graph.edges
        free = clamped == FREE
        nodes = np.flatnonzero(free)
        local = np.full(model.n_nodes, -1, dtype=np.int32)
        local[nodes] = np.arange(len(nodes), dtype=np.int32)
        u, v = edges[:, 0], edges[:, 1]
        inner = np.flatnonzero(free[u] & free[v])
        fields = model.fields[nodes]
        for end, other in ((u, v), (v, u)):
            border = np.flatnonzero(free[end] & ~free[other])
            costs = model.couplings[border, None] * model.pair_cost[clamped[other[border]]]
            np.add.at(fields, local[end[border]], costs)
        held = np.flatnonzero(~free)
        both = np.flatnonzero(~free[u] & ~free[v])
        constant = float(
            np.sum(model.couplings[both] * model.pair_cost[clamped[u[both]], clamped[v[both]]])
            + np.sum(model.fields[held, clamped[held]])
        )
        return cls(
            model, nodes, local[edges[inner]], inner, model.couplings[inner], fields, constant
        )

    def full_marginals(self, free_marginals: FloatArray) -> FloatArray:
        """Marginals of all nodes, (T, n, q), from those of the free ones, (T, n_free, q)."""
        n_temperatures = len(free_marginals)
        model = self.model
        marginals = np.zeros((n_temperatures, model.n_nodes, model.n_states))
        marginals[:, self.nodes] = free_marginals
        held = np.flatnonzero(model.clamped != FREE)
        marginals[:, held, model.clamped[held]] = 1.0
        return marginals

    def full_agreement(self, free_agreement: FloatArray, marginals: FloatArray) -> FloatArray:
        """C_ij of all edges, (T, m), from those between free nodes and the full marginals."""
        model = self.model
        agreement = np.empty((len(marginals), model.graph.n_edges))
        agreement[:, self.edge_ids] = free_agreement
        others: BoolArray = np.ones(model.graph.n_edges, dtype=bool)
        others[self.edge_ids] = False
        edge_ids = np.flatnonzero(others)
        u, v = model.graph.edges[edge_ids].T
        # At least one end is clamped, so the two ends are independent.
        agreement[:, edge_ids] = np.sum(marginals[:, u] * marginals[:, v], axis=2)
        return agreement


def class_term_reason(model: PottsModel) -> str | None:
    """Why engines that see pairs and fields only cannot treat the model, or None."""
    if model.class_penalty is None:
        return None
    return (
        f"the model has a class-level term ({model.class_penalty.kind}), which couples all points "
        "at once: use engine='belief_propagation' (quadratic terms), 'multicanonical', 'tempering' "
        "or 'population_annealing', or 'enumeration' for a few points"
    )
