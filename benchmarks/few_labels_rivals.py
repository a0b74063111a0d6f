"""The contestants of `few_labels.py`: ours and the rivals, all on one graph with the same labels.

A contestant takes a set and labels (class numbers 0 .. k-1 without a gap, -1 elsewhere) and returns
a `Found`. In the hidden part ours is fitted as a user does it, to features where there are any
(`WholeSet`), and rivals get the graph or the points that ours makes of them.

Rivals of the errors part, with their own defaults unless said otherwise:

    lgc, harmonic, sgt   spinlearn's; min_cut is its alpha expansion
    label_spreading      scikit-learn's, its kernel returns our graph; alpha = 0.2, 30 steps, its
                         defaults (with alpha = 0.99 until it converges it would be LGC)
    poisson              graphlearning's Poisson learning by conjugate gradients, its default; on a
                         graph of several parts, where its equation has no solution, by descent
    poisson_descent      the same by gradient descent, which stops early (as in its paper)
    poisson_mbo          graphlearning's; the class sizes it asks for are the shares of the labels
    nearest              the nearest labelled point in X; its score falls with the distance

Rivals of the hidden part: what each calls new. Of clusters, those that hold no label are new
classes, the largest first; others take the class most frequent among their labels.

    leiden               modularity clusters at resolution 1 (leidenalg)
    hdbscan              HDBSCAN*(BC) of Castro Gertrudes et al. 2019, the semi-supervised mode of
                         fast_hdbscan: of the tree of clusters it takes those that agree best with
                         the labels (BCubed), and the most stable where labels say nothing. All by
                         its defaults, so clusters of at least 5 points: few enough for the smallest
                         classes. What it calls noise has no class: undecided, which counts as
                         wrong. It needs features, so there is none for a set that is a graph
    hdbscan_simple       the same with ss_algorithm="bc_simple", for which labelled points that
                         become noise do not count; on request
    lgc_threshold        points whose largest share in LGC's row is below mean - 1 standard
                         deviation over the unlabelled points
    lgc_mass             the same by the logarithm of the whole row before it is divided by its sum
                         (over the root of the degree): points that labels hardly reach
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np
from few_labels_sets import LabelledSet
from scipy.sparse import issparse

from spinlearn import KNN, Graph, PottsClassifier
from spinlearn.baselines import BASELINES
from spinlearn.graphs import as_graph
from spinlearn.graphs.points import Reduction, checked_components
from spinlearn.linear import inverse_roots, scaled, solve, weight_matrix

UNDECIDED, NEW = -1, -2
LEAST_NEW = 3  # points of a new class
ALPHA = 0.99  # of LGC
FALLBACK = "unknown here"  # said of a setting that this version of PottsClassifier does not have

# Settings beside random_state=0; "ours" is the classifier as it comes.
OURS: dict[str, dict[str, Any]] = {
    "ours": {},
    "ours_off": {"novelty": 0},
    "paper": {"method": "paper"},
    "modularity_bp": {  # settings by hand, see docs/message-passing.md; not run unless asked for
        "energy": "modularity",
        "couplings": "homogeneous",
        "engine": "belief_propagation",
        "temperatures": [1.0, 1.7, 2.0, 2.2, 3.0],
        "temperature": 2.0,
    },
}
ON_REQUEST = ("modularity_bp", "hdbscan_simple")


class NotForThisError(Exception):
    """A method cannot be run on a set; the text says why."""


@dataclass(eq=False)
class WholeSet(LabelledSet):
    """A set as a user has it; X and graph are what ours makes of it by default.

    Attributes
    ----------
    source : float array (n, d) or sparse matrix (n, n)
        Features, or a graph, as given. In the latter case there is no X.
    """

    source: Any = None

    @classmethod
    def of(cls, name: str, source: Any, y: np.ndarray) -> WholeSet:
        """With the names of classes, '' where the class of a point is not known (truth -1)."""
        classes = np.unique(y[y != ""])
        truth = np.where(y == "", -1, np.searchsorted(classes, y))
        X = None
        if not issparse(source):
            count = checked_components("auto", *source.shape)
            X = source if count is None else Reduction.of(source, count).apply(source)
        return cls(name, X, truth, [str(c) for c in classes], KNN().n_neighbors, source=source)

    @cached_property
    def graph(self) -> Graph:
        return as_graph(self.source) if self.X is None else KNN().build(self.X)


@dataclass(eq=False)
class Found:
    """What a method says about every point.

    Attributes
    ----------
    forced : int array (n,) or None
        A class for every point; None where a method has none for the points it calls new.
    scores : float array (n, k) or None
        Shares or probabilities of the classes.
    calls : int array (n,)
        A class, UNDECIDED or NEW; by default `forced`.
    undecided : bool
        Whether the method may leave points undecided or call them new.
    confidence : float array (n,)
        How sure each call is; by default the largest score.
    groups : list of arrays of row numbers
        What may be new classes, best first; of ours the proposals.
    settings : str
        What was run, where that is a question.
    """

    forced: np.ndarray | None
    scores: np.ndarray | None = None
    calls: np.ndarray | None = None
    confidence: np.ndarray | None = None
    groups: list[np.ndarray] = field(default_factory=list)
    settings: str = ""
    undecided: bool = False

    def __post_init__(self) -> None:
        if self.calls is None:
            self.calls = self.forced
        if self.confidence is None and self.scores is not None:
            self.confidence = self.scores.max(axis=1)


# -- ours ------------------------------------------------------------------------------------------


def ours(case: LabelledSet, labels: np.ndarray, **wanted: Any) -> Found:
    """PottsClassifier with settings; one that this version does not know is left out and named."""
    known = inspect.signature(PottsClassifier).parameters
    settings = {key: value for key, value in wanted.items() if key in known}
    said = [f"{key}={value}" for key, value in settings.items()]
    said += [f"{key} {FALLBACK}" for key in wanted if key not in known]
    source = case.source if isinstance(case, WholeSet) else case.graph
    fitted = PottsClassifier(random_state=0, **settings).fit(source, labels)
    groups = [one.points for one in fitted.proposals_] or list(fitted.new_classes_.values())
    return Found(
        forced=np.asarray(fitted.forced_labels_),
        scores=np.asarray(fitted.label_distributions_),
        calls=np.maximum(fitted.transduction_, NEW),  # new classes are -2, -3, ...
        confidence=np.asarray(fitted.confidence_),
        groups=groups,
        settings=", ".join([*said, f"T={fitted.temperature_:.4g}"]),
        undecided=True,
    )


# -- rivals that give every point a class ----------------------------------------------------------


def shares(scores: np.ndarray) -> np.ndarray:
    """Rows divided by their sums; equal where a row is empty."""
    scores = np.nan_to_num(scores, nan=0.0, posinf=0.0, neginf=0.0)
    total = scores.sum(axis=1, keepdims=True)
    equal = np.full(scores.shape, 1 / scores.shape[1])
    return np.divide(scores, total, out=equal, where=total > 0)


def by_scores(scores: np.ndarray) -> Found:
    """The class of the largest score."""
    return Found(forced=scores.argmax(axis=1), scores=scores)


def baseline(name: str) -> Callable[[LabelledSet, np.ndarray], Found]:
    """One of the package's own."""

    def run(case: LabelledSet, labels: np.ndarray) -> Found:
        return by_scores(BASELINES[name]().fit(case.graph, labels).label_distributions_)

    return run


