"""The seams: what engines, graph builders, progress reports look like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy.typing as npt

from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.core.seeds import Seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a long run stands: phase in words, fraction done in [0, 1].

    `worst_error` is the largest standard error so far, None as long as it is not known.
    """

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
        """Why this engine cannot treat the model, in one sentence with a remedy, or None if it can.

        Parameters
        ----------
        model : PottsModel
            The model to be treated.

        Returns
        -------
        str or None
        """

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
