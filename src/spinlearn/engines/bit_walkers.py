"""Walkers moved side by side in vectors, all at the same node at the same step.

BitWalkers       256 walkers in the bits of words
LockstepWalkers  64 walkers in the lanes of vectors
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.class_layout import random_states
from spinlearn.core.model import PottsModel
from spinlearn.engines.walker_group import Walkers


class BitWalkers(Walkers):
    """256 walkers, one per bit: equal positive couplings, no fields, q <= 8."""

    default_walkers: ClassVar[int] = 256
    sweeps_per_step: ClassVar[int] = 4
    cooling_sweeps: ClassVar[int] = 30

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        if model.class_penalty is not None:
            return "a class-level term"
        if model.n_states > 8:
            return "more than 8 states"
        if len(model.couplings) == 0 or model.couplings[0] <= 0:
            return "no positive couplings"
        if np.any(model.couplings != model.couplings[0]):
            return "couplings that differ"
        if np.any(model.fields != 0):
            return "node fields"
        if not model.is_potts:
            return "another pair cost than 1 - identity"
        if np.max(model.graph.degrees) > 15:
            return "more than 15 neighbours"
        return None

    def __init__(
        self, model: PottsModel, seed: np.random.SeedSequence, n_walkers: int | None = None
    ) -> None:
        from spinlearn.kernels import bits

        super().__init__(model, seed, n_walkers)
        self._kernel = bits
        graph = model.graph
        self._indptr = graph.indptr.astype(np.uint32)
        self._neighbors = graph.neighbors.astype(np.uint32)
        self._free = model.free_nodes.astype(np.uint32)
        self._edges = np.ascontiguousarray(graph.edges)
        self._max_degree = int(graph.degrees.max())
        self._n_planes = bits.plane_count(model.n_states)
        self._unit = float(model.couplings[0])
        self._cut = np.empty(self.n_walkers, dtype=np.int64)
        self.put_states(random_states(model, self.n_walkers, seed))

    def use_ladder(self, betas: FloatArray) -> None:
        scaled = np.asarray(betas) * self._unit
        self._digits = self._kernel.acceptance_digits(scaled, self._max_degree)
        self._planes = np.empty(self._max_degree * 32 * 4, dtype=np.uint64)
        super().use_ladder(betas)

    def apply_levels(self) -> None:
        self._kernel.bits_planes(self._digits, len(self._betas), self.levels, self._planes)

    def sweep(self, n_sweeps: int) -> None:
        self._kernel.bits_metropolis(
            self._spins,
            self._model.n_states,
            self._indptr,
            self._neighbors,
            self._free,
            self._planes,
            self.stream,
            n_sweeps,
        )

    def move_regions(self, n_tries: int) -> None:
        regions = self._regions
        if self._model.n_states > 2 or regions.count == 0:
            super().move_regions(n_tries)
            return
        self._kernel.bits_flip_regions(
            self._spins,
            (regions.ptr, regions.nodes, regions.border_ptr, regions.borders),
            self._betas[self.levels] * self._unit,
            n_tries,
            self._cut,
            self.region_moves,
            self.stream,
        )

    def energies(self) -> FloatArray:
        self._kernel.bits_energies(self._spins, self._n_planes, self._edges, self._cut)
        return np.asarray(self._unit * self._cut, dtype=np.float64)

    def states(self) -> StateArray:
        states = np.empty((self.n_walkers, self._model.n_nodes), dtype=np.int8)
        self._kernel.unpack_states(self._spins, self._n_planes, states)
        return states

    def put_states(self, states: StateArray) -> None:
        self._spins = self._kernel.pack_states(states, self._model.n_states)


class LockstepWalkers(Walkers):
    """64 walkers, int8 [n, 64]: couplings of either sign, fields, q <= 64."""

    default_walkers: ClassVar[int] = 64
    sweeps_per_step: ClassVar[int] = 4
    cooling_sweeps: ClassVar[int] = 30

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        if model.class_penalty is not None:
            return "a class-level term"
        if model.n_states > 64:
            return "more than 64 states"
        if not model.is_potts:
            return "another pair cost than 1 - identity"
        if np.max(model.graph.degrees, initial=0) > 10_000:
            return "more than 10000 neighbours"
        return None

    def __init__(
        self, model: PottsModel, seed: np.random.SeedSequence, n_walkers: int | None = None
    ) -> None:
        from spinlearn.kernels import lockstep

        super().__init__(model, seed, n_walkers)
        self._kernel = lockstep
        graph = model.graph
        self._indptr = graph.indptr.astype(np.uint32)
        self._neighbors = graph.neighbors.astype(np.uint32)
        self._free = model.free_nodes.astype(np.uint32)
        *self._terms, self._unit = lockstep.quantize(
            model.couplings[graph.edge_ids],
            self._indptr,
            self._fields if len(self._fields) else None,
        )
        self.put_states(random_states(model, self.n_walkers, seed))

    def apply_levels(self) -> None:
        rates = -self._betas[self.levels] * self._unit * self._kernel.LOG2_E
        self._rates = rates.astype(np.float32)

    def sweep(self, n_sweeps: int) -> None:
        self._kernel.lockstep_metropolis(
            self._states,
            self.n_walkers,
            self._model.n_states,
            self._indptr,
            self._neighbors,
            *self._terms,
            self._free,
            self._rates,
            self.stream,
            n_sweeps,
        )

    def states(self) -> StateArray:
        return np.ascontiguousarray(self._states.reshape(self._model.n_nodes, self.n_walkers).T)

    def put_states(self, states: StateArray) -> None:
        self._states = np.ascontiguousarray(states.T).ravel()
