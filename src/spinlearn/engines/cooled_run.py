"""One cooled start of belief propagation through a large model, with nothing kept on the way.

Where messages take gigabytes there is no room for copies of them, and no time to come back to a
rung of a ladder. The temperatures asked for are passed on the way down, with steps between them
where they are far apart. Of each stay, in single precision: probabilities and agreements, energy
and ln Z. The heat capacity is the slope of the energy to the temperature above.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from spinlearn.analysis.temperature_grid import mean_field_temperature
from spinlearn.core.arrays import FloatArray
from spinlearn.core.equilibrium import Equilibrium, Kind
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback, Progress
from spinlearn.engines.message_ways import message_way
from spinlearn.engines.waiting_rows import WaitingRows
from spinlearn.errors import StoppedError
from spinlearn.messages.reading import Reading
from spinlearn.messages.settling import Settled

if TYPE_CHECKING:
    from spinlearn.engines.belief_propagation import BeliefPropagation

STEP = 1.5  # most, between neighbouring temperatures
COARSE_TOL = 1e-5  # of messages: marginals are then right to 1e-3 where they move most
PARTIAL = 4  # sweeps that visit some of the nodes only count as a quarter
NOISE = 1e-3  # in the first messages where states are alike, so that one of them can win
REPORT_SECONDS = 0.1
PHASE = "belief propagation"


class CooledRun:
    """The way of one start down through the temperatures asked for.

    Parameters
    ----------
    settings : BeliefPropagation
    model : PottsModel
    wanted : float array
        Temperatures above 0, in any order.
    root : SeedSequence
    callback : callable or None
    """

    def __init__(
        self,
        settings: BeliefPropagation,
        model: PottsModel,
        wanted: FloatArray,
        root: np.random.SeedSequence,
        callback: Callback | None,
    ) -> None:
        self.model, self.callback, self.root = model, callback, root
        self.wanted = sorted(set(wanted.tolist()), reverse=True)
        self.way = way_down(self.wanted, 1.1 * mean_field_temperature(model))
        self.started = self.reported = perf_counter()
        self.done = 0
        self.messages = message_way(
            model,
            self.wanted[-1],
            tol=max(float(settings.tol), COARSE_TOL),
            max_sweeps=int(settings.max_sweeps) * PARTIAL,
            schedule=settings.schedule,
            stop=self._stop,
        )

    def equilibrium(self, engine: str) -> Equilibrium:
        """Averages at the temperatures asked for, or at those reached before a stop."""
        messages, model, n_wanted = self.messages, self.model, len(self.wanted)
        del self.messages  # freed before the rows come back
        messages.start(self.root, NOISE)
        marginals = WaitingRows(n_wanted, (model.n_nodes, model.n_states))
        agreement = WaitingRows(n_wanted, (model.graph.n_edges,))
        found: list[tuple[float, Settled, Reading, int]] = []
        for temperature in self.way:
            settled = messages.settle(temperature, hasty=temperature not in self.wanted)
            if messages.stopped:
                break
            self.done += 1
            if temperature in self.wanted:
                reading, broken = messages.read(marginals.next(), agreement.next())
                marginals.keep()
                agreement.keep()
                found.append((temperature, settled, reading, broken))
        if not found:
            raise StoppedError("stopped before messages settled at any temperature")
        del messages
        return self._collected(engine, found, marginals.stacked(), agreement.stacked())

    def _collected(
        self,
        engine: str,
        found: list[tuple[float, Settled, Reading, int]],
        marginals: Any,
        agreement: Any,
    ) -> Equilibrium:
        temperatures = np.array([t for t, *_ in found])
        energies = np.array([reading.energy for _, _, reading, _ in found])
        rows = len(found)
        return Equilibrium(
            model=self.model,
            temperatures=temperatures,
            marginals=marginals,
            edge_agreement=agreement,
            mean_energy=energies,
            heat_capacity=energy_slopes(temperatures, energies),
            log_partition=np.array([r.log_partition(t) for t, _, r, _ in found]),
            converged=np.array([settled.settled for _, settled, _, _ in found]),
            engine=engine,
            kind=Kind.APPROXIMATE,
            diagnostics={
                "start": ["cooled"] * rows,
                "residual": [settled.residual for _, settled, _, _ in found],
                "sweeps": [settled.sweeps for _, settled, _, _ in found],
                "damped": [settled.damped for _, settled, _, _ in found],
                "broken_symmetry": [broken for *_, broken in found],
                "cut_short": rows < len(self.wanted),
                "seconds": perf_counter() - self.started,
            },
        )

    def _stop(self) -> bool:
        if self.callback is None or perf_counter() - self.reported < REPORT_SECONDS:
            return False
        self.reported = perf_counter()
        share = min(self.done / len(self.way), 0.99)
        return bool(self.callback(Progress(phase=PHASE, fraction=share)))


def way_down(wanted: list[float], top: float) -> list[float]:
    """Temperatures from the disordered phase down, no finite step larger than STEP."""
    finite = [temperature for temperature in wanted if np.isfinite(temperature)]
    way = [temperature for temperature in wanted if not np.isfinite(temperature)]
    if not finite:
        return way
    above = max(top, finite[0])
    if finite[0] * STEP < above:
        way.append(above)
    for temperature in finite:
        steps = int(np.ceil(np.log(max(above / temperature, 1.0)) / np.log(STEP) - 1e-9))
        between = above * (temperature / above) ** (np.arange(1, steps) / max(steps, 1))
        way += [*between.tolist(), temperature]
        above = temperature
    return way


def energy_slopes(temperatures: FloatArray, energies: FloatArray) -> FloatArray:
    """d<E>/dT between neighbouring temperatures, never below zero; zero if there is one only.

    At infinite temperature it is zero.
    """
    found = np.zeros(len(temperatures))
    finite = np.flatnonzero(np.isfinite(temperatures))
    if len(finite) > 1:
        slopes = np.diff(energies[finite]) / np.diff(temperatures[finite])
        found[finite] = np.maximum(np.concatenate([slopes[:1], slopes]), 0.0)
    return found
