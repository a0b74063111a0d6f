"""The seam between a sampling run and whoever knows when its answer is settled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from spinlearn.core.arrays import FloatArray
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.model import PottsModel


class RunView(Protocol):
    """What a run has measured so far, by independent ladders of walkers."""

    n_ladders: int

    def equilibrium(self) -> Equilibrium:
        """Averages over all ladders, with their errors."""

    def moved(self, weights: FloatArray, temperature: float | None = None) -> Equilibrium:
        """The averages, moved by so many times the deviation of every ladder from them.

        At all temperatures, or at one.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a run may stop."""

    settled: bool
    changing: float  # upper limit of the share of points whose call is expected to change still
    temperatures: FloatArray  # on which the answer rests, or may come to: they get the time


class Until(Protocol):
    """Who knows what a run is for."""

    def __call__(self, snapshot: RunView, look: int) -> Verdict:
        """Whether it may stop, asked for the `look`-th time."""

    def rests_on(self, snapshot: RunView) -> FloatArray:
        """Temperatures on which the answer rests, as far as can be seen."""


@runtime_checkable
class SamplesLevels(Protocol):
    """An engine that samples each temperature for itself, and takes `until` in `run`."""

    def keeps_levels(self, model: PottsModel) -> bool:
        """Whether it would do so for this model: others cannot be had from a coarse grid then."""
