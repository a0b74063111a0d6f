"""Seeds: whatever a caller has, as a sequence of which independent streams are spawned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spinlearn.errors import InvalidInputError

Seed = (
    int
    | Sequence[int]
    | np.random.SeedSequence
    | np.random.Generator
    | np.random.RandomState
    | None
)


def seed_sequence(seed: Seed) -> np.random.SeedSequence:
    """A fresh sequence: spawning from it changes nothing of the caller's.

    A generator is asked for one number, so that it gives another sequence every time.
    """
    if isinstance(seed, np.random.SeedSequence):
        return np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
    if isinstance(seed, np.random.RandomState):
        return np.random.SeedSequence(int(seed.randint(2**31)))
    if isinstance(seed, np.random.Generator):
        return np.random.SeedSequence(int(seed.integers(2**31)))
    try:
        return np.random.SeedSequence(seed)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"seed {seed!r} cannot be used: give a whole number >= 0, a generator or None"
        ) from error
