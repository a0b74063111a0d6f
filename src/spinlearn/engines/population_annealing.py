"""Population annealing: many walkers cooled together (`engines/population.py`).

One pass serves all temperatures, and slow cooling with whatever moves a model allows is the best
known way into many-valley landscapes (several classes with one label each). The population is kept
at the steps of its way down, so other temperatures cost one more step each.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.core.array_checks import (
    FINITE,
    check_numbers,
    close,
    kinds_of,
    same_arrays,
    within,
)
from spinlearn.core.array_file import Arrays
from spinlearn.core.arrays import FloatArray, temperature_array
from spinlearn.core.equilibrium import Equilibrium, Kind
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback, Progress
from spinlearn.core.seeds import Seed, seed_sequence
from spinlearn.core.settings import Settings
from spinlearn.engines import checkpoint
from spinlearn.engines.population import Population, Snapshot, Trail
from spinlearn.engines.population_averages import BLOCKS, Row, ground_row, population_row
from spinlearn.engines.saved_state import check_states, check_streams, restoring
from spinlearn.engines.walkers import walkers_for
from spinlearn.errors import ConvergenceWarning, InvalidInputError, StoppedError

LOCAL_SWEEPS = 4  # local moves need more sweeps than cluster moves to forget as much
TRAIL_BYTES = 3e8
COLDEST = 6.0  # beta times the mean coupling from which the walkers go for T = 0
ROUNDING = 1e-6  # of a probability, and of ln Z
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
    n_jobs : int, default 1
        Threads, for groups of walkers. The result does not depend on it.
    checkpoint : path or None, default None
        File in which the run is saved now and then. If it exists, the run goes on from there and
        ends with the result that an uninterrupted run would have had.
    checkpoint_seconds : float, default 30
        Time between two savings.

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
        """None: there are walkers for every model.

        Parameters
        ----------
        model : PottsModel
            The model to be treated.

        Returns
        -------
        str or None
        """
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

        Parameters
        ----------
        model : PottsModel
            What to average over; n nodes, m edges, q states.
        temperatures : array-like of float
            Where, >= 0, in the unit of the couplings; 0 and infinity are allowed.
        seed : int, SeedSequence or None
            Of random numbers; the same seed gives the same result.
        callback : callable, optional
            Called with a progress report now and then; a true answer stops the run.

        Returns
        -------
        Equilibrium
        """
        wanted = temperature_array(temperatures)
        for name in ("n_walkers", "n_sweeps", "step", "n_reads", "tol"):
            value = getattr(self, name)
            if not isinstance(value, (int, float, np.number)) or not value > 0:
                raise InvalidInputError(f"{name}={value!r} is out of range: give a number > 0")
        if self.max_seconds is not None and not self.max_seconds > 0:
            raise InvalidInputError(f"max_seconds={self.max_seconds!r}: give a number > 0 or None")
        if not isinstance(self.n_jobs, (int, np.integer)) or self.n_jobs == 0 or self.n_jobs < -1:
            raise InvalidInputError(f"n_jobs={self.n_jobs!r}: give a number > 0, or -1 for all")
        return _Run(self, model, wanted, seed_sequence(seed), callback).result()

    def _population(self, model: PottsModel, seed: np.random.SeedSequence) -> Population:
        kind = walkers_for(model)
        return Population(
            model,
            seed,
            n_groups=-(-int(self.n_walkers) // kind.default_walkers),
            n_sweeps=int(self.n_sweeps * self._sweeps_per_sweep(model)),
            step=float(self.step),
            memory=float(self.memory),
            n_jobs=int(self.n_jobs),
        )

    def _row(self, model: PottsModel, population: Population, temperature: float) -> Row:
        apart = self._sweeps_per_sweep(model)
        return population_row(model, population, temperature, int(self.n_reads), apart)

    @staticmethod
    def _sweeps_per_sweep(model: PottsModel) -> int:
        return LOCAL_SWEEPS if walkers_for(model).sweeps_per_step > 1 else 1


class _Run:
    """One cooling of the population."""

    def __init__(
        self,
        settings: PopulationAnnealing,
        model: PottsModel,
        wanted: FloatArray,
        root: np.random.SeedSequence,
        callback: Callback | None,
    ) -> None:
        self.settings, self.model, self.callback = settings, model, callback
        self.wanted = wanted
        self.population = settings._population(model, seed_sequence(root))
        self.cooled = _Cooled(settings=settings, model=model, root=root)
        self.cooled.trail.add(self.population)
        self.identity = checkpoint.fingerprint(
            model, wanted.tolist(), root.entropy, root.spawn_key, PopulationAnnealing.name,
            settings.n_walkers, settings.n_sweeps, settings.step, settings.memory, settings.n_reads,
        )  # fmt: skip
        self.started = self.saved = perf_counter()
        self.before = 0.0  # seconds of the run that is continued

    def result(self) -> Equilibrium:
        """Cool through all temperatures, hottest first."""
        path, rows = self.settings.checkpoint, self.cooled.rows
        temperatures = self.temperatures = np.unique(self.wanted[self.wanted > 0])[::-1].tolist()
        last = 1 / temperatures[-1] if temperatures else 0.0
        self.coldest = _coldest(self.model, last) if np.any(self.wanted == 0) else last
        saved = None if path is None else checkpoint.load(path, self.identity)
        if saved is not None:
            self._restore(*saved)
        if self._report():
            if not rows:
                raise StoppedError("stopped before anything was measured")
            return self._equilibrium()
        for temperature in temperatures:
            if temperature not in rows:
                if not self._cool(1 / temperature):
                    break
                rows[temperature] = self.settings._row(self.model, self.population, temperature)
        else:
            if np.any(self.wanted == 0) and 0.0 not in rows and self._cool(self.coldest):
                rows[0.0] = self.cooled.ground(self.population)
        if not rows:
            raise StoppedError("stopped before the first temperature was reached")
        return self._equilibrium()

    def _cool(self, target: float) -> bool:
        """Step to `target`; false when time is up or the callback says so."""
        population = self.population
        while population.beta < target:
            population.advance(target)
            self.cooled.trail.add(population)
            limit = self.settings.max_seconds
            late = limit is not None and self._seconds() > limit
            stopped = self._report()
            self._save(now=stopped or late)
            if late or stopped:
                return False
        return True

    def _report(self) -> bool:
        if self.callback is None:
            return False
        # Steps are even in beta at first, later in its logarithm.
        first = next((s.beta for s in self.cooled.trail.snapshots if s.beta > 0), np.inf)
        whole = np.log1p(self.coldest / first)
        fraction = float(np.log1p(self.population.beta / first) / whole) if whole > 0 else 0.0
        errors = [float(row["std_error"].max()) for row in self.cooled.rows.values()]
        progress = Progress(
            phase="cooling", fraction=min(fraction, 1.0), worst_error=max(errors, default=None)
        )
        return bool(self.callback(progress))

    def _seconds(self) -> float:
        return self.before + perf_counter() - self.started

    def _equilibrium(self) -> Equilibrium:
        found, population = self.cooled, self.population
        found.cut_short = any(float(t) not in found.rows for t in self.wanted)
        found.reached = population.beta
        found.diagnostics = {
            "walkers": f"{len(population.groups)} x {population.groups[0].n_walkers} "
            f"{type(population.groups[0]).__name__}",
            "steps": population.steps,
            "resampled": population.resampled,
            "families": len(np.unique(population.families)),
            "best_energy": float(population.energies().min()),
            "cut_short": found.cut_short,
            "seconds": self._seconds(),
        }
        return found.equilibrium([t for t in self.wanted.tolist() if t in found.rows])

    # -- checkpoint ----------------------------------------------------------------------------

    def _save(self, now: bool) -> None:
        path = self.settings.checkpoint
        due = now or perf_counter() - self.saved >= self.settings.checkpoint_seconds
        if path is None or not due:
            return
        arrays: Arrays = self.population.arrays()
        trail, rows = self.cooled.trail, self.cooled.rows
        arrays["row_temperatures"] = np.array(list(rows))
        for name in next(iter(rows.values()), ()):
            arrays[f"rows_{name}"] = np.array([row[name] for row in rows.values()])
        snapshots = [*trail.snapshots, self.population.snapshot()]
        for name in Snapshot.__dataclass_fields__:
            arrays[f"snapshots_{name}"] = np.array([getattr(s, name) for s in snapshots])
        header = {
            "generator": self.population.generator.bit_generator.state,
            "trail": [trail.stride, trail.skipped],
            "seconds": self._seconds(),
        }
        checkpoint.save(path, self.identity, header, arrays)
        self.saved = perf_counter()

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        with restoring():
            self._check_population(header, arrays)
            self._check_rows(arrays)
            self._take_up(header, arrays)

    def _check_population(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Whether a saved population is one of this run."""
        population, n_snapshots = self.population, len(arrays["snapshots_beta"])
        now = population.snapshot()
        ones = {name: np.asarray(getattr(now, name)) for name in Snapshot.__dataclass_fields__}
        several = {n: (one.dtype, (n_snapshots, *one.shape)) for n, one in ones.items()}
        same_arrays(arrays, several, "snapshots_")
        same_arrays(arrays, kinds_of(population.arrays()))
        betas = arrays["snapshots_beta"]  # of the trail, and where the population is now
        if n_snapshots < 2 or betas[0] != 0 or not np.all(np.diff(betas[:-1]) > 0):
            raise ValueError("snapshots_beta do not ascend from 0")
        within("snapshots_beta", betas[-1:], float(betas[-2]), self.coldest)
        self._check_log_z("snapshots_log_z", arrays["snapshots_log_z"], betas)
        check_states(self.model, arrays["snapshots_states"])
        families = arrays["snapshots_families"]
        within("snapshots_families", families, 0, population.n_walkers - 1)
        if not np.array_equal(families[0], population.families):
            raise ValueError("snapshots_families do not begin with one walker each")
        check_streams(arrays["streams"])
        stride, skipped = header["trail"]
        steps, resampled = arrays["counts"].tolist()
        check_numbers(
            {
                "stride": stride, "skipped": skipped, "steps": steps, "resampled": resampled,
                "seconds": header["seconds"],
            },
            {
                "stride": (int, 1, FINITE),
                "skipped": (int, 0, stride - 1),
                "steps": (int, n_snapshots - 2, n_snapshots * stride),
                "resampled": (int, 0, steps),
                "seconds": (float, 0.0, FINITE),
            },
        )  # fmt: skip

    def _check_rows(self, arrays: Arrays) -> None:
        """Whether saved averages are those of the temperatures passed, and such as can be."""
        model, beta = self.model, float(arrays["snapshots_beta"][-1])
        passed = np.array([t for t in self.temperatures if 1 / t < beta])
        rows = len(passed)
        same_arrays(arrays, {"row_temperatures": (np.float64, (rows,))})
        if not np.array_equal(arrays["row_temperatures"], passed):
            raise ValueError("row_temperatures are not those that were passed")
        if rows == 0:
            return
        per_node, per_edge = (rows, model.n_nodes, model.n_states), (rows, model.graph.n_edges)
        scale, largest_error = (1 + ROUNDING) * model.energy_scale, float(np.sqrt(BLOCKS))
        hottest = scale**2 / float(passed[-1]) ** 2
        for name, shape, low, high in (
            ("marginals", per_node, -ROUNDING, 1 + ROUNDING),
            ("std_error", per_node, 0.0, largest_error),
            ("edge_agreement", per_edge, -ROUNDING, 1 + ROUNDING),
            ("agreement_std_error", per_edge, 0.0, largest_error),
            ("mean_energy", (rows,), -scale, scale),
            ("heat_capacity", (rows,), 0.0, hottest),
            ("log_partition", (rows,), -FINITE, FINITE),
            ("blocks", (rows,), 1 - ROUNDING, BLOCKS * (1 + ROUNDING)),
            ("samples", (rows,), 0.0, FINITE),
        ):
            same_arrays(arrays, {f"rows_{name}": (np.float64, shape)})
            within(f"rows_{name}", arrays[f"rows_{name}"], low, high)
        marginals, held = arrays["rows_marginals"], model.clamped >= 0
        within("sums of rows_marginals", marginals.sum(axis=2), 1 - ROUNDING, 1 + ROUNDING)
        given = marginals[:, held, model.clamped[held]]
        within("rows_marginals of labelled nodes", given, 1 - ROUNDING, 1 + ROUNDING)
        self._check_log_z("rows_log_partition", arrays["rows_log_partition"], 1 / passed)

    def _check_log_z(self, name: str, log_z: FloatArray, betas: FloatArray) -> None:
        """No energy carries ln Z further than this from where it begins."""
        first = self.population.log_z
        close(name, log_z, first, (1 + ROUNDING) * self.model.energy_scale * betas + ROUNDING)

    def _take_up(self, header: dict[str, Any], arrays: Arrays) -> None:
        for k, temperature in enumerate(arrays["row_temperatures"].tolist()):
            names = [n for n in arrays if n.startswith("rows_")]
            self.cooled.rows[temperature] = {n.removeprefix("rows_"): arrays[n][k] for n in names}
        columns = {n: arrays[f"snapshots_{n}"] for n in Snapshot.__dataclass_fields__}
        snapshots = [
            Snapshot(
                beta=float(columns["beta"][k]),
                log_z=float(columns["log_z"][k]),
                remembers=bool(columns["remembers"][k]),
                families=columns["families"][k],
                states=columns["states"][k],
            )
            for k in range(len(columns["beta"]))
        ]
        trail = self.cooled.trail
        trail.snapshots = snapshots[:-1]
        trail.stride, trail.skipped = header["trail"]
        self.population.restore(snapshots[-1], arrays, header["generator"])
        self.before = header["seconds"]


@dataclass(kw_only=True)
class _Cooled:
    """What a run leaves: averages where they were asked for, and the population on its way."""

    settings: PopulationAnnealing
    model: PottsModel
    root: np.random.SeedSequence
    rows: dict[float, Row] = field(default_factory=dict)
    trail: Trail = field(default_factory=lambda: Trail(TRAIL_BYTES))
    reached: float = 0.0  # beta
    cut_short: bool = False
    diagnostics: dict[str, Any] = field(default_factory=dict)

    def elsewhere(self, temperatures: FloatArray, callback: Callback | None = None) -> Equilibrium:
        """Averages at any temperatures; the nearest hotter snapshot is cooled to new ones."""
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
            if callback is not None and callback(
                Progress(phase="refining", fraction=k / len(missing))
            ):
                raise StoppedError("stopped before all temperatures were read")
            rows[temperature] = self._row(temperature)
        return replace(self, rows=rows).equilibrium(wanted)

    def _row(self, temperature: float) -> Row:
        """A row of its own random stream, so that it does not depend on what else is asked for."""
        settings, model = self.settings, self.model
        bits = np.array([temperature]).view(np.uint32).tolist()
        seed = np.random.SeedSequence(
            self.root.entropy, spawn_key=(*self.root.spawn_key, ELSEWHERE, *bits)
        )
        population = settings._population(model, seed)
        if temperature == 0:
            target = _coldest(model, self.trail.snapshots[-1].beta)
        else:
            target = 1 / temperature
        population.go_on_from(self.trail.before(target))
        while population.beta < target:
            population.advance(target)
        if temperature == 0:
            return self.ground(population)
        return settings._row(model, population, temperature)

    def ground(self, population: Population) -> Row:
        """The row of T = 0 from a cold population."""
        return ground_row(self.model, population, int(self.root.generate_state(1)[0]))

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
