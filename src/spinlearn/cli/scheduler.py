"""`--scheduler ADDRESS`: independent work goes to the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from spinlearn.errors import ClusterError, InvalidInputError, MissingDependencyError

CONNECT_SECONDS = 20


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """Work on the cluster of this scheduler while the block runs; None: in this process."""
    if address is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingDependencyError(
            "--scheduler needs Dask, which is not installed: pip install 'spinlearn[dask]'"
        ) from error
    from joblib import parallel_config

    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except ValueError as error:
        raise InvalidInputError(
            f"--scheduler {address!r} is not an address ({error}): write for example "
            "tcp://10.0.0.1:8786, as `dask scheduler` prints it"
        ) from error
    except OSError as error:
        raise ClusterError(
            f"no scheduler answers at {address} within {CONNECT_SECONDS} s: start one with `dask "
            "scheduler`, or check the address"
        ) from error
    with client, parallel_config("dask", client=client):
        yield
