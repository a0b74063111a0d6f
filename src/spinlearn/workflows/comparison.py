"""compare: methods side by side on one graph."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from spinlearn.answers.labels import LabelCode, parse_labels
from spinlearn.answers.rule import Decision, Status, misclassified
from spinlearn.baselines import BASELINES, GraphClassifier, GraphClusterer
from spinlearn.classifier import PottsClassifier
from spinlearn.default import METHODS
from spinlearn.energies import energy_name, make_energy
from spinlearn.errors import InvalidInputError, needing
from spinlearn.graphs import make_builder
from spinlearn.graphs.points import checked_features
from spinlearn.inputs import given_graph
from spinlearn.minimizers import minimize
from spinlearn.model.arrays import IntArray
from spinlearn.model.graph import Graph
from spinlearn.model.parallel import each
from spinlearn.model.potts import PottsModel
from spinlearn.model.settings import is_open

CONFUSED = -1  # outcome of a point without class
COLUMNS = ["method", "energy", "temperature", "errors", "forced_errors", "abstentions",
           "new_classes", "seconds", "energy_reached"]  # fmt: skip


class _Calls(NamedTuple):
    """What a method said about the points, in class numbers."""

    outcomes: IntArray  # class, n_classes + new class, or -1
    forced: IntArray | None  # named classes only; None where a method names none
    energy: str = ""
    temperature: float = np.nan


class _Common(NamedTuple):
    """What all methods are given."""

    graph: Graph
    code: LabelCode
    models: list[PottsModel]  # one for each energy


def compare(
    X: Any,
    y: Any,
    truth: Any = None,
    *,
    energy: Any = "min_cut",
    methods: Any = None,
    graph: Any = "mutual_knn",
    random_state: int | None = None,
    **settings: Any,
) -> Any:
    """Run several methods on one graph and labels, and tabulate what they did.

    Parameters
    ----------
    X : points or graph
        As for `PottsClassifier.fit`.
    y : array-like of shape (n,)
        Labels, -1 (None, NaN, "") where there is none.
    truth : array-like of shape (n,), optional
        True classes; without them nothing is said about errors.
    energy : energy or list of energies, default "min_cut"
        Names ("balanced_cut") or settings (``BalancedCut(strength=3)``), as for
        `PottsClassifier`. Each gives two rows, "sampled" at T* and "minimised".
    methods : list or dict, optional
        Further methods: names of `spinlearn.baselines.BASELINES`; "messages", "paper" or "auto" for
        the `PottsClassifier` of that method; or estimators (scikit-learn's ``LabelSpreading`` too,
        which is then given the adjacency matrix). A dict gives them names. Default: "messages" and
        all baselines.
    graph : str or graph builder, default "mutual_knn"
        How points become a graph; not used when X is a graph.
    random_state : int, optional
        Seed of all methods that draw random numbers.
    **settings
        Parameters of the `PottsClassifier` of the sampled rows: engine, temperature, tau, ...

    Returns
    -------
    pandas.DataFrame
        One row per method, in the order asked for. Columns: method; energy; temperature; errors,
        points that are wrong, as is a point left without a class, while a new class is right where
        it stands for a class without label; forced_errors, the same when every point takes its
        most probable named class; abstentions, points left without a class; new_classes, how many;
        seconds; energy_reached, that of the forced labelling in the first of the energies.

    Examples
    --------
    >>> from spinlearn import compare
    >>> from spinlearn.datasets import two_bands
    >>> toy = two_bands()
    >>> grid = "auto:grid=0,0.7"
    >>> table = compare(toy.graph(), toy.labels, toy.truth, methods=["lgc"], temperature=grid)
    >>> table.set_index("method").forced_errors.to_dict()
    {'sampled': 0, 'minimised': 677, 'lgc': 5}
    """
    with needing("compare returns a pandas table, and pandas is not installed: pip install pandas"):
        import pandas as pd
    shared = given_graph(X, graph, graph)
    if shared is None:
        shared = make_builder(graph).build(checked_features(X))
    code = parse_labels(y, shared.n_nodes)
    energies = list(energy) if isinstance(energy, (list, tuple)) else [energy]
    if not energies:
        raise InvalidInputError("energy is empty: name at least one, for example 'min_cut'")
    true = None if truth is None else _coded_truth(truth, code, shared.n_nodes)
    n_states = max(len(code.classes), 2)
    models = [make_energy(e)(shared, code.states, n_states) for e in energies]
    runs: list[tuple[str, Any]] = []
    for k, spec in enumerate(energies):
        classifier = PottsClassifier(energy=spec, random_state=random_state, **settings)
        runs.append(("sampled", (_sampled, classifier, y)))
        runs.append(("minimised", (_minimised, spec, k, random_state)))
    own = {name: PottsClassifier(method=name, random_state=random_state) for name in METHODS}
    for name, estimator in _chosen(methods, own).items():
        runs.append((name, (_fitted, estimator, y)))

    answers = each(_timed, _Common(shared, code, models), [run for _, run in runs])
    table = pd.DataFrame(
        {"method": name, **_row(answer, code, true, models[0]), "seconds": seconds}
        for (name, _), (answer, seconds) in zip(runs, answers, strict=True)
    )
    for column in ("errors", "forced_errors"):
        table[column] = table[column].astype("Int64")
    return table[COLUMNS]


# -- the methods -----------------------------------------------------------------------------------


def _timed(common: _Common, task: tuple[Any, ...]) -> tuple[_Calls, float]:
    """What one method says, and the seconds that it takes."""
    run, *arguments = task
    began = perf_counter()
    answer: _Calls = run(common, *arguments)
    return answer, perf_counter() - began


def _sampled(common: _Common, classifier: PottsClassifier, y: Any) -> _Calls:
    """The thermal answer at T*."""
    graph, code, _ = common
    classifier.fit(graph, y)
    answer = classifier.answer_
    forced: Any = np.searchsorted(code.classes, answer.forced_labels) if len(code.classes) else None
    outcomes = np.where(answer.decision.outcomes < 0, CONFUSED, answer.decision.outcomes)
    energy = "" if is_open(classifier.energy) else energy_name(classifier.energy)
    return _Calls(outcomes.astype(np.int32), forced, energy, answer.temperature)


def _minimised(common: _Common, spec: Any, which: int, seed: int | None) -> _Calls:
    """The labelling of least energy; points whose class is arbitrary have none."""
    minimum = minimize(common.models[which], seed=seed)
    labels = minimum.labels.astype(np.int32)
    outcomes = np.where(minimum.undecided, CONFUSED, labels).astype(np.int32)
    return _Calls(outcomes, labels, energy_name(spec), 0.0)


def _fitted(common: _Common, estimator: Any, y: Any) -> _Calls:
    """Any estimator with `transduction_` (classifiers) or `labels_` (clusterings) after fit."""
    from sklearn.base import clone

    graph, code, _ = common
    chosen = clone(estimator)
    if isinstance(chosen, PottsClassifier):
        return _sampled(common, chosen, y)
    takes_graphs = isinstance(chosen, (GraphClassifier, GraphClusterer))
    given: Any = graph
    if not takes_graphs:  # scikit-learn's, with kernel='precomputed'
        given = np.zeros((graph.n_nodes, graph.n_nodes))
        u, v = graph.edges.T
        given[u, v] = given[v, u] = graph.weights
    labels = np.where(code.states >= 0, code.states, -1)
    chosen.fit(given, y if takes_graphs else labels)
    if hasattr(chosen, "transduction_"):
        known = code.classes if takes_graphs else np.arange(len(code.classes))
        number = {label: k for k, label in enumerate(known.tolist())}
        calls = np.asarray(chosen.transduction_).tolist()
        outcomes = np.array([number.get(label, CONFUSED) for label in calls], dtype=np.int32)
        forced = outcomes
        if hasattr(chosen, "label_distributions_"):
            forced = np.argmax(chosen.label_distributions_, axis=1).astype(np.int32)
        return _Calls(outcomes, forced)
    if hasattr(chosen, "labels_"):
        _, clusters = np.unique(chosen.labels_, return_inverse=True)
        return _Calls((len(code.classes) + clusters).astype(np.int32), None)
    raise InvalidInputError(
        f"{type(chosen).__name__} has neither transduction_ nor labels_ after fit, so there is "
        "nothing to compare: pass a semi-supervised classifier or a clustering"
    )


def _chosen(methods: Any, own: Mapping[str, PottsClassifier]) -> dict[str, Any]:
    """Estimators by the name that their row will carry."""
    known = {**BASELINES, **own}
    if methods is None:
        methods = ["messages", *BASELINES]
    if isinstance(methods, Mapping):
        pairs: list[tuple[str, Any]] = list(methods.items())
    elif isinstance(methods, (list, tuple)):
        pairs = []
        for method in methods:
            name = method if isinstance(method, str) else type(method).__name__
            if isinstance(method, PottsClassifier):
                is_set = not is_open(method.energy)
                name = f"{name}({energy_name(method.energy) if is_set else method.method})"
            pairs.append((name, method))
    else:
        raise InvalidInputError(
            f"methods={methods!r} is not a list: give names and estimators in a list, or a dict"
        )
    chosen: dict[str, Any] = {}
    for name, method in pairs:
        if isinstance(method, str):
            if method not in known:
                raise InvalidInputError(
                    f"method {method!r} is unknown: use one of {', '.join(map(repr, known))}, or "
                    "an estimator"
                )
            method = own[method] if method in own else BASELINES[method]()
        if isinstance(method, type) or not hasattr(method, "fit"):
            raise InvalidInputError(f"{method!r} is not a method: pass a name or an estimator")
        while name in chosen:
            name += "'"
        chosen[name] = method
    return chosen


# -- counting --------------------------------------------------------------------------------------


def _row(
    answer: _Calls, code: LabelCode, true: IntArray | None, model: PottsModel
) -> dict[str, Any]:
    outcomes, forced, n_classes = answer.outcomes, answer.forced, len(code.classes)
    wrong = forced_wrong = None
    if true is not None:
        decision = Decision(
            temperature=np.nan,
            outcomes=outcomes,
            status=np.full(len(outcomes), Status.CONFIDENT, dtype=np.int8),
            margin=np.zeros(len(outcomes)),
            n_classes=n_classes,
            confused_sets=(tuple(range(n_classes)),),
        )
        labelled = np.arange(0 if forced is None else n_classes)
        wrong = int(misclassified(decision, true, labelled_classes=labelled).sum())
        forced_wrong = None if forced is None else int(np.sum(forced != true))
    energy = np.nan
    if forced is not None:  # labels are put back where a method has moved them
        held = model.clamped >= 0
        energy = float(model.energy(np.where(held, model.clamped, forced)))
    return {
        "energy": answer.energy,
        "temperature": answer.temperature,
        "errors": wrong,
        "forced_errors": forced_wrong,
        "abstentions": int(np.sum(outcomes == CONFUSED)),
        "new_classes": len(np.unique(outcomes[outcomes >= n_classes])),
        "energy_reached": energy,
    }


def _coded_truth(truth: Any, code: LabelCode, n_points: int) -> IntArray:
    """True classes as numbers; those that nobody labelled come after the named ones."""
    given = parse_labels(truth, n_points)
    if np.any(given.states < 0):
        raise InvalidInputError(
            f"truth has no class for {int(np.sum(given.states < 0))} points: give all of them, or "
            "compare on those that have one"
        )
    number = {label: k for k, label in enumerate(code.classes.tolist())}
    numbers = [number.setdefault(label, len(number)) for label in given.classes.tolist()]
    return np.array(numbers, dtype=np.int32)[given.states]
