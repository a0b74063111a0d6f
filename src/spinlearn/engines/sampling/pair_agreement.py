"""Agreements of neighbours, and little else, of a model without labels: what clustering takes.

Two walkers visit all temperatures with Swendsen-Wang sweeps, one heated from an ordered state, one
cooled from a random one. What they share of their clusters gives C_ij (`kernels/clusters.py`).
With p_e the share of the sweeps in which the ends of e are in one cluster, its variance is seen in
three ways,

    w_e = (difference of the walkers / 2)^2     large where a transition holds them apart
    v_e = variance of the means of B blocks / B of sweeps in a row
    b_e = p_e (1 - p_e) (2 q p_e - 1) / sweeps  two clusters that part draw a common state, and can
                                                join again, once in q sweeps

and the largest is taken. Single edges with few blocks may agree by chance, so b_e is first raised
by how much the sums of w_e and v_e over all edges exceed its own, and in it p_e is drawn towards
the mean over all edges by q sweeps, and one more sweep is counted on either side: what parts seldom
may not have been seen to. The errors of such edges stay rough. Symmetry gives the marginals, 1/q.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.engines.limits import heat_capacity, inverse_temperatures
from spinlearn.engines.sampling.walkers import ClusterWalkers
from spinlearn.errors import InvalidInputError, StoppedError, UnsupportedModelError
from spinlearn.kernels.clusters import count_shared
from spinlearn.kernels.rng import make_stream
from spinlearn.model.arrays import FloatArray, IndexArray, temperature_array
from spinlearn.model.equilibrium import Equilibrium, Kind
from spinlearn.model.kernel_arguments import bond_thresholds, cluster_model
from spinlearn.model.potts import FREE, PottsModel
from spinlearn.model.protocols import Callback, Progress, Seed, seed_sequence
from spinlearn.model.settings import Settings

MOST_SWEEPS = 2_000
BLOCKS = 8  # of a walker at a temperature; the callback is called after each
BLOCKS_APART = 2  # before them, not counted; as many as BLOCKS at a walker's first temperature


@dataclass(kw_only=True)
class PairAgreement(Settings):
    """Swendsen-Wang sweeps of a heated and a cooled walker, for couplings >= 0 without labels.

    Parameters
    ----------
    n_sweeps : int
        Sweeps kept of each walker at every temperature, rounded up to whole blocks of eight.
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
        labels, fields = np.any(model.clamped != FREE), np.any(model.fields != 0)
        reason = ClusterWalkers.unsupported(model)
        reason = reason or ("labels" if labels else "fields" if fields else None)
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
        walk = _Walk(model, wanted, -(-max(self.n_sweeps, more) // BLOCKS))
        seeds = seed_sequence(seed).spawn(2)
        order = np.argsort(wanted, kind="stable")
        for walker, phase in enumerate(("heating", "cooling")):
            for done in walk.go(walker, seeds[walker], order[:: 1 - 2 * walker]):
                fraction = (walker + done / len(wanted)) / 2
                if callback is not None and callback(Progress(phase=phase, fraction=fraction)):
                    return walk.equilibrium(self.name, self.tol)
        return walk.equilibrium(self.name, self.tol)


class _Walk:
    """Sums of both walkers, by walker, temperature and edge; `block` is a number of sweeps."""

    def __init__(self, model: PottsModel, temperatures: FloatArray, block: int) -> None:
        self._model, self._temperatures, self._block = model, temperatures, block
        self._clusters = cluster_model(model)[0]
        places = 2, len(temperatures)
        self._counts = np.zeros((*places, model.graph.n_edges), dtype=np.uint32)
        self._squares = np.zeros_like(self._counts)  # of blocks
        self._energies = np.zeros((*places, BLOCKS * block))
        self._done = np.zeros(places, dtype=bool)

    def go(self, walker: int, seed: np.random.SeedSequence, rows: IndexArray) -> Iterator[float]:
        """Visit the temperatures in this order; yields how many are done after every block."""
        model, n, block = self._model, self._model.n_nodes, self._block
        state = np.zeros(n, dtype=np.int8)
        if walker == 1:
            state[:] = np.random.default_rng(seed).integers(0, model.n_states, n)
        stream = make_stream(seed)
        betas = inverse_temperatures(self._temperatures, model)
        shared = np.empty(model.graph.n_edges, dtype=np.uint16)
        for k, row in enumerate(rows):
            thresholds = bond_thresholds(betas[row : row + 1], model.couplings)[0]
            walk = state, self._clusters, thresholds, stream
            for _ in range(BLOCKS_APART if k else BLOCKS):
                count_shared(*walk, shared[:0], np.empty(block))
                yield k
            for b in range(BLOCKS):
                shared[:] = 0
                energies = self._energies[walker, row, b * block : (b + 1) * block]
                count_shared(*walk, shared, energies)
                self._counts[walker, row] += shared
                self._squares[walker, row] += shared.astype(np.uint32) ** 2
                self._done[walker, row] = b + 1 == BLOCKS
                yield k + (b + 1) / BLOCKS

    def equilibrium(self, engine: str, tol: float) -> Equilibrium:
        """What has been measured."""
        rows = np.flatnonzero(self._done.any(axis=0))
        if len(rows) == 0:
            raise StoppedError("stopped before the first temperature was finished")
        model, temperatures = self._model, self._temperatures[rows]
        done = [(self._done[:, row], row) for row in rows]
        pairs = [self._agreement(self._counts[at], self._squares[at]) for at in done]
        agreement, errors = (np.stack(part) for part in zip(*pairs, strict=True))
        variance = np.array([np.var(self._energies[at]) for at in done])
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
            diagnostics={"sweeps": BLOCKS * self._block, "typical_error": typical},
        )

    def _agreement(
        self, counts: npt.NDArray[np.uint32], squares: npt.NDArray[np.uint32]
    ) -> tuple[FloatArray, FloatArray]:
        """C_ij and its errors from the sums of one or two walkers, (walkers, m)."""
        n_blocks = len(counts) * BLOCKS
        sweeps = n_blocks * self._block
        p = counts.sum(axis=0) / sweeps
        q = self._model.n_states
        mean = p.mean() if len(p) else 0.5
        likely = (p * sweeps + mean * q + 1) / (sweeps + q + 2)
        memory = np.maximum(2 * q * likely - 1, 1.0)
        alone = likely * (1 - likely) * memory / sweeps
        walkers = (np.ptp(counts, axis=0) / (2 * BLOCKS * self._block)) ** 2
        spread = squares.sum(axis=0) / (n_blocks * self._block**2) - p**2
        blocks = np.maximum(spread, 0.0) / (n_blocks - 1)
        together = max(float(walkers.sum()), float(alone.sum()))
        alone *= together / max(float(alone.sum()), np.finfo(float).tiny)
        error = np.sqrt(np.maximum(np.maximum(walkers, blocks), alone))
        return p + (1 - p) / q, (1 - 1 / q) * error
