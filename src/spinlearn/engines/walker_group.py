"""Walkers: a group of walkers of one model, the base of every kind of them.

Every walker sits at a level of a temperature ladder and is swept at that level's temperature. A
group has its own random stream, so results do not depend on which thread runs it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.level_sums import LevelSums
from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.class_layout import KernelModel
from spinlearn.core.model import PottsModel
from spinlearn.engines.regions import Regions


class Walkers:
    """A group of R walkers of one model: what the kinds share, on labellings (R, n)."""

    default_walkers: ClassVar[int]
    sweeps_per_step: ClassVar[int]  # between two moves of the levels
    cooling_sweeps: ClassVar[int]  # at every level while the ladder is built
    any_number: ClassVar[bool] = False  # of walkers; else the default one

    def __init__(
        self, model: PottsModel, seed: np.random.SeedSequence, n_walkers: int | None = None
    ) -> None:
        from spinlearn.kernels.rng import make_stream

        if n_walkers is not None and not self.any_number:
            raise ValueError(f"{type(self).__name__} come in groups of {self.default_walkers}")
        self.n_walkers = self.default_walkers if n_walkers is None else n_walkers
        self._model = model
        self._edge_u = np.ascontiguousarray(model.graph.edges[:, 0])
        self._edge_v = np.ascontiguousarray(model.graph.edges[:, 1])
        has_fields = bool(np.any(model.fields != 0))
        self._fields = model.fields if has_fields else np.empty((0, model.n_states))
        self.stream = make_stream(seed)
        # Components met and exchanged by the hotter walker: with the next level, and further on.
        self.exchanged = np.zeros((2, self.n_walkers, 2))
        self.levels = np.zeros(self.n_walkers, dtype=np.int32)
        self.active = np.arange(self.n_walkers)  # walkers that sweeps and exchanges move
        self.repeats = np.ones(self.n_walkers, dtype=np.int64)  # sweeps in the place of one
        self.use_regions(Regions.none())

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        """What of the model these walkers cannot treat, or None."""
        raise NotImplementedError

    def use_ladder(self, betas: FloatArray) -> None:
        """Set the ladder; all walkers go to its first level."""
        self._betas = np.ascontiguousarray(betas, dtype=np.float64)
        self.levels[:] = 0
        self.apply_levels()

    @property
    def ladder(self) -> FloatArray:
        """The inverse temperatures of all levels."""
        return self._betas

    @property
    def regions(self) -> Regions:
        """The regions that `move_regions` tries."""
        return self._regions

    def use_ladder_of(self, other: Walkers) -> None:
        """Share the ladder of another group of the same kind and model."""
        self.use_ladder(other._betas)

    def apply_levels(self) -> None:
        """Make the next sweeps run at the temperatures of `levels`."""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Where the walkers stand, by name, for a checkpoint."""
        return {
            "states": self.states(),
            "levels": self.levels,
            "stream": self.stream,
            "region_moves": self.region_moves,
        }

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Go on from saved arrays; ladder and regions must have been set."""
        self.put_states(arrays["states"])
        for name in ("levels", "stream", "region_moves"):
            getattr(self, name)[...] = arrays[name]
        self.apply_levels()

    def sweep(self, n_sweeps: int) -> None:
        """Let the active walkers visit all free nodes `n_sweeps` times."""
        raise NotImplementedError

    def sweep_and_measure(self, rows: npt.NDArray[np.int64], sums: LevelSums) -> None:
        """Sweep, and add the averages of every active walker to its row (< 0 for none)."""
        self.sweep(self.sweeps_per_step)
        only = np.full_like(rows, -1)
        only[self.active] = rows[self.active]
        sums.add(self.states(), only)

    def exchange_components(self, low: int) -> None:
        """Let walkers of neighbouring levels exchange regions in which they differ, if they can."""

    def states(self) -> StateArray:
        """Labellings of all walkers, (R, n)."""
        raise NotImplementedError

    def put_states(self, states: StateArray) -> None:
        """Replace the labellings of all walkers."""
        raise NotImplementedError

    def active_states(self) -> StateArray:
        """Labellings of the active walkers, (active, n)."""
        return self.states()[self.active]

    def put_active_states(self, states: StateArray) -> None:
        """Replace the labellings of the active walkers."""
        whole = self.states()
        whole[self.active] = states
        self.put_states(whole)

    def energies(self) -> FloatArray:
        """E of every active walker, (active,)."""
        from spinlearn.kernels.measure import walker_energies

        energies = np.empty(len(self.active))
        walker_energies(
            self.active_states(),
            self._edge_u,
            self._edge_v,
            self._model.couplings,
            self._fields,
            energies,
        )
        return energies

    def use_regions(self, regions: Regions) -> None:
        """Set the regions that `move_regions` tries."""
        self._regions = regions
        self.region_moves = np.zeros(regions.count, dtype=np.int64)

    def move_regions(self, n_tries: int) -> None:
        """Try to exchange two classes on `n_tries` random regions."""
        from spinlearn.kernels.regions import swap_on_regions

        if self._regions.count == 0:
            return
        states = self.active_states()
        swap_on_regions(
            states,
            self._model.n_states,
            tuple(self._regions.arrays().values()),
            self._fields,
            self._betas[self.levels[self.active]],
            n_tries,
            self.region_moves,
            self.stream,
        )
        self.put_active_states(states)

    def _swap_regions(self, states: StateArray, model: KernelModel, n_tries: int) -> None:
        """Exchange two classes on random regions of the active walkers' states, any energy."""
        from spinlearn.kernels.node_moves import swap_regions

        regions = self._regions
        if regions.count:
            swap_regions(
                states,
                self._betas[self.levels[self.active]],
                (regions.ptr, regions.nodes),
                model,
                self.stream,
                n_tries,
                self.region_moves,
            )
