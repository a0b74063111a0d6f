"""The labelling from which moves start."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import StateArray, integer_array
from spinlearn.core.model import PottsModel
from spinlearn.errors import InvalidInputError
from spinlearn.minimizers.binary_moves import BinaryMoves, choices


def checked_start(model: PottsModel, start: npt.ArrayLike | None, moves: BinaryMoves) -> StateArray:
    """The labelling given, or all free nodes in the one state that costs least."""
    if start is None:
        constant = [choices(model, state) for state in range(model.n_states)]
        return constant[int(np.argmin([moves.energy(states) for states in constant]))]
    states = integer_array(start, "start")
    if not np.isfinite(np.asarray(model.energy(states))).all() or states.ndim != 1:
        raise InvalidInputError(
            "start violates a clamp, or holds several labellings: give one state per node, that "
            "of the clamp where there is one"
        )
    return states.astype(np.int8)
