"""Belief propagation over a model in parts: blocks of nodes live on the workers of a Dask cluster.

Every worker reads its own block and keeps its messages. A sweep is one task per block; what leaves
one block goes to the worker of the other without passing by here, and only a few numbers come back.
If a worker is lost, all blocks are read again, on the workers that are left, and the way down
begins anew; after MOST_LOSSES such losses the run ends with a ClusterError. Nothing is written
before the end.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, temperature_array
from spinlearn.core.protocols import Callback, Progress
from spinlearn.errors import ClusterError, InvalidInputError, StoppedError
from spinlearn.io.message_parts import MessageParts
from spinlearn.messages.block import MessageBlock, Swept

MOST_LOSSES = 3
PATIENCE = 40  # sweeps after which messages should have moved less than before, by
PROGRESS = 0.7  # this factor, or else they are damped
DAMPING = 0.5
RESIDUAL_SHARE = 0.1  # of the largest pending change, below which a node can wait
LOOK_SECONDS = 0.5  # between two looks whether all workers are there
WAIT_SECONDS = 60.0  # for a worker to come back

_BLOCKS: dict[tuple[str, int], MessageBlock] = {}  # of this worker, by run and number


class _WorkerLostError(Exception):
    """A worker with a block is no more."""


@dataclass(frozen=True, slots=True, eq=False)
class Propagated:
    """What was found.

    Attributes
    ----------
    temperatures : float array (T,)
        Descending.
    marginals : float array (T, n, q)
        Of the free nodes.
    agreement : float array (T, m)
        C_ij of the edges between them, in the order of both ends.
    settled : bool array (T,)
    sweeps : int array (T,)
    worker_bytes : dict
        Memory that graph and messages took on every worker.
    losses : int
        How often a worker was lost on the way.
    """

    temperatures: FloatArray
    marginals: FloatArray
    agreement: FloatArray
    settled: npt.NDArray[np.bool_]
    sweeps: npt.NDArray[np.int64]
    worker_bytes: dict[str, int]
    losses: int


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
    """Averages at temperatures above 0, cooled from the highest.

    Parameters
    ----------
    parts : MessageParts
    temperatures : array-like
    client : distributed.Client
    through : sequence of float
        Further temperatures that are passed on the way.
    tol : float
        Messages are settled when no entry changes by more than this part of itself in a sweep.
    max_sweeps : int
        At one temperature.
    callback : callable, optional
        Told of the progress between sweeps; a true answer stops with a StoppedError.
    """
    wanted = np.unique(temperature_array(temperatures))[::-1]
    if wanted[-1] <= 0 or not np.isfinite(wanted[0]):
        raise InvalidInputError("messages in parts are passed at finite temperatures above 0 only")
    for losses in range(MOST_LOSSES + 1):
        run = None
        try:
            run = _Run(parts, client, tol, max_sweeps, callback)
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


class _Run:
    """One attempt, with blocks on the workers that are there now."""

    def __init__(
        self,
        parts: MessageParts,
        client: Any,
        tol: float,
        max_sweeps: int,
        callback: Callback | None,
    ) -> None:
        self.parts, self.client, self.tol, self.max_sweeps = parts, client, tol, max_sweeps
        self.callback, self.done = callback, 0.0
        self.key = uuid.uuid4().hex
        self.asking = ThreadPoolExecutor(1)
        try:
            client.wait_for_workers(1, timeout=WAIT_SECONDS)
        except TimeoutError as error:
            raise ClusterError(
                f"no worker came within {WAIT_SECONDS:.0f} s: start some, or check the address"
            ) from error
        workers = sorted(self._alive())
        if not workers:  # gone again
            raise _WorkerLostError
        self.home = [workers[b % len(workers)] for b in range(parts.n_blocks)]

    def down(self, wanted: FloatArray, through: Sequence[float], losses: int) -> Propagated:
        """Through all temperatures."""
        blocks = range(self.parts.n_blocks)
        sizes = self._each(_open_block, [(self.parts,)] * len(blocks))
        laws = np.zeros((len(wanted), self.parts.n_nodes, self.parts.n_states))
        agreement: list[FloatArray] = []
        settled, sweeps = np.zeros(len(wanted), dtype=bool), np.zeros(len(wanted), dtype=np.int64)
        leaving: list[Any] = [None] * len(blocks)
        way = np.unique(np.concatenate([wanted, through]))[::-1]
        for step, temperature in enumerate(way.tolist()):
            self.done = step / len(way)
            told = self._each(_cool_block, [(temperature, self.parts.total_size)] * len(blocks))
            reached, n_sweeps, leaving = self._settle(told, leaving)
            k = int(np.argmin(np.abs(wanted - temperature)))
            if wanted[k] != temperature:
                continue
            settled[k], sweeps[k] = reached, n_sweeps
            found = self._each(_read_block, [()] * len(blocks))
            for nodes, own, _, _ in found:
                laws[k, nodes] = own
            ends = np.concatenate([pairs for _, _, pairs, _ in found])
            values = np.concatenate([own for _, _, _, own in found])
            agreement.append(values[np.lexsort((ends[:, 1], ends[:, 0]))])
        held: dict[str, int] = {}
        for home, size in zip(self.home, sizes, strict=True):
            held[home] = held.get(home, 0) + size
        return Propagated(wanted, laws, np.array(agreement), settled, sweeps, held, losses)

    def _settle(self, volumes: list[FloatArray], leaving: list[Any]) -> tuple[bool, int, list[Any]]:
        """Sweep until messages are settled."""
        damping, before, most = 0.0, np.inf, np.inf
        for sweep in range(self.max_sweeps):
            threshold = 0.0 if most <= self.tol else RESIDUAL_SHARE * min(most, 1e300)
            total = np.sum(volumes, axis=0)
            arguments = [
                (sweep % 2 == 0, self.tol, damping, threshold, total - own) for own in volumes
            ]
            done = self._submit(_sweep_block, arguments, leaving)
            told: list[Swept] = self._gathered([self._part(f, 0, b) for b, f in enumerate(done)])
            leaving = [self._part(future, 1, b) for b, future in enumerate(done)]
            volumes = [t.volumes for t in told]
            self._report()
            moved, most = max(t.moved for t in told), max(t.pending for t in told)
            # A sweep that passes nodes over is no check; what has just left is pending elsewhere.
            if threshold <= 0 and max(t.excess for t in told) <= 0:
                return True, sweep + 1, leaving
            most = max(most, moved)
            if sweep % PATIENCE == PATIENCE - 1:
                if moved > PROGRESS * before:
                    damping = DAMPING
                before = moved
        return False, self.max_sweeps, leaving

    def _report(self) -> None:
        if self.callback is None:
            return
        if self.callback(Progress(phase="belief propagation in blocks", fraction=self.done)):
            raise StoppedError("stopped before messages settled on the cluster")

    def forget(self) -> None:
        """Free the blocks of workers that are still there."""
        from distributed import fire_and_forget

        self.asking.shutdown(wait=False)
        for home in sorted(self._alive().intersection(self.home)):
            fire_and_forget(self.client.submit(_close_blocks, self.key, workers=[home], pure=False))

    def _each(self, function: Any, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        return self._gathered(self._submit(function, arguments, [None] * len(arguments)))

    def _submit(
        self, function: Any, arguments: Sequence[tuple[Any, ...]], leaving: Sequence[Any]
    ) -> list[Any]:
        """One task per block on the worker that holds it."""
        arriving = [future for future in leaving if future is not None]
        return [
            self.client.submit(
                function, self.key, b, own, arriving, workers=[self.home[b]], pure=False, retries=0
            )
            for b, own in enumerate(arguments)
        ]

    def _part(self, future: Any, which: int, block: int) -> Any:
        return self.client.submit(_item, future, which, workers=[self.home[block]], pure=False)

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


def _open_block(run: str, block: int, arguments: tuple[MessageParts], _: Any) -> int:
    (parts,) = arguments
    made = MessageBlock(block, parts.read(block), parts.term)
    _BLOCKS[run, block] = made
    return made.n_bytes


def _cool_block(run: str, block: int, arguments: tuple[float, float], _: Any) -> FloatArray:
    held = _BLOCKS[run, block]
    held.set_temperature(*arguments)
    return held.own_volumes()


def _sweep_block(
    run: str,
    block: int,
    arguments: tuple[bool, float, float, float, FloatArray],
    arriving: list[dict[tuple[int, int], Any]],
) -> tuple[Swept, dict[tuple[int, int], Any]]:
    here = {a: rows for sent in arriving for (a, b), rows in sent.items() if b == block}
    told, leaving = _BLOCKS[run, block].sweep(*arguments, here)
    return told, {(block, b): rows for b, rows in leaving.items()}


def _read_block(run: str, block: int, _: Any, __: Any) -> tuple[Any, FloatArray, Any, FloatArray]:
    held = _BLOCKS[run, block]
    return held.arrays.nodes, held.marginals(), *held.agreements()


def _close_blocks(run: str) -> None:
    for key in [key for key in _BLOCKS if key[0] == run]:
        del _BLOCKS[key]


def _item(pair: tuple[Any, Any], which: int) -> Any:
    return pair[which]
