"""Tallies: everything a sampling run counts, from energies of walkers to sums over nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.density import (
    Counts,
    Density,
    EnergyBins,
    Histogram,
    LevelEnergies,
)
from spinlearn.analysis.equilibration import EnergySeries
from spinlearn.analysis.level_sums import LevelSums
from spinlearn.analysis.reweight import Sums, reweighted
from spinlearn.core.array_file import Arrays
from spinlearn.core.arrays import FloatArray
from spinlearn.core.free_part import ConditionedModel
from spinlearn.core.model import PottsModel
from spinlearn.errors import UnsupportedModelError

BLOCKS = (32, 16, 8)  # independent parts of walkers that share a group; fewer to save memory
MAX_SUM_BYTES = 1.5e9
MAX_COLUMNS = 150_000  # sums kept per energy bin: marginals and edges

# Energies, levels and blocks of some walkers of a group.
Sample = tuple[FloatArray, npt.NDArray[np.int32], npt.NDArray[np.int64]]


def columns(model: PottsModel) -> int:
    """Sums kept per energy bin and block."""
    return model.n_nodes * (model.n_states - 1) + model.graph.n_edges


def blocks_by_energy(model: PottsModel, bins: EnergyBins) -> int:
    """Into how many blocks sums by energy can be split; 0 if there is no room for them."""
    row_bytes = 4.0 * bins.n_coarse * columns(model)
    fitting = [b for b in BLOCKS if b * row_bytes <= MAX_SUM_BYTES]
    return fitting[0] if fitting and columns(model) <= MAX_COLUMNS else 0


@dataclass(frozen=True, slots=True, eq=False)
class Tallies:
    """Sums of a run: by energy (`sums`), by level (`levels`), or both, with those of energies."""

    sums: Sums | None
    levels: LevelSums | None
    row_of_level: npt.NDArray[np.int64]  # of `levels`; -1 for levels that were not asked for
    histogram: Histogram
    energies: LevelEnergies
    series: EnergySeries

    @classmethod
    def empty(
        cls,
        model: PottsModel,
        betas: FloatArray,
        requested: FloatArray,
        bins: EnergyBins,
        n_blocks: int,
        *,
        by_energy: bool,
        by_level: bool,
    ) -> Tallies:
        """Nothing counted yet, at levels `betas`, of which those `requested` have a row."""
        row_of_level = np.full(len(betas), -1, dtype=np.int64)
        row_of_level[np.searchsorted(betas, requested)] = np.arange(len(requested))
        if by_level:
            refuse_large_sums(model, n_blocks, len(requested))
        return cls(
            sums=Sums(model, bins, n_blocks) if by_energy else None,
            levels=empty_level_sums(model, n_blocks, len(requested)) if by_level else None,
            row_of_level=row_of_level,
            histogram=Histogram(bins),
            energies=LevelEnergies.empty(n_blocks, len(betas)),
            series=EnergySeries(n_blocks, len(betas)),
        )

    def _parts(self) -> dict[str, Counts]:
        names = ("sums", "levels", "histogram", "energies", "series")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def add(self, samples: list[Sample]) -> None:
        """Energies of a group."""
        for energies, levels, blocks in samples:
            self.histogram.add(energies)
            self.energies.add(energies, blocks, levels)
            self.series.add(energies, blocks, levels)

    def end_round(self) -> None:
        """Take the averages of a measured round over."""
        self.series.end_round()
        if self.levels is not None:
            self.levels.end_round()

    def clear(self) -> None:
        """Forget everything."""
        for part in self._parts().values():
            part.clear()

    def worst_error(
        self, model: PottsModel, betas: FloatArray, eta: FloatArray | None, wanted: FloatArray
    ) -> float:
        """Largest standard error of a marginal over the temperatures `wanted`.

        eta : of the ensemble; needed where there are no sums by level
        """
        if self.levels is not None:
            return float(self.levels.worst_errors().max())
        assert self.sums is not None
        assert eta is not None
        density = Density.of(self.histogram, betas, eta)
        thermal = density.thermal(wanted, model)
        return float(reweighted(self.sums, density, thermal.probability).std_error.max(initial=0.0))

    def arrays(self) -> Arrays:
        """All sums by name, for a checkpoint."""
        parts = self._parts().items()
        return {f"{part}_{k}": v for part, sums in parts for k, v in sums.arrays().items()}


def empty_level_sums(model: PottsModel, n_blocks: int, n_rows: int) -> LevelSums:
    """Over the free nodes and the edges between them."""
    return LevelSums(ConditionedModel.of(model), n_blocks, n_rows)


def refuse_large_sums(model: PottsModel, n_blocks: int, n_rows: int) -> None:
    """Refuse, before any work, sums by level that do not fit."""
    free = ConditionedModel.of(model)
    needed = LevelSums.bytes_needed(free, n_blocks, n_rows)
    if needed > 2 * MAX_SUM_BYTES:
        raise UnsupportedModelError(
            f"sums for {n_rows} temperatures, {model.n_nodes} nodes with {model.n_states} "
            f"states and {model.graph.n_edges} edges need {needed / 1e9:.1f} GB: ask for "
            "fewer temperatures or use a sparser graph"
        )
