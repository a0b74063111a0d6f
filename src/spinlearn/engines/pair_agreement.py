"""Agreements of neighbours, and little else, of a model without labels: what clustering takes.

Two walkers visit all temperatures with Swendsen-Wang sweeps, one heated from an ordered state, one
cooled from a random one. What they share of their clusters gives C_ij (`kernels/agreement.py`), and
half of their difference its standard error: where a transition holds them apart the error is large,
however smooth each of them is. It is at least that of as many independent sweeps as the differences
of all edges together allow:

    b_e = p_e (1 - p_e) / sweeps,   g = max(1, sum_e (d_e / 2)^2 / sum_e b_e)
    error_e = (1 - 1/q) max(|d_e| / 2, sqrt(g b_e))

p_e the share of the sweeps in which the ends of e are in one cluster, d_e its difference. Symmetry
gives the marginals, 1/q.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, temperature_array
from spinlearn.core.equilibrium import Equilibrium, Kind
from spinlearn.core.model import FREE, PottsModel
from spinlearn.core.protocols import Callback, Progress
from spinlearn.core.seeds import Seed, seed_sequence
from spinlearn.core.settings import Settings
from spinlearn.engines.cluster_walkers import ClusterWalkers, bond_thresholds
from spinlearn.engines.limits import heat_capacity, inverse_temperatures
from spinlearn.errors import InvalidInputError, StoppedError, UnsupportedModelError

BURN_IN = 0.25  # of the sweeps kept; as many as those at a walker's first temperature
MOST_SWEEPS = 2_000
AT_ONCE = 5_000_000  # node updates between two calls of the callback, below a second


@dataclass(kw_only=True)
class PairAgreement(Settings):
    """Swendsen-Wang sweeps of a heated and a cooled walker, for couplings >= 0 without labels.

    Parameters
    ----------
    n_sweeps : int
        Sweeps kept of each walker at every temperature.
    n_updates : int
        Node updates kept, at least: small graphs get more sweeps (up to 2,000).
    tol : float
        Root mean square of the errors of C_ij up to which a temperature counts as converged.
    """

    n_sweeps: int = 40
    n_updates: int = 40_000
    tol: float = 0.05

    name: ClassVar[str] = "pair_agreement"

    def unsupported(self, model: PottsModel) -> str | None:
        """Why these walkers cannot treat the model, or None."""
        reason = ClusterWalkers.unsupported(model)
        if reason is None and np.any(model.clamped != FREE):
            reason = "labels"
        if reason is None and np.any(model.fields != 0):
            reason = "fields"
        if reason is None:
            return None
        return f"pair agreements alone are not sampled with {reason}: use engine='tempering'"

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
    ) -> Equilibrium:
        """Averages at all temperatures; stopped by the callback, at those a walker has been to."""
        wanted = temperature_array(temperatures)
        if self.n_sweeps < 1 or self.n_updates < 1:
            raise InvalidInputError(
                f"n_sweeps={self.n_sweeps} and n_updates={self.n_updates} must be at least 1"
            )
        reason = self.unsupported(model)
        if reason is not None:
            raise UnsupportedModelError(reason)
        more = min(self.n_updates // max(model.n_nodes, 1), MOST_SWEEPS)
        sweeps = max(self.n_sweeps, more)
        walk = _Walk(model, wanted, sweeps, callback)
        heated, cooled = seed_sequence(seed).spawn(2)
        order = np.argsort(wanted, kind="stable")
        if not walk.go(0, heated, order):
            walk.go(1, cooled, order[::-1])
        return walk.equilibrium(self.name, self.tol)


class _Walk:
    """Sums of both walkers, by walker, temperature and edge."""

    def __init__(
        self, model: PottsModel, temperatures: FloatArray, sweeps: int, callback: Callback | None
    ) -> None:
        self._model = model
        self._temperatures = temperatures
        self._sweeps = sweeps
        self._callback = callback
        edges = model.graph.edges
        self._edge_u = np.ascontiguousarray(edges[:, 0]).astype(np.uint32)
        self._edge_v = np.ascontiguousarray(edges[:, 1]).astype(np.uint32)
        count = len(temperatures)
        self._counts = np.zeros((2, count, len(edges)), dtype=np.uint16)
        self._energies = np.zeros((2, count, sweeps))
        self._done = np.zeros((2, count), dtype=bool)

    def go(self, walker: int, seed: np.random.SeedSequence, rows: npt.NDArray[np.intp]) -> bool:
        """Visit the temperatures in this order; true if the callback stopped it."""
        from spinlearn.kernels.agreement import count_shared, sweep_apart
        from spinlearn.kernels.rng import make_stream

        model, n = self._model, self._model.n_nodes
        state = np.zeros(n, dtype=np.int8)
        if walker == 1:
            state[:] = np.random.default_rng(seed).integers(0, model.n_states, n)
        stream = make_stream(seed)
        parent = np.empty(n, dtype=np.int32)
        betas = inverse_temperatures(self._temperatures, model)
        burn_in, step = self._sweeps, max(AT_ONCE // max(n, 1), 1)
        for k, row in enumerate(rows):
            thresholds = bond_thresholds(betas[row : row + 1], model.couplings)[0]
            start = (state, model.n_states, self._edge_u, self._edge_v)
            for first in range(0, burn_in, step):
                some = min(step, burn_in - first)
                sweep_apart(*start, thresholds, parent, stream, some)
                if self._told(walker, k, 0.0):
                    return True
            for first in range(0, self._sweeps, step):
                energies = self._energies[walker, row, first : first + step]
                counts = self._counts[walker, row]
                count_shared(
                    *start, model.couplings, thresholds, parent, stream, counts, energies
                )  # fmt: skip
                last = first + step >= self._sweeps
                self._done[walker, row] = last
                if self._told(walker, k, 1.0 if last else first / self._sweeps):
                    return True
            burn_in = max(int(BURN_IN * self._sweeps), 1)
        return False

    def _told(self, walker: int, k: int, share: float) -> bool:
        if self._callback is None:
            return False
        count = len(self._temperatures)
        phase = ("heating", "cooling")[walker]
        fraction = (walker * count + k + share) / (2 * count)
        return bool(self._callback(Progress(phase=phase, fraction=fraction)))

    def equilibrium(self, engine: str, tol: float) -> Equilibrium:
        """What has been measured."""
        rows = np.flatnonzero(self._done.any(axis=0))
        if len(rows) == 0:
            raise StoppedError("stopped before the first temperature was finished")
        model, temperatures = self._model, self._temperatures[rows]
        agreement = np.empty((len(rows), model.graph.n_edges))
        errors = np.empty_like(agreement)
        variance = np.empty(len(rows))
        for k, row in enumerate(rows):
            done = self._done[:, row]
            agreement[k], errors[k] = self._agreement(self._counts[done, row])
            variance[k] = np.var(self._energies[done, row])
        typical = np.sqrt(np.mean(errors**2, axis=1)) if errors.size else np.zeros(len(rows))
        shape = (len(rows), model.n_nodes, model.n_states)
        return Equilibrium(
            model=model,
            temperatures=temperatures,
            marginals=np.broadcast_to(1 / model.n_states, shape),
            edge_agreement=agreement,
            mean_energy=(1 - agreement) @ model.couplings,
            heat_capacity=heat_capacity(variance, temperatures),
            converged=self._done[:, rows].all(axis=0) & (typical <= tol),
            engine=engine,
            kind=Kind.SAMPLED,
            std_error=np.broadcast_to(0.0, shape),
            agreement_std_error=errors,
            diagnostics={"sweeps": self._sweeps, "typical_error": typical},
        )

    def _agreement(self, counts: npt.NDArray[np.uint16]) -> tuple[FloatArray, FloatArray]:
        """C_ij and its errors from the counts of one or two walkers, (walkers, m)."""
        total = len(counts) * self._sweeps
        shared = counts.sum(axis=0, dtype=np.float64)
        # An edge that was never, or always, within a cluster may yet be the other way.
        likely = (shared + 0.5) / (total + 1)
        binomial = likely * (1 - likely) / total
        apart = np.ptp(counts, axis=0) / (2 * self._sweeps)
        alike = max(float(np.sum(apart**2) / max(np.sum(binomial), 1e-300)), 1.0)
        p = shared / total
        chance = 1 / self._model.n_states
        error = np.maximum(apart, np.sqrt(alike * binomial))
        return p + (1 - p) * chance, (1 - chance) * error
