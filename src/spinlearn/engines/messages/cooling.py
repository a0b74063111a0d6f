"""Messages taken along a way of temperatures: one driver, `follow`, for all who do that.

Messages are cooled from above the mean-field temperature, where nothing is ordered. The run of the
engine is in `belief_propagation`, blocks on a cluster in `spinlearn.workflows.cluster`, models side
by side in `replicas`; here is

`cooled_averages`: one start through a large model, with nothing kept on the way. Where messages
take gigabytes there is no room for copies of them, and no time to come back to a rung of a ladder.
The temperatures asked for are passed on the way down, with steps between them where they are far
apart. Of each stay, in single precision: probabilities and agreements, energy and ln Z. The heat
capacity is the slope of the energy to the temperature above.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from time import perf_counter
from typing import IO, TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from spinlearn.engines.messages.potts import Reading
from spinlearn.engines.messages.propagation import (
    Propagation,
    Settled,
    Settling,
)
from spinlearn.errors import StoppedError
from spinlearn.model.arrays import FloatArray
from spinlearn.model.equilibrium import Equilibrium, Kind
from spinlearn.model.phases import mean_field_temperature
from spinlearn.model.potts import PottsModel
from spinlearn.model.protocols import Callback, Progress

if TYPE_CHECKING:
    from spinlearn.engines.messages.belief_propagation import BeliefPropagation

ABOVE = 1.1  # the mean-field temperature, where nothing is ordered
STEP = 1.5  # most, between neighbouring temperatures on the way down
COARSE_TOL = 1e-5  # of messages: marginals are then right to 1e-3 where they move most
PARTIAL = 4  # sweeps that visit some of the nodes only count as a quarter
REPORT_SECONDS = 0.1
SMALL = 1e9  # bytes of rows that stay in memory
SPARE = 1.1  # times what is needed must be free on the disk


class Settleable(Protocol):
    """Messages that follow the temperature, here or on a cluster."""

    settling: Settling

    def settle(self, temperature: float, *, hasty: bool = False) -> Settled:
        """Sweep at this temperature until messages are settled; if hasty, less well."""


def follow(
    messages: Settleable, way: Iterable[float], wanted: Sequence[float] = ()
) -> Iterator[tuple[float, Settled]]:
    """Take messages along a way, in haste where it is not `wanted`, until they are stopped."""
    for temperature in way:
        settled = messages.settle(temperature, hasty=temperature not in wanted)
        if messages.settling.stopped:
            return
        yield temperature, settled


def way_down(model: PottsModel, wanted: Sequence[float]) -> list[float]:
    """The falling temperatures, from the disordered phase, with no finite step above STEP."""
    finite = [t for t in wanted if np.isfinite(t)]
    way = [t for t in wanted if not np.isfinite(t)]
    if not finite:
        return way
    above = max(ABOVE * mean_field_temperature(model), finite[0])
    if finite[0] * STEP < above:
        way.append(above)
    for temperature in finite:
        steps = int(np.ceil(np.log(max(above / temperature, 1.0)) / np.log(STEP) - 1e-9))
        between = above * (temperature / above) ** (np.arange(1, steps) / max(steps, 1))
        way += [*between.tolist(), temperature]
        above = temperature
    return way


def cooled_averages(
    settings: BeliefPropagation,
    model: PottsModel,
    wanted: FloatArray,
    root: np.random.SeedSequence,
    callback: Callback | None,
) -> Equilibrium:
    """Averages of one start, cooled through temperatures above 0, or those before a stop."""
    falling = sorted(set(wanted.tolist()), reverse=True)
    way, done = way_down(model, falling), 0
    started = reported = perf_counter()

    def stop() -> bool:
        nonlocal reported
        if callback is None or perf_counter() - reported < REPORT_SECONDS:
            return False
        reported = perf_counter()
        share = min(done / len(way), 0.99)
        return bool(callback(Progress(phase="belief propagation", fraction=share)))

    settling = Settling(
        max(float(settings.tol), COARSE_TOL), int(settings.max_sweeps) * PARTIAL,
        settings.schedule, stop,
    )  # fmt: skip
    propagation = Propagation.lean(model, falling[-1], settling)
    propagation.start(root)
    marginals = SpilledRows(len(falling), (model.n_nodes, model.n_states))
    agreement = SpilledRows(len(falling), (model.graph.n_edges,))
    stays: list[tuple[float, Settled, Reading]] = []
    for temperature, settled in follow(propagation, way, falling):
        done += 1
        if temperature in falling:
            reading = propagation.messages.read(marginals.next(), agreement.next())
            marginals.keep()
            agreement.keep()
            stays.append((temperature, settled, reading))
    if not stays:
        raise StoppedError("stopped before messages settled at any temperature")
    del propagation  # freed before the rows come back
    temperatures = np.array([t for t, *_ in stays])
    energies = np.array([reading.energy for *_, reading in stays])
    return Equilibrium(
        model=model,
        temperatures=temperatures,
        marginals=marginals.stacked(),
        edge_agreement=agreement.stacked(),
        mean_energy=energies,
        heat_capacity=energy_slopes(temperatures, energies),
        log_partition=np.array([reading.log_partition(t) for t, _, reading in stays]),
        converged=np.array([settled.settled for _, settled, _ in stays]),
        engine=settings.name,
        kind=Kind.APPROXIMATE,
        diagnostics={
            "start": ["cooled"] * len(stays),
            "residual": [settled.residual for _, settled, _ in stays],
            "sweeps": [settled.sweeps for _, settled, _ in stays],
            "damped": [settled.damped for _, settled, _ in stays],
            "broken_symmetry": [reading.broken for *_, reading in stays],
            "cut_short": len(stays) < len(falling),
            "seconds": perf_counter() - started,
        },
    )


def energy_slopes(temperatures: FloatArray, energies: FloatArray) -> FloatArray:
    """d<E>/dT between neighbouring temperatures, >= 0; zero at infinity or if there is but one."""
    capacities = np.zeros(len(temperatures))
    finite = np.flatnonzero(np.isfinite(temperatures))
    if len(finite) > 1:
        slopes = np.diff(energies[finite]) / np.diff(temperatures[finite])
        capacities[finite] = np.maximum(np.concatenate([slopes[:1], slopes]), 0.0)
    return capacities


class SpilledRows:
    """One large array a temperature, in single precision; beyond SMALL bytes on the disk."""

    def __init__(self, n_rows: int, shape: tuple[int, ...]) -> None:
        self.shape, self.count = shape, 0
        size = 4 * n_rows * int(np.prod(shape, dtype=np.int64))
        folder = tempfile.gettempdir()
        self._file: IO[bytes] | None = None
        if size > SMALL and shutil.disk_usage(folder).free > SPARE * size:
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - open until the end
        kept = 1 if self._file is not None else n_rows
        self._rows: npt.NDArray[np.float32] = np.empty((kept, *shape), dtype=np.float32)

    def next(self) -> npt.NDArray[np.float32]:
        row: npt.NDArray[np.float32] = self._rows[0 if self._file is not None else self.count]
        return row

    def keep(self) -> None:
        """The row is filled."""
        if self._file is not None:
            self._rows[0].tofile(self._file)
        self.count += 1

    def stacked(self) -> npt.NDArray[Any]:
        """All rows that were kept, (rows, ...), read-only; nothing can be added after that."""
        if self._file is None:
            rows = self._rows if self.count == len(self._rows) else self._rows[: self.count].copy()
        else:
            self._rows = np.empty((0, *self.shape), dtype=np.float32)
            rows = np.empty((self.count, *self.shape), dtype=np.float32)
            self._file.seek(0)
            for row in rows:
                row.reshape(-1)[:] = np.fromfile(self._file, dtype=np.float32, count=row.size)
            self._file.close()
        rows.flags.writeable = False
        return rows
