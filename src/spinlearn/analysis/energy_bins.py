"""Bins of energy, narrow where the energy fluctuates little."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray
from spinlearn.core.model import PottsModel

FINE_PER_COARSE = 8
BINS_PER_DEVIATION = 3.0
FINE_BYTES = 1e6  # finer bins are used while a block of sums stays about this large
MAX_BINS = 1000
MAX_MULTIPLE = 1e6  # of the smallest coupling; far larger numbers are all whole to the computer


@dataclass(frozen=True, slots=True)
class EnergyBins:
    """Edges of the coarse bins, ascending; each is cut into equal fine ones."""

    edges: FloatArray

    @classmethod
    def of(
        cls,
        model: PottsModel,
        means: FloatArray,
        deviations: FloatArray,
        lowest: float | None = None,
    ) -> EnergyBins:
        """Bins over all energies of the ladder, at most a third of a standard deviation wide.

        The lowest energy known, if given, has a bin of its own, so that T = 0 can be asked for.
        Small models have so few energies that finer bins cost nothing and remove the bias of
        states that depend on the energy within a bin.
        """
        order = np.argsort(means)
        means, deviations = means[order], deviations[order]
        high = float(means[-1] + 5 * deviations[-1])
        quantum = energy_quantum(model)
        margin = quantum / 2 if quantum > 0 else 10 * model.energy_resolution
        bottom = float(means[0] - 6 * deviations[0]) if lowest is None else lowest
        columns = model.n_nodes * (model.n_states - 1) + model.graph.n_edges
        coarse_bins = BINS_PER_DEVIATION * float(np.sum(np.diff(means) / deviations[1:])) + 20
        finer = np.clip(FINE_BYTES / (coarse_bins * columns), 1.0, 8.0)
        edges = [bottom - margin, bottom + margin]
        while edges[-1] < high:
            width = float(np.interp(edges[-1], means, deviations)) / (BINS_PER_DEVIATION * finer)
            width = max(width, (high - bottom) / MAX_BINS)
            if quantum > 0:
                width = max(1.0, np.rint(width / quantum)) * quantum
            edges.append(edges[-1] + width)
        return cls(np.array(edges))

    @property
    def n_coarse(self) -> int:
        """Number of coarse bins."""
        return len(self.edges) - 1

    def coarse(self, energies: FloatArray) -> npt.NDArray[np.int64]:
        """Coarse bin of every energy; those outside go to the end bins."""
        return np.clip(
            np.searchsorted(self.edges, energies, side="right") - 1, 0, self.n_coarse - 1
        )

    def fine(self, energies: FloatArray) -> npt.NDArray[np.int64]:
        """Fine bin of every energy."""
        coarse = self.coarse(energies)
        low, high = self.edges[coarse], self.edges[coarse + 1]
        width = np.maximum(high - low, np.finfo(np.float64).tiny)  # all energies may be equal
        part = np.clip((energies - low) / width * FINE_PER_COARSE, 0, FINE_PER_COARSE - 1)
        return coarse * FINE_PER_COARSE + part.astype(np.int64)


def energy_quantum(model: PottsModel) -> float:
    """The energy step when all energies are multiples of one, else 0."""
    strengths = np.abs(model.couplings[model.couplings != 0])
    simple = model.is_potts and model.class_penalty is None and not np.any(model.fields != 0)
    if len(strengths) == 0 or not simple:
        return 0.0
    step = float(strengths.min())
    if float(strengths.max()) > MAX_MULTIPLE * step:
        return 0.0
    multiples = strengths / step
    return step if np.allclose(multiples, np.rint(multiples), rtol=0, atol=1e-9) else 0.0
