"""Independent work: on threads of this process, or on the workers of a Dask cluster.

The cluster is the one that the user gave to joblib, `with joblib.parallel_config("dask")`. What all
tasks need is sent to each worker once. A task whose worker is lost is computed again on another.
Results are those of one process, in the order of the tasks, whoever computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from spinlearn.errors import ClusterError

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Found = TypeVar("Found")

RETRIES = 3  # of a task whose worker is lost


def each(
    function: Callable[[Shared, Item], Found],
    shared: Shared,
    items: Sequence[Item],
    *,
    n_jobs: int = 1,
) -> list[Found]:
    """function(shared, item) of every item.

    Parameters
    ----------
    function : callable
        Depends on nothing but its arguments, and leaves them as they are.
    shared : object
        What every call needs, such as a graph.
    items : sequence
    n_jobs : int
        Threads, where there is no cluster; -1 for one per core.
    """
    client = active_client()
    if client is not None:
        return _on_cluster(client, function, shared, items)
    if n_jobs == 1 or len(items) < 2:
        return [function(shared, item) for item in items]
    from joblib import Parallel, delayed

    run = Parallel(n_jobs=n_jobs, prefer="threads")
    return list(run(delayed(function)(shared, item) for item in items))


def active_client() -> Any:
    """The client of the Dask cluster that joblib was given, or None.

    A task that runs on the cluster itself sees none: it has its worker for itself.
    """
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    return getattr(backend, "client", None)


def _on_cluster(
    client: Any, function: Callable[..., Found], shared: Any, items: Sequence[Any]
) -> list[Found]:
    from distributed import KilledWorker

    sent = client.scatter(shared, broadcast=True, hash=False)
    futures = [client.submit(function, sent, item, pure=False, retries=RETRIES) for item in items]
    try:
        found: list[Found] = client.gather(futures)
    except KilledWorker as error:
        raise ClusterError(
            f"{RETRIES + 1} workers were lost with the same task, which most likely needs more "
            "memory than a worker has: give workers more, or use fewer of them"
        ) from error
    finally:
        client.cancel([*futures, sent])
    return found
