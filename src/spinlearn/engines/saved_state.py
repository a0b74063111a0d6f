"""Taking up a saved state of messages: what goes wrong on the way is said in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from spinlearn.errors import CheckpointError


@contextmanager
def restoring() -> Iterator[None]:
    """Turn what goes wrong while a run takes up a saved state into one error that says so."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"the checkpoint does not fit its own run ({error}): it was damaged or changed; "
            "delete it to start again"
        ) from error
