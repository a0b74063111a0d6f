"""BlockPropagation: belief propagation in blocks on a cluster, as an engine like any other.

The model is written in parts, the workers of the Dask cluster that joblib was given pass messages
(`spinlearn.workflows.distributed`), and averages come back. One cooled start, as for all large
models.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, temperature_array
from spinlearn.core.equilibrium import Equilibrium, Kind
from spinlearn.core.free_part import ConditionedModel
from spinlearn.core.model import FREE, PottsModel
from spinlearn.core.parallel import active_client
from spinlearn.core.protocols import Callback
from spinlearn.core.seeds import Seed
from spinlearn.core.settings import Settings
from spinlearn.engines import BeliefPropagation
from spinlearn.engines.cooled_run import COARSE_TOL, energy_slopes
from spinlearn.errors import ClusterError, InvalidInputError, UnsupportedModelError
from spinlearn.io.message_parts import write_message_parts
from spinlearn.messages.layout import is_two_valued
from spinlearn.messages.propagation import way_down
from spinlearn.workflows.distributed import Propagated, propagate_parts


@dataclass(kw_only=True)
class BlockPropagation(Settings):
    """Belief propagation over a partitioned model.

    Parameters
    ----------
    n_blocks : int
        At least as many as workers; more of them if one does not fit into a worker's memory.
    folder : path or None
        New or empty folder for the parts, which all workers can read; it is kept. None: one for
        temporary files, which is removed, for workers on this machine.
    tol : float
        Messages are settled when no entry changes by more than this part of itself in a sweep.
    max_sweeps : int
        At one temperature.
    """

    n_blocks: int
    folder: Any = None
    tol: float = COARSE_TOL
    max_sweeps: int = 1600

    name: ClassVar[str] = BeliefPropagation.name

    def unsupported(self, model: PottsModel) -> str | None:
        """What of the model cannot be shared out, or None."""
        if not is_two_valued(model):
            return "blocks hold pairs that cost one amount if alike and one if not: leave them out"
        return BeliefPropagation().unsupported(model)

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
    ) -> Equilibrium:
        """Averages of one cooled start; `seed` decides nothing.

        States that nothing tells apart stay alike, so that a model without labels never orders.
        """
        began, wanted = perf_counter(), temperature_array(temperatures)
        reason = self.unsupported(model)
        if reason is not None:
            raise UnsupportedModelError(reason)
        if wanted.min() <= 0 or not np.all(np.isfinite(wanted)):
            raise InvalidInputError("blocks pass messages at finite temperatures above 0 only")
        client = active_client()
        if client is None:
            raise ClusterError(
                "blocks live on the workers of a Dask cluster, and joblib was given none: use "
                "--scheduler ADDRESS, or joblib.parallel_config('dask', client=client)"
            )
        falling = sorted(set(wanted.tolist()), reverse=True)
        with self._folder() as folder:
            parts = write_message_parts(model, folder, self.n_blocks)
            found = propagate_parts(
                parts, falling, client, through=way_down(model, falling), tol=self.tol,
                max_sweeps=self.max_sweeps, callback=callback,
            )  # fmt: skip
        whole = _equilibrium(model, found, perf_counter() - began)
        return whole.at(wanted)

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        if self.folder is not None:
            yield Path(self.folder)
            return
        with tempfile.TemporaryDirectory(prefix="spinlearn-parts-") as folder:
            yield Path(folder)


def _equilibrium(model: PottsModel, found: Propagated, seconds: float) -> Equilibrium:
    """Averages of all nodes and edges from those of the free ones."""
    free = ConditionedModel.of(model)
    marginals = free.full_marginals(found.marginals)
    agreement = free.full_agreement(found.agreement, marginals)
    pairs = zip(marginals, agreement, strict=True)
    energies = np.array([_energy(model, p, c) for p, c in pairs])
    return Equilibrium(
        model=model,
        temperatures=found.temperatures,
        marginals=marginals,
        edge_agreement=agreement,
        mean_energy=energies,
        heat_capacity=energy_slopes(found.temperatures, energies),
        converged=found.settled,
        engine=BlockPropagation.name,
        kind=Kind.APPROXIMATE,
        diagnostics={
            "start": ["cooled"] * len(energies),
            "sweeps": found.sweeps.tolist(),
            "workers_lost": found.losses,
            "largest_share": max(found.worker_bytes.values()) / sum(found.worker_bytes.values()),
            "seconds": seconds,
        },
    )


def _energy(model: PottsModel, p: FloatArray, agreement: FloatArray) -> float:
    """<E>, class sizes as of independent nodes."""
    alike, apart = float(model.pair_cost[0, 0]), float(model.pair_cost[0, 1])
    total = float(
        model.couplings @ (apart + (alike - apart) * agreement) + np.sum(p * model.fields)
    )
    penalty = model.class_penalty
    if penalty is not None:
        sizes, free = penalty.sizes, model.clamped == FREE
        gap = sizes @ p - np.asarray(penalty.targets)
        variance = float(np.sum(sizes[free] ** 2 @ (p[free] * (1 - p[free]))))
        total += 0.5 * float(penalty.coefficient) * (float(gap @ gap) + variance)
    return total
