"""The ladder: inverse temperatures at which walkers are swept, placed while a pilot is cooled.

The pilot starts at beta = 0, where Z = q^n_free is known, and goes down in steps of about one
standard deviation of the energy; Bennett's ratio adds up ln Z on the way. Levels are then placed at
equal steps of thermodynamic length, sigma_E d(beta), so that energies of neighbours overlap, with
every requested temperature among them. When the pilot's walkers have frozen in different valleys,
their energies differ at every beta, and a ladder for that spread would have most of its levels
where nothing moves: sigma_E is then that of single walkers.

Where every walker stays at its level, levels are placed without a pilot, by approximate energies
(`place_levels`): between neighbours at beta and beta' the thermodynamic length is

    sqrt((E - E') (beta' - beta))

to leading order. Levels that are at most LEVEL_DISTANCE apart overlap, so that samples of all of
them join to one density of states. That takes sqrt(n) levels. In large models they are up to
PART_DISTANCE apart, or PART_RATIO in temperature: what changes places between neighbours there are
parts of labellings, whose energies do not grow with the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from spinlearn.engines.sampling.density import free_energy_step
from spinlearn.engines.sampling.walkers import Walkers
from spinlearn.errors import StoppedError
from spinlearn.model.arrays import FloatArray, StateArray
from spinlearn.model.potts import PottsModel

LEVEL_DISTANCE = 1.5  # of neighbouring levels, in standard deviations of the energy
PART_DISTANCE = 6.0  # where neighbours exchange parts: two thirds of the exchanges succeed
PART_RATIO = 1.12  # of temperatures, there
JOINED = 40  # levels, up to which they are placed so that all overlap
HOT_LEVELS = (3, 8)  # least and most from T = infinity, where Z is known, to the first wanted
MAX_RATIO = 1.25  # of neighbouring temperatures, where the energy hardly fluctuates
PILOT_GROWTH = 0.04  # of beta per step of the pilot, at least
HOT_READS = 1e5  # of nodes
FROZEN = 3.0  # spread of all walkers over the fluctuation of one, beyond which they are apart
PARTS = 8  # of the walkers of a pilot
HURRY = 8  # part of the sweeps of a pilot that is late
COLDEST = 0.05  # times the typical coupling: below, T counts as 0


class Ladder(NamedTuple):
    """Levels in ascending order of beta, with what the pilot saw there."""

    betas: FloatArray
    means: FloatArray
    deviations: FloatArray
    log_z_first: float
    log_z_first_error: float
    lowest: float  # energy seen
    states: list[StateArray]  # of the pilot, near every level


def first_cold_level(deviations: FloatArray) -> int:
    """First level beyond the largest fluctuation of the energy, where valleys may part."""
    peak = int(np.argmax(deviations))
    beyond = np.flatnonzero(deviations[peak:] < 0.8 * deviations[peak])
    return peak + int(beyond[0]) if len(beyond) else len(deviations) - 1


def typical_coupling(model: PottsModel) -> float:
    """A typical energy step: the median coupling, or step of a field where there are no edges."""
    for values in (model.effective_couplings, np.diff(np.sort(model.fields, axis=1), axis=1)):
        steps = np.abs(values[values != 0])
        if len(steps):
            return float(np.median(steps))
    return 1.0


def requested_levels(model: PottsModel, temperatures: FloatArray) -> FloatArray:
    """Inverse temperatures that must be levels, ascending; T = 0 is one beyond the coldest."""
    unit = typical_coupling(model)
    cold = temperatures < COLDEST * unit
    betas = np.unique(1 / temperatures[~cold])  # 1 / inf = 0
    if np.any(cold):
        coldest = betas[-1] if len(betas) else 0.0
        betas = np.append(betas, max(2 * coldest, 8 / unit))
    return betas


def cool(
    pilot: list[Walkers],
    model: PottsModel,
    wanted: FloatArray,
    max_levels: int,
    report: Callable[[float], bool],
    *,
    by_parts: bool,
    late: Callable[[], bool],
) -> Ladder:
    """The ladder for the `wanted` levels, with at most about `max_levels` besides them.

    `report` hears the fraction done; a true answer stops the run. With `by_parts` neighbours will
    exchange parts of their labellings; the pilot's states are kept as their starts. Once it is
    `late`, the pilot hurries.
    """
    unit = typical_coupling(model)
    # Levels hotter than any requested one are visited here only, so they are read often: they
    # normalise Z.
    hot_reads = int(np.clip(HOT_READS / model.n_nodes, 30, 300))
    betas, means, deviations, fluctuations = [0.0], [], [], []
    states: list[StateArray] = []
    # Of all walkers, and of every PARTS-th of them, whose spread is the error.
    parts: list[slice] = [slice(None), *(slice(k, None, PARTS) for k in range(PARTS))]
    log_z = np.full(len(parts), len(model.free_nodes) * np.log(model.n_states))  # at wanted[0]
    previous: FloatArray | None = None
    lowest = np.inf
    while True:
        beta = betas[-1]
        hurry = HURRY if late() else 1
        reads = max((hot_reads if beta < wanted[0] else 4) // hurry, 2)
        readings = _settled(pilot, beta, reads, hurry)
        energies = readings.ravel()
        if previous is not None and betas[-2] < wanted[0]:
            step = beta - betas[-2]
            log_z += [
                free_energy_step(previous[:, p].ravel(), readings[:, p].ravel(), step)
                for p in parts
            ]
        previous = readings
        lowest = min(lowest, float(energies.min()))
        means.append(float(energies.mean()))
        deviations.append(float(max(energies.std(), 1e-9 * unit)))
        of_one = float(np.sqrt(readings.var(axis=0, ddof=1).mean()))
        fluctuations.append(min(deviations[-1], FROZEN * of_one))
        if by_parts:
            states.append(np.concatenate([group.states() for group in pilot]))
        if beta >= wanted[-1]:
            break
        if report(beta / wanted[-1]):
            raise StoppedError("stopped before anything was measured")
        step = LEVEL_DISTANCE / deviations[-1]
        if beta > 0:
            step = min(max(step, PILOT_GROWTH * beta), (MAX_RATIO - 1) * beta)
        target = beta + step
        if beta < wanted[0]:
            target = min(target, wanted[0])
        betas.append(min(target, wanted[-1]))
    trail = np.array(betas)
    distance = PART_DISTANCE if by_parts else LEVEL_DISTANCE
    placed = _place(wanted, trail, np.array(fluctuations), distance, max_levels)
    nearest = np.abs(np.subtract.outer(placed, trail)).argmin(axis=1)
    return Ladder(
        betas=placed,
        means=np.interp(placed, trail, means),
        deviations=np.interp(placed, trail, deviations),
        log_z_first=float(log_z[0]),
        log_z_first_error=float(log_z[1:].std(ddof=1) / np.sqrt(PARTS)),
        lowest=lowest,
        states=[states[k] for k in nearest] if by_parts else [],
    )


def _settled(pilot: list[Walkers], beta: float, reads: int, hurry: int) -> FloatArray:
    """Energies (reads, walkers) at one temperature, after some sweeps, or a part of them."""
    groups = []
    for group in pilot:
        group.use_ladder(np.array([beta]))
        group.sweep(max(group.cooling_sweeps // hurry, 1))
        energies = []
        for _ in range(reads):
            group.sweep(max(group.cooling_sweeps // (6 * hurry), 1))
            energies.append(group.energies())
        groups.append(energies)
    return np.concatenate(groups, axis=1)


def _place(
    wanted: FloatArray, trail: FloatArray, deviations: FloatArray, distance: float, max_levels: int
) -> FloatArray:
    """As many levels between the wanted ones as overlap or the ratio of neighbours ask for."""
    steps, middles = np.diff(trail), 0.5 * (trail[1:] + trail[:-1])
    spreads = 0.5 * (deviations[1:] + deviations[:-1])
    whole = float(np.sum((spreads * steps)[middles > wanted[0]]))
    density = spreads / max(distance, whole / max_levels)
    cold = middles > trail[1] if len(trail) > 1 else np.zeros(0, dtype=np.bool_)
    density[cold] = np.maximum(density[cold], 1 / (middles[cold] * np.log(MAX_RATIO)))
    places = np.concatenate([[0.0], np.cumsum(density * steps)])
    at = np.interp(wanted, trail, places)
    placed = [wanted[0]]
    for start, end, level in zip(at[:-1], at[1:], wanted[1:], strict=True):
        pieces = max(int(np.ceil(end - start - 0.2)), 1)
        inner = start + (end - start) * np.arange(1, pieces) / pieces
        placed.extend(np.interp(inner, places, trail))
        placed.append(level)
    return np.array(placed)


def place_levels(
    wanted: FloatArray, energies: FloatArray, hot_energy: float
) -> tuple[FloatArray, bool]:
    """The levels, ascending from beta = 0, and whether energies of neighbours overlap.

    `wanted` are inverse temperatures that must be levels, ascending; `energies` are those expected
    there, `hot_energy` that at beta = 0.
    """
    betas, means = wanted, np.minimum.accumulate(np.minimum(energies, hot_energy))
    if betas[0] > 0:
        betas, means = np.append(0.0, betas), np.append(hot_energy, means)
    lengths = np.sqrt(np.maximum(-np.diff(means), 0.0) * np.diff(betas))
    with np.errstate(divide="ignore", invalid="ignore"):
        by_ratio = np.log(betas[1:] / betas[:-1]) / np.log(MAX_RATIO)
    by_ratio = np.where(np.isfinite(by_ratio), np.ceil(by_ratio - 1e-9), 1)
    parts = np.ceil(by_ratio * np.log(MAX_RATIO) / np.log(PART_RATIO))
    dense = np.maximum(np.ceil(lengths / LEVEL_DISTANCE), by_ratio)
    joined = bool(dense.sum() <= max(JOINED, len(wanted)))
    pieces = dense if joined else np.minimum(np.ceil(lengths / PART_DISTANCE), parts)
    if wanted[0] > 0 and not joined:
        pieces[0] = np.ceil(lengths[0] / PART_DISTANCE)
    if wanted[0] > 0:
        pieces[0] = np.clip(pieces[0], HOT_LEVELS[0], max(HOT_LEVELS[1], int(joined) * JOINED))
    placed = [betas[:1]]
    for low, high, count in zip(betas[:-1], betas[1:], pieces, strict=True):
        steps = np.linspace if low == 0 else np.geomspace
        inner = steps(low, high, max(int(count), 1) + 1)
        inner[-1] = high  # to the last bit: it has a row of its own
        placed.append(inner[1:])
    return np.concatenate(placed), joined