def label_spreading(case: LabelledSet, labels: np.ndarray) -> Found:
    from sklearn.semi_supervised import LabelSpreading

    model = LabelSpreading(kernel=lambda a, b: case.weights)
    model.fit(np.zeros((len(labels), 1)), labels)
    return by_scores(shares(model.label_distributions_))


def poisson(case: LabelledSet, labels: np.ndarray, solver: str | None = None) -> Found:
    import graphlearning as gl

    index = np.flatnonzero(labels >= 0)
    model = gl.ssl.poisson(case.weights, solver=solver or _solver(case))
    u = np.nan_to_num(model.fit(index, labels[index]))
    # Scores sum to zero over the classes: shifted by the least of all, as graphlearning does.
    return Found(forced=u.argmax(axis=1), scores=shares(u - u.min()))


def poisson_mbo(case: LabelledSet, labels: np.ndarray) -> Found:
    import graphlearning as gl

    index = np.flatnonzero(labels >= 0)
    sizes = np.bincount(labels[index]) / len(index)
    model = gl.ssl.poisson_mbo(case.weights, class_priors=sizes, solver=_solver(case))
    return Found(forced=model.fit_predict(index, labels[index]))


def _solver(case: LabelledSet) -> str:
    return "conjugate_gradient" if case.n_parts == 1 else "gradient_descent"


def nearest(case: LabelledSet, labels: np.ndarray) -> Found:
    from scipy.spatial.distance import cdist

    k = labels.max() + 1
    distances = np.stack([cdist(case.X, case.X[labels == c]).min(axis=1) for c in range(k)], axis=1)
    return by_scores(shares(1 / np.maximum(distances, 1e-12)))


# -- rivals that call points new -------------------------------------------------------------------


def leiden(case: LabelledSet, labels: np.ndarray) -> Found:
    import igraph
    import leidenalg

    graph = igraph.Graph(case.graph.n_nodes, case.graph.edges.tolist())
    partition = leidenalg.find_partition(
        graph,
        leidenalg.RBConfigurationVertexPartition,
        weights=case.graph.weights.tolist(),
        resolution_parameter=1.0,
        seed=0,
    )
    return by_clusters(np.asarray(partition.membership), labels)


def hdbscan(case: LabelledSet, labels: np.ndarray, algorithm: str = "bc") -> Found:
    from fast_hdbscan import HDBSCAN

    if case.X is None:
        raise NotForThisError("hdbscan needs features")
    leave_uncompiled()
    model = HDBSCAN(semi_supervised=True, ss_algorithm=algorithm)
    points = np.ascontiguousarray(case.X)  # it takes no other order
    return by_clusters(model.fit(points, labels.copy()).labels_, labels)


