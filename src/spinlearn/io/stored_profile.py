"""A Profile as plain arrays, to be kept in a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from spinlearn.answers.profile import Profile
from spinlearn.answers.rule import Status
from spinlearn.core.array_checks import within
from spinlearn.core.array_file import Arrays
from spinlearn.core.arrays import frozen

KINDS = {"temperatures": "f", "outcomes": "i", "status": "i", "margin": "f"}
ROUNDING = 1e-6  # of a difference of two probabilities


def profile_arrays(profile: Profile) -> Arrays:
    """The arrays that define a profile."""
    return {f"profile_{name}": getattr(profile, name) for name in KINDS}


def profile_of(header: Mapping[str, Any], arrays: Arrays, n_nodes: int, n_classes: int) -> Profile:
    """The profile that arrays define, of so many points and classes."""
    parts = {name: arrays[f"profile_{name}"] for name in KINDS}
    n_rows = parts["temperatures"].size
    for name, values in parts.items():
        shape = (n_rows,) if name == "temperatures" else (n_rows, n_nodes)
        if values.shape != shape or values.dtype.kind != KINDS[name]:
            raise ValueError(f"profile_{name} is {values.dtype} of shape {values.shape}")
    if n_rows == 0:
        raise ValueError("temperatures are missing")
    if int(header["n_classes"]) != n_classes:
        raise ValueError(f"a profile of {header['n_classes']} classes for {n_classes}")
    between = tuple(tuple(map(int, s)) for s in header["confused_sets"])
    within("confused_sets", [c for members in between for c in members], 0, n_classes - 1)
    within("profile_temperatures", parts["temperatures"], 0.0, np.inf)
    if np.any(parts["temperatures"][1:] < parts["temperatures"][:-1]):
        raise ValueError("temperatures do not ascend")
    # A new class has a point at least, at one temperature or another.
    within("profile_outcomes", parts["outcomes"], -len(between), n_classes + n_rows * n_nodes - 1)
    within("profile_status", parts["status"], 0, len(Status) - 1)
    within("profile_margin", parts["margin"], -ROUNDING, 1 + ROUNDING)
    return Profile(
        temperatures=frozen(parts["temperatures"], np.float64),
        outcomes=frozen(parts["outcomes"], np.int32),
        status=frozen(parts["status"], np.int8),
        margin=frozen(parts["margin"], np.float64),
        n_classes=n_classes,
        confused_sets=between,
    )
