"""Population annealing: many walkers cooled together (`engines/sampling/population.py`).

One pass serves all temperatures, and slow cooling with whatever moves a model allows is the best
known way into many-valley landscapes (several classes with one label each). The population is kept
at the steps of its way down, so other temperatures cost one more step each.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.engines.checkpoint import Checkpoint, Header, Saved, rows_like
from spinlearn.engines.limits import TimeLimit
from spinlearn.engines.sampling.population import (
    Population,
    Row,
    Snapshot,
    empty_row,
    ground_row,
    population_row,
)
from spinlearn.engines.sampling.walkers import walkers_for
from spinlearn.errors import ConvergenceWarning, InvalidInputError, StoppedError
from spinlearn.files.arrays import Arrays
from spinlearn.model.arrays import FloatArray, temperature_array
from spinlearn.model.equilibrium import Equilibrium, Kind
from spinlearn.model.potts import PottsModel
from spinlearn.model.protocols import Callback, Progress, Seed, seed_sequence
from spinlearn.model.settings import Settings

LOCAL_SWEEPS = 4  # local moves need more sweeps than cluster moves to forget as much
TRAIL_BYTES = 3e8
COLDEST = 6.0  # beta times the mean coupling from which the walkers go for T = 0
ELSEWHERE = 2**31  # marks the random streams of temperatures that are asked for later


@dataclass(kw_only=True)
class PopulationAnnealing(Settings):
    """Sampling by a population of walkers that is cooled together.

    For graphs too wide for an exact answer, and for energies with terms in whole classes. One pass
    serves all temperatures. At every step walkers of high energy are replaced by copies of others.
    The population is kept on its way down, so that other temperatures cost one more step each.

    Parameters
    ----------
    n_walkers : int, default 768
        Size of the population, rounded up to whole groups of walkers (64 or 256).
    n_sweeps : int, default 4
        Sweeps of all walkers at every temperature step; where single nodes move, four times as
        many.
    step : float, default 1
        Length of a step in 1/T, in units of one over the standard deviation of the energy: smaller
        steps copy fewer walkers.
    memory : float, default 0.3
        Correlation of the walkers' energies before and after the sweeps of a step, above which the
        population is resampled. 0 resamples at every step.
    n_reads : int, default 8
        Times the population is read at every temperature asked for, a sweep apart.
    tol : float, default 0.03
        A temperature counts as converged when no standard error of a marginal exceeds this.
    max_seconds : float or None, default None
        Stop cooling after this time; lower temperatures are then left out of the result.
    n_jobs, checkpoint, checkpoint_seconds
        See `Tempering`.

    References
    ----------
    K. Hukushima and Y. Iba, Population annealing and its application to a spin glass, AIP Conf.
    Proc. 690, 200 (2003); J. Machta, Population annealing with weighted averages, Phys. Rev. E 82,
    026704 (2010).

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import PopulationAnnealing
    >>> model = PottsModel(Graph(3, [(0, 1), (1, 2)]), 2, clamped=[0, -1, -1])
    >>> found = PopulationAnnealing(n_walkers=256).run(model, [1.0], seed=0)
    >>> bool(abs(found.marginals[0, 2, 0] - 0.607) < 0.05)  # exact: 0.607
    True
    """

    n_walkers: int = 768
    n_sweeps: int = 4
    step: float = 1.0
    memory: float = 0.3
    n_reads: int = 8
    tol: float = 0.03
    max_seconds: float | None = None
    n_jobs: int = 1
    checkpoint: Any = None
    checkpoint_seconds: float = 30.0

    name: ClassVar[str] = "population_annealing"

    def unsupported(self, model: PottsModel) -> str | None:
        """None: there are walkers for every model."""
        return None

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
    ) -> Equilibrium:
        """Sampled averages with standard errors at all temperatures."""
        wanted = temperature_array(temperatures)
        for name in ("n_walkers", "n_sweeps", "step", "n_reads", "tol"):
            value = getattr(self, name)
            if not isinstance(value, (int, float, np.number)) or not value > 0:
                raise InvalidInputError(f"{name}={value!r} is out of range: give a number > 0")
        if not isinstance(self.n_jobs, (int, np.integer)) or self.n_jobs == 0 or self.n_jobs < -1:
            raise InvalidInputError(f"n_jobs={self.n_jobs!r}: give a number > 0, or -1 for all")
        clock = TimeLimit(self.max_seconds)
        return _Run(self, model, wanted, seed_sequence(seed), callback, clock).result()


class _Run:
    """One cooling of the population."""

    def __init__(
        self,
        settings: PopulationAnnealing,
        model: PottsModel,
        wanted: FloatArray,
        root: np.random.SeedSequence,
        callback: Callback | None,
        clock: TimeLimit,
    ) -> None:
        self.settings, self.model, self.callback, self.clock = settings, model, callback, clock
        self.wanted = wanted
        self.cooled = _Cooled(settings=settings, model=model, root=root)
        self.population = self.cooled.population(seed_sequence(root))
        self.cooled.keep(self.population)
        self.checkpoint = Checkpoint(
            settings.checkpoint, settings.checkpoint_seconds, model, wanted.tolist(), root.entropy,
            root.spawn_key, settings.name, settings.n_walkers, settings.n_sweeps, settings.step,
            settings.memory, settings.n_reads,
        )  # fmt: skip
        self.before = 0.0  # seconds of the run that is continued

    def result(self) -> Equilibrium:
        """Cool through all temperatures, hottest first."""
        rows = self.cooled.rows
        positive = self.wanted[self.wanted > 0]
        last = float(1 / positive.min()) if len(positive) else 0.0
        self.coldest = _coldest(self.model, last) if np.any(self.wanted == 0) else last
        saved = self.checkpoint.load()
        if saved is not None:
            self._resume(saved)
        if self._report():
            if not rows:
                raise StoppedError("stopped before anything was measured")
            return self._equilibrium()
        for temperature in np.unique(self.wanted)[::-1].tolist():
            if temperature in rows:
                continue
            if not self._cool(1 / temperature if temperature else self.coldest):
                break
            rows[temperature] = self.cooled.read(self.population, temperature)
        if not rows:
            raise StoppedError("stopped before the first temperature was reached")
        return self._equilibrium()

    def _cool(self, target: float) -> bool:
        """Step to `target`; false when time is up or the callback says so."""
        population = self.population
        while population.beta < target:
            population.advance(target)
            self.cooled.keep(population)
            late = self._seconds() > self.clock.seconds
            stopped = self._report()
            self.checkpoint.save(self._state, now=stopped or late)
            if late or stopped:
                return False
        return True

    def _report(self) -> bool:
        if self.callback is None:
            return False
        # Steps are even in beta at first, later in its logarithm.
        first = next((s.beta for s in self.cooled.snapshots if s.beta > 0), np.inf)
        whole = np.log1p(self.coldest / first)
        fraction = float(np.log1p(self.population.beta / first) / whole) if whole > 0 else 0.0
        errors = [float(row["std_error"].max()) for row in self.cooled.rows.values()]
        progress = Progress(
            phase="cooling", fraction=min(fraction, 1.0), worst_error=max(errors, default=None)
        )
        return bool(self.callback(progress))

    def _seconds(self) -> float:
        return self.before + self.clock.elapsed

    def _equilibrium(self) -> Equilibrium:
        cooled, population = self.cooled, self.population
        cooled.cut_short = any(float(t) not in cooled.rows for t in self.wanted)
        cooled.reached = population.beta
        cooled.diagnostics = {
            "walkers": f"{len(population.groups)} x {population.groups[0].n_walkers} "
            f"{type(population.groups[0]).__name__}",
            "steps": population.steps,
            "resampled": population.resampled,
            "families": len(np.unique(population.families)),
            "best_energy": float(population.energies().min()),
            "cut_short": cooled.cut_short,
            "seconds": self._seconds(),
        }
        return cooled.equilibrium([t for t in self.wanted.tolist() if t in cooled.rows])

    # -- checkpoint ----------------------------------------------------------------------------

    def _state(self) -> tuple[Header, Arrays]:
        cooled, population = self.cooled, self.population
        rows = cooled.rows
        arrays = {**population.arrays(), "rows_temperature": np.array(list(rows))}
        for name in next(iter(rows.values()), ()):
            arrays[f"rows_{name}"] = np.array([row[name] for row in rows.values()])
        snapshots = [*cooled.snapshots, population.snapshot()]
        for name in Snapshot._fields:
            arrays[f"snapshots_{name}"] = np.array([getattr(s, name) for s in snapshots])
        header = {
            "generator": population.generator.bit_generator.state,
            "trail": [cooled.stride, cooled.skipped],
            "seconds": self._seconds(),
        }
        return header, arrays

    def _resume(self, saved: Saved) -> None:
        """Go on where the saved run was."""
        model, population, cooled = self.model, self.population, self.cooled
        n_rows = len(saved.arrays["rows_temperature"])
        like = rows_like(n_rows, {"temperature": 0.0, **empty_row(model)}) if n_rows else {}
        columns = saved.part(like, "rows_")
        for k, temperature in enumerate(columns.pop("temperature", np.empty(0)).tolist()):
            cooled.rows[temperature] = {name: values[k] for name, values in columns.items()}
        n_snapshots = len(saved.arrays["snapshots_beta"])
        columns = saved.part(
            rows_like(n_snapshots, population.snapshot()._asdict()), "snapshots_",
            states=(0, model.n_states - 1), families=(0, population.n_walkers - 1),
        )  # fmt: skip
        one = (columns[name].tolist() for name in ("beta", "log_z", "remembers"))
        each = zip(*one, columns["families"], columns["states"], strict=True)
        *cooled.snapshots, last = [Snapshot(*values) for values in each]
        cooled.stride, cooled.skipped = saved.header["trail"]
        population.restore(last, saved.part(population.arrays()), saved.header["generator"])
        self.before = saved.header["seconds"]


@dataclass(kw_only=True)
class _Cooled:
    """What a run leaves: averages where they were asked for, and the population on its way.

    The snapshots, hottest first, are evenly thinned to what memory allows.
    """

    settings: PopulationAnnealing
    model: PottsModel
    root: np.random.SeedSequence
    rows: dict[float, Row] = field(default_factory=dict)
    snapshots: list[Snapshot] = field(default_factory=list)
    stride: int = 1  # every how many steps one is kept,
    skipped: int = 0  # and steps since the last
    reached: float = 0.0  # beta
    cut_short: bool = False
    diagnostics: dict[str, Any] = field(default_factory=dict)

    def population(self, seed: np.random.SeedSequence) -> Population:
        """A hot one."""
        settings, kind = self.settings, walkers_for(self.model)
        return Population(
            self.model,
            seed,
            n_groups=-(-int(settings.n_walkers) // kind.default_walkers),
            n_sweeps=int(settings.n_sweeps * self._sweeps()),
            step=float(settings.step),
            memory=float(settings.memory),
            n_jobs=int(settings.n_jobs),
        )

    def _sweeps(self) -> int:
        return LOCAL_SWEEPS if walkers_for(self.model).sweeps_per_step > 1 else 1

    def keep(self, population: Population) -> None:
        """Keep a snapshot, or skip it if earlier ones had to be thinned."""
        self.skipped += 1
        if self.skipped < self.stride:
            return
        self.skipped = 0
        self.snapshots.append(population.snapshot())
        used = sum(s.states.nbytes + s.families.nbytes for s in self.snapshots)
        if used > TRAIL_BYTES and len(self.snapshots) > 2:
            self.snapshots = self.snapshots[::2]
            self.stride *= 2

    def read(self, population: Population, temperature: float) -> Row:
        """Averages over a population that stands at this temperature."""
        if temperature == 0:
            return ground_row(self.model, population, int(self.root.generate_state(1)[0]))
        n_reads = int(self.settings.n_reads)
        return population_row(self.model, population, temperature, n_reads, self._sweeps())

    def elsewhere(self, temperatures: FloatArray, callback: Callback | None = None) -> Equilibrium:
        """Averages at any temperatures; the nearest hotter snapshot is cooled to new ones.

        Each has a random stream of its own, so that it does not depend on what else is asked for.
        """
        wanted = temperatures.tolist()
        missing = [t for t in wanted if t not in self.rows]
        coldest = 1 / max(self.reached, 1e-300) if self.cut_short else 0.0
        if missing and min(missing) < coldest:
            raise InvalidInputError(
                f"T = {min(missing):g} was not reached: the run was stopped at T = {coldest:g}; "
                "run it to its end"
            )
        rows = dict(self.rows)
        for k, temperature in enumerate(missing):
            progress = Progress(phase="refining", fraction=k / len(missing))
            if callback is not None and callback(progress):
                raise StoppedError("stopped before all temperatures were read")
            bits = np.array([temperature]).view(np.uint32).tolist()
            key = (*self.root.spawn_key, ELSEWHERE, *bits)
            population = self.population(np.random.SeedSequence(self.root.entropy, spawn_key=key))
            last = self.snapshots[-1].beta
            target = 1 / temperature if temperature else _coldest(self.model, last)
            population.go_on_from([s for s in self.snapshots if s.beta <= target][-1])
            while population.beta < target:
                population.advance(target)
            rows[temperature] = self.read(population, temperature)
        return replace(self, rows=rows).equilibrium(wanted)

    def equilibrium(self, temperatures: Iterable[float]) -> Equilibrium:
        """The rows of these temperatures, all of them known."""
        kept = np.array(list(temperatures), dtype=np.float64)
        rows = [self.rows[t] for t in kept.tolist()]

        def column(name: str) -> FloatArray:
            return np.array([row[name] for row in rows])

        errors = column("std_error")
        converged = errors.max(axis=(1, 2)) <= self.settings.tol
        if not np.all(converged):
            warnings.warn(
                f"{int(np.sum(~converged))} of {len(kept)} temperatures have standard errors up to "
                f"{float(errors.max()):.2g}, above tol={self.settings.tol:g}: raise n_walkers or "
                "n_sweeps",
                ConvergenceWarning,
                stacklevel=5,
            )
        return Equilibrium(
            model=self.model,
            temperatures=kept,
            marginals=column("marginals"),
            edge_agreement=column("edge_agreement"),
            mean_energy=column("mean_energy"),
            heat_capacity=column("heat_capacity"),
            log_partition=column("log_partition"),
            std_error=errors,
            agreement_std_error=column("agreement_std_error"),
            converged=converged,
            engine=PopulationAnnealing.name,
            kind=Kind.SAMPLED,
            diagnostics={
                **self.diagnostics,
                "effective_samples": column("samples"),
                "effective_blocks": column("blocks"),
            },
            evaluate=partial(_Cooled.elsewhere, self),
            can_continue=self.cut_short,  # it cools once
            annealed=True,
        )


def _coldest(model: PottsModel, last: float) -> float:
    """The beta at which the walkers stand for T = 0, well beyond the last one of interest."""
    couplings = np.abs(model.effective_couplings)
    unit = float(couplings.mean()) if len(couplings) and couplings.any() else 1.0
    return max(2 * last, COLDEST / unit)
