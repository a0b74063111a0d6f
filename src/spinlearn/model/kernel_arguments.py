"""Models as kernels read them: named tuples of flat arrays, with the work space of one thread.

KernelModel   all nodes and both directions of every edge, for node moves, flips and region moves
ClusterModel  free nodes only, clamps folded into fields, for clusters, exchanges and Metropolis
SizeTerm      what clusters need besides where a term in the sizes of classes is
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.model.arrays import BoolArray, FloatArray, IntArray, StateArray, frozen
from spinlearn.model.graph import Graph
from spinlearn.model.potts import FREE, ConditionedModel, PottsModel


class ClassTerm(NamedTuple):
    """The class-level term of a model, see `spinlearn.model.class_penalty`; form 0 is none."""

    form: int
    sizes: FloatArray
    coefficient: float
    targets: FloatArray
    table: FloatArray
    smallest: float  # class size: below, the class is empty
    empty: float  # cost of an empty class


class KernelModel(NamedTuple):
    """Any model; arguments of `spinlearn.kernels.nodes`. Weights are in CSR order."""

    free: IntArray
    held: BoolArray  # clamped nodes
    indptr: IntArray
    neighbors: IntArray
    weights: FloatArray
    cut_weights: FloatArray  # empty unless the class term is a ratio
    bond_weights: FloatArray  # surrogate couplings >= 0, for growing clusters
    pair_cost: FloatArray
    potts: bool  # whether pair_cost is 1 - identity
    fields: FloatArray
    term: ClassTerm
    # Work space
    volumes: FloatArray  # class sizes, (q,)
    cuts: FloatArray
    tally: FloatArray
    cost: FloatArray
    mark: BoolArray  # (n,), false between moves
    queue: IntArray


class ClusterModel(NamedTuple):
    """The free nodes without class term; weights in CSR order, couplings in that of edges."""

    indptr: IntArray
    neighbors: IntArray
    edge_ids: IntArray
    weights: FloatArray
    edge_u: npt.NDArray[np.uint32]
    edge_v: npt.NDArray[np.uint32]
    couplings: FloatArray
    pair_cost: FloatArray
    fields: FloatArray
    field_nodes: npt.NDArray[np.uint32]
    # Work space
    parent: IntArray
    law_row: IntArray
    law: FloatArray
    seen: BoolArray
    place: StateArray  # zero between moves
    cost: FloatArray


class SizeTerm(NamedTuple):
    """A class term in class sizes, the sizes of clamped nodes, and work space."""

    term: ClassTerm
    held_volumes: FloatArray
    volumes: FloatArray
    other_volumes: FloatArray
    shift: FloatArray
    single: FloatArray
    cluster_size: FloatArray
    law: FloatArray  # (n_free, q): touched where walkers are measured only


class Group(NamedTuple):
    """Walkers at the levels of a ladder; arguments of kernels that move clusters."""

    states: StateArray  # (R, n_free)
    active: npt.NDArray[np.intp]  # walkers that move
    levels: npt.NDArray[np.int32]
    repeats: npt.NDArray[np.int64]  # sweeps of a walker in the place of one
    betas: FloatArray  # of the levels
    thresholds: npt.NDArray[np.uint32]  # (K, m), of bonds
    stream: npt.NDArray[np.uint64]


def class_term(model: PottsModel, nodes: npt.NDArray[np.intp] | None = None) -> ClassTerm:
    """The class-level term of a model, with the sizes of some nodes or all."""
    penalty = model.class_penalty
    if penalty is None:
        q = model.n_states
        nothing, zeros = frozen(np.empty(0), np.float64), frozen(np.zeros(q), np.float64)
        return ClassTerm(0, nothing, 0.0, zeros, frozen(np.empty((q, 0)), np.float64), 0.0, 0.0)
    return ClassTerm(
        penalty.code,
        penalty.sizes if nodes is None else frozen(penalty.sizes[nodes], np.float64),
        float(penalty.coefficient),
        penalty.targets,
        penalty.table,
        float(penalty.smallest),
        float(penalty.empty),
    )


def kernel_model(model: PottsModel) -> KernelModel:
    """Any model over all of its nodes."""
    graph, n, q = model.graph, model.n_nodes, model.n_states
    excess = 1.0
    if not model.is_potts:
        apart = (model.pair_cost.sum() - np.trace(model.pair_cost)) / (q * (q - 1))
        excess = float(apart - np.trace(model.pair_cost) / q)
    surrogate = model.couplings * excess
    cut = np.empty(0)
    penalty = model.class_penalty
    if penalty is not None and penalty.kind == "ratio":
        surrogate = surrogate + penalty.effective_couplings
        cut = penalty.cut_weights[graph.edge_ids]
    return KernelModel(
        free=model.free_nodes.astype(np.int32),
        held=model.clamped != FREE, indptr=graph.indptr, neighbors=graph.neighbors,
        weights=frozen(model.couplings[graph.edge_ids], np.float64),
        cut_weights=frozen(cut, np.float64),
        bond_weights=frozen(np.maximum(surrogate, 0.0)[graph.edge_ids], np.float64),
        pair_cost=model.pair_cost, potts=model.is_potts, fields=model.fields,
        term=class_term(model),
        volumes=np.zeros(q), cuts=np.zeros(q), tally=np.zeros(q), cost=np.zeros(q),
        mark=np.zeros(n, dtype=np.bool_), queue=np.zeros(n, dtype=np.int32),
    )  # fmt: skip


def cluster_model(model: PottsModel) -> tuple[ClusterModel, SizeTerm | None, ConditionedModel]:
    """The free nodes of a model, its term in class sizes if it has one, and where they are."""
    penalty, free = model.class_penalty, ConditionedModel.of(model)
    n, q = len(free.nodes), model.n_states
    graph = model.graph if n == model.n_nodes else Graph(max(n, 1), free.edges)
    # A field that is the same for all states changes no law; without class term it is drawn from.
    has_fields = np.any(free.fields != 0, axis=1)
    if penalty is not None:
        has_fields = np.ptp(free.fields, axis=1) > 0
    field_nodes = np.flatnonzero(has_fields).astype(np.uint32)
    clusters = ClusterModel(
        indptr=graph.indptr[: n + 1], neighbors=graph.neighbors, edge_ids=graph.edge_ids,
        weights=free.couplings[graph.edge_ids],
        edge_u=free.edges[:, 0].astype(np.uint32, order="C"),
        edge_v=free.edges[:, 1].astype(np.uint32, order="C"),
        couplings=free.couplings, pair_cost=model.pair_cost, fields=free.fields,
        field_nodes=field_nodes,
        parent=np.empty(n, dtype=np.int32), law_row=np.full(n, -1, dtype=np.int32),
        law=np.empty((len(field_nodes), q)), cost=np.zeros(q),
        seen=np.zeros(n, dtype=np.bool_), place=np.zeros(n, dtype=np.int8),
    )  # fmt: skip
    if penalty is None:
        return clusters, None, free
    held = model.clamped != FREE
    held_sizes = np.bincount(model.clamped[held], weights=penalty.sizes[held], minlength=q)
    sizes = SizeTerm(
        class_term(model, free.nodes),
        held_sizes.astype(np.float64),
        volumes=np.zeros(q), other_volumes=np.zeros(q), shift=np.zeros(q), single=np.zeros(q),
        cluster_size=np.empty(n), law=np.empty((n, q)),
    )  # fmt: skip
    return clusters, sizes, free


def bond_thresholds(betas: FloatArray, couplings: FloatArray) -> npt.NDArray[np.uint32]:
    """Bond probabilities 1 - exp(-beta J) in units of 2^-32, (K, m)."""
    thresholds = np.empty((len(betas), len(couplings)), dtype=np.uint32)
    for row, beta in zip(thresholds, betas, strict=True):
        row[:] = np.minimum(np.floor(-np.expm1(-beta * couplings) * 2.0**32), 2.0**32 - 1)
    return thresholds


def random_states(model: PottsModel, n_walkers: int, seed: np.random.SeedSequence) -> StateArray:
    """Uniform labellings that respect the clamps, (R, n)."""
    generator = np.random.default_rng(seed)
    states = generator.integers(0, model.n_states, (n_walkers, model.n_nodes), dtype=np.int8)
    held = model.clamped != FREE
    states[:, held] = model.clamped[held]
    return states


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
