"""SamplingRun: what every sampling run shares, from its clock to its checkpoints.

The walkers fall into independent blocks, whose spread is the error bar. The kinds of run say what
walkers do before anything is measured:

LadderRun   one walker at every level of each of several ladders (`engines/sampling/ladder_run.py`)
RoamingRun  walkers that change their levels (`engines/sampling/roaming_run.py`)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from spinlearn.engines.checkpoint import Checkpoint, Header, Saved, misfit, refuse_existing
from spinlearn.engines.exact.enumeration import Enumeration
from spinlearn.engines.sampling.density import EnergyBins
from spinlearn.engines.sampling.ladder import Ladder, cool, first_cold_level, requested_levels
from spinlearn.engines.sampling.move_sets import Regions, regions_of
from spinlearn.engines.sampling.rounds import DaskRounds, Round, Tallies
from spinlearn.engines.sampling.sampled import Measured
from spinlearn.engines.sampling.walkers import Walkers
from spinlearn.errors import StoppedError
from spinlearn.files.arrays import Arrays
from spinlearn.minimizers.cuts import alpha_expansion, minimum_cut
from spinlearn.minimizers.minimum import Minimum, cut_reason, expansion_reason
from spinlearn.model.arrays import BoolArray, FloatArray, StateArray
from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.parallel import active_client, in_threads
from spinlearn.model.potts import PottsModel
from spinlearn.model.protocols import Callback, Progress, Until

if TYPE_CHECKING:
    from spinlearn.engines.sampling.samplers import Sampler

PRODUCTION = "production"
DEFAULT_TOL = 0.012  # of averages, where nobody says when an answer is settled


class SamplingRun(ABC):
    """The walkers, the ladder and the sums, saved as plain arrays.

    `dynamics` is how walkers move over the levels, see `engines/sampling/rounds.py`; `wanted` are
    temperatures, in any order; `until` stops the run besides its limits, in the place of a
    tolerance.
    """

    n_seeds: ClassVar[int]  # of groups of walkers, at most
    arrays: ClassVar[tuple[str, ...]]  # attributes that a checkpoint holds,
    numbers: ClassVar[tuple[str, ...]] = (  # and those that it holds in its header
        "phase", "rounds", "burn", "burn_rounds", "next_check", "first_cold", "tries",
        "log_z_first", "log_z_first_error", "seconds", "worst",
    )  # fmt: skip

    def __init__(
        self,
        settings: Sampler,
        kind: type[Walkers],
        dynamics: str,
        model: PottsModel,
        wanted: FloatArray,
        root: np.random.SeedSequence,
        callback: Callback | None,
        until: Until | None,
    ) -> None:
        self.settings, self.kind, self.dynamics = settings, kind, dynamics
        self.model, self.wanted, self.callback, self.until = model, wanted, callback, until
        self.tolerance = DEFAULT_TOL if settings.tol is None else settings.tol
        # The error that averages may have; None where a settled answer is asked for.
        self.tol = None if settings.tol is None and until is not None else self.tolerance
        self.size = model.n_nodes + model.graph.n_edges
        self.requested = requested_levels(model, wanted)
        self.library_seed, self.pilot_seed, *self.seeds = root.spawn(2 + self.n_seeds)
        self.checkpoint = Checkpoint(
            settings.checkpoint, settings.checkpoint_seconds, model, wanted.tolist(), root.entropy,
            root.spawn_key, settings.name, kind.__name__, dynamics, settings.max_sweeps,
            settings.n_groups,
        )  # fmt: skip
        self.started = perf_counter()
        self.seconds: dict[str, float] = {}
        self.stopped = False
        self.saves = True  # until time cuts short what a longer run would do first
        self.phase, self.rounds, self.next_check = "ladder", 0, 0
        self.burn, self.burn_rounds = 0, 0  # rounds dropped in production, and before it
        self.tries = 0  # of region moves per step
        self.first_cold = 0  # level from which on exchanges go further than the next
        self.worst, self.fraction = np.inf, 0.0
        self.eta = np.zeros(0)  # of levels that are drawn
        self.log_z_first, self.log_z_first_error = 0.0, 0.0
        self.groups: list[Walkers] = []
        self.regions = regions_of(model, [])
        self.betas = self.requested
        # Of levels that walkers keep: steps from one sweep to the next, sweeps in the place of one.
        self.strides = self.repeats = np.ones(0, dtype=np.int64)
        self.n_blocks, self.round_steps = 1, 1
        self.round_sweeps = 1  # of every walker in a round, at least
        self.tallies: Tallies

    # -- what kinds of run fill in -------------------------------------------------------------

    @abstractmethod
    def _set_up(self) -> None:
        """Place levels, walkers and sums; leave the phase "ladder"."""

    @abstractmethod
    def _settle(self) -> None:
        """All that comes before production; sets `phase` to PRODUCTION unless stopped."""

    @abstractmethod
    def _produce(self) -> None:
        """Measure until a limit or an accuracy is reached."""

    @abstractmethod
    def lay_out(self, bins: EnergyBins) -> None:
        """Empty sums, and groups of walkers where those do not exist yet."""

    @abstractmethod
    def _ensemble(self) -> FloatArray | None:
        """eta of the levels, see `density.py`; None where levels are not joined."""

    @abstractmethod
    def unsettled(self) -> BoolArray:
        """Levels that have not reached equilibrium, as far as the run's own tests show, (K,)."""

    @abstractmethod
    def finished(self) -> bool:
        """Whether production has reached what it was asked for, or its limit in sweeps."""

    def _diagnostics(self) -> dict[str, Any]:
        """Numbers for people."""
        return {
            "walkers": f"{len(self.groups)} x {self.groups[0].n_walkers} {self.kind.__name__}",
            "levels_are": self.dynamics,
            "ladder": 1 / np.maximum(self.betas, 1e-300),
            "regions": self.regions.count,
            "region_moves": int(sum(g.region_moves.sum() for g in self.groups)),
            "sweeps": self.sweeps,
            "split_rhat": self.tallies.energies.split_rhat(),
            "worst_std_error": self.worst,
            "seconds": dict(self.seconds),
        }

    # -- the run -------------------------------------------------------------------------------

    def result(self) -> Equilibrium:
        """Run all phases from wherever the checkpoint left off."""
        if len(self.model.free_nodes) == 0:  # one labelling is left: no sampling
            refuse_existing(self.settings.checkpoint, "a model without free nodes")
            exact = Enumeration().run(self.model, self.wanted, callback=self.callback)
            return replace(
                exact,
                engine=self.settings.name,
                std_error=np.zeros_like(exact.marginals),
                agreement_std_error=np.zeros_like(exact.edge_agreement),
            )
        saved = self.checkpoint.load()
        if saved is None:
            self._timed("ladder", self._set_up)
        else:
            self._resume(saved)
        try:
            if self.phase != PRODUCTION and not self.stopped:
                self._timed(self.phase, self._settle)
            if self.phase == PRODUCTION and not self.stopped:
                self._timed(PRODUCTION, self._produce)
        except KeyboardInterrupt:
            if not self._has_measured:
                raise
        if not self._has_measured:
            raise StoppedError("stopped before anything was measured")
        return self.equilibrium()

    @property
    def _has_measured(self) -> bool:
        return self.phase == PRODUCTION and self.tallies.energies.visits.sum() > 0

    @property
    def sweeps(self) -> int:
        """Sweeps of every walker in this phase."""
        return self.rounds * self.round_sweeps

    def _advance(self, *, measure: bool) -> tuple[FloatArray, FloatArray]:
        """A round of all groups; summed occupancy of the levels, and exchanges tried and done."""
        per_group = self.n_blocks // len(self.groups)
        work = [
            Round(
                group=group,
                blocks=g * per_group + np.arange(group.n_walkers) % per_group,
                measure=measure,
                sums=self.tallies.sums,
                levels=self.tallies.levels,
                row_of_level=self.tallies.row_of_level,
                dynamics=self.dynamics,
                betas=self.betas,
                eta=self.eta,
                steps=self.round_steps,
                tries=self.tries,
                first_cold=self.first_cold,
                first_step=self.rounds * self.round_steps,
                strides=self.strides,
                repeats=self.repeats,
            )
            for g, group in enumerate(self.groups)
        ]
        on_cluster = len(work) > 1 and active_client() is not None
        if on_cluster and DaskRounds.worthwhile(self.tallies, len(work)):
            results = self._cluster.run(work)
        else:
            results = in_threads(work, self.settings.n_jobs)
        occupancy, met, samples = (list(part) for part in zip(*results, strict=True))
        for group_samples in samples:
            self.tallies.add(group_samples)
        if measure:
            self.tallies.end_round()
        return np.asarray(np.sum(occupancy, axis=0)), np.asarray(np.sum(met, axis=0))

    @cached_property
    def _cluster(self) -> DaskRounds:
        return DaskRounds(self.model)

    # -- time, progress, result ----------------------------------------------------------------

    def _timed(self, phase: str, work: Callable[[], None]) -> None:
        began = perf_counter()
        try:
            work()
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + perf_counter() - began

    def _late(self, share: float) -> bool:
        limit = self.settings.max_seconds
        return limit is not None and perf_counter() - self.started > share * limit

    def _report(self, phase: str, fraction: float) -> bool:
        self.fraction = max(self.fraction, fraction)
        worst = self.worst if np.isfinite(self.worst) else None
        progress = Progress(phase=phase, fraction=self.fraction, worst_error=worst)
        if self.callback is not None and self.callback(progress):
            self.stopped = True
        return self.stopped

    def _cool(self, pilot: list[Walkers], max_levels: int, *, by_parts: bool) -> Ladder:
        """The ladder of a pilot."""
        ladder = cool(
            pilot, self.model, self.requested, max_levels,
            lambda fraction: self._report("ladder", 0.1 * fraction),
            by_parts=by_parts, late=lambda: self._late(0.15),
        )  # fmt: skip
        self.betas, self.first_cold = ladder.betas, first_cold_level(ladder.deviations)
        self.log_z_first, self.log_z_first_error = ladder.log_z_first, ladder.log_z_first_error
        return ladder

    def _use_regions(self, regions: Regions, tries: int) -> None:
        self.regions, self.tries = regions, tries
        for group in self.groups:
            group.use_regions(regions)

    @cached_property
    def _minimum(self) -> Minimum | None:
        return least_energy(self.model, lambda: self._late(0.2))

    def _least(self) -> tuple[Minimum | None, StateArray]:
        """The least energy known, and all labellings of it that have been found, if looked for."""
        return self._minimum, np.empty((0, self.model.n_nodes), dtype=np.int8)

    def equilibrium(self) -> Equilibrium:
        """What has been measured so far, at the temperatures asked for."""
        tallies, eta, diagnostics = self.tallies, self._ensemble(), self._diagnostics()
        levels = None
        if tallies.levels is not None:
            levels, diagnostics["block_spread"] = tallies.levels.averages()
            diagnostics["effective_samples"] = levels.effective_samples
        minimum, minima = self._least()
        measured = Measured(
            model=self.model,
            engine=self.settings.name,
            tol=self.tol,
            betas=self.betas,
            eta=eta,
            joined=self.dynamics != "held",
            log_z_first=self.log_z_first,
            log_z_first_error=self.log_z_first_error,
            histogram=tallies.histogram,
            energies=tallies.energies,
            sums=None if eta is None else tallies.sums,  # which eta reweights
            levels=levels,
            rows=self.requested,
            unsettled=self.unsettled(),
            minimum=minimum,
            minima=minima,
            diagnostics=diagnostics,
        )
        return measured.equilibrium(self.wanted)

    # -- checkpoint ----------------------------------------------------------------------------

    def _save(self, now: bool = False) -> None:
        if self.saves:
            self.checkpoint.save(self._state, now=now or self.stopped)

    def _state(self) -> tuple[Header, Arrays]:
        """Header and arrays of a run that has left the ladder phase."""
        arrays: Arrays = {
            "betas": self.betas,
            "bin_edges": self.tallies.histogram.bins.edges,
            "region_ptr": self.regions.ptr,
            "region_nodes": self.regions.nodes,
            **self._counted(),
        }
        for k, group in enumerate(self.groups):
            arrays |= {f"group{k}_{name}": values for name, values in group.arrays().items()}
        return {name: getattr(self, name) for name in self.numbers}, arrays

    def _counted(self) -> Arrays:
        own = {f"own_{name}": getattr(self, name) for name in self.arrays}
        return self.tallies.arrays() | own

    def _resume(self, saved: Saved) -> None:
        """Go on where the saved run was."""
        for name in self.numbers:
            setattr(self, name, saved.header[name])
        self.betas = saved.arrays["betas"]
        if not np.all(np.isin(self.requested, self.betas)):
            raise misfit("its levels are not those asked for")
        self.lay_out(EnergyBins(saved.arrays["bin_edges"]))
        like = {name: saved.arrays[f"region_{name}"] for name in ("ptr", "nodes")}
        ptr, nodes = saved.part(like, "region_", nodes=(0, self.model.n_nodes - 1)).values()
        if np.any(np.diff(ptr) < 1) or ptr[-1] != len(nodes):
            raise misfit("its regions do not end where their nodes do")
        if len(nodes):
            self.regions = regions_of(self.model, np.split(nodes.astype(np.intp), ptr[1:-1]))
        counted = self._counted()
        for name, values in saved.part(counted).items():
            counted[name][...] = values
        ranges = {"states": (0, self.model.n_states - 1), "levels": (0, len(self.betas) - 1)}
        for k, group in enumerate(self.groups):
            group.use_regions(self.regions)
            group.restore(saved.part(group.arrays(), f"group{k}_", **ranges))
        # It was killed before its answer was written: one more round would make another answer.
        self.stopped = self.finished()


def least_energy(model: PottsModel, stop: Callable[[], bool] | None = None) -> Minimum | None:
    """A labelling of least energy, for more than two states by alpha-expansion; None if no cut can.

    It is `exact` if that is proven. Once `stop`, asked before every cut, says true, the best
    labelling so far is returned, and None before the first cut.
    """
    if stop is not None and stop():
        return None
    if cut_reason(model) is None:
        return minimum_cut(model)
    if expansion_reason(model) is not None:
        return None
    return alpha_expansion(model, bound=True, stop=stop)
