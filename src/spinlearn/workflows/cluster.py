"""Belief propagation over a model in parts, on the workers of the Dask cluster joblib was given.

Every worker reads its own blocks of nodes and keeps their messages. A sweep is one task per block;
what leaves one block goes to the worker of the other without passing by here, and only a few
numbers come back. There is one cooled start, as for all large models. If a worker is lost, all
blocks are read again, on the workers that are left, and cooling begins anew; after MOST_LOSSES such
losses the run ends with a ClusterError. Nothing is written before the end.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.engines import BeliefPropagation
from spinlearn.engines.messages.block import MessageBlock, Swept
from spinlearn.engines.messages.cooling import COARSE_TOL, energy_slopes, follow, way_down
from spinlearn.engines.messages.layout import is_two_valued
from spinlearn.engines.messages.propagation import Settled, Settling
from spinlearn.errors import ClusterError, InvalidInputError, StoppedError, UnsupportedModelError
from spinlearn.io.message_parts import MessageParts, write_message_parts
from spinlearn.model.arrays import FloatArray, temperature_array
from spinlearn.model.equilibrium import Equilibrium, Kind
from spinlearn.model.parallel import active_client, wait_for_worker
from spinlearn.model.potts import FREE, ConditionedModel, PottsModel
from spinlearn.model.protocols import Callback, Progress, Seed
from spinlearn.model.settings import Settings

MOST_LOSSES = 3
LOOK_SECONDS = 0.5  # between two looks whether all workers are there

_BLOCKS: dict[tuple[str, int], MessageBlock] = {}  # of this worker, by run and number


class _WorkerLostError(Exception):
    """A worker with a block is no more."""


@dataclass(frozen=True, slots=True, eq=False)
class Propagated:
    """What was found."""

    temperatures: FloatArray  # (T,), descending
    marginals: FloatArray  # (T, n, q), of the free nodes
    agreement: FloatArray  # (T, m), C_ij of the edges between them, in the order of both ends
    settled: npt.NDArray[np.bool_]  # (T,)
    sweeps: npt.NDArray[np.int64]  # (T,)
    worker_bytes: dict[str, int]  # that graph and messages took on every worker
    losses: int  # how often a worker was lost on the way


def propagate_parts(
    parts: MessageParts,
    temperatures: npt.ArrayLike,
    client: Any,
    *,
    through: Sequence[float] = (),
    tol: float = 1e-8,
    max_sweeps: int = 1000,
    callback: Callback | None = None,
) -> Propagated:
    """Averages at temperatures above 0, cooled from the highest, by the workers of a Dask client.

    The way leads `through` further temperatures. `tol` and `max_sweeps` are as for
    `BlockPropagation`; a true answer of `callback` stops with a StoppedError.
    """
    wanted = np.unique(temperature_array(temperatures))[::-1]
    if wanted[-1] <= 0 or not np.isfinite(wanted[0]):
        raise InvalidInputError("messages in parts are passed at finite temperatures above 0 only")
    for losses in range(MOST_LOSSES + 1):
        run = None
        try:
            run = _BlockMessages(parts, client, Settling(tol, max_sweeps), callback)
            return run.down(wanted, through, losses)
        except _WorkerLostError:
            continue
        finally:
            if run is not None:
                run.forget()
    raise ClusterError(
        f"workers were lost {MOST_LOSSES + 1} times during belief propagation, most likely for "
        f"want of memory: write the model in more than {parts.n_blocks} blocks, or give workers "
        "more memory"
    )


class _BlockMessages:
    """One attempt: the messages of all blocks, on the workers that are there now."""

    coarsest_tol = 0.0

    def __init__(
        self, parts: MessageParts, client: Any, settling: Settling, callback: Callback | None
    ) -> None:
        self.parts, self.client, self.settling = parts, client, settling
        self.callback, self.done = callback, 0.0
        self.movement, self.most_pending = np.zeros(2), np.inf
        self.volumes: list[FloatArray] = []
        self.leaving: list[Any] = [None] * parts.n_blocks
        self.key = uuid.uuid4().hex
        self.asking = ThreadPoolExecutor(1)
        wait_for_worker(client)
        workers = sorted(self._alive())
        if not workers:  # gone again
            raise _WorkerLostError
        self.home = [workers[b % len(workers)] for b in range(parts.n_blocks)]

    def down(self, wanted: FloatArray, through: Sequence[float], losses: int) -> Propagated:
        """Through all temperatures."""
        sizes = self._each(_open_block, self.parts)
        laws = np.zeros((len(wanted), self.parts.n_nodes, self.parts.n_states))
        agreement: list[FloatArray] = []
        found: list[Settled] = []
        way = np.unique(np.concatenate([wanted, through]))[::-1].tolist()
        for step, (temperature, settled) in enumerate(follow(self, way, way), 1):
            self.done = step / len(way)
            if temperature not in wanted:
                continue
            read = self._each(_read_block)
            for nodes, own, _, _ in read:
                laws[len(found), nodes] = own
            ends = np.concatenate([pairs for _, _, pairs, _ in read])
            values = np.concatenate([own for _, _, _, own in read])
            agreement.append(values[np.lexsort((ends[:, 1], ends[:, 0]))])
            found.append(settled)
        held: dict[str, int] = {}
        for home, size in zip(self.home, sizes, strict=True):
            held[home] = held.get(home, 0) + size
        return Propagated(
            temperatures=wanted,
            marginals=laws,
            agreement=np.array(agreement),
            settled=np.array([settled.settled for settled in found]),
            sweeps=np.array([settled.sweeps for settled in found]),
            worker_bytes=held,
            losses=losses,
        )

    def settle(self, temperature: float, *, hasty: bool = False) -> Settled:
        """Sweep at this temperature until messages are settled."""
        self.volumes = self._each(_cool_block, temperature)
        self.most_pending = np.inf
        return self.settling.settle(self)

    def sweep(self, forth: bool, tol: float, damping: float, threshold: float) -> None:
        """Pass messages once in all blocks."""
        total = np.sum(self.volumes, axis=0)
        arriving = [future for future in self.leaving if future is not None]
        done = [
            self._submit(_sweep_block, b, (forth, tol, damping, threshold, total - own), arriving)
            for b, own in enumerate(self.volumes)
        ]
        swept: list[Swept] = self._gathered(
            [self._submit(_item, b, future, 0) for b, future in enumerate(done)]
        )
        self.leaving = [self._submit(_item, b, future, 1) for b, future in enumerate(done)]
        self.volumes = [t.volumes for t in swept]
        self.movement[:] = max(t.moved for t in swept), max(t.excess for t in swept)
        # What has just left is pending elsewhere.
        self.most_pending = max(self.movement[0], *(t.pending for t in swept))
        if self.callback is not None and self.callback(
            Progress(phase="belief propagation in blocks", fraction=self.done)
        ):
            raise StoppedError("stopped before messages settled on the cluster")

    def recount(self) -> None:
        """Class sizes are summed anew in every sweep."""

    def forget(self) -> None:
        """Free the blocks of workers that are still there."""
        from distributed import fire_and_forget

        self.asking.shutdown(wait=False)
        for home in sorted(self._alive().intersection(self.home)):
            fire_and_forget(self.client.submit(_close_blocks, self.key, workers=[home], pure=False))

    def _each(self, function: Any, *arguments: Any) -> list[Any]:
        blocks = range(self.parts.n_blocks)
        return self._gathered([self._submit(function, b, *arguments) for b in blocks])

    def _submit(self, function: Any, block: int, *arguments: Any) -> Any:
        """One task on the worker that holds the block."""
        return self.client.submit(
            function, self.key, block, *arguments, workers=[self.home[block]], pure=False, retries=0
        )

    def _gathered(self, futures: list[Any]) -> list[Any]:
        """Results, or the news that a worker is lost: its task would wait for it forever.

        So would whoever asks for a result that went with its worker once it was done; a thread
        does, while this one looks at the workers.
        """
        from distributed import KilledWorker

        asked = self.asking.submit(self.client.gather, futures)
        while not wait([asked], timeout=LOOK_SECONDS).done:
            if not self._alive().issuperset(self.home):
                self.client.cancel(futures)
                raise _WorkerLostError
        try:
            return list(asked.result())
        except (OSError, KeyError, KilledWorker, CancelledError) as error:
            # KeyError: a new worker of the same name, which has no block.
            raise _WorkerLostError from error

    def _alive(self) -> set[str]:
        """Addresses of the workers that are there.

        Not by `scheduler_info`: the client overwrites what that returns, now and then, with a list
        of no workers, and all would seem lost.
        """
        return set(self.client.nthreads())


def _open_block(run: str, block: int, parts: MessageParts) -> int:
    made = parts.read(block)
    _BLOCKS[run, block] = made
    return made.n_bytes


def _cool_block(run: str, block: int, temperature: float) -> FloatArray:
    _BLOCKS[run, block].set_temperature(temperature)
    return _BLOCKS[run, block].own_volumes()


def _sweep_block(
    run: str,
    block: int,
    arguments: tuple[bool, float, float, float, FloatArray],
    arriving: list[dict[tuple[int, int], Any]],
) -> tuple[Swept, dict[tuple[int, int], Any]]:
    here = {a: rows for sent in arriving for (a, b), rows in sent.items() if b == block}
    swept, leaving = _BLOCKS[run, block].sweep(*arguments, here)
    return swept, {(block, b): rows for b, rows in leaving.items()}


def _read_block(run: str, block: int) -> tuple[Any, FloatArray, Any, FloatArray]:
    held = _BLOCKS[run, block]
    return held.nodes, held.marginals(), *held.agreements()


def _close_blocks(run: str) -> None:
    for key in [key for key in _BLOCKS if key[0] == run]:
        del _BLOCKS[key]


def _item(run: str, block: int, pair: tuple[Any, Any], which: int) -> Any:
    return pair[which]


@dataclass(kw_only=True)
class BlockPropagation(Settings):
    """Belief propagation over a partitioned model.

    Parameters
    ----------
    n_blocks : int
        At least as many as workers; more of them if one does not fit into a worker's memory.
    folder : path or None
        New or empty folder for the parts, which all workers can read; it is kept. None: one for
        temporary files, which is removed, for workers on this machine.
    tol : float
        Messages are settled when no entry changes by more than this part of itself in a sweep.
    max_sweeps : int
        At one temperature.
    """

    n_blocks: int
    folder: Any = None
    tol: float = COARSE_TOL
    max_sweeps: int = 1600

    name: ClassVar[str] = BeliefPropagation.name

    def unsupported(self, model: PottsModel) -> str | None:
        """What of the model cannot be shared out, or None."""
        if not is_two_valued(model):
            return "blocks hold pairs that cost one amount if alike and one if not: leave them out"
        return BeliefPropagation().unsupported(model)

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
    ) -> Equilibrium:
        """Averages of one cooled start; `seed` decides nothing.

        States that nothing tells apart stay alike, so that a model without labels never orders.
        """
        began, wanted = perf_counter(), temperature_array(temperatures)
        reason = self.unsupported(model)
        if reason is not None:
            raise UnsupportedModelError(reason)
        if wanted.min() <= 0 or not np.all(np.isfinite(wanted)):
            raise InvalidInputError("blocks pass messages at finite temperatures above 0 only")
        client = active_client()
        if client is None:
            raise ClusterError(
                "blocks live on the workers of a Dask cluster, and joblib was given none: use "
                "--scheduler ADDRESS, or joblib.parallel_config('dask', client=client)"
            )
        falling = sorted(set(wanted.tolist()), reverse=True)
        place: Any = nullcontext(self.folder)
        if self.folder is None:
            place = tempfile.TemporaryDirectory(prefix="spinlearn-parts-")
        with place as folder:
            parts = write_message_parts(model, folder, self.n_blocks)
            found = propagate_parts(
                parts, falling, client, through=way_down(model, falling), tol=self.tol,
                max_sweeps=self.max_sweeps, callback=callback,
            )  # fmt: skip
        free = ConditionedModel.of(model)
        marginals = free.full_marginals(found.marginals)
        agreement = free.full_agreement(found.agreement, marginals)
        pairs = zip(marginals, agreement, strict=True)
        energies = np.array([_energy(model, p, c) for p, c in pairs])
        held = found.worker_bytes.values()
        whole = Equilibrium(
            model=model,
            temperatures=found.temperatures,
            marginals=marginals,
            edge_agreement=agreement,
            mean_energy=energies,
            heat_capacity=energy_slopes(found.temperatures, energies),
            converged=found.settled,
            engine=self.name,
            kind=Kind.APPROXIMATE,
            diagnostics={
                "start": ["cooled"] * len(energies),
                "sweeps": found.sweeps.tolist(),
                "workers_lost": found.losses,
                "largest_share": max(held) / sum(held),
                "seconds": perf_counter() - began,
            },
        )
        return whole.at(wanted)


def _energy(model: PottsModel, p: FloatArray, agreement: FloatArray) -> float:
    """<E>, class sizes as of independent nodes."""
    alike, apart = float(model.pair_cost[0, 0]), float(model.pair_cost[0, 1])
    total = float(
        model.couplings @ (apart + (alike - apart) * agreement) + np.sum(p * model.fields)
    )
    penalty = model.class_penalty
    if penalty is not None:
        sizes, free = penalty.sizes, model.clamped == FREE
        gap = sizes @ p - np.asarray(penalty.targets)
        variance = float(np.sum(sizes[free] ** 2 @ (p[free] * (1 - p[free]))))
        total += 0.5 * float(penalty.coefficient) * (float(gap @ gap) + variance)
    return total
