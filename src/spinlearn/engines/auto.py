"""Auto: picks the engine by what the model allows; the result names the one that ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback, Seed
from spinlearn.core.results import Equilibrium
from spinlearn.core.settings import Settings
from spinlearn.engines.junction_tree import JunctionTree
from spinlearn.engines.multicanonical import Multicanonical
from spinlearn.errors import UnsupportedModelError


@dataclass(kw_only=True)
class Auto(Settings):
    """Exact where the width of the graph allows it within the given budget, else multicanonical.

    Parameters
    ----------
    max_memory_gb, max_operations : float
        Budget for the exact answer, see `JunctionTree`.
    tol, max_seconds, n_jobs, checkpoint
        Of the sampling engine, see `Multicanonical`.
    """

    max_memory_gb: float = 2.0
    max_operations: float = 1e8
    tol: float = 0.01
    max_seconds: float | None = 300.0
    n_jobs: int = 1
    checkpoint: Any = None

    name: ClassVar[str] = "auto"

    def unsupported(self, model: PottsModel) -> str | None:
        """Why no engine can treat the model, or None."""
        exact = self._exact().unsupported(model)
        sampled = None if exact is None else self._sampling().unsupported(model)
        return None if sampled is None else f"{exact}; {sampled}"

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
    ) -> Equilibrium:
        """Run the engine of choice; `Equilibrium.engine` names it."""
        try:
            return self._exact().run(model, temperatures, seed=seed, callback=callback)
        except UnsupportedModelError as too_wide:
            try:
                return self._sampling().run(model, temperatures, seed=seed, callback=callback)
            except UnsupportedModelError as error:
                raise UnsupportedModelError(
                    f"no engine fits this model. {too_wide}. And {error}"
                ) from error

    def _exact(self) -> JunctionTree:
        return JunctionTree(max_memory_gb=self.max_memory_gb, max_operations=self.max_operations)

    def _sampling(self) -> Multicanonical:
        return Multicanonical(
            tol=self.tol,
            max_seconds=self.max_seconds,
            n_jobs=self.n_jobs,
            checkpoint=self.checkpoint,
        )
