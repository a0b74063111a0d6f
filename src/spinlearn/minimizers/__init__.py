"""Minimisers: labellings of least energy, the limit T = 0."""

from __future__ import annotations

from spinlearn.core.model import PottsModel
from spinlearn.errors import InvalidInputError
from spinlearn.minimizers.class_annealing import class_annealing
from spinlearn.minimizers.minimum import Minimum

__all__ = ["Minimum", "class_annealing", "minimize"]


def minimize(model: PottsModel, method: str = "auto", seed: int | None = None) -> Minimum:
    """A labelling of least energy."""
    if method not in ("auto", "class_annealing"):
        raise InvalidInputError(f"method {method!r} is unknown: use 'auto' or 'class_annealing'")
    return class_annealing(model, seed=seed)
