"""The seams: what engines, graph builders and progress reports look like, seeds.

And between a sampling run and whoever knows when its answer is settled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import FloatArray
from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel

Seed = (
    int
    | Sequence[int]
    | np.random.SeedSequence
    | np.random.Generator
    | np.random.RandomState
    | None
)


def seed_sequence(seed: Seed) -> np.random.SeedSequence:
    """A sequence that leaves the caller's as it is; generators are asked for one number."""
    if isinstance(seed, np.random.SeedSequence):
        return np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
    if isinstance(seed, np.random.RandomState):
        return np.random.SeedSequence(int(seed.randint(2**31)))
    if isinstance(seed, np.random.Generator):
        return np.random.SeedSequence(int(seed.integers(2**31)))
    try:
        return np.random.SeedSequence(seed)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"seed {seed!r} cannot be used: give a whole number >= 0, a generator or None"
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a run stands: phase, fraction in [0, 1], largest standard error if it is known."""

    phase: str
    fraction: float
    worst_error: float | None = None


# Called between compiled blocks of at most about a second; a true return value stops the run.
Callback = Callable[[Progress], Any]


@runtime_checkable
class Engine(Protocol):
    """What every engine looks like: it maps a model to its thermal averages.

    An engine of your own needs no base class. It has a `name`, a method `unsupported` and a method
    `run`; enter it into `ENGINES`, or give it to ``PottsClassifier(engine=...)`` as it is. One that
    treats no term in whole classes, such as a null model, has ``treats_class_terms = False``; the
    method "auto" is then the paper's.

    Attributes
    ----------
    name : str
        How the engine is called in tables, files and on the command line.

    Examples
    --------
    >>> from spinlearn.engines import Engine, JunctionTree
    >>> isinstance(JunctionTree(), Engine)
    True
    """

    name: ClassVar[str]

    def unsupported(self, model: PottsModel) -> str | None:
        """Why this engine cannot treat the `model`, with a remedy, or None if it can."""

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
    ) -> Equilibrium:
        """Thermal averages at the given temperatures.

        Parameters
        ----------
        model : PottsModel
            What to average over; n nodes, m edges, q states.
        temperatures : array-like of float
            Where, >= 0, in the unit of the couplings; 0 and infinity are allowed.
        seed : int, SeedSequence or None
            Of random numbers; the same seed gives the same result.
        callback : callable, optional
            Called with a `Progress` between blocks of about a second; a true answer stops the run.

        Returns
        -------
        Equilibrium
            At the temperatures asked for, in that order; where the callback stopped the run, at
            those that were finished.

        Raises
        ------
        StoppedError
            If the callback stopped the run before it had anything to return.
        """


@runtime_checkable
class GraphBuilder(Protocol):
    """Turns points into a graph of similar ones."""

    def build(self, X: Any) -> Graph:
        """The graph of similar points, given (n, d) of them."""

    def attach(self, X_new: Any, X: Any) -> Any:
        """Similarities of unseen points to the training points, csr_array (n_new, n)."""


class RunView(Protocol):
    """What a run has measured so far, by independent ladders of walkers."""

    n_ladders: int

    def equilibrium(self) -> Equilibrium:
        """Averages over all ladders, with their errors."""

    def moved(self, weights: FloatArray, temperature: float | None = None) -> Equilibrium:
        """The averages, moved by `weights` times every ladder's deviation, at all T or one."""


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
