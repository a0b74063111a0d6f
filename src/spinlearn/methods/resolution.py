"""How strong the null model must be: the resolution of modularity, by evidence from the labels.

The temperature is judged with it, in steps around the calibrated one: where labels that are left
out are called wrong with confidence, a higher one is taken.

Errors with three resolutions and without fields of walks (`label_walks`), 3 labels a class (means
over draws; the best of each row is what evidence should find):

    resolution               0      0.25    1        classes
    breast cancer            0.08   0.06    0.14     63 : 37 %
    pancreas cells           0.01   0.01    0.24     42, 39, 12, 7 %
    two-class Gaussians      0.50   0.50    0.27     balanced, 60 % of the edges within classes
    digits                   0.14   0.06    0.04     ten, balanced
    USPS, 10 + 10 labels     0.12   0.38    0.36     80 : 20 %, each of several digits

With them the mean error of 45 sets is 0.30, 0.25 and 0.17 for 1, 3 and 10 labels a class by the
choice below, 0.27, 0.23 and 0.16 by the best of the three for every draw, and at best 0.31, 0.26
and 0.18 with any one of them throughout. The error hardly depends on the temperature, calibration
does: the best of the factors below for every draw has 0.05 to 0.06, the choice 0.065 to 0.075.

A strong null model wants classes of equal volume, and cuts large ones up; none at all lets a class
take everything where classes touch. So shares of classes are not put in: the weak one leaves them
to the graph, and labels decide where that does not do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.core.parallel import SentOnce
from spinlearn.energies import Modularity
from spinlearn.methods.evidence import Evidence, Labels, cavity_evidence, left_out_evidence
from spinlearn.methods.label_walks import LabelWalks
from spinlearn.methods.quick_messages import QuickMessages, best_beliefs

# Resolutions in the order in which they are tried, each with the odds against it before any label
# is looked at, in nats: a few labels should not choose an extreme by chance.
RESOLUTIONS = {0.25: 0.0, 1.0: 1.5, 0.0: 1.5}
FACTORS = (2.0, 1.6, 1.25, 1.0, 0.8, 0.65)  # times the calibrated temperature, descending
PER_STEP = 0.3  # nats against every step away from it
CALIBRATED = FACTORS.index(1.0)
WORSE = 2.0  # nats
CLEAR = 0.1  # nats a label: others are not tried where the first explains the labels as well


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """Evidence for one resolution: of labels left out, if any can be, with that of the cavity."""

    resolution: float
    left_out: Evidence | None
    cavity: Evidence | None

    @property
    def scores(self) -> FloatArray:
        """Logarithm of the odds for each of FACTORS, up to a constant; cold ones need labels."""
        steps = np.abs(np.arange(len(FACTORS)) - CALIBRATED)
        scores = -PER_STEP * steps - RESOLUTIONS[self.resolution]
        if self.left_out is None:
            scores = np.where(steps == 0, scores, -np.inf)
        else:
            scores = scores + self.left_out.log_likelihood
        return scores + (0.0 if self.cavity is None else self.cavity.log_likelihood[0])

    @property
    def best(self) -> float:
        """Of the scores."""
        return float(self.scores.max())

    @property
    def clear(self) -> bool:
        """Whether left-out labels leave nothing to be desired."""
        found = self.left_out
        return found is not None and -found.log_likelihood[CALIBRATED] <= CLEAR * found.n_judged

    def verdict(self) -> str:
        """What the labels say, in words."""
        found, row, how = self.left_out, int(np.argmax(self.scores)), "left out"
        if found is None:
            found, row, how = self.cavity, 0, "judged by their neighbours"
        assert found is not None  # one of them is always there
        return f"{found.n_right[row]} of {found.n_judged} labels {how} are right"


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """Resolutions with the evidence for each, in the order in which they were tried."""

    candidates: tuple[Candidate, ...]

    @property
    def chosen(self) -> Candidate:
        """The best."""
        return max(self.candidates, key=lambda c: c.best)

    @property
    def resolution(self) -> float:
        """Of the null model."""
        return self.chosen.resolution

    @property
    def factor(self) -> float | None:
        """Times the calibrated temperature; None where no label could be left out."""
        if self.chosen.left_out is None:
            return None
        return FACTORS[int(np.argmax(self.chosen.scores))]

    @property
    def fine_factor(self) -> float | None:
        """The same between those that were judged: where the parabola through the best three ends.

        On 70,000 images 1.25 and 1.6 are about as likely (five draws), and calibration errors 0.13
        and 0.05: whoever computes few temperatures cannot choose among them later.
        """
        if self.chosen.left_out is None:
            return None
        scores, logs = self.chosen.scores, np.log(FACTORS)
        best = int(np.argmax(scores))
        if best in (0, len(FACTORS) - 1):
            return FACTORS[best]
        curve = np.polyfit(logs[best - 1 : best + 2], scores[best - 1 : best + 2], 2)
        return float(np.exp(-curve[1] / (2 * curve[0])))

    def shares(self) -> tuple[FloatArray, FloatArray]:
        """Shares of the classes and their standard errors, over resolutions and left-out labels."""
        found = [c.left_out or c.cavity for c in self.candidates]
        odds = np.array([c.best for c in self.candidates])
        weight = np.exp(odds - odds.max())
        weight /= weight.sum()
        means = np.array([e.shares.mean(axis=0) for e in found if e is not None])
        mean = weight @ means
        spread = weight @ (means - mean) ** 2
        for w, e in zip(weight, found, strict=True):
            if e is not None and len(e.shares) > 1:  # delete-a-group jackknife
                spread = spread + w * (len(e.shares) - 1) * e.shares.var(axis=0)
        return mean, np.sqrt(spread)

    def reason(self) -> str:
        """Why this one, in words."""
        chosen = self.chosen
        others = ", ".join(
            f"{chosen.best - c.best:.1f} nats over {c.resolution:g}"
            for c in self.candidates
            if c is not chosen
        )
        return chosen.verdict() + (f"; {others}" if others else "")


def weigh(
    graph: Graph,
    labels: Labels,
    n_states: int,
    temperature: float,
    *,
    label_strength: npt.ArrayLike = np.inf,
    seed: int = 0,
    check: Callable[[], None] = lambda: None,
) -> Weighed:
    """Resolutions, and temperatures around the calibrated one, by what they say of the labels.

    Parameters
    ----------
    graph : Graph
        With the weights that the energy is given.
    labels : int array (n,)
    n_states : int
    temperature : float
        The calibrated one.
    label_strength
        As in `modularity`.
    seed : int
    check : callable
        Called before each resolution; it may raise to end the work.
    """
    ladder = [factor * temperature for factor in FACTORS]
    walks, beside = LabelWalks(graph), SentOnce(graph)
    candidates: list[Candidate] = []
    for resolution in RESOLUTIONS:
        check()
        if resolution == 0 and candidates[1].best > candidates[0].best + WORSE:
            break  # labels want a stronger null model than the weak one: none would be worse still
        energy = Modularity(resolution=resolution)

        def model_of(kept: Labels, energy: Modularity = energy) -> PottsModel:
            model = energy(graph, kept, n_states, label_strength=label_strength)
            return walks.added(model, kept, temperature)

        left_out = left_out_evidence(labels, model_of, ladder, beside)
        first = Candidate(resolution, left_out, None)
        if not candidates and first.clear:
            return Weighed((first,))
        model = model_of(labels)
        # The least energy of a cut without null model is one class that takes everything.
        cut = resolution == 0
        beliefs = QuickMessages(model, seed).cooled(temperature) if cut else best_beliefs(
            model, temperature, seed
        )  # fmt: skip
        found = cavity_evidence(labels, model, beliefs.marginals, temperature)
        candidates.append(Candidate(resolution, left_out, found))
    return Weighed(tuple(candidates))
