"""Exact averages by listing all q^n_free labellings: the oracle for every other engine.

Energies come from PottsModel.energy, the reference implementation, so this engine shares no
recursion with the ones it judges.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.engines.limits import heat_capacity, inverse_temperatures, log_partition
from spinlearn.errors import StoppedError, UnsupportedModelError
from spinlearn.model.arrays import StateArray, temperature_array
from spinlearn.model.equilibrium import Equilibrium, Kind
from spinlearn.model.potts import PottsModel
from spinlearn.model.protocols import Callback, Progress, Seed
from spinlearn.model.settings import Settings

CHUNK = 1 << 14  # labellings held at once


@dataclass(kw_only=True)
class Enumeration(Settings):
    """Exact averages by listing all labellings, for a few free nodes.

    The oracle that other engines are tested against.

    Parameters
    ----------
    max_states : int, default 2**20
        Budget: a model with more labellings, q to the number of free nodes, is refused.

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import Enumeration
    >>> triangle = PottsModel(Graph(3, [(0, 1), (1, 2), (0, 2)]), 3)
    >>> found = Enumeration().run(triangle, [1.0])
    >>> found.mean_energy.round(4).tolist(), found.edge_agreement.round(4).tolist()
    ([1.0058], [[0.6647, 0.6647, 0.6647]])
    """

    max_states: int = 1 << 20

    name: ClassVar[str] = "enumeration"

    def unsupported(self, model: PottsModel) -> str | None:
        """Why the model has too many labellings, or None."""
        n_free, q = len(model.free_nodes), model.n_states
        if n_free * np.log(q) > np.log(self.max_states) + 1e-9:
            return (
                f"{q}^{n_free} labellings exceed max_states={self.max_states}: "
                "use engine='junction_tree' or a sampling engine"
            )
        return None

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
    ) -> Equilibrium:
        """Exact averages at all temperatures; the seed is not used."""
        values = temperature_array(temperatures)
        reason = self.unsupported(model)
        if reason is not None:
            raise UnsupportedModelError(reason)
        n, q = model.n_nodes, model.n_states
        n_states = q ** len(model.free_nodes)
        chunks = range(0, n_states, CHUNK)
        energies = np.concatenate(
            [np.atleast_1d(model.energy(_labellings(model, begin))) for begin in chunks]
        )
        ground = float(energies.min())
        excess = energies - ground
        excess[excess < model.energy_resolution] = 0.0
        betas = inverse_temperatures(values, model)
        totals, first, second = np.zeros((3, len(values)))
        marginals = np.zeros((len(values), n, q))
        agreement = np.zeros((len(values), model.graph.n_edges))
        u, v = model.graph.edges.T
        for begin in chunks:
            states = _labellings(model, begin)
            part = excess[begin : begin + CHUNK]
            weights = np.exp(-betas[:, None] * part)
            totals += weights.sum(axis=1)
            first += weights @ part
            second += weights @ part**2
            for x in range(q):
                marginals[:, :, x] += weights @ (states == x).astype(np.float64)
            agreement += weights @ (states[:, u] == states[:, v]).astype(np.float64)
            if callback is not None and callback(
                Progress(phase="enumeration", fraction=min(1.0, (begin + CHUNK) / n_states))
            ):
                raise StoppedError("stopped before all labellings were listed")
        mean = first / totals
        marginals /= marginals.sum(axis=2, keepdims=True)  # totals, but for rounding
        return Equilibrium(
            model=model,
            temperatures=values,
            marginals=marginals,
            edge_agreement=agreement / totals[:, None],
            mean_energy=ground + mean,
            heat_capacity=heat_capacity(np.maximum(second / totals - mean**2, 0.0), values),
            log_partition=log_partition(ground, np.log(totals), values),
            converged=np.ones(len(values), dtype=bool),
            engine=self.name,
            kind=Kind.EXACT,
            diagnostics={"states": n_states, "ground_energy": ground},
            evaluate=partial(self.run, model),
        )


def _labellings(model: PottsModel, begin: int) -> StateArray:
    """Labellings number begin to begin + CHUNK, the free nodes counting in base q."""
    free, q = model.free_nodes, model.n_states
    numbers = np.arange(begin, min(begin + CHUNK, q ** len(free)))
    states = np.tile(model.clamped, (len(numbers), 1))
    for node in free:
        numbers, states[:, node] = np.divmod(numbers, q)
    return states
