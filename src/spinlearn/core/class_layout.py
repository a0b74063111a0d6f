"""Models with class-level terms as flat arrays, in the shape in which kernels read them.

GeneralLayout  all nodes and both directions of every edge, for node moves, flips and region moves
ClusterLayout  free nodes only, clamps folded into fields, for Swendsen-Wang clusters
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import BoolArray, FloatArray, frozen
from spinlearn.core.free_part import ConditionedModel
from spinlearn.core.model import FREE, PottsModel

# (form, sizes, coefficient, targets, table, smallest class size, cost of an empty class)
ClassTerm = tuple[int, FloatArray, float, FloatArray, FloatArray, float, float]


def class_term(model: PottsModel, nodes: Any = None) -> ClassTerm:
    """The class-level term of a model as kernels take it, with the sizes of some nodes or all."""
    penalty = model.class_penalty
    if penalty is None:
        q = model.n_states
        nothing = frozen(np.empty(0), np.float64)
        zeros = frozen(np.zeros(q), np.float64)
        return 0, nothing, 0.0, zeros, frozen(np.empty((q, 0)), np.float64), 0.0, 0.0
    sizes = penalty.sizes if nodes is None else frozen(penalty.sizes[nodes], np.float64)
    return (
        penalty.code,
        sizes,
        float(penalty.coefficient),
        penalty.targets,
        penalty.table,
        float(penalty.smallest),
        float(penalty.empty),
    )


class GeneralLayout:
    """Any model, and the work space of one thread; arguments of `spinlearn.kernels.classes`."""

    def __init__(self, model: PottsModel) -> None:
        graph, q = model.graph, model.n_states
        self.free = model.free_nodes.astype(np.int32)
        self.held: BoolArray = model.clamped != FREE
        self.indptr, self.neighbors = graph.indptr, graph.neighbors
        self.weights = frozen(model.couplings[graph.edge_ids], np.float64)
        penalty = model.class_penalty
        cut = np.empty(0)
        if penalty is not None and penalty.kind == "ratio":
            cut = penalty.cut_weights[graph.edge_ids]
        self.cut_weights = frozen(cut, np.float64)
        self.bond_weights = frozen(_surrogate(model)[graph.edge_ids], np.float64)
        self.potts = model.is_potts
        self.pair_cost, self.fields = model.pair_cost, model.fields
        self.term = class_term(model)
        self.volumes, self.cuts = np.zeros(q), np.zeros(q)
        self.tally, self.cost = np.zeros(q), np.zeros(q)
        self.mark: BoolArray = np.zeros(model.n_nodes, dtype=np.bool_)
        self.queue = np.zeros(model.n_nodes, dtype=np.int32)


def _surrogate(model: PottsModel) -> FloatArray:
    """Non-negative Potts couplings that resemble the energy, for growing clusters, (m,)."""
    q = model.n_states
    excess = 1.0
    if not model.is_potts:
        apart = (model.pair_cost.sum() - np.trace(model.pair_cost)) / (q * (q - 1))
        excess = float(apart - np.trace(model.pair_cost) / q)
    strength = model.couplings * excess
    penalty = model.class_penalty
    if penalty is not None and penalty.kind == "ratio":
        strength = strength + penalty.effective_couplings
    return np.maximum(strength, 0.0)


def bond_thresholds(betas: FloatArray, couplings: FloatArray) -> npt.NDArray[np.uint32]:
    """Bond probabilities 1 - exp(-beta J) in units of 2^-32, (K, m)."""
    thresholds = np.empty((len(betas), len(couplings)), dtype=np.uint32)
    for row, beta in zip(thresholds, betas, strict=True):
        row[:] = np.minimum(np.floor(-np.expm1(-beta * couplings) * 2.0**32), 2.0**32 - 1)
    return thresholds


class ClusterLayout:
    """A model with a term in class sizes; arguments of `spinlearn.kernels.class_clusters`."""

    def __init__(self, model: PottsModel) -> None:
        penalty = model.class_penalty
        assert penalty is not None
        assert cluster_reason(model) is None
        free = ConditionedModel.of(model)
        held = model.clamped != FREE
        n, q = len(free.nodes), model.n_states
        self.free = free
        self.nodes = free.nodes
        self.couplings = free.couplings
        self.held_volumes: FloatArray = np.bincount(
            model.clamped[held], weights=penalty.sizes[held], minlength=q
        ).astype(np.float64)
        self.term = class_term(model, free.nodes)
        self.fields = np.ascontiguousarray(free.fields)
        # A field that is the same for all states changes nothing.
        self.field_nodes = np.flatnonzero(np.ptp(free.fields, axis=1) > 0).astype(np.uint32)
        self.edge_u = np.ascontiguousarray(free.edges[:, 0]).astype(np.uint32)
        self.edge_v = np.ascontiguousarray(free.edges[:, 1]).astype(np.uint32)
        self.parent = np.empty(n, dtype=np.int32)
        self.field_row = np.empty(n, dtype=np.int32)
        self.field_sums = np.empty((len(self.field_nodes), q))
        self.cluster_size = np.empty(n)
        self.volumes, self.cost, self.single = np.zeros(q), np.zeros(q), np.zeros(q)
        # What `sweep_class_clusters` takes where nothing is measured: a law, and two sums.
        nothing = np.zeros((0, 0, q), dtype=np.float32)
        self.unmeasured = np.empty((0, q)), nothing, nothing[:, :, 0]

    def thresholds(self, betas: FloatArray) -> npt.NDArray[np.uint32]:
        """Bond probabilities of every temperature and edge in units of 2^-32, (K, m)."""
        return bond_thresholds(betas, self.couplings)


def cluster_reason(model: PottsModel) -> str | None:
    """What of a model keeps clusters from drawing their class by class sizes, or None."""
    if model.class_penalty is None:
        return "a model without class-level term"
    if not model.class_penalty.sizes_only:
        return "a class-level term that depends on the cut"
    if np.any(model.couplings < 0):
        return "negative couplings"
    if not model.is_potts:
        return "another pair cost than 1 - identity"
    return None
