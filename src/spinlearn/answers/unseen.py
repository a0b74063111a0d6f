"""Points that were not there in `fit`: their couplings, laws and calls.

An average of laws is carried on law by law: the phase is the mean over the point's neighbours j,
weighed by similarity, walks go on by one step, and the features are the point's own. An answer at
one temperature is carried on by one cavity step: a point x that is joined to training points j by
couplings J_xj changes nothing among them, so

    P_x(s) ~ exp(-f_x(s)/T) prod_j (w_j + (1 - w_j) p_j(s)),    w_j = exp(-J_xj/T),

with p_j the marginals of all q states, those that hold new classes among them. It is the law that
belief propagation would give x as the last point, and the exact one of a point with one neighbour.
f_x is what a point pays for any class. Fields: the one that most points share; where most have one
of their own, as walks from the labels give it, the mean over x's unlabelled neighbours, weighted by
J_xj, which is one more step of these walks. Of a quadratic class term, c a_x (V_s - t_s) at the
mean sizes V of the classes, for a size a_x found as those of the training points: from its summed
coupling, or the same for all.

At T = 0 it is the mean of p_j weighted by J_xj, the share of the votes: the limit of the product
would make impossible a state that one neighbour has in no minimum, however seldom the others have
theirs. So it is where no such step is known: couplings that follow no law of the similarities,
class terms that are not quadratic.

*Couplings* of unseen points follow the law that the training couplings J follow, so that it is
theirs whatever the energy and the unit. With similarities w it is one of two,

    proportional   J_ij = c w_ij
    by degree      J_ij = c w_ij / sqrt(d_i d_j),    d_i = sum_j |w_ij|

The first is that of the minimum cut on weights, the second of homogeneous couplings and of lgc. An
unseen point x would have been in the sum of its neighbour j, so that w_xj counts in d_j. Rows of
neighbours are taken in chunks: memory is linear in points times states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from spinlearn.answers.answer import Answer
from spinlearn.answers.labels import UNKNOWN
from spinlearn.answers.law import Law
from spinlearn.answers.rule import label_reach
from spinlearn.constants import SHARPNESS
from spinlearn.model.arrays import TIE, BoolArray, FloatArray, IntArray
from spinlearn.model.graph import Graph
from spinlearn.model.potts import FREE, PottsModel

ROUNDING = 1e-6  # relative: couplings that differ less follow one law
FAINTEST_COUPLING = 1e-250  # of the strongest similarity: weaker ones have lost digits


@dataclass(frozen=True, slots=True, eq=False)
class CouplingLaw:
    """From similarities to couplings."""

    factor: float  # c
    unit: float  # the largest similarity in training, in which d is measured
    # d of the training points; None where couplings are proportional to similarities
    degrees: FloatArray | None

    @classmethod
    def of(cls, graph: Graph, model: PottsModel) -> Self | None:
        """The law of a model on a graph of similarities; None if it follows neither form."""
        unit = float(np.abs(graph.weights).max(initial=0.0))
        if unit == 0.0:
            return cls(1.0, 1.0, None)
        if not np.array_equal(graph.edges, model.graph.edges):
            return None
        w = np.abs(graph.weights) / unit
        d = graph.node_sums(w)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.sqrt(w[:, None] / d[graph.edges])
        forms = [(None, np.abs(graph.weights)), (d, shares[:, 0] * shares[:, 1])]
        if not np.array_equal(model.graph.weights, graph.weights):
            forms.reverse()  # made homogeneous, and perhaps in proportion all the same
        judged = w > FAINTEST_COUPLING
        for degrees, form in forms:
            ratios = (model.couplings * np.sign(graph.weights))[judged] / form[judged]
            c = float(np.median(ratios))
            if 0 < c < np.inf and np.all(np.abs(ratios - c) <= ROUNDING * c):
                return cls(c, unit, degrees)
        return None

    def couplings(self, similarity: Any) -> FloatArray:
        """Couplings of the stored entries of a CSR matrix (n_new, n) of similarities >= 0."""
        if self.degrees is None:
            return np.asarray(self.factor * similarity.data)
        counts = np.diff(similarity.indptr)
        rows = np.repeat(np.arange(len(counts)), counts)
        w = similarity.data / self.unit
        own = np.bincount(rows, w, minlength=len(counts))[rows]
        other = self.degrees[similarity.indices] + w
        some = w > 0
        values = np.zeros(len(w))
        values[some] = np.sqrt(w[some] / own[some]) * np.sqrt(w[some] / other[some])
        return np.asarray(self.factor * values)


NO_STATE = -1
TINY = float(np.finfo(np.float64).tiny)
NEGLIGIBLE = 1e-12  # of the strongest similarity: a sum of similarities that says nothing
CHUNK = 2**20  # numbers held at a time, 8 MB
FAINTEST = 1e-290  # of a factor, below which it is that of an impossible state


def unseen_laws(answer: Answer, graph: Graph, similarity: Any) -> tuple[FloatArray, BoolArray]:
    """Probabilities of all states of unseen points, (n_new, q), and which points resemble any.

    `similarity` (n_new, n) >= 0 is to the training points, `graph` holds theirs. States are equally
    probable where a point resembles none.
    """
    rows, _, reached = _similarities(graph, similarity)
    model, p, t = answer.model, answer.equilibrium.marginals[answer.row], answer.temperature
    laws = np.full((rows.shape[0], model.n_states), 1 / model.n_states)
    coupling = CouplingLaw.of(graph, model)
    penalty = model.class_penalty
    known = t > 0 and (penalty is None or penalty.kind == "quadratic")
    cost = _ClassCost(model, p)
    size, start = max(1, CHUNK // model.n_states), 0
    while start < len(laws):  # rows that have about CHUNK numbers together
        stop = int(np.searchsorted(rows.indptr, rows.indptr[start] + size, side="right")) - 1
        one = np.arange(start, min(max(stop, start + 1), len(laws)))
        start = one[-1] + 1
        one = one[reached[one] & (np.diff(rows.indptr)[one] > 0)]
        if len(one) == 0:
            continue
        part = rows[one]
        strength = part.data if coupling is None else coupling.couplings(part)
        if known and coupling is not None:
            laws[one] = _cavity_step(model, p, part, strength, t, cost)
        else:
            sums = _row_sums(part, strength[:, None] * p[part.indices])
            laws[one] = sums / _row_sums(part, strength[:, None])
    return laws, reached


def unseen_average(
    phase: FloatArray,
    walk: FloatArray,
    features: FloatArray | None,
    law: Law,
    graph: Graph,
    similarity: Any,
    clustering: bool = False,
) -> tuple[FloatArray, BoolArray]:
    """Probabilities of unseen points by an average of laws, (n_new, k + new).

    Beside them, whether each point resembles any training point; where it does not, all are equally
    probable. What a row lacks to one is the probability of another class without label: of that and
    of new classes, the point has the mean of its neighbours. `phase` and `walk` (n, k), `law` and
    `graph` are of the training points, `features` (n_new, k) what those of the unseen points say.
    In a `clustering` all classes are groups of points without label.
    """
    k = walk.shape[1]
    rows, total, reached = _similarities(graph, similarity)
    share = 1 / np.where(reached, total, 1.0)[:, None]
    new = share * np.asarray(rows @ law.probabilities[:, k:])
    beyond = np.zeros((rows.shape[0], 1))
    if not clustering:
        beyond = 1 - share * np.asarray(rows @ law.probabilities[:, :k].sum(axis=1))[:, None]
    # Shares of walks go on by one step; the law is a power of them.
    arriving = np.asarray(rows @ walk ** (1 / SHARPNESS)) ** SHARPNESS
    phases = _normalised(np.asarray(rows @ phase))
    parts = [phases, _normalised(arriving), features, np.full((1, k), 1 / k)]
    given = [(part, s) for part, s in zip(parts, law.shares, strict=True) if part is not None]
    named = sum(s * part for part, s in given) / max(sum(s for _, s in given), TINY)
    laws = np.concatenate([np.clip(1 - beyond, 0.0, 1.0) * named, new], axis=1)
    laws[~reached] = 1 / laws.shape[1]  # features would be sure of anything far away
    return laws, reached


def _normalised(rows: FloatArray) -> FloatArray:
    """Rows that sum to one, all alike where they sum to nothing."""
    total = rows.sum(axis=1, keepdims=True)
    return np.asarray(
        np.where(total > 0, rows / np.where(total > 0, total, 1.0), 1 / rows.shape[1])
    )


def unseen_outcomes(
    answer: Answer, similarity: Any, laws: FloatArray, reached: BoolArray
) -> IntArray:
    """Outcomes of unseen points as in `Decision`, or UNKNOWN, (n_new,), from `unseen_laws`.

    A point takes the state of its largest probability, a class or a new class, if the first two
    differ by more than tau and, for a class, a label reaches any of its neighbours; otherwise the
    outcome that prevails among its neighbours. If that is a named class, or several equally, it is
    the most probable of all.
    """
    rows, n_classes = _canonical(similarity), len(answer.classes)
    outcomes, among_named = _prevailing(answer.decision.outcomes, n_classes, rows, reached)
    model = answer.model
    # What every state stands for, (q,): a class, a new class, or neither.
    codes = np.full(model.n_states, NO_STATE, dtype=np.int32)
    held = np.flatnonzero(model.clamped >= n_classes)[::-1]  # in new classes
    codes[model.clamped[held]] = answer.decision.outcomes[held]
    codes[:n_classes] = np.arange(n_classes)
    heard = rows @ label_reach(model, n_classes)[1].astype(np.float64) > 0
    step = max(1, CHUNK // model.n_states)
    for start in range(0, len(laws), step):
        one = slice(start, start + step)
        p = laws[one]
        top_two = np.partition(p, -2, axis=1)[:, -2:]
        margin = top_two[:, 1] - top_two[:, 0]
        called = codes[np.argmax(p, axis=1)]
        is_class = (called >= 0) & (called < n_classes)
        sure = (margin > answer.tau + TIE) & (heard[one] | (called >= n_classes))
        likely = (margin > TIE) & is_class & among_named[one]
        taken = reached[one] & (called != NO_STATE) & (sure | likely)
        outcomes[one][taken] = called[taken]
    return outcomes


def _cavity_step(
    model: PottsModel,
    p: FloatArray,
    part: Any,
    couplings: FloatArray,
    temperature: float,
    cost: _ClassCost,
) -> FloatArray:
    """The law of the header for rows that all have neighbours, (rows, q)."""
    q, pairs = model.n_states, model.pair_cost
    law = p[part.indices]
    unlike = pairs[~np.eye(q, dtype=bool)]
    exponent = -cost.of(part, couplings) / temperature
    if np.ptp(unlike) == 0 and np.ptp(np.diag(pairs)) == 0:
        against = couplings[:, None] * (unlike[0] - pairs[0, 0]) / temperature
        with np.errstate(over="ignore"):
            w = np.exp(-against)
        # ln(w + (1 - w) p), also where w is below the range of floats
        factor = law + w * (1 - law)
        logs = np.where(factor > FAINTEST, np.log(np.maximum(factor, FAINTEST)), -against)
    else:
        logs = np.empty(law.shape)
        with np.errstate(divide="ignore"):
            known = np.log(law)
        for s in range(q):
            terms = known - couplings[:, None] * pairs[s] / temperature
            logs[:, s] = np.logaddexp.reduce(terms, axis=1)
    exponent += _row_sums(part, logs)
    exponent -= exponent.max(axis=1, keepdims=True)
    found = np.exp(exponent)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


class _ClassCost:
    """What a point pays for the class itself, whatever its neighbours are."""

    def __init__(self, model: PottsModel, p: FloatArray) -> None:
        self._free = model.clamped == FREE
        own = model.fields - model.fields[:, :1]  # a constant means nothing
        # The field that most free points share; or those of all.
        self._usual, self._fields = np.zeros(model.n_states), None
        if np.any(self._free):
            free = own[self._free]
            usual = np.median(free, axis=0)
            alike = np.all(np.abs(free - usual) <= TIE * np.abs(free).max(initial=0.0), axis=1)
            if 2 * alike.sum() > len(free):
                self._usual = usual
            else:
                self._fields = own
        self._gap = np.zeros(model.n_states)
        self._size, self._per_coupling = 0.0, 0.0
        penalty = model.class_penalty
        if penalty is None or penalty.kind != "quadratic":
            return
        a = penalty.sizes
        self._gap = penalty.coefficient * (a @ p - penalty.targets)
        counted = a > 0
        strength = model.graph.node_sums(np.abs(model.couplings))
        if np.ptp(a[counted]) <= TIE * a.max() or not np.any(strength[counted] > 0):
            self._size = float(a[counted].mean())
        else:
            self._per_coupling = float(a[counted].sum() / strength[counted].sum())

    def of(self, part: Any, couplings: FloatArray) -> FloatArray:
        """f_x(s) of points with these neighbours, (rows, q)."""
        strength = _row_sums(part, couplings[:, None])
        cost = self._usual + (self._size + self._per_coupling * strength) * self._gap
        if self._fields is not None:
            weight = np.where(self._free[part.indices], couplings, 0.0)[:, None]
            total = _row_sums(part, weight)
            means = _row_sums(part, weight * self._fields[part.indices])
            cost += np.divide(means, total, out=np.zeros_like(means), where=total > 0)
        return np.asarray(cost)


def _prevailing(
    called: IntArray, n_classes: int, rows: Any, reached: BoolArray
) -> tuple[IntArray, BoolArray]:
    """The outcome of most similarity, UNKNOWN if tied; and whether that is, or all are, named."""
    from scipy.sparse import csr_array

    codes, members = np.unique(called, return_inverse=True)
    shape = (rows.shape[0], len(codes))
    votes = csr_array((rows.data.copy(), members[rows.indices], rows.indptr.copy()), shape=shape)
    votes.sum_duplicates()
    outcomes = np.full(rows.shape[0], UNKNOWN, dtype=np.int32)
    named = np.zeros(rows.shape[0], dtype=bool)
    some = np.flatnonzero(reached & (np.diff(votes.indptr) > 0))
    if len(some) == 0:
        return outcomes, named
    votes = votes[some]
    starts, code = votes.indptr[:-1], codes[votes.indices]
    most = np.maximum.reduceat(votes.data, starts)
    top = votes.data >= np.repeat((1 - TIE) * most, np.diff(votes.indptr))
    single = np.add.reduceat(top.astype(np.int64), starts) == 1
    winner = np.add.reduceat(np.where(top, code, 0), starts)
    outcomes[some[single]] = winner[single]
    unnamed = top & ((code < 0) | (code >= n_classes))
    named[some] = ~np.logical_or.reduceat(unnamed, starts)
    return outcomes, named


def _similarities(graph: Graph, similarity: Any) -> tuple[Any, FloatArray, BoolArray]:
    """Canonical rows, their sums, and whether these are more than nothing, (n_new,)."""
    rows = _canonical(similarity)
    total = np.asarray(rows.sum(axis=1)).ravel()
    return rows, total, total > NEGLIGIBLE * np.abs(graph.weights).max(initial=0.0)


def _canonical(similarity: Any) -> Any:
    """CSR rows without duplicates; the argument is left as it was."""
    rows = similarity.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _row_sums(part: Any, values: FloatArray) -> FloatArray:
    """Sums of values (entries, k) over the entries of each row; no row is empty."""
    return np.asarray(np.add.reduceat(values, part.indptr[:-1], axis=0))
