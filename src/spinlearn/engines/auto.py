"""Auto: picks the engine by what the model allows, and says in the result which one it was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy.typing as npt

from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback, Seed
from spinlearn.core.results import Equilibrium
from spinlearn.core.settings import Settings
from spinlearn.engines.junction_tree import JunctionTree
from spinlearn.errors import UnsupportedModelError


@dataclass(kw_only=True)
class Auto(Settings):
    """Exact where the width of the graph allows it within the given budget.

    Parameters
    ----------
    max_memory_gb, max_operations : float
        Budget for the exact answer, see `JunctionTree`.
    """

    max_memory_gb: float = 2.0
    max_operations: float = 1e8

    name: ClassVar[str] = "auto"

    def unsupported(self, model: PottsModel) -> str | None:
        """Why no engine can treat the model, or None."""
        return self._exact().unsupported(model)

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
        except UnsupportedModelError as error:
            raise UnsupportedModelError(
                f"no engine fits this model within engine='auto' limits. {error}"
            ) from error

    def _exact(self) -> JunctionTree:
        return JunctionTree(max_memory_gb=self.max_memory_gb, max_operations=self.max_operations)
