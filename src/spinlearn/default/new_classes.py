"""New classes: the probability of every point to be in a class that nobody labelled.

A tree of the graph's modules (`forest`) offers groups. Every group v is one *piece*, or falls into
its two halves with probability q_v; colourings of the tree are summed exactly,

    L(v) = (1 - q_v) Pure(v) + q_v L(left) L(right),
    logit q_v = SPLIT - PER_WEAKNESS ln kappa_v + PER_SIZE ln(k v / n) + x,

kappa_v relative to what is usual (`forest`), k v / n the size in units of the mean named class, and
x a normal offset of the whole set. What a piece of v points with its labels is worth, Pure(v), is
the sum of three:

- the piece is of the class c of most of its labels. With a share f of all m_c labels of c in it,
  [(1 - theta)(1 - nu)]^f theta^(1 - f) / C(v/f, m_c)^f, since m_c labels lie anywhere among the
  v/f points of c alike. Every label of another class costs STRAY.
- without labels: a further piece of a named class, theta times the chance C(a, m) / C(a + v, m)
  that m labels among the a other points of the class all missed it, every class in proportion to
  the law of the piece's points, over that of the most probable one. Where no label reaches, it may
  be a piece of any class alike.
- a class without label, nu (1 - theta); every label in it costs STRAY.

nu is the share of classes without label (`novelty`), theta that of pieces that are further pieces
of a class: labels in several pieces of one class teach it. theta (prior ~ theta: classes in one
piece each must be shown) and x are summed over, weighed by L of the whole tree.

The tree offers groups that stand apart; a class may be new and not stand apart. Where the law of
the named classes is in doubt, nu/2 of the doubt goes to classes without label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from spinlearn.answers.law import Law
from spinlearn.answers.proposal import Proposal, largest_differences
from spinlearn.constants import CLUSTERS, FEW_LINKS, PER_SIZE, PER_WEAKNESS, SPLIT, STRAY, USUAL
from spinlearn.default.forest import Forest, SplitTree, weakest_cut
from spinlearn.default.walks import Labels
from spinlearn.graphs.points import Reduction
from spinlearn.model.arrays import BoolArray, FloatArray

LEAST_POINTS = 3  # of a new class, as in the paper
LEAST_SHARE = 0.01  # of all points, in a group where there are no labels
MANY_CLASSES = 10  # parts of which say what is usual where no class is known
N_USUAL = 3  # groups as many as what is usual in other data counts for
MOST_GROUPS = 10  # that are proposed
MOST_TYPICAL = 9  # points of a group that are named
CANDIDATES = 60  # groups of all trees among which these are found
ALIKE = 0.5  # shared part of the union of two groups from which on they are one proposal
FAINT_GROUP = 1e-4  # probability below which a group is not looked at

_SHARES, _OFFSETS = np.array([0.1, 0.3, 0.5, 0.7, 0.9]), np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
THETA, OFFSET = (grid.ravel() for grid in np.meshgrid(_SHARES, _OFFSETS, indexing="ij"))
LOG_PRIOR = np.log(THETA) - OFFSET**2 / 2


class Group(NamedTuple):
    """Points without label that may be a class, and the probability that they are."""

    points: npt.NDArray[np.intp]
    probability: float


@dataclass(frozen=True, slots=True, eq=False)
class NewClasses:
    """What the trees say."""

    probability: FloatArray  # (n,), of being in a class without label
    groups: list[Group]  # that may be such a class, best first; they may be nested
    # (n,), number of the group that a point would belong to, -1 where there is none
    group: npt.NDArray[np.int32]

    def beside(
        self, named: FloatArray, novelty: float, labelled: BoolArray
    ) -> tuple[FloatArray, list[Group]]:
        """Probabilities of the named classes and of new ones, (n, k + new); and all groups.

        A group is a new class, with a column of its own, where it is more probable than every named
        class for some points. These groups come first. What a row lacks to one is the probability
        of another class without label. Rows of `named` (n, k) sum to one.
        """
        unseen = np.where(labelled, 0.0, novelty / 2 * (1 - named.max(axis=1, initial=0.0)))
        named = named * ((1 - self.probability) * (1 - unseen))[:, None]
        ahead = (self.group >= 0) & (self.probability > named.max(axis=1, initial=0.0))
        counts = np.bincount(self.group[ahead], minlength=len(self.groups))
        called = np.flatnonzero(counts >= LEAST_POINTS)
        columns = np.where(self.group[:, None] == called, self.probability[:, None], 0.0)
        order = [*called, *np.flatnonzero(counts < LEAST_POINTS)]
        return np.concatenate([named, columns], axis=1), [self.groups[k] for k in order]


class _Seen(NamedTuple):
    """What is known beside a tree: labels by node and class, the law of nodes, refusals."""

    at: npt.NDArray[np.intp]
    classes: Labels
    masses: FloatArray  # (nodes, k)
    novelty: float
    refused: list[FloatArray]  # points in each node, of groups that are no class


def new_classes(
    forest: Forest | None,
    labels: Labels,
    law: FloatArray,
    novelty: float,
    rejected: tuple[npt.NDArray[np.intp], ...] = (),
) -> NewClasses:
    """The probability of every point to be in none of the named classes, and groups that may be.

    Without a forest there are none. Rows of the `law` (n, k) of two named classes or more sum to
    one, or are zeros where no label reaches; `novelty` is in (0, 1), and groups of points that were
    `rejected` are no class of their own.
    """
    if forest is None:
        return NewClasses(np.zeros(len(law)), [], np.full(len(law), -1, dtype=np.int32))
    n_nodes, member = forest.n_nodes, forest.member
    held = np.flatnonzero(labels >= 0)
    refused = [np.bincount(member[rows], minlength=n_nodes).astype(float) for rows in rejected]
    masses = np.empty((n_nodes, law.shape[1]))
    for c, column in enumerate(law.T):
        masses[:, c] = np.bincount(member, weights=column, minlength=n_nodes)
    seen = _Seen(member[held], labels[held], masses, novelty, refused)
    offered = [_new_pieces(one, seen) / len(forest.trees) for one in forest.trees]
    total = np.zeros(n_nodes)
    for one, pieces in zip(forest.trees, offered, strict=True):
        steps = np.zeros(n_nodes + 1)
        np.add.at(steps, one.tree.begin, pieces)
        np.add.at(steps, one.tree.end, -pieces)
        total[one.tree.order] += np.cumsum(steps[:-1])
    groups, support, group = _proposed(forest, offered)
    probability = np.clip(total[member], 0.0, 1.0)
    probability[held] = 0.0
    free = labels < 0
    chosen: list[Group] = []
    number = np.full(len(groups) + 1, -1, dtype=np.int32)
    for k, inside in enumerate(groups):
        points = np.flatnonzero(inside[member] & free)
        if len(points) >= LEAST_POINTS and len(chosen) < MOST_GROUPS:
            number[k] = len(chosen)
            chosen.append(Group(points, min(float(support[k]), 1.0)))
    return NewClasses(probability, chosen, number[group[member]])


def _new_pieces(one: SplitTree, seen: _Seen) -> FloatArray:
    """Probability of every group to be a piece and a class without label, (2k - 1,)."""
    tree, n_modules = one.tree, one.tree.n_modules
    children, n_classes = tree.children, seen.masses.shape[1]
    log_pure, share_new = _pure(one, seen)
    size = one.sizes[n_modules:] * n_classes / one.sizes[-1]
    weakness = one.usual(n_classes, n_classes, N_USUAL) - one.log_kappa
    logit = (SPLIT + PER_WEAKNESS * weakness + PER_SIZE * np.log(size))[:, None] + OFFSET
    splits, stays = -np.logaddexp(0, -logit), -np.logaddexp(0, logit)
    log_sum = np.array(log_pure)  # L, a module never falls apart
    log_split = np.empty(splits.shape)
    for step, (left, right) in enumerate(children):
        v = n_modules + step
        log_split[step] = splits[step] + log_sum[left] + log_sum[right]
        log_sum[v] = np.logaddexp(stays[step] + log_pure[v], log_split[step])
    weight = np.exp(LOG_PRIOR + log_sum[-1] - (LOG_PRIOR + log_sum[-1]).max())
    reached = np.zeros(log_sum.shape)  # probability that a group is looked at: all above it split
    reached[-1] = weight / weight.sum()
    piece = np.empty(log_sum.shape)
    for step in range(len(children) - 1, -1, -1):
        v = n_modules + step
        piece[v] = reached[v] * np.exp(stays[step] + log_pure[v] - log_sum[v])
        reached[children[step]] = reached[v] * np.exp(log_split[step] - log_sum[v])
    piece[:n_modules] = reached[:n_modules]
    return np.asarray((piece * share_new).sum(axis=1))


def _pure(one: SplitTree, seen: _Seen) -> tuple[FloatArray, FloatArray]:
    """ln Pure(v) of every group at every (theta, x), and the share of new classes in it."""
    tree, sizes = one.tree, one.sizes
    at, classes, masses, novelty, refused = seen
    n, n_classes = float(sizes[-1]), masses.shape[1]
    within = _sums(masses[tree.order], tree.begin, tree.end)
    place = np.empty(len(tree.order), dtype=np.intp)
    place[tree.order] = np.arange(len(tree.order))
    order = np.argsort(place[at], kind="stable")
    marks = np.zeros((len(at), n_classes))
    marks[np.arange(len(at)), classes[order]] = 1.0
    places = place[at][order]
    counts = _sums(marks, np.searchsorted(places, tree.begin), np.searchsorted(places, tree.end))
    n_labels, inside = marks.sum(axis=0), counts.sum(axis=1)
    labelled = inside > 0
    most = counts.argmax(axis=1)
    own, of_class = counts[np.arange(len(sizes)), most], n_labels[most]
    share = np.where(labelled, own / np.maximum(of_class, 1.0), 1.0)
    spread = np.maximum(sizes / np.where(share > 0, share, 1.0), of_class)
    placed = share * (_log_choose(n, of_class) - _log_choose(spread, of_class))
    named = (
        share[:, None] * np.log((1 - THETA) * (1 - novelty))
        + (1 - share)[:, None] * np.log(THETA)
        + (placed + (inside - own) * np.log(STRAY))[:, None]
    )
    # A class of its own without label; or a further piece, which all labels have missed.
    new = np.log(novelty * (1 - THETA)) + (inside * np.log(STRAY))[:, None]
    for members in refused:
        joint = _sums(members[tree.order, None], tree.begin, tree.end)[:, 0]
        new[joint >= ALIKE * (sizes + members.sum() - joint)] = -np.inf
    # The chance that all labels have missed a piece of a named class.
    others = np.maximum(within[-1] - within, np.maximum(n_labels, 0.5))
    log_chance = _log_choose(others, n_labels) - _log_choose(others + sizes[:, None], n_labels)
    chance = np.exp(log_chance)
    likely = within / np.maximum(within.max(axis=1, keepdims=True), 1e-300)
    known = np.clip(within.sum(axis=1) / sizes, 0.0, 1.0)
    missed = known * (likely * chance).sum(axis=1) + (1 - known) * chance.mean(axis=1)
    further = np.log(THETA) + np.log(np.maximum(missed, 1e-300))[:, None]
    beside = np.where(labelled[:, None], named, further)
    pure = np.logaddexp(beside, new)
    return pure, np.exp(new - pure)


def _log_choose(n: npt.ArrayLike, k: npt.ArrayLike) -> FloatArray:
    """ln of the binomial coefficient of real n >= k."""
    n, k = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(np.maximum(n - k, 0) + 1))


def _sums(rows: FloatArray, begin: npt.NDArray[np.intp], end: npt.NDArray[np.intp]) -> FloatArray:
    """Sums over runs of rows."""
    sums = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])
    return np.asarray(sums[end] - sums[begin])


def _proposed(
    forest: Forest, offered: list[FloatArray]
) -> tuple[list[BoolArray], FloatArray, npt.NDArray[np.intp]]:
    """Groups of all trees that differ, best first, with their probabilities.

    And for every node the one it would belong to. Trees offer the same group in slightly different
    form: each is supported by all, as the square of the shared part of their union.
    """
    pairs = [
        (float(pieces[v]), one.tree.group(int(v)))
        for one, pieces in zip(forest.trees, offered, strict=True)
        for v in np.flatnonzero(pieces > FAINT_GROUP)
    ]
    pairs = sorted(pairs, key=lambda pair: -pair[0])[:CANDIDATES]
    inside = np.zeros((len(pairs), forest.n_nodes), dtype=np.float32)
    for row, (_, nodes) in zip(inside, pairs, strict=True):
        row[nodes] = 1.0
    probability = np.array([p for p, _ in pairs])
    joint = (inside * forest.sizes.astype(np.float32)) @ inside.T
    own = np.diag(joint)
    shared = joint / np.maximum(own[:, None] + own - joint, 1e-30)
    taken: list[int] = []
    supported = shared**2 @ probability
    for k in np.argsort(-supported, kind="stable"):
        if all(shared[k, other] < ALIKE for other in taken):
            taken.append(int(k))
    support = np.zeros((len(taken), forest.n_nodes))
    for k in range(len(pairs)):
        nearest = int(np.argmax(shared[k, taken]))
        if joint[k, taken[nearest]] > 0:
            support[nearest] += probability[k] * inside[k]
    group = np.full(forest.n_nodes, len(taken), dtype=np.intp)
    if taken:
        best = support.argmax(axis=0)
        some = support[best, np.arange(forest.n_nodes)] > 0
        group[some] = best[some]
    return [inside[k] > 0 for k in taken], supported[taken], group


def clusters(forest: Forest) -> list[npt.NDArray[np.intp]]:
    """Groups of a graph without any label, the largest first.

    Modules of the first tree, of which those are joined again that hang together about as strongly
    as is usual inside of groups: arcs of one ring.
    """
    one = forest.trees[0]
    limit = one.usual(MANY_CLASSES) - USUAL  # kappa = 1, where the data are as others
    pieces = _rejoined(forest, one.tree.modules_at(CLUSTERS), limit)
    sizes = np.array([float(forest.sizes[nodes].sum()) for nodes in pieces])
    listed = []
    for k in np.argsort(-sizes, kind="stable"):
        if sizes[k] >= max(LEAST_POINTS, LEAST_SHARE * sizes.sum()):
            inside = np.zeros(forest.n_nodes, dtype=bool)
            inside[pieces[k]] = True
            listed.append(np.flatnonzero(inside[forest.member]))
    return listed


def _rejoined(
    forest: Forest, pieces: list[npt.NDArray[np.intp]], limit: float
) -> list[npt.NDArray[np.intp]]:
    """Pieces of which no two have ln kappa above the limit; the strongest are joined first."""
    pieces = list(pieces)
    cuts = np.array([weakest_cut(forest.matrix, nodes) for nodes in pieces])
    number = np.empty(forest.n_nodes, dtype=np.intp)
    for k, nodes in enumerate(pieces):
        number[nodes] = k
    links = forest.matrix.tocoo()
    joint = np.zeros((len(pieces), len(pieces)))
    np.add.at(joint, (number[links.row], number[links.col]), links.data)
    np.fill_diagonal(joint, 0.0)
    alive = np.ones(len(pieces), dtype=bool)
    while np.any(joint > 0):
        kappa = np.log((joint + FEW_LINKS) / (np.minimum.outer(cuts, cuts) + FEW_LINKS))
        a, b = np.unravel_index(int(np.argmax(np.where(joint > 0, kappa, -np.inf))), joint.shape)
        if kappa[a, b] <= limit:
            break
        pieces[a] = np.concatenate([pieces[a], pieces[b]])
        cuts[a] = weakest_cut(forest.matrix, pieces[a])
        joint[a] += joint[b]
        joint[:, a] = joint[a]
        joint[a, a], joint[b], joint[:, b] = 0.0, 0.0, 0.0
        alive[b] = False
    return [nodes for nodes, kept in zip(pieces, alive, strict=True) if kept]


def proposals(
    groups: list[Group],
    law: Law,
    forest: Forest,
    labels: Labels,
    classes: npt.NDArray[Any],
    points: FloatArray | None,
    reduction: Reduction | None,
    feature_names: Sequence[object] | None,
) -> tuple[Proposal, ...]:
    """What there is to say about each of the groups that a forest offers, best first.

    `points` (n, d) are the features as neighbours are looked for, if there are any, `reduction`
    that by which they were made of named ones.
    """
    named = law.probabilities[:, : len(classes)]
    new = np.clip(1 - named.sum(axis=1), 0.0, 1.0)
    called = named.argmax(axis=1)
    called[labels >= 0] = labels[labels >= 0]
    names: Sequence[object] = []
    if points is not None:
        spread = points.std(axis=0) if reduction is None else reduction.spread
        names = [] if feature_names is None else feature_names
        if len(names) != len(spread):
            names = [f"feature {k}" for k in range(len(spread))]
    listed = []
    for number, (members, probability) in enumerate(groups, start=1):
        beside = int(named[members].sum(axis=0).argmax())
        inside = np.zeros(len(labels), dtype=bool)
        inside[members] = True
        others = np.flatnonzero((called == beside) & ~inside & ((new < 0.5) | (labels >= 0)))
        ours = np.unique(forest.member[members])
        theirs = np.setdiff1d(forest.member[others], ours)
        # Coupling of the group to the class over that of the class's own weakest cut.
        cut = weakest_cut(forest.matrix, theirs) if len(theirs) else 0.0
        apart = float(forest.matrix[ours][:, theirs].sum()) / cut if cut > 0 else np.nan
        features: tuple[tuple[str, float], ...] = ()
        if points is not None and len(others):
            gap = points[members].mean(axis=0) - points[others].mean(axis=0)
            if reduction is not None:  # as far as the components show the features
                gap = gap @ reduction.components
            features = largest_differences(gap, spread, names)
        listed.append(
            Proposal(
                name=f"new:{number}",
                points=members,
                probability=probability,
                beside=str(classes[beside]),
                apart=apart,
                typical=forest.central(members)[:MOST_TYPICAL],
                features=features,
                n_features=len(names) if len(others) else 0,
            )
        )
    return tuple(listed)
