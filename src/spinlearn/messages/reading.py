"""Reading: what the messages of one fixed point say about a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.messages.layout import MessageLayout


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Averages of the free part of a model at one temperature.

    Attributes
    ----------
    marginals : float array (n, q)
        Of the free nodes, in the order of `ConditionedModel.nodes`.
    agreement : float array (m,)
        C_ij of the edges between free nodes, in the order of `ConditionedModel.edges`.
    energy : float
        <E>, that of the clamped nodes included.
    least_energy, log_count : float
        The Bethe ln Z = log_count - least_energy / T; apart, because T may be 0.
    """

    marginals: FloatArray
    agreement: FloatArray
    energy: float
    least_energy: float
    log_count: float

    def sums(self) -> Reading:
        """The same without what is known of single nodes and edges."""
        return replace(self, marginals=np.empty((0, 0)), agreement=np.empty(0))

    def log_partition(self, temperature: float) -> float:
        """Bethe ln Z; at T = 0 its limit."""
        if self.least_energy == 0.0:
            return self.log_count
        if temperature == 0.0:
            return float("-inf") if self.least_energy > 0 else float("inf")
        return self.log_count - self.least_energy / temperature


def labelling_reading(layout: MessageLayout, states: Any) -> Reading:
    """One labelling of the free nodes, as if nothing else were possible."""
    free, model = layout.free, layout.model
    whole = np.array(model.clamped)
    whole[free.nodes] = states
    u, v = free.edges.T
    energy = float(model.energy(whole))
    return Reading(
        marginals=np.eye(model.n_states)[np.asarray(states, dtype=np.intp)],
        agreement=(states[u] == states[v]).astype(np.float64),
        energy=energy,
        least_energy=energy,
        log_count=0.0,
    )