@cache
def leave_uncompiled() -> None:
    """Have fast_hdbscan choose clusters by labels in plain Python, the same code.

    Numba (0.60, 0.68) cannot compile that part of version 0.3.4, its issue 39. With
    NUMBA_DISABLE_JIT=1 the package as it is gives the same clusters.
    """
    from fast_hdbscan import cluster_trees

    class PlainDict(dict):
        @classmethod
        def empty(cls, **types: Any) -> PlainDict:
            return cls()

    class PlainList(list):
        @classmethod
        def empty_list(cls, _type: Any) -> PlainList:
            return cls()

    space = {**vars(cluster_trees), "Dict": PlainDict, "List": PlainList}
    for name in [name for name in space if name.endswith("_bcubed")]:
        plain = space[name].py_func
        space[name] = FunctionType(plain.__code__, space, name, plain.__defaults__)
    chosen = space["extract_clusters_bcubed"]
    module = import_module("fast_hdbscan.hdbscan")
    module.extract_clusters_bcubed = lambda *args, **kw: chosen(*args, **kw).astype(np.int64)


def by_clusters(cluster: np.ndarray, labels: np.ndarray) -> Found:
    """Clusters called by their labels or new; points of cluster -1 are undecided."""
    calls = np.full(len(labels), UNDECIDED)
    groups = []
    for c in range(cluster.max() + 1):
        inside = cluster == c
        named = labels[inside & (labels >= 0)]
        if len(named):
            calls[inside] = np.bincount(named).argmax()
        elif inside.sum() >= LEAST_NEW:
            calls[inside] = NEW
            groups.append(np.flatnonzero(inside))
    groups.sort(key=len, reverse=True)
    said = f"{cluster.max() + 1} clusters"
    return Found(forced=None, calls=calls, groups=groups, settings=said, undecided=True)


def lgc_threshold(case: LabelledSet, labels: np.ndarray) -> Found:
    scores = BASELINES["lgc"]().fit(case.graph, labels).label_distributions_
    return _low_is_new(by_scores(scores), scores.max(axis=1), labels)


def lgc_mass(case: LabelledSet, labels: np.ndarray) -> Found:
    scores = BASELINES["lgc"]().fit(case.graph, labels).label_distributions_
    weights = weight_matrix(case.graph)
    roots = inverse_roots(weights.sum(axis=1))
    right = np.where(labels >= 0, 1 - ALPHA, 0.0)[:, None]
    mass = solve(scaled(weights, roots, ALPHA), right, tol=1e-10, max_iter=10_000).x[:, 0] * roots
    least = np.finfo(float).tiny
    return _low_is_new(by_scores(scores), np.log(np.maximum(mass, least)), labels)


def _low_is_new(found: Found, score: np.ndarray, labels: np.ndarray) -> Found:
    """The unlabelled points of a score below mean - 1 standard deviation are one new class."""
    free = labels < 0
    low = free & (score < score[free].mean() - score[free].std())
    found.calls = np.where(low, NEW, found.forced)
    found.groups = [np.flatnonzero(low)] if low.sum() >= LEAST_NEW else []
    found.undecided = True
    return found


RIVALS: dict[str, Callable[[LabelledSet, np.ndarray], Found]] = {
    "lgc": baseline("lgc"),
    "harmonic": baseline("harmonic"),
    "sgt": baseline("sgt"),
    "min_cut": baseline("alpha_expansion"),
    "label_spreading": label_spreading,
    "poisson": poisson,
    "poisson_descent": partial(poisson, solver="gradient_descent"),
    "poisson_mbo": poisson_mbo,
    "nearest": nearest,
}
FINDERS: dict[str, Callable[[LabelledSet, np.ndarray], Found]] = {
    "leiden": leiden,
    "hdbscan": hdbscan,
    "hdbscan_simple": partial(hdbscan, algorithm="bc_simple"),
    "lgc_threshold": lgc_threshold,
    "lgc_mass": lgc_mass,
}
ERRORS_METHODS = (*OURS, *RIVALS)
HIDDEN_METHODS = (*OURS, *FINDERS)


def answer(method: str, case: LabelledSet, labels: np.ndarray) -> Found:
    """One method on one draw; labels are class numbers of the set, classes may be missing."""
    classes, inverse = np.unique(labels[labels >= 0], return_inverse=True)
    compact = np.full(len(labels), -1)
    compact[labels >= 0] = inverse
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method in OURS:
            found = ours(case, compact, **OURS[method])
        else:
            found = {**RIVALS, **FINDERS}[method](case, compact)
    if found.forced is not None:
        found.forced = classes[found.forced]
    found.calls = np.where(found.calls >= 0, classes[np.maximum(found.calls, 0)], found.calls)
    if found.scores is not None:
        wide = np.zeros((len(labels), case.n_classes))
        wide[:, classes] = found.scores
        found.scores = wide
    return found
