"""The default law: a posterior mean over resolutions, temperatures and shares of three laws.

    p_i(c) = sum over (r, T, g) of
             P(r, T, g | labels) [ g_B b_i(c; r, T) + g_V V_i(c) + g_F F_i(c) + g_U / k ]

b is the phase: belief propagation of the cut beside a null model of strength r, at temperature T.
V is the walk (`walks`), F the features (`features`), and 1/k guessing among k classes: where
classes overlap, left-out labels say how often all three are wrong. g runs over the simplex in steps
of SHARE_STEP. With flat priors, but for a nat against every step of guessing, and l over left-out
labels, a over all labels,

    ln P(r, T, g | labels) = sum_l ln [ g_B b_l(c_l) + g_V V_l(c_l) + g_F F_l(c_l) + g_U / k ]
                             + sum_a ln P_a(c_a; r, T) - g_U / SHARE_STEP,

every probability at least LEAST. Where no label can be left out nothing speaks for features or
guessing, and they have no share.

What is averaged need not be chosen well: leaving out any one resolution or temperature changes the
error, mean of 37 sets, by less than half a point.

*Left out.* Labels are dealt out to a few groups; each group in turn is left out, the laws are found
anew without it, and the labels of the group are predicted. The summed logarithm of the
probabilities given to them is a pseudo marginal likelihood (Geisser & Eddy 1979): its difference
between two laws is a logarithm of odds. The last label of a class is never left out: nothing
would be known of the class.

*Cavity.* With one label a class there is nothing to leave out. P_a is the law that the neighbours
give a labelled point once its own pull on them is taken off again: with h_j(s) ~
p_j(s) exp(-J_ij [s = c_i] / T),

    P_i(s) ~ exp(-field_i(s)/T) prod_j (w_ij + (1 - w_ij) h_j(s)),    w_ij = exp(-J_ij/T).

A class that has shrunk to its label alone shows there: the neighbours are of another. Where labels
can be left out it counts all the same: it is of the state that the answer will be read from, the
others are of states cooled with fewer labels.

*The paper's method* is judged by left-out labels where exact averages of the minimum cut take
little time, at T* of section 6.1 with all labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, product
from typing import Self

import numpy as np
import numpy.typing as npt

from spinlearn.answers.law import Law
from spinlearn.answers.profile import profile
from spinlearn.answers.temperature import answer_temperature
from spinlearn.constants import FACTORS, GROUPS, LEAST, RESOLUTIONS, SHARE_STEP
from spinlearn.default.features import Features, GivenLaw
from spinlearn.default.walks import Labels, walk_fields, walk_law
from spinlearn.energies import MinCut, Modularity
from spinlearn.engines import JunctionTree
from spinlearn.engines.messages.replicas import LANES, Places, cooled_together
from spinlearn.model.arrays import FloatArray, IntArray
from spinlearn.model.graph import Graph
from spinlearn.model.parallel import SentOnce, each
from spinlearn.model.phases import COARSE_SIZE, temperature_grid
from spinlearn.model.potts import PottsModel

LEAST_LAW = 1e-200  # of a neighbour: single precision has lost what is less
MAX_OPERATIONS = 1e7  # of the junction tree for one temperature: about 0.1 s


def label_groups(labels: Labels) -> list[IntArray]:
    """Labelled points dealt out to groups that leave at least one label of every class.

    Every class with two labels or more has its first one, at the least, in another group than the
    rest; points of classes with one label are in none.
    """
    counts = np.bincount(labels[labels >= 0], minlength=1)
    # One class after the other round the groups, so that no group has two of one class where it
    # can be avoided, and all are about equally large.
    order = np.argsort(labels, kind="stable").astype(np.int32)
    order = order[(labels[order] >= 0) & (counts[labels[order]] > 1)]
    count = min(GROUPS, counts.max(), len(order))
    return [order[k::count] for k in range(count)]


def cavity_laws(model: PottsModel, marginals: FloatArray, temperature: float) -> FloatArray:
    """P_i(s) of clamped points from their neighbours alone, (n, q); uniform for the others.

    The temperature is above 0; couplings >= 0 count; a class-level term, if any, is quadratic.
    """
    held = model.clamped >= 0
    exponent = np.zeros(marginals.shape)
    penalty = model.class_penalty
    if penalty is not None:
        sizes = penalty.sizes
        others = sizes @ marginals - sizes[:, None] * marginals
        gap = others - np.asarray(penalty.targets)
        exponent -= penalty.coefficient * sizes[:, None] * gap / temperature
    unlike = np.exp(-np.maximum(model.couplings, 0.0) / temperature)
    for one, other in (model.graph.edges.T, model.graph.edges.T[::-1]):
        judged = held[one]
        i, j, w = one[judged], other[judged], unlike[judged]
        law = np.maximum(marginals[j], LEAST_LAW, dtype=np.float64)
        free = np.flatnonzero(~held[j])
        law[free, model.clamped[i[free]]] *= w[free]
        law /= law.sum(axis=1, keepdims=True)
        np.add.at(exponent, i, np.log(w[:, None] + (1 - w[:, None]) * law))
    exponent[~held] = 0.0
    exponent -= exponent.max(axis=1, keepdims=True)
    laws = np.exp(exponent)
    return np.asarray(laws / laws.sum(axis=1, keepdims=True))


def paper_evidence(graph: Graph, labels: Labels, n_states: int) -> float | None:
    """Log-likelihood of left-out labels by the paper's method, in nats.

    None where no label can be left out, or the graph is too wide for exact averages.
    """
    engine = JunctionTree(max_operations=MAX_OPERATIONS)
    model = MinCut()(graph, labels, n_states)
    groups = label_groups(labels)
    if not groups or engine.unsupported(model) is not None:
        return None
    run = engine.run(model, temperature_grid(model, COARSE_SIZE))
    temperature = answer_temperature(profile(run, small_groups="new"), "paper")
    likely = 0.0
    for group in groups:
        others = np.array(labels)
        others[group] = -1
        without = MinCut()(graph, others, n_states)
        if engine.unsupported(without) is not None:  # a clamped point may have cut the graph
            return None
        own = engine.run(without, [temperature]).marginals[0][group, labels[group]]
        likely += float(np.log(np.maximum(own, LEAST)).sum())
    return likely


MANY = 5_000  # points from which threads pay
NOBODY: IntArray = np.empty(0, dtype=np.int32)
LARGE = 1e9  # bytes of messages from which one part is treated at a time


@dataclass(frozen=True, slots=True, eq=False)
class Average:
    """What the labels say about R resolutions, T temperatures and shares, which sum to one."""

    resolutions: tuple[float, ...]
    phase: FloatArray  # (R, T), share of the phase at each resolution and temperature
    walk: float
    features: float
    guessing: float
    n_judged: int  # labels left out
    n_right: int  # those of them that the average calls right
    log_evidence: float  # mean likelihood of the left-out labels over all hypotheses, in nats
    chance: bool  # whether it is no larger than that of guessing by the counts of labels
    # (n_states,), of the shares of classes, over hypotheses and left-out groups
    class_errors: FloatArray
    # (R, T, n, n_states), with all labels, if on all points
    beliefs: npt.NDArray[np.float32] | None = None

    @property
    def weights(self) -> FloatArray:
        """Of the phase at each resolution and temperature, (R, T), summing to one."""
        total = float(self.phase.sum())
        return self.phase / total if total > 0 else np.full(self.phase.shape, 1 / self.phase.size)

    @classmethod
    def of(cls, law: Law) -> Self:
        """What the labels taught, read off a law."""
        graph, walk, features, guessing = law.shares
        return cls(
            resolutions=law.resolutions,
            phase=graph * np.array(law.phase_weights),
            walk=walk,
            features=features,
            guessing=guessing,
            n_judged=law.n_judged,
            n_right=law.n_right,
            log_evidence=0.0,
            chance=law.chance,
            class_errors=law.class_errors,
        )


def flat(n_states: int, resolutions: tuple[float, ...]) -> Average:
    """The average before any label is looked at."""
    shape = (len(resolutions), len(FACTORS))
    phase = np.full(shape, 0.5 / (shape[0] * shape[1]))
    return Average(resolutions, phase, 0.5, 0.0, 0.0, 0, 0, 0.0, False, np.zeros(n_states))


@dataclass(frozen=True, eq=False)
class PhaseModels:
    """Models of the phase on one graph, for any labels and resolution."""

    graph: Graph  # with the weights that the energy is given
    n_states: int  # at least the number of classes
    temperature: float  # unit of FACTORS
    proportions: npt.ArrayLike | None = None  # as in `Modularity`, and so is label_strength
    label_strength: npt.ArrayLike = np.inf
    seed: int = 0

    def model(self, labels: Labels, resolution: float, fields: FloatArray | float) -> PottsModel:
        """Cut and null model with the fields of walks from the labels."""
        energy = Modularity(resolution=resolution, proportions=self.proportions)
        model = energy(self.graph, labels, self.n_states, label_strength=self.label_strength)
        return model.replace(fields=model.fields + fields)

    @cached_property
    def places(self) -> Places:
        """Where messages lie, for all these models."""
        return Places.of(self.graph, self.n_states)

    def beliefs(self, models: Sequence[PottsModel]) -> list[npt.NDArray[np.float32]]:
        """b of at most LANES models at all FACTORS, (T, n, n_states) each."""
        ladder = [factor * self.temperature for factor in FACTORS]
        return cooled_together(models, ladder, self.places, self.seed)


@dataclass(frozen=True, eq=False)
class Judging:
    """What is asked of every set of labels: all of them, then each without one group."""

    phase: PhaseModels
    labels: Labels
    features: Features | GivenLaw | None
    resolutions: tuple[float, ...]
    groups: list[IntArray]
    fields: tuple[FloatArray, ...] = ()  # of the walks from every set, (n, n_states)

    def without(self, k: int) -> tuple[Labels, IntArray]:
        """The k-th set of labels, and the labelled points that are left out."""
        others, group = self.labels.copy(), self.groups[k - 1] if k else NOBODY
        others[group] = -1
        return others, group

    def at_once(self, k: int) -> tuple[FloatArray, FloatArray]:
        """Fields of the walks, and laws of the left-out labels that no phase has a part in.

        (laws, labels of the group, n_states): the walk, the features, guessing.
        """
        graph, n_states = self.phase.graph, self.phase.n_states
        others, group = self.without(k)
        fields = walk_fields(graph, others, n_states, self.phase.temperature)
        if k == 0:
            return fields, np.empty(0)
        laws = [walk_law(graph, others, n_states)[group]]
        if self.features is not None:
            laws.append(self.features.law(others, n_states, group))
        laws.append(np.full((len(group), n_states), 1 / (int(self.labels.max()) + 1)))
        return fields, np.array(laws)

    def by_messages(
        self, pairs: Sequence[tuple[int, int]]
    ) -> list[tuple[npt.NDArray[np.float32], FloatArray]]:
        """Phases of pairs (resolution, set of labels), and mean shares of classes (T, n_states).

        Phases (T, points, n_states) of all points for all labels, else of the left-out ones.
        """
        labels = [self.without(k) for _, k in pairs]
        models = [
            self.phase.model(others, self.resolutions[r], self.fields[k])
            for (r, k), (others, _) in zip(pairs, labels, strict=True)
        ]
        found = self.phase.beliefs(models)
        return [
            (b[:, group] if k else b, b.mean(axis=1, dtype=np.float64))
            for b, (_, k), (_, group) in zip(found, pairs, labels, strict=True)
        ]


def learnt(
    phase: PhaseModels,
    labels: Labels,
    *,
    features: Features | GivenLaw | None = None,
    resolutions: tuple[float, ...] = RESOLUTIONS,
    check: Callable[[], None] = lambda: None,
) -> Average:
    """The average that the labels (-1: none) teach.

    `check` is called between pieces of work; it may raise to end it.
    """
    graph, n_states, temperature = phase.graph, phase.n_states, phase.temperature
    groups, beside = label_groups(labels), SentOnce(graph)
    judging = Judging(phase, labels, features, resolutions, groups)
    # Threads, or workers elsewhere, change nothing but the time.
    n_jobs = -1 if len(labels) > MANY else 1
    sets = range(len(groups) + 1)
    check()
    at_once = each(Judging.at_once, judging, sets, n_jobs=n_jobs, beside=beside)
    fields, judged = zip(*at_once, strict=True)
    check()
    pairs = [(r, k) for r in range(len(resolutions)) for k in sets]
    n_parts = -(-len(pairs) // LANES)
    parts = [pairs[k::n_parts] for k in range(n_parts)]
    # (The places are found here, once, before threads ask for them.)
    size = 2 * LANES * len(phase.places.neighbors) * n_states
    found = each(
        Judging.by_messages, replace(judging, fields=fields), parts,
        n_jobs=n_jobs if size < LARGE else 1, beside=beside,
    )  # fmt: skip
    check()
    of_pair = dict(zip(chain(*parts), chain(*found), strict=True))
    beliefs = np.array([of_pair[r, 0][0] for r in range(len(resolutions))])
    cavity = np.zeros(beliefs.shape[:2])
    points = np.flatnonzero(labels >= 0)
    for r, resolution in enumerate(resolutions):
        model = phase.model(labels, resolution, fields[0])
        for t, factor in enumerate(FACTORS):
            own = cavity_laws(model, beliefs[r, t], factor * temperature)[points, labels[points]]
            cavity[r, t] = np.log(np.maximum(own, LEAST)).sum()
    left_out = [
        (
            np.concatenate([*(of_pair[r, k][0] for r in range(len(resolutions))), judged[k]]),
            np.array([of_pair[r, k][1] for r in range(len(resolutions))]),
        )
        for k in sets[1:]
    ]
    shares = np.array([of_pair[r, 0][1] for r in range(len(resolutions))])
    return _weighed(
        labels, groups, left_out, features is not None, resolutions, cavity, beliefs, shares
    )


def _weighed(
    labels: Labels,
    groups: list[IntArray],
    left_out: list[tuple[FloatArray, FloatArray]],
    has_features: bool,
    resolutions: tuple[float, ...],
    cavity: FloatArray,
    beliefs: npt.NDArray[np.float32],
    means: FloatArray,
) -> Average:
    """Posterior means of all shares."""
    n_phases, steps = cavity.size, round(1 / SHARE_STEP)
    # The phase, the walk, the features if there are any; guessing, if that can be judged.
    n_laws = 2 + bool(groups) * (1 + has_features)
    simplex = [g for g in product(range(steps + 1), repeat=n_laws) if sum(g) == steps]
    shares = np.array(simplex) / steps
    odds = np.repeat(cavity.reshape(-1, 1), len(shares), axis=1)
    n_right, evidence, chance = 0, 0.0, False
    given = np.concatenate([labels[group] for group in groups]) if groups else labels[:0]
    if groups:
        laws = np.concatenate([one for one, _ in left_out], axis=1)
        own = laws[:, np.arange(len(given)), given]
        other = shares[:, 1:] @ own[n_phases:]
        likely = np.array([
            np.log(np.maximum(shares[:, :1] * p + other, LEAST)).sum(axis=1) for p in own[:n_phases]
        ])  # fmt: skip
        odds = odds + likely - shares[:, -1] / SHARE_STEP
        counts = np.bincount(labels[labels >= 0])
        guessing = float(np.log(counts[given] / counts.sum()).sum())
        evidence = float(np.logaddexp.reduce(likely, axis=None) - np.log(likely.size))
        chance = evidence <= guessing
    weights = np.exp(odds - odds.max())
    weights /= weights.sum()
    phase = weights @ shares[:, 0]
    rest = weights.sum(axis=0) @ shares[:, 1:]
    by_phase = weights.sum(axis=1)
    means = means.reshape(n_phases, -1)
    mean_share = by_phase @ means
    spread = by_phase @ (means - mean_share) ** 2
    if groups:
        mean = np.tensordot(np.concatenate([phase, rest]), laws, axes=1)
        n_right = int(np.sum(mean[np.arange(len(given)), given] >= mean.max(axis=1)))
        # Delete-a-group jackknife; there are two groups at the least.
        left = np.array([by_phase @ share.reshape(n_phases, -1) for _, share in left_out])
        spread = spread + (len(groups) - 1) * left.var(axis=0)
    return Average(
        resolutions=resolutions,
        phase=phase.reshape(cavity.shape),
        walk=float(rest[0]),
        features=float(rest[1]) if len(rest) == 3 else 0.0,
        guessing=float(rest[-1]) if groups else 0.0,
        n_judged=len(given),
        n_right=n_right,
        log_evidence=evidence,
        chance=chance,
        class_errors=np.sqrt(spread),
        beliefs=beliefs,
    )
