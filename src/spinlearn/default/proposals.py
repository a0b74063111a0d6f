"""Proposals: what there is to say about a group that may be a class of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.answers.law import Law
from spinlearn.answers.proposal import Proposal, largest_differences
from spinlearn.default.forest import Forest, weakest_cut
from spinlearn.default.new_classes import Group
from spinlearn.default.walks import Labels
from spinlearn.graphs.points import Reduction
from spinlearn.model.arrays import FloatArray

MOST_TYPICAL = 9  # points that are named


class Measured(NamedTuple):
    """Features of all points and what they are called."""

    points: FloatArray  # (n, d), as neighbours are looked for
    reduction: Reduction | None  # by which they were made of the features
    names: Sequence[object] | None  # of the features; None: their numbers


def proposals(
    groups: list[Group],
    law: Law,
    forest: Forest,
    labels: Labels,
    classes: Sequence[Any] | npt.NDArray[Any],
    measured: Measured | None,
) -> tuple[Proposal, ...]:
    """What there is to say about each of the groups that a forest offers, best first."""
    if not groups:
        return ()
    named = law.probabilities[:, : len(classes)]
    new = np.clip(1 - named.sum(axis=1), 0.0, 1.0)
    called = named.argmax(axis=1)
    called[labels >= 0] = labels[labels >= 0]
    names: Sequence[object] = []
    if measured is not None:
        reduction = measured.reduction
        spread = measured.points.std(axis=0) if reduction is None else reduction.spread
        names = [] if measured.names is None else measured.names
        if len(names) != len(spread):
            names = [f"feature {k}" for k in range(len(spread))]
    found = []
    for number, (points, probability) in enumerate(groups, start=1):
        beside = int(named[points].sum(axis=0).argmax())
        inside = np.zeros(len(labels), dtype=bool)
        inside[points] = True
        others = np.flatnonzero((called == beside) & ~inside & ((new < 0.5) | (labels >= 0)))
        ours = np.unique(forest.member[points])
        theirs = np.setdiff1d(forest.member[others], ours)
        # Coupling of the group to the class over that of the class's own weakest cut.
        cut = weakest_cut(forest.matrix, theirs) if len(theirs) else 0.0
        apart = float(forest.matrix[ours][:, theirs].sum()) / cut if cut > 0 else np.nan
        features: tuple[tuple[str, float], ...] = ()
        if measured is not None and len(others):
            gap = measured.points[points].mean(axis=0) - measured.points[others].mean(axis=0)
            if reduction is not None:  # as far as the components show the features
                gap = gap @ reduction.components
            features = largest_differences(gap, spread, names)
        found.append(
            Proposal(
                name=f"new:{number}",
                points=points,
                probability=probability,
                beside=str(classes[beside]),
                apart=apart,
                typical=forest.central(points)[:MOST_TYPICAL],
                features=features,
                n_features=len(names) if len(others) else 0,
            )
        )
    return tuple(found)
