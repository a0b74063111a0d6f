"""Which walkers are the fastest for a model: a kind for every model there is.

BitWalkers           256 walkers in the bits of words: equal positive couplings, no fields, q <= 8
ClusterWalkers       any number of walkers moved by Swendsen-Wang clusters: couplings >= 0, fields
LockstepWalkers      64 walkers side by side: couplings of either sign, fields, q <= 64
ClassClusterWalkers  64 walkers moved by clusters under a term in the sizes of classes
GeneralWalkers       64 walkers by heat bath, with corrected cluster flips: any model

MetropolisWalkers, which move one node at a time, are chosen by name.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.class_layout import kernel_model, random_states
from spinlearn.core.model import PottsModel
from spinlearn.engines.bit_walkers import BitWalkers, LockstepWalkers
from spinlearn.engines.cluster_walkers import ClassClusterWalkers, ClusterWalkers
from spinlearn.engines.walker_group import Walkers

MOST_BIT_NODES = 5_000
FLIPS = 4  # of Wolff clusters after every heat-bath sweep


class GeneralWalkers(Walkers):
    """64 walkers by heat bath and corrected cluster flips, int8 [64, n].

    Normalised and ratio cut, pair-cost tables, couplings of either sign.
    """

    default_walkers: ClassVar[int] = 64
    sweeps_per_step: ClassVar[int] = 2
    cooling_sweeps: ClassVar[int] = 12

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        return None

    def __init__(
        self, model: PottsModel, seed: np.random.SeedSequence, n_walkers: int | None = None
    ) -> None:
        super().__init__(model, seed, n_walkers)
        self._kernel_model = kernel_model(model)
        self.put_states(random_states(model, self.n_walkers, seed))

    def sweep(self, n_sweeps: int) -> None:
        from spinlearn.kernels.node_moves import sweep_walkers

        betas = self._betas[self.levels]
        sweep_walkers(self._states, betas, self._kernel_model, self.stream, n_sweeps, FLIPS)

    def energies(self) -> FloatArray:
        from spinlearn.kernels.node_moves import energies_of

        return np.asarray(energies_of(self._states, self._kernel_model))

    def move_regions(self, n_tries: int) -> None:
        self._swap_regions(self._states, self._kernel_model, n_tries)

    def states(self) -> StateArray:
        return self._states.copy()

    def put_states(self, states: StateArray) -> None:
        self._states = np.array(states, dtype=np.int8, order="C")


def walkers_for(model: PottsModel, *, local: bool = False) -> type[Walkers]:
    """The kind of walkers with the least error per second for a model, of local moves if asked.

    Bits flip a thousand million spins a second, but with more than two states clusters win: on the
    paper's second toy set (q = 3) by a factor of five in time to the same error. So they do where
    the model is so large that walkers do not travel from its hottest to its coldest energies; on a
    lattice of 64 x 64 nodes bits still come closer to equilibrium in the same time.
    """
    kinds: list[type[Walkers]] = [BitWalkers, LockstepWalkers, GeneralWalkers]
    if not local:
        bits = model.n_states == 2 and model.n_nodes <= MOST_BIT_NODES
        kinds.insert(1 if bits else 0, ClusterWalkers)
        kinds.insert(-1, ClassClusterWalkers)
    return next(kind for kind in kinds if kind.unsupported(model) is None)
