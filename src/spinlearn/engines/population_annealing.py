"""Population annealing: many walkers cooled together, copied and culled so that their law is right.

From beta = 0, where labellings are drawn exactly, beta grows in steps. At a step every walker gets
the weight exp(-(beta' - beta) E), the population is resampled by these weights (systematic
resampling), and swept at beta'. While the sweeps of a step make walkers forget their energies,
weights are of no use and are left out: the population equilibrates by itself, and families live
on until valleys divide them. At every beta the population follows the Boltzmann law, up to
1/population; the mean weights multiply up to Z. One pass serves all temperatures, and slow cooling
with whatever moves a model allows is the best known way into many-valley landscapes (several
classes with one label each). Hukushima & Iba (2003), Machta, Phys. Rev. E 82, 026704 (2010).

Walkers that descend from one walker at beta = 0 are a family. Families are independent, so the
spread over blocks of families is the error bar; where one family has taken over, it says so.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.reweight import effective_samples, guarded_errors
from spinlearn.core.arrays import FloatArray, StateArray, temperature_array
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback, Progress, Seed
from spinlearn.core.results import Equilibrium
from spinlearn.core.settings import Settings
from spinlearn.engines.limits import log_partition
from spinlearn.engines.walkers import Walkers, walkers_for
from spinlearn.errors import (
    ConvergenceWarning,
    InvalidInputError,
    StoppedError,
)
from spinlearn.minimizers import minimize

BLOCKS = 32  # of families, for error bars
MAX_RATIO = 1.2  # of neighbouring temperatures
LOCAL_SWEEPS = 4  # local moves need more sweeps than cluster moves to forget as much


@dataclass(kw_only=True)
class PopulationAnnealing(Settings):
    """Population annealing, for graphs too wide for an exact answer.

    Parameters
    ----------
    n_walkers : int
        Size of the population, rounded up to whole groups of walkers (64 or 256).
    n_sweeps : int
        Sweeps of all walkers at every temperature step.
    step : float
        Length of a step in beta, in standard deviations of 1/E: smaller steps copy fewer walkers.
    memory : float
        Correlation of the walkers' energies before and after the sweeps of a step, above which the
        population is resampled. 0 resamples at every step.
    n_reads : int
        Times the population is read at every temperature asked for, a sweep apart.
    tol : float
        A temperature counts as converged when no standard error of a marginal exceeds this.
    max_seconds : float or None
        Stop cooling after this time; lower temperatures are then left out of the result.
    """

    n_walkers: int = 768
    n_sweeps: int = 4
    step: float = 1.0
    memory: float = 0.3
    n_reads: int = 8
    tol: float = 0.03
    max_seconds: float | None = None

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
        if self.max_seconds is not None and not self.max_seconds > 0:
            raise InvalidInputError(f"max_seconds={self.max_seconds!r}: give a number > 0 or None")
        root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        fresh = np.random.SeedSequence(root.entropy, spawn_key=root.spawn_key)
        return _Run(self, model, wanted, fresh, callback).result()


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
        self.settings, self.model, self.wanted, self.callback = settings, model, wanted, callback
        self.kind = kind = walkers_for(model)
        n_groups = -(-int(settings.n_walkers) // kind.default_walkers)
        draw, *children = root.spawn(1 + n_groups)
        self.generator = np.random.default_rng(draw)
        self.groups: list[Walkers] = [kind(model, child) for child in children]
        self.n_walkers = n_groups * kind.default_walkers
        self.families = np.arange(self.n_walkers)
        self.root = root
        self.started = perf_counter()
        self.rows: dict[float, dict[str, Any]] = {}
        self.ladder: list[float] = []
        self.remembers = False
        self.resampled = 0
        self.log_z = len(model.free_nodes) * float(np.log(model.n_states))

    def result(self) -> Equilibrium:
        """Cool through all temperatures, hottest first."""
        positive = np.unique(self.wanted[self.wanted > 0])[::-1]
        betas = [1 / t for t in positive]
        coldest = betas[-1] if betas else 0.0
        if np.any(self.wanted == 0):
            couplings = np.abs(self.model.effective_couplings)
            unit = float(couplings.mean()) if len(couplings) and couplings.any() else 1.0
            coldest = max(2 * coldest, 6 / unit)
        self._sweep(0.0)
        if self._report(0.0):
            raise StoppedError("stopped by the callback before anything was measured")
        beta = 0.0
        for temperature, target in zip(positive, betas, strict=True):
            if not self._cool(beta, target, coldest):
                break
            beta = target
            self.rows[float(temperature)] = self._measured(float(temperature))
        else:
            if np.any(self.wanted == 0) and self._cool(beta, coldest, coldest):
                self.rows[0.0] = self._ground()
        if not self.rows:
            raise StoppedError("stopped before the first temperature was reached")
        self._report(1.0)
        return self._equilibrium()

    # -- cooling -------------------------------------------------------------------------------

    def _cool(self, beta: float, target: float, coldest: float) -> bool:
        """Step from beta to target; false when time is up or the callback says so."""
        while beta < target * (1 - 1e-12):
            energies = self._energies()
            spread = float(energies.std())
            new = target if spread == 0 else min(target, beta + self.settings.step / spread)
            if beta > 0:
                new = min(new, beta * MAX_RATIO)
            self._weigh(energies, new - beta)
            beta = new
            kept = self._energies() if self.remembers else energies
            self._sweep(beta)
            self.remembers = _correlation(kept, self._energies()) > self.settings.memory
            limit = self.settings.max_seconds
            if limit is not None and perf_counter() - self.started > limit:
                return False
            if self._report(min(beta / max(coldest, 1e-300), 1.0) * 0.99):
                return False
        return True

    def _weigh(self, energies: FloatArray, step: float) -> None:
        """Count the weights into Z and, if walkers keep their energies, copy by weight."""
        lowest = float(energies.min())
        weights = np.exp(-step * (energies - lowest))
        self.log_z += float(np.log(weights.mean())) - step * lowest
        if not self.remembers:
            return
        self.resampled += 1
        ticks = (np.arange(self.n_walkers) + self.generator.random()) / self.n_walkers
        shares = np.cumsum(weights)
        chosen = np.searchsorted(shares / shares[-1], ticks, side="right")
        chosen = np.minimum(chosen, self.n_walkers - 1)
        self.families = self.families[chosen]
        states = self._states()[chosen]
        size = self.kind.default_walkers
        for k, group in enumerate(self.groups):
            group.put_states(states[k * size : (k + 1) * size])

    def _sweep(self, beta: float, n_sweeps: int | None = None) -> None:
        count = self.settings.n_sweeps if n_sweeps is None else n_sweeps
        if self.kind.sweeps_per_step > 1:
            count *= LOCAL_SWEEPS
        for group in self.groups:
            group.use_ladder(np.array([beta]))
            group.sweep(int(count))
        self.ladder.append(beta)

    def _states(self) -> StateArray:
        return np.concatenate([group.states() for group in self.groups])

    def _energies(self) -> FloatArray:
        return np.concatenate([group.energies() for group in self.groups])

    def _report(self, fraction: float) -> bool:
        if self.callback is None:
            return False
        return bool(self.callback(Progress(phase="cooling", fraction=fraction)))

    # -- averages ------------------------------------------------------------------------------

    def _measured(self, temperature: float) -> dict[str, Any]:
        """Averages over the population, read several times."""
        energies = []
        sums: list[Any] = [0, 0, 0]
        everyone = np.ones(self.n_walkers, dtype=bool)
        for read in range(int(self.settings.n_reads)):
            if read:
                self._sweep(self.ladder[-1], 1)
            energies.append(self._energies())
            sums = [a + b for a, b in zip(sums, self._sums(everyone), strict=True)]
        values = np.concatenate(energies)
        row = self._averages(sums, len(values))
        finite = np.isfinite(temperature)
        row["mean_energy"] = float(values.mean())
        row["heat_capacity"] = float(values.var()) / temperature**2 if finite else 0.0
        row["log_partition"] = self.log_z
        return row

    def _ground(self) -> dict[str, Any]:
        """T = 0: the walkers of least energy, or the minimum of the minimiser if that is lower.

        Resampling goes by the weights of valleys at the temperatures where they part, so all
        walkers may end in a valley that is not the deepest.
        """
        energies = self._energies()
        lowest = float(energies.min())
        margin = 1e-9 * max(self.model.energy_scale, 1e-300)
        found = minimize(self.model, seed=int(self.root.generate_state(1)[0]))
        if found.energy < lowest - margin:
            lowest = found.energy
            row = self._one_labelling(found.labels)
        else:
            best = energies <= lowest + margin
            row = self._averages(self._sums(best), int(best.sum()))
        row["mean_energy"], row["heat_capacity"] = lowest, 0.0
        row["log_partition"] = float(log_partition(lowest, np.array([np.nan]), np.zeros(1))[0])
        return row

    def _one_labelling(self, labels: StateArray) -> dict[str, Any]:
        """Averages over a single labelling: nothing is known of others of the same energy."""
        model = self.model
        marginals = np.eye(model.n_states)[labels]
        u, v = model.graph.edges.T
        same = (labels[u] == labels[v]).astype(np.float64)
        errors = np.full(marginals.shape, 0.5)
        errors[model.clamped >= 0] = 0.0
        return {
            "marginals": marginals,
            "std_error": errors,
            "edge_agreement": same,
            "agreement_std_error": np.full(len(same), 0.5),
            "blocks": 1.0,
            "samples": 1.0,
        }

    def _sums(self, counted: npt.NDArray[np.bool_]) -> list[npt.NDArray[Any]]:
        """Walkers, node states and edge agreements per block of families."""
        from spinlearn.kernels.ensemble import accumulate

        model = self.model
        n, q, m = model.n_nodes, model.n_states, model.graph.n_edges
        rows = np.where(counted, self.families * BLOCKS // self.n_walkers, -1).astype(np.int64)
        nodes = np.zeros((BLOCKS, (q - 1) * n), dtype=np.uint32)
        edges = np.zeros((BLOCKS, m), dtype=np.uint32)
        counts = np.zeros(BLOCKS, dtype=np.int64)
        edge_u, edge_v = (np.ascontiguousarray(end) for end in model.graph.edges.T)
        accumulate(self._states(), rows, q, edge_u, edge_v, nodes, edges, counts)
        return [counts, nodes.astype(np.int64), edges.astype(np.int64)]

    def _averages(self, sums: list[Any], n_samples: int) -> dict[str, Any]:
        """Means with jackknife errors over the blocks."""
        model = self.model
        n, q = model.n_nodes, model.n_states
        counts, nodes, edges = (np.asarray(s, dtype=np.float64) for s in sums)
        others, others_error = _jackknife(nodes, counts)
        marginals, errors = np.empty((n, q)), np.empty((n, q))
        marginals[:, 1:] = others.reshape(q - 1, n).T
        marginals[:, 0] = np.clip(1 - marginals[:, 1:].sum(axis=1), 0.0, 1.0)
        errors[:, 1:] = others_error.reshape(q - 1, n).T
        zero_counts = counts[:, None] - nodes.reshape(BLOCKS, q - 1, n).sum(axis=1)
        errors[:, 0] = _jackknife(zero_counts, counts)[1]
        agreement, agreement_error = _jackknife(edges, counts)
        samples = effective_samples(marginals[None], errors[None], np.array([float(n_samples)]))
        # One family is one sample, however many copies of it there are.
        share = counts / counts.sum()
        samples = np.minimum(samples, max(self.n_walkers / BLOCKS, 1.0) / float(np.sum(share**2)))
        errors = guarded_errors(marginals[None], errors[None], samples)[0]
        errors[model.clamped >= 0] = 0.0
        return {
            "marginals": marginals,
            "std_error": errors,
            "edge_agreement": agreement,
            "agreement_std_error": guarded_errors(agreement[None], agreement_error[None], samples)[
                0
            ],
            "blocks": 1 / float(np.sum(share**2)),
            "samples": float(samples[0]),
        }

    def _equilibrium(self) -> Equilibrium:
        kept = np.array([t for t in self.wanted if float(t) in self.rows])
        rows = [self.rows[float(t)] for t in kept]

        def column(name: str) -> FloatArray:
            return np.array([row[name] for row in rows])

        errors = column("std_error")
        converged = errors.max(axis=(1, 2)) <= self.settings.tol
        if not np.all(converged):
            worst = float(errors.max())
            warnings.warn(
                f"{int(np.sum(~converged))} of {len(kept)} temperatures have standard errors up to "
                f"{worst:.2g}, above tol={self.settings.tol:g}: raise n_walkers or n_sweeps",
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
            diagnostics={
                "walkers": f"{len(self.groups)} x {self.kind.default_walkers} {self.kind.__name__}",
                "steps": len(self.ladder),
                "resampled": self.resampled,
                "effective_samples": column("samples"),
                "effective_blocks": column("blocks"),
                "families": len(np.unique(self.families)),
                "best_energy": float(self._energies().min()),
                "cooled": True,
                "seconds": perf_counter() - self.started,
            },
            evaluate=partial(_again, self.settings, self.model, self.root),
        )


def _again(
    settings: PopulationAnnealing,
    model: PottsModel,
    root: np.random.SeedSequence,
    temperatures: FloatArray,
) -> Equilibrium:
    """A run with the same seed at other temperatures."""
    seed = np.random.SeedSequence(root.entropy, spawn_key=root.spawn_key)
    return settings.run(model, temperatures, seed=seed)


def _jackknife(sums: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean of sums (B, columns) over counts (B,), and its error by leaving out one block each."""
    total, whole = float(counts.sum()), sums.sum(axis=0)
    mean = whole / total
    filled = counts > 0
    blocks = int(filled.sum())
    if blocks < 2:
        return mean, np.full(mean.shape, 0.5)
    without = (whole - sums[filled]) / (total - counts[filled])[:, None]
    spread = without - without.mean(axis=0)
    return mean, np.asarray(np.sqrt((blocks - 1) / blocks * np.sum(spread**2, axis=0)))


def _correlation(before: FloatArray, after: FloatArray) -> float:
    """Of the walkers' energies before and after some sweeps; 0 where all are equal."""
    before, after = before - before.mean(), after - after.mean()
    scale = float(np.sqrt(np.sum(before**2) * np.sum(after**2)))
    return float(np.sum(before * after)) / scale if scale > 0 else 0.0
