"""A labelling of least energy where a minimum cut gives it."""

from __future__ import annotations

from spinlearn.core.arrays import StateArray
from spinlearn.core.model import PottsModel
from spinlearn.minimizers.cut import minimum_cut
from spinlearn.minimizers.support import cut_reason


def ground_state(model: PottsModel) -> StateArray | None:
    """States of least energy, or None if no cut gives them."""
    return None if cut_reason(model) is not None else minimum_cut(model).labels.copy()
