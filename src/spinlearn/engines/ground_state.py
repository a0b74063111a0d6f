"""Labellings of least energy, or nearly so, from cuts."""

from __future__ import annotations

from spinlearn.core.arrays import StateArray
from spinlearn.core.model import PottsModel
from spinlearn.minimizers.cut import minimum_cut
from spinlearn.minimizers.expansion import alpha_expansion
from spinlearn.minimizers.support import cut_reason, expansion_reason


def ground_state(model: PottsModel) -> StateArray | None:
    """States of least energy, or None if no cut gives them."""
    return None if cut_reason(model) is not None else minimum_cut(model).labels.copy()


def near_ground(model: PottsModel) -> StateArray | None:
    """States of least energy, for more than two states within alpha-expansion's factor of it."""
    if cut_reason(model) is None:
        return ground_state(model)
    return None if expansion_reason(model) is not None else alpha_expansion(model).labels.copy()
