"""Multicanonical sampling: walkers that roam all energies, reweighted to every temperature.

The ensemble has the weight

    W(E) = sum_t exp(eta_t - beta_t E)

over a ladder of inverse temperatures beta_t. With eta_t = -ln Z(beta_t) every level is visited
equally often, so W(E) is nearly 1/D(E), D the density of states, over the range of energies that
the requested temperatures need. A walker draws its level from P(t | E) and is swept at beta_t,
which leaves W invariant at the price of canonical sweeps. (Read with the level kept, this is
simulated tempering; ln W is convex, so inside a first-order gap the walk is not flat.) Between
valleys walkers go by exchanging two classes on whole regions, see `spinlearn.engines.regions`.

Phases: *ladder* (cooling places the levels and normalises Z at beta = 0), *weights* (eta by
stochastic approximation, shared by all walkers, then frozen), *production*. A sample counts with
its own energy; node and edge sums are kept per energy bin and per block of walkers, so that any
temperature can be asked for later and the spread over blocks is the error bar.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.reweight import Averages, EnergyBins, Sums, reweighted
from spinlearn.core.arrays import FloatArray, StateArray, temperature_array
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback, Progress, Seed
from spinlearn.core.results import Equilibrium
from spinlearn.core.settings import Settings
from spinlearn.engines import checkpoint
from spinlearn.engines.ground_state import ground_state
from spinlearn.engines.regions import Regions, harvest
from spinlearn.engines.walkers import Walkers, walkers_for
from spinlearn.errors import (
    ConvergenceWarning,
    InvalidInputError,
    StoppedError,
    UnsupportedModelError,
)

BLOCKS = (32, 16, 8)  # independent parts of the walkers, for error bars; fewer to save memory
MAX_SUM_BYTES = 1.5e9
MAX_COLUMNS = 150_000  # sums kept per energy bin: marginals and edges
REGION_TRIES = 4  # per step
STEPS_PER_ROUND = 10
HARVESTED = 256  # cooled labellings in which regions are looked for
LEVEL_DISTANCE = 1.5  # of neighbouring levels, in standard deviations of the energy
MAX_RATIO = 1.25  # of neighbouring temperatures, where the energy hardly fluctuates
MIN_WEIGHT_ROUNDS = 200
FIRST_CHECK = 100  # rounds of production before errors are looked at
SHORTEST = 0.1  # of the rounds of the weights phase: production that is thrown away first


@dataclass(kw_only=True)
class Multicanonical(Settings):
    """The paper's engine, for graphs too wide for an exact answer.

    Parameters
    ----------
    tol : float
        Stop when the largest standard error of a marginal, over nodes and temperatures, is below.
    max_seconds : float or None
        Stop after this time even if `tol` is not reached.
    max_sweeps : int
        Stop production after this many sweeps of every walker.
    n_groups : int
        Groups of walkers (256 or 64 each) that can run on cores of their own.
    n_jobs : int
        Threads. The result does not depend on it.
    checkpoint : path or None
        File in which the run is saved now and then; if it exists, the run goes on from there and
        ends with the result an uninterrupted run would have had.
    checkpoint_seconds : float
        Time between two savings.
    """

    tol: float = 0.012
    max_seconds: float | None = None
    max_sweeps: int = 200_000
    n_groups: int = 1
    n_jobs: int = 1
    checkpoint: Any = None
    checkpoint_seconds: float = 30.0

    name: ClassVar[str] = "multicanonical"

    def unsupported(self, model: PottsModel) -> str | None:
        """Why no kernel of this engine can treat the model, or None."""
        kind = walkers_for(model)
        if isinstance(kind, str):
            return f"the multicanonical kernels cannot treat {kind}: use engine='junction_tree'"
        if _columns(model) > MAX_COLUMNS:
            return (
                f"{model.n_nodes} nodes with {model.n_states} states and {model.graph.n_edges} "
                f"edges need {_columns(model)} sums per energy bin, more than {MAX_COLUMNS}: use a "
                "sparser graph or fewer points"
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
        """Sampled averages with standard errors at all temperatures.

        Stopped by the callback or by Ctrl-C during production, it returns what it has.
        """
        wanted = temperature_array(temperatures)
        self._check()
        reason = self.unsupported(model)
        if reason is not None:
            raise UnsupportedModelError(reason)
        root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        return _Run(self, model, wanted, root, callback).result()

    def _check(self) -> None:
        for name, least in (("tol", 0.0), ("max_sweeps", 1), ("n_groups", 1), ("n_jobs", -1)):
            value = getattr(self, name)
            if not isinstance(value, (int, float, np.number)) or not value >= least or value == 0:
                raise InvalidInputError(f"{name}={value!r} is out of range: give a number > 0")
        if self.max_seconds is not None and not self.max_seconds > 0:
            raise InvalidInputError(f"max_seconds={self.max_seconds!r}: give a number > 0 or None")
        if self.n_groups not in (1, 2, 4, 8):
            raise InvalidInputError(
                f"n_groups={self.n_groups}: error bars are taken over {BLOCKS[-1]} or more blocks "
                "of walkers, shared evenly by the groups; use 1, 2, 4 or 8"
            )


class _Run:
    """One run: the walkers, the ladder, the weights and the sums, saved as plain arrays."""

    def __init__(
        self,
        settings: Multicanonical,
        model: PottsModel,
        wanted: FloatArray,
        root: np.random.SeedSequence,
        callback: Callback | None,
    ) -> None:
        self.settings, self.model, self.wanted, self.callback = settings, model, wanted, callback
        kind = walkers_for(model)
        assert not isinstance(kind, str)  # `unsupported` was asked
        self.kind: Any = kind
        fresh = np.random.SeedSequence(root.entropy, spawn_key=root.spawn_key)
        self.library_seed, *children = fresh.spawn(1 + settings.n_groups)
        self.groups: list[Walkers] = [self.kind(model, child) for child in children]
        self.identity = checkpoint.fingerprint(
            model, wanted.tolist(), root.entropy, root.spawn_key, settings.tol,
            settings.max_sweeps, settings.n_groups,
        )  # fmt: skip
        self.started = self.saved = perf_counter()
        self.seconds: dict[str, float] = {}
        self.stopped = False
        self.phase, self.rounds, self.next_check = "ladder", 0, FIRST_CHECK
        self.worst = np.inf

    def result(self) -> Equilibrium:
        """Run all phases from wherever the checkpoint left off."""
        saved = None
        if self.settings.checkpoint is not None:
            saved = checkpoint.load(self.settings.checkpoint, self.identity)
        if saved is None:
            self._timed("ladder", self._build_ladder)
        else:
            self._restore(*saved)
        try:
            if self.phase == "weights":
                self._timed("weights", self._learn_weights)
            if self.phase == "production":
                self._timed("production", self._produce)
        except KeyboardInterrupt:
            if self.phase != "production" or self.sums.counts.sum() == 0:
                raise
        if self.phase != "production" or self.sums.counts.sum() == 0:
            raise StoppedError("stopped by the callback before anything was measured")
        return _equilibrium(
            self.model, self.sums, self.betas, self.eta, self.log_z_first, self._diagnostics(),
            self.settings.tol, self.wanted,
        )  # fmt: skip

    # -- ladder --------------------------------------------------------------------------------

    def _build_ladder(self) -> None:
        """Cool all walkers from infinite temperature, placing levels on the way."""
        positive = self.wanted[(self.wanted > 0) & np.isfinite(self.wanted)]
        scale = float(np.abs(self.model.couplings).mean()) if len(self.model.couplings) else 1.0
        coldest = float(positive.min()) if len(positive) else scale
        if np.any(self.wanted == 0):
            coldest /= 2
        hottest = float(positive.max()) if len(positive) else np.inf
        hottest = np.inf if np.any(np.isinf(self.wanted)) else hottest
        marks = np.unique(1 / positive)
        betas, means, deviations = [0.0], [], []
        log_z = [len(self.model.free_nodes) * float(np.log(self.model.n_states))]
        previous: FloatArray | None = None
        lowest = np.inf
        while True:
            beta = betas[-1]
            # Levels hotter than any requested one are visited here only: they normalise Z.
            energies = self._equilibrated(beta, reads=30 if beta * hottest < 1 - 1e-9 else 4)
            if previous is not None:
                log_z.append(log_z[-1] + _bennett(previous, energies, beta - betas[-2]))
            previous = energies
            lowest = min(lowest, float(energies.min()))
            means.append(float(energies.mean()))
            deviations.append(float(max(energies.std(), 1e-9 * max(scale, 1e-300))))
            if beta >= (1 - 1e-12) / coldest:
                break
            step = LEVEL_DISTANCE / deviations[-1]
            target = beta + step
            if beta > 0:
                target = min(target, beta * MAX_RATIO)
            later = marks[marks > beta * (1 + 1e-9)]
            # A requested temperature becomes a level when it is about as far as the next step.
            if len(later) and later[0] < beta + 1.3 * (target - beta):
                target = float(later[0])
            betas.append(min(target, 1 / coldest))
            self._report("ladder", 0.1 * betas[-1] * coldest)
        first = int(np.searchsorted(betas, (1 - 1e-9) / hottest))
        self.betas = np.array(betas[first:])
        self.log_z_first = log_z[first]
        self.eta = -(np.array(log_z[first:]) - log_z[first])
        ground = ground_state(self.model)
        if ground is not None:
            lowest = min(lowest, float(self.model.energy(ground)))
        bins = EnergyBins.of(
            self.model, np.array(means[first:]), np.array(deviations[first:]), lowest
        )
        row_bytes = 4.0 * bins.n_coarse * _columns(self.model)
        fitting = [b for b in BLOCKS if b * row_bytes <= MAX_SUM_BYTES]
        self.sums = Sums.empty(self.model, bins, fitting[0] if fitting else BLOCKS[-1])
        self._place_walkers(ground)
        self.phase = "weights"

    def _equilibrated(self, beta: float, reads: int) -> FloatArray:
        """Energies of all walkers, some times, after some sweeps at one temperature."""
        energies = []
        for group in self.groups:
            group.use_ladder(np.array([beta]))
            group.sweep(group.cooling_sweeps)
            for _ in range(reads):
                group.sweep(max(group.cooling_sweeps // 6, 1))
                energies.append(group.energies())
        return np.concatenate(energies)

    def _place_walkers(self, ground: StateArray | None) -> None:
        """Spread the walkers over the levels; half of them start in the ground state if known."""
        cold = np.concatenate([group.states() for group in self.groups])[:HARVESTED]
        generator = np.random.default_rng(self.library_seed)
        self.regions = harvest(self.model, cold, ground, generator)
        for group in self.groups:
            states = group.states()
            if ground is not None:
                states[::2] = ground
            group.use_regions(self.regions)
            group.use_ladder(self.betas)
            group.put_states(states)
            group.levels[:] = np.arange(group.n_walkers) * len(self.betas) // group.n_walkers
            group.apply_levels()
            group.sweep(20)
        self.trips = _Trips(self.groups, len(self.betas))

    # -- weights -------------------------------------------------------------------------------

    def _learn_weights(self) -> None:
        """Stochastic approximation of eta until walkers have travelled the whole ladder."""
        needed = 0.5 * sum(group.n_walkers for group in self.groups)
        while not self.stopped:
            occupancy = self._advance()
            self.rounds += 1
            share = occupancy / occupancy.mean()
            gain = max(0.5 / (1 + self.rounds / 40), 0.02)
            self.eta -= gain * np.clip(share - 1, -1, 3)
            self.eta -= self.eta[0]
            self.trips.update()
            travelled = self.trips.count >= needed and self.rounds >= MIN_WEIGHT_ROUNDS
            if travelled or self.sweeps >= 0.5 * self.settings.max_sweeps or self._late(0.4):
                break
            self._report("weights", 0.1 + 0.3 * min(self.trips.count / needed, 1.0))
            self._save()
        if self.stopped:
            return
        self.burn = int(SHORTEST * self.rounds) + 10
        self.phase, self.rounds = "production", 0
        self.trips = _Trips(self.groups, len(self.betas))
        self.occupancy = np.zeros(len(self.betas))

    # -- production ----------------------------------------------------------------------------

    def _produce(self) -> None:
        """Measure with frozen weights until the errors are small enough."""
        while not self.stopped:
            occupancy = self._advance()
            self.rounds += 1
            if self.rounds <= self.burn:
                continue
            self.occupancy += occupancy
            self._measure()
            self.trips.update()
            measured = self.rounds - self.burn
            done = self.sweeps >= self.settings.max_sweeps or self._late(1.0)
            if measured >= self.next_check or done:
                self.next_check = int(1.25 * measured) + 1
                averages = reweighted(self.sums, self.wanted, self.betas, self.eta, self.model)
                self.worst = float(averages.std_error.max())
                done = done or self.worst <= self.settings.tol
            ratio = self.settings.tol / self.worst if self.worst > 0 else 1.0
            self._report("production", 1.0 if done else 0.4 + 0.6 * min(ratio**2, 0.99))
            if done:
                break
            self._save()

    @property
    def sweeps(self) -> int:
        """Sweeps of every walker in this phase."""
        return int(self.rounds * STEPS_PER_ROUND * self.kind.sweeps_per_step)

    def _measure(self) -> None:
        first = 0
        per_group = self.sums.n_blocks // len(self.groups)
        for group in self.groups:
            blocks = first + np.arange(group.n_walkers) % per_group
            self.sums.add(group.states(), group.energies(), blocks)
            first += per_group

    def _advance(self) -> FloatArray:
        """A round: every group sweeps, moves regions, draws levels; summed level occupancy."""
        arguments = [(group, self.betas, self.eta) for group in self.groups]
        if self.settings.n_jobs == 1 or len(self.groups) == 1:
            return np.asarray(np.sum([_round(*a) for a in arguments], axis=0))
        from joblib import Parallel, delayed

        threads = Parallel(n_jobs=self.settings.n_jobs, require="sharedmem")
        return np.asarray(np.sum(threads(delayed(_round)(*a) for a in arguments), axis=0))

    # -- time, progress, checkpoint --------------------------------------------------------------

    def _timed(self, phase: str, work: Any) -> None:
        began = perf_counter()
        try:
            work()
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + perf_counter() - began

    def _late(self, share: float) -> bool:
        limit = self.settings.max_seconds
        return limit is not None and perf_counter() - self.started > share * limit

    def _report(self, phase: str, fraction: float) -> None:
        worst = self.worst if np.isfinite(self.worst) else None
        progress = Progress(phase=phase, fraction=fraction, worst_error=worst)
        if self.callback is not None and self.callback(progress):
            self.stopped = True

    def _save(self) -> None:
        path = self.settings.checkpoint
        if path is None or perf_counter() - self.saved < self.settings.checkpoint_seconds:
            return
        arrays: checkpoint.Arrays = {
            "betas": self.betas,
            "eta": self.eta,
            "bin_edges": self.sums.bins.edges,
            "been_hot": np.concatenate(self.trips.been_hot),
            "been_cold": np.concatenate(self.trips.been_cold),
            "occupancy": getattr(self, "occupancy", np.zeros(len(self.betas))),
        }
        arrays |= {f"sums_{k}": v for k, v in self.sums.arrays().items()}
        arrays |= {f"regions_{k}": v for k, v in self.regions.arrays().items()}
        for k, group in enumerate(self.groups):
            arrays[f"states_{k}"] = group.states()
            arrays[f"levels_{k}"] = group.levels
            arrays[f"stream_{k}"] = group.stream
            arrays[f"region_moves_{k}"] = group.region_moves
        header = {
            "phase": self.phase,
            "rounds": self.rounds,
            "n_blocks": self.sums.n_blocks,
            "burn": getattr(self, "burn", 0),
            "next_check": self.next_check,
            "trips": self.trips.count,
            "log_z_first": self.log_z_first,
            "worst": self.worst if np.isfinite(self.worst) else None,
            "seconds": self.seconds,
        }
        checkpoint.save(path, self.identity, header, arrays)
        self.saved = perf_counter()

    def _restore(self, header: dict[str, Any], arrays: checkpoint.Arrays) -> None:
        self.phase, self.rounds, self.burn = header["phase"], header["rounds"], header["burn"]
        self.next_check, self.log_z_first = header["next_check"], header["log_z_first"]
        self.worst = np.inf if header["worst"] is None else header["worst"]
        self.seconds = header["seconds"]
        self.betas, self.eta = arrays["betas"], arrays["eta"]
        self.occupancy = arrays["occupancy"]
        bins = EnergyBins(arrays["bin_edges"])
        self.sums = Sums.empty(self.model, bins, header["n_blocks"])
        for name, values in self.sums.arrays().items():
            values[...] = arrays[f"sums_{name}"]
        parts = {k[8:]: v for k, v in arrays.items() if k.startswith("regions_")}
        self.regions = Regions(**parts)
        self.trips = _Trips(self.groups, len(self.betas))
        self.trips.count = header["trips"]
        begin = 0
        for k, group in enumerate(self.groups):
            group.use_regions(self.regions)
            group.use_ladder(self.betas)
            states: StateArray = arrays[f"states_{k}"]
            group.put_states(states)
            group.levels[:] = arrays[f"levels_{k}"]
            group.apply_levels()
            group.stream[:] = arrays[f"stream_{k}"]
            group.region_moves[:] = arrays[f"region_moves_{k}"]
            end = begin + group.n_walkers
            self.trips.been_hot[k][:] = arrays["been_hot"][begin:end]
            self.trips.been_cold[k][:] = arrays["been_cold"][begin:end]
            begin = end

    def _diagnostics(self) -> dict[str, Any]:
        total = max(float(self.occupancy.mean()), 1.0)
        return {
            "walkers": f"{len(self.groups)} x {self.kind.n_walkers} {self.kind.__name__}",
            "ladder": 1 / np.maximum(self.betas, 1e-300),
            "regions": self.regions.count,
            "region_moves": int(sum(g.region_moves.sum() for g in self.groups)),
            "sweeps": self.sweeps,
            "round_trips": self.trips.count,
            "occupancy": self.occupancy / total,
            "worst_std_error": self.worst,
            "seconds": dict(self.seconds),
        }


def _columns(model: PottsModel) -> int:
    """Sums kept per energy bin and block."""
    return model.n_nodes * (model.n_states - 1) + model.graph.n_edges


class _Trips:
    """Counts journeys of walkers from the hottest level to the coldest and back."""

    def __init__(self, groups: list[Walkers], n_levels: int) -> None:
        self.groups, self.last = groups, n_levels - 1
        self.been_cold = [np.zeros(g.n_walkers, dtype=bool) for g in groups]
        self.been_hot = [np.zeros(g.n_walkers, dtype=bool) for g in groups]
        self.count = 0

    def update(self) -> None:
        """Look where the walkers are now."""
        for group, cold, hot in zip(self.groups, self.been_cold, self.been_hot, strict=True):
            at_hot, at_cold = group.levels == 0, group.levels == self.last
            self.count += int(np.sum(cold & at_hot))
            hot |= at_hot
            cold &= ~at_hot
            cold |= at_cold & hot


def _round(group: Walkers, betas: FloatArray, eta: FloatArray) -> FloatArray:
    from spinlearn.kernels.ensemble import draw_levels

    occupancy = np.zeros(len(betas))
    for _ in range(STEPS_PER_ROUND):
        group.sweep(group.sweeps_per_step)
        group.move_regions(REGION_TRIES)
        draw_levels(group.energies(), betas, eta, group.levels, occupancy, group.stream)
        group.apply_levels()
    return occupancy


def _equilibrium(
    model: PottsModel,
    sums: Sums,
    betas: FloatArray,
    eta: FloatArray,
    log_z_first: float,
    diagnostics: dict[str, Any],
    tol: float,
    temperatures: FloatArray,
) -> Equilibrium:
    averages: Averages = reweighted(sums, temperatures, betas, eta, model)
    worst = averages.std_error.max(axis=(1, 2))
    converged = worst <= tol
    if not np.all(converged):
        listed = ", ".join(f"{t:g}" for t in temperatures[~converged])
        warnings.warn(
            f"the standard error is above tol={tol:g} (up to {worst.max():.2g}) at T = {listed}: "
            "raise max_seconds or max_sweeps, raise tol, or ask for higher temperatures",
            ConvergenceWarning,
            stacklevel=4,
        )
    # ln Z at the ladder's hottest level is known from beta = 0; that fixes the constant.
    offset = log_z_first - averages.log_weight_at(float(betas[0]))
    return Equilibrium(
        model=model,
        temperatures=temperatures,
        marginals=averages.marginals,
        edge_agreement=averages.edge_agreement,
        mean_energy=averages.mean_energy,
        heat_capacity=averages.heat_capacity,
        log_partition=averages.log_weight + offset,
        std_error=averages.std_error,
        agreement_std_error=averages.agreement_std_error,
        converged=converged,
        engine=Multicanonical.name,
        diagnostics={
            **diagnostics,
            "effective_samples": averages.effective_samples,
            "energies": averages.energies,
            "log_density_of_states": averages.log_density + offset,
        },
        evaluate=partial(_equilibrium, model, sums, betas, eta, log_z_first, diagnostics, tol),
    )


def _bennett(hotter: FloatArray, colder: FloatArray, step: float) -> float:
    """ln Z(beta + step) - ln Z(beta) from energies at both (Bennett's acceptance ratio)."""
    shift = -step * 0.5 * float(hotter.mean() + colder.mean())
    for _ in range(100):
        forward = np.mean(1 / (1 + np.exp(np.clip(step * hotter + shift, -700, 700))))
        backward = np.mean(1 / (1 + np.exp(np.clip(-step * colder - shift, -700, 700))))
        change = float(np.log(forward) - np.log(backward))
        shift += change
        if abs(change) < 1e-12:
            break
    return shift
