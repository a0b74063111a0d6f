"""Independent work: on threads of this process, or on the workers of a Dask cluster.

The cluster is the one that the user gave to joblib, `with joblib.parallel_config("dask")`. What all
tasks need is sent to each worker once. A task whose worker is lost is computed again on another.
Results are those of one process, in the order of the tasks, whoever computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from spinlearn.errors import ClusterError

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")

RETRIES = 3  # of a task whose worker is lost
LOOK_SECONDS = 1.0  # between two looks whether there are workers
WAIT_SECONDS = 60.0  # for a worker to come, or to come back


class SentOnce:
    """Large objects shared by calls of `each`, told apart by identity: sent to each worker once."""

    def __init__(self, *objects: Any) -> None:
        self.objects = objects
        self._client: Any = None
        self._futures: list[Any] = []

    def futures(self, client: Any) -> list[Any]:
        """The objects on the workers."""
        if self._client is not client:
            self._futures = [
                client.submit(_unpacked, _held(client, SentOnce().packed(thing)), [], pure=False)
                for thing in self.objects
            ]
            self._client = client
        return self._futures

    def packed(self, value: Any) -> bytes:
        """A value without the objects."""
        import io

        from cloudpickle import Pickler

        numbers = {id(thing): number for number, thing in enumerate(self.objects)}

        class WithoutObjects(Pickler):  # type: ignore[misc]
            def persistent_id(self, thing: Any) -> int | None:
                return numbers.get(id(thing))

        buffer = io.BytesIO()
        WithoutObjects(buffer, protocol=5).dump(value)
        return buffer.getvalue()


def _unpacked(packed: bytes, objects: Sequence[Any]) -> Any:
    import io
    from pickle import Unpickler

    class WithObjects(Unpickler):
        def persistent_load(self, number: int) -> Any:
            return objects[number]

    return WithObjects(io.BytesIO(packed)).load()


def _call_beside(
    function: Callable[[Any, Any], Result], packed: bytes, item: Any, objects: list[Any]
) -> Result:
    return function(_unpacked(packed, objects), item)


def each(
    function: Callable[[Shared, Item], Result],
    shared: Shared,
    items: Sequence[Item],
    *,
    n_jobs: int = 1,
    beside: SentOnce | None = None,
) -> list[Result]:
    """function(shared, item) of every item, by `n_jobs` threads or the cluster.

    `beside` are parts of `shared` that other calls share too.
    """
    client = active_client()
    if client is not None:
        return _on_cluster(client, function, shared, items, beside or SentOnce())
    return in_threads([partial(function, shared, item) for item in items], n_jobs)


def in_threads(calls: Sequence[Callable[[], Result]], n_jobs: int) -> list[Result]:
    """What all calls return, made by so many threads of this process."""
    if n_jobs == 1 or len(calls) < 2:
        return [call() for call in calls]
    from joblib import Parallel, delayed

    threads = Parallel(n_jobs=n_jobs, require="sharedmem")
    return list(threads(delayed(call)() for call in calls))


def active_client() -> Any:
    """The client of the Dask cluster that joblib was given; None inside a task of it."""
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    return getattr(backend, "client", None)


def wait_for_worker(client: Any) -> None:
    """Until there is one; an error if none comes."""
    try:
        client.wait_for_workers(1, timeout=WAIT_SECONDS)
    except TimeoutError as error:
        raise ClusterError(
            f"no worker came within {WAIT_SECONDS:.0f} s: start some, or check the address"
        ) from error


def _on_cluster(
    client: Any,
    function: Callable[..., Result],
    shared: Any,
    items: Sequence[Any],
    beside: SentOnce,
) -> list[Result]:
    from distributed import KilledWorker

    objects = beside.futures(client)
    sent = _held(client, beside.packed(shared))
    futures = [
        client.submit(_call_beside, function, sent, item, objects, pure=False, retries=RETRIES)
        for item in items
    ]
    results: list[Result] = []
    try:
        while len(results) < len(futures):
            try:
                results.append(futures[len(results)].result(timeout=LOOK_SECONDS))
            except (TimeoutError, UnboundLocalError):
                # The second: Dask's own, where what waits is cancelled at the moment it ends.
                wait_for_worker(client)  # or tasks would do so forever
        return results
    except KilledWorker as error:
        raise ClusterError(
            f"{RETRIES + 1} workers were lost with the same task, which most likely needs more "
            "memory than a worker has: give workers more, or use fewer of them"
        ) from error
    finally:
        client.cancel([*futures, sent])


def _held(client: Any, packed: bytes) -> Any:
    """Bytes on the cluster as the result of a task, which is repeated where it is lost.

    (Scattered data are gone with their workers; scattering to a worker that dies never ends.)
    """
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that it is large
        return client.submit(bytes, packed, pure=False, retries=RETRIES)
