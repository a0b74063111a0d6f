"""Proposals: what there is to say about a group that may be a class of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.law import Law
from spinlearn.answers.proposal import Proposal, feature_differences, largest_differences
from spinlearn.core.arrays import FloatArray
from spinlearn.graphs.reduction import Reduction
from spinlearn.methods.forest import Forest, weakest_cut
from spinlearn.methods.new_classes import Group
from spinlearn.methods.walks import Labels

MOST_TYPICAL = 9  # points that are named


@dataclass(frozen=True, eq=False)
class Measured:
    """Features of all points and what they are called.

    Attributes
    ----------
    points : float array (n, d)
        As neighbours are looked for.
    reduction : Reduction or None
        By which they were made of the features.
    names : sequence or None
        Of the features; None: their numbers.
    """

    points: FloatArray
    reduction: Reduction | None
    names: Sequence[object] | None

    @cached_property
    def spread(self) -> FloatArray:
        """Standard deviations of the features."""
        return self.points.std(axis=0) if self.reduction is None else self.reduction.spread

    def differences(
        self, inside: npt.NDArray[np.intp], beside: npt.NDArray[np.intp]
    ) -> tuple[FloatArray, Sequence[object]]:
        """Standardised differences of two groups, and the names of the features.

        Of reduced features, as far as the components show them.
        """
        if self.reduction is None:
            found = feature_differences(self.points, inside, beside, self.spread)
        else:
            gap = self.points[inside].mean(axis=0) - self.points[beside].mean(axis=0)
            gap = gap @ self.reduction.components
            found = np.divide(gap, self.spread, out=np.zeros_like(gap), where=self.spread > 0)
        names = self.names
        if names is None or len(names) != len(found):
            names = [f"feature {k}" for k in range(len(found))]
        return np.asarray(found), names


def proposals(
    groups: list[Group],
    law: Law,
    forest: Forest,
    labels: Labels,
    classes: Sequence[Any] | npt.NDArray[Any],
    measured: Measured | None,
) -> tuple[Proposal, ...]:
    """Groups that may be a class of their own, each with what there is to say about it.

    Parameters
    ----------
    groups : list of Group
        Best first.
    law : Law
    forest : Forest
        That offered them.
    labels : int array (n,)
    classes : sequence
        Names of the classes.
    measured : Measured or None
    """
    if not groups:
        return ()
    named = law.probabilities[:, : len(classes)]
    new = np.clip(1 - named.sum(axis=1), 0.0, 1.0)
    called = named.argmax(axis=1)
    called[labels >= 0] = labels[labels >= 0]
    found = []
    for number, (points, probability) in enumerate(groups, start=1):
        beside = int(named[points].sum(axis=0).argmax())
        inside = np.zeros(len(labels), dtype=bool)
        inside[points] = True
        others = np.flatnonzero((called == beside) & ~inside & ((new < 0.5) | (labels >= 0)))
        features: tuple[tuple[str, float], ...] = ()
        n_features = 0
        if measured is not None and len(others):
            differences, names = measured.differences(points, others)
            features, n_features = largest_differences(differences, names), len(names)
        found.append(
            Proposal(
                name=f"new:{number}",
                points=points,
                probability=probability,
                beside=str(classes[beside]),
                apart=_apart(forest, points, others),
                typical=forest.central(points)[:MOST_TYPICAL],
                features=features,
                n_features=n_features,
            )
        )
    return tuple(found)


def _apart(forest: Forest, points: npt.NDArray[np.intp], others: npt.NDArray[np.intp]) -> float:
    """Coupling of a group to others over that of their own weakest cut."""
    ours, theirs = np.unique(forest.nodes(points)), np.unique(forest.nodes(others))
    theirs = np.setdiff1d(theirs, ours)
    if len(theirs) == 0:
        return np.nan
    cut = weakest_cut(forest.matrix, theirs)
    return float(forest.matrix[ours][:, theirs].sum()) / cut if cut > 0 else np.nan
