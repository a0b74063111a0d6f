"""Taking up a saved state: what goes wrong on the way is said in one line.

The checksums of a checkpoint say that it is as it was written. Whether it can be gone on with is
checked by each kind of run: kernels trust shapes and node numbers, and would read beyond arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.array_checks import FINITE, check_numbers, within
from spinlearn.core.model import FREE, PottsModel
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


def check_seconds(seconds: Any, phases: Iterable[str]) -> None:
    """Refuse times that are none, or of phases that there are not."""
    if not isinstance(seconds, dict) or not set(seconds) <= set(phases):
        raise ValueError("seconds are not those of its phases")
    check_numbers(seconds, dict.fromkeys(seconds, (float, 0.0, FINITE)))


def check_states(model: PottsModel, states: npt.NDArray[Any]) -> None:
    """Refuse labellings (..., n) with states that there are not, or that violate a clamp."""
    within("states", states, 0, model.n_states - 1)
    held = model.clamped != FREE
    if np.any(states[..., held] != model.clamped[held]):
        raise ValueError("states of labelled nodes are not their labels")


def check_streams(streams: npt.NDArray[np.uint64]) -> None:
    """Refuse streams (groups, 17) with a generator of zeros, which stays there for ever.

    Walkers use the first four words as one generator, or 16 as the columns of four.
    """
    words = streams[:, :16].reshape(-1, 4, 4)
    if not np.all(words[:, 0].any(axis=1)) or not np.all(words.any(axis=1)):
        raise ValueError("a stream of random numbers is stuck at zero")
