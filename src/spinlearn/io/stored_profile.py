"""A Profile as plain arrays, to be kept in a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.profile import Profile
from spinlearn.answers.rule import Status
from spinlearn.core.array_checks import listed, typed, within
from spinlearn.core.array_file import Arrays
from spinlearn.core.arrays import StateArray, frozen
from spinlearn.core.model import FREE, PottsModel

KINDS = {"temperatures": "f", "outcomes": "i", "status": "i", "margin": "f"}
ROUNDING = 1e-6  # of a difference of two probabilities


def profile_arrays(profile: Profile) -> Arrays:
    """The arrays that define a profile."""
    return {f"profile_{name}": getattr(profile, name) for name in KINDS}


def profile_of(
    header: Mapping[str, Any], arrays: Arrays, model: PottsModel, n_classes: int
) -> Profile:
    """The profile that arrays define, of a model with so many named classes."""
    n_nodes = model.n_nodes
    parts = {name: arrays[f"profile_{name}"] for name in KINDS}
    n_rows = parts["temperatures"].size
    for name, values in parts.items():
        shape = (n_rows,) if name == "temperatures" else (n_rows, n_nodes)
        if values.shape != shape or values.dtype.kind != KINDS[name]:
            raise ValueError(f"profile_{name} is {values.dtype} of shape {values.shape}")
    if n_rows == 0:
        raise ValueError("temperatures are missing")
    if typed(header, "n_classes", int) != n_classes:
        raise ValueError(f"a profile of {header['n_classes']} classes for {n_classes}")
    sets = listed("confused_sets", header["confused_sets"], list)
    between = tuple(tuple(listed("a confused set", members, int)) for members in sets)
    within("confused_sets", [c for members in between for c in members], 0, n_classes - 1)
    if len(set(between)) < len(between) or any(list(s) != sorted(set(s)) for s in between):
        raise ValueError("confused sets repeat, or a class in one of them")
    within("profile_temperatures", parts["temperatures"], 0.0, np.inf)
    if np.any(parts["temperatures"][1:] <= parts["temperatures"][:-1]):
        raise ValueError("temperatures do not ascend")
    # A new class has a point at least, at one temperature or another.
    within("profile_outcomes", parts["outcomes"], -len(between), n_classes + n_rows * n_nodes - 1)
    within("profile_status", parts["status"], 0, len(Status) - 1)
    within("profile_margin", parts["margin"], -ROUNDING, 1 + ROUNDING)
    _check_calls(parts["outcomes"], parts["status"], between, model.clamped, n_classes)
    return Profile(
        temperatures=frozen(parts["temperatures"], np.float64),
        outcomes=frozen(parts["outcomes"], np.int32),
        status=frozen(parts["status"], np.int8),
        margin=frozen(parts["margin"], np.float64),
        n_classes=n_classes,
        confused_sets=between,
    )


def _check_calls(
    outcomes: npt.NDArray[Any],
    status: npt.NDArray[Any],
    between: tuple[tuple[int, ...], ...],
    clamped: StateArray,
    n_classes: int,
) -> None:
    """Refuse calls that came about in another way than the rule's (`spinlearn.answers.rule`)."""
    held = (clamped != FREE) & (clamped < n_classes)
    if np.any(outcomes[:, held] != clamped[held]):
        raise ValueError("profile_outcomes differ from the labels that are held")
    # A class is called with any of four words by an average, with two by the paper's rule.
    words = (Status.GROWN, Status.CONFUSED, Status.OUTLIER)
    due = np.where(np.isin(status, words), status, Status.CONFIDENT).astype(np.int8)
    due[:, held] = Status.LABELLED
    due[outcomes >= n_classes] = Status.NEW
    undecided = outcomes < 0
    of_sets = np.array([Status.CONFUSED if s else Status.OUTLIER for s in between], dtype=np.int8)
    due[undecided] = of_sets[-1 - outcomes[undecided]]
    if np.any(status != due):
        raise ValueError("profile_status does not fit the labels and profile_outcomes")
