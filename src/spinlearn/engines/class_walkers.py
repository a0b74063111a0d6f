"""Walkers for every other model: any pair cost, and energies with a class-level term.

ClassClusterWalkers   Swendsen-Wang clusters that draw their class one after the other, and
                      exchanges of two classes on all free nodes: couplings >= 0, Potts pair cost,
                      a class term in the sizes of classes (balanced cut, tables)
GeneralWalkers        heat-bath sweeps and corrected Wolff flips: any model (normalised and ratio
                      cut, pair-cost tables, couplings of either sign)
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from spinlearn.core.arrays import BoolArray, FloatArray, StateArray, frozen
from spinlearn.core.free_part import FreePart
from spinlearn.core.model import FREE, PottsModel
from spinlearn.engines.walkers import Walkers, is_potts, random_states

PERMUTATIONS = 5  # tries after every cluster sweep
FLIPS = 4  # of Wolff clusters after every heat-bath sweep

# As kernels take it: (form, sizes, coefficient, targets, table, smallest class size, empty).
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


class Layout:
    """The arrays of a model in the order in which `spinlearn.kernels.classes` reads them."""

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
        self.potts = is_potts(model)
        self.term = class_term(model)
        self.volumes, self.cuts = np.zeros(q), np.zeros(q)
        self.tally, self.cost = np.zeros(q), np.zeros(q)
        self.mark: BoolArray = np.zeros(model.n_nodes, dtype=np.bool_)
        self.queue = np.zeros(model.n_nodes, dtype=np.int32)


def _surrogate(model: PottsModel) -> FloatArray:
    """Non-negative Potts couplings that resemble the energy, for growing clusters."""
    q = model.n_states
    excess = 1.0
    if not is_potts(model):
        apart = (model.pair_cost.sum() - np.trace(model.pair_cost)) / (q * (q - 1))
        excess = float(apart - np.trace(model.pair_cost) / q)
    strength = model.couplings * excess
    penalty = model.class_penalty
    if penalty is not None and penalty.kind == "ratio":
        strength = strength + penalty.effective_couplings
    return np.maximum(strength, 0.0)


class GeneralWalkers(Walkers):
    """64 walkers by heat bath and corrected cluster flips, int8 [64, n]."""

    n_walkers: ClassVar[int] = 64
    sweeps_per_step: ClassVar[int] = 2
    cooling_sweeps: ClassVar[int] = 12

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        return None

    def __init__(self, model: PottsModel, seed: np.random.SeedSequence) -> None:
        super().__init__(model, seed)
        self._layout = Layout(model)
        self.put_states(random_states(model, self.n_walkers, seed))

    def sweep(self, n_sweeps: int) -> None:
        from spinlearn.kernels.classes import sweep_walkers

        a, model = self._layout, self._model
        sweep_walkers(
            self._states, self._betas[self.levels], a.free, a.held, a.indptr, a.neighbors,
            a.weights, a.cut_weights, a.bond_weights, model.pair_cost, a.potts, model.fields,
            a.term, a.volumes, a.cuts, a.tally, a.cost, a.mark, a.queue, self.stream, n_sweeps,
            FLIPS,
        )  # fmt: skip

    def energies(self) -> FloatArray:
        return general_energies(self._model, self._layout, self._states)

    def move_regions(self, n_tries: int) -> None:
        states = self._states
        _move_regions(self, self._layout, states, n_tries)

    def states(self) -> StateArray:
        return self._states.copy()

    def put_states(self, states: StateArray) -> None:
        self._states = np.array(states, dtype=np.int8, order="C")


class ClassClusterWalkers(Walkers):
    """64 walkers moved by clusters under a term in the class sizes; clamps act as fields."""

    n_walkers: ClassVar[int] = 64
    sweeps_per_step: ClassVar[int] = 1
    cooling_sweeps: ClassVar[int] = 6

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        if model.class_penalty is None:
            return "a model without class-level term"
        if not model.class_penalty.sizes_only:
            return "a class-level term that depends on the cut"
        if np.any(model.couplings < 0):
            return "negative couplings"
        if not is_potts(model):
            return "another pair cost than 1 - identity"
        return None

    def __init__(self, model: PottsModel, seed: np.random.SeedSequence) -> None:
        super().__init__(model, seed)
        penalty = model.class_penalty
        assert penalty is not None  # `unsupported` was asked
        self._layout = Layout(model)
        free = FreePart.of(model.replace(class_penalty=None))
        self._free = free
        held = model.clamped != FREE
        self._held_volumes = np.bincount(
            model.clamped[held], weights=penalty.sizes[held], minlength=model.n_states
        )
        self._term = class_term(model, free.nodes)
        self._free_fields = np.ascontiguousarray(free.fields)
        # A field that is the same for all states changes nothing.
        self._field_nodes = np.flatnonzero(np.ptp(free.fields, axis=1) > 0).astype(np.uint32)
        self._free_u = np.ascontiguousarray(free.edges[:, 0]).astype(np.uint32)
        self._free_v = np.ascontiguousarray(free.edges[:, 1]).astype(np.uint32)
        n, q = len(free.nodes), model.n_states
        self._parent = np.empty(n, dtype=np.int32)
        self._field_row = np.empty(n, dtype=np.int32)
        self._field_sums = np.empty((len(self._field_nodes), q))
        self._cluster_size = np.empty(n)
        self._volumes, self._cost = np.zeros(q), np.zeros(q)
        self.permutations = 0
        self.put_states(random_states(model, self.n_walkers, seed))

    def use_ladder(self, betas: FloatArray) -> None:
        self._thresholds = bond_thresholds(self._free.couplings, betas)
        super().use_ladder(betas)

    def sweep(self, n_sweeps: int) -> None:
        from spinlearn.kernels.class_clusters import sweep_class_clusters

        self.permutations += sweep_class_clusters(
            self._states, self.levels, self._betas, self._thresholds, self._free_u, self._free_v,
            self._free_fields, self._field_nodes, self._term, self._held_volumes, self._volumes,
            self._parent, self._field_row, self._field_sums, self._cluster_size, self._cost,
            self.stream, n_sweeps, PERMUTATIONS,
        )  # fmt: skip

    def energies(self) -> FloatArray:
        return general_energies(self._model, self._layout, self.states())

    def move_regions(self, n_tries: int) -> None:
        states = self.states()
        _move_regions(self, self._layout, states, n_tries)
        self.put_states(states)

    def states(self) -> StateArray:
        whole = np.tile(self._model.clamped, (self.n_walkers, 1))
        whole[:, self._free.nodes] = self._states
        return whole

    def put_states(self, states: StateArray) -> None:
        self._states = np.ascontiguousarray(states[:, self._free.nodes])


def bond_thresholds(couplings: FloatArray, betas: FloatArray) -> Any:
    """Bond probabilities of every level and edge in units of 2^-32, (K, m)."""
    bonded = -np.expm1(-np.multiply.outer(betas, couplings))
    return np.minimum(bonded * 2.0**32, 2.0**32 - 1).astype(np.uint32)


def general_energies(model: PottsModel, layout: Layout, states: StateArray) -> FloatArray:
    """E of labellings (S, n) by the kernels' own arithmetic."""
    from spinlearn.kernels.classes import energies_of

    energies = np.empty(len(states))
    energies_of(
        states, layout.indptr, layout.neighbors, layout.weights, layout.cut_weights,
        model.pair_cost, model.fields, layout.term, layout.volumes, layout.cuts, energies,
    )  # fmt: skip
    return energies


def _move_regions(group: Any, layout: Layout, states: StateArray, n_tries: int) -> None:
    """Exchange two classes on random regions of `group`, in place."""
    from spinlearn.kernels.classes import swap_regions

    regions, model = group._regions, group._model
    if regions.count == 0:
        return
    swap_regions(
        states, group._betas[group.levels], regions.ptr, regions.nodes, layout.indptr,
        layout.neighbors, layout.weights, layout.cut_weights, model.pair_cost, model.fields,
        layout.term, layout.volumes, layout.cuts, layout.mark, group.stream, n_tries,
        group.region_moves,
    )  # fmt: skip
