"""What an answer makes of one run: does its confidence rank calls, what becomes of small groups?

    python benchmarks/answers.py                         iris, wine, breast cancer, digits
    python benchmarks/answers.py --sets iris wine --draws 3
    python benchmarks/answers.py --files FOLDER --hide   .npz files with X and y, a class hidden

Every set gets `--labels` labels a class, `--draws` times, and is fitted once a draw by the default
classifier (sampling stops after `--seconds`); all answers are read from that one equilibrium.
With --hide each class in turn has no label. Columns, means over the draws, over unlabelled points:

    AUC        area under the curve of right against wrong calls, by confidence, where at least ten
               are wrong; beside it by the probability of the call at the answer's temperature
    error      share of calls that are wrong (scoring.misclassified), by what becomes of groups of
               one or two points (outlier, join, new); at the answer's temperature and at the best
    F1         of the hidden class, if there is one
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from spinlearn import Answer, PottsClassifier
from spinlearn.answers import SMALL_GROUPS, misclassified
from spinlearn.answers.labels import LabelCode
from spinlearn.engines.auto import Auto

SETS = ("iris", "wine", "breast_cancer", "digits")
ENOUGH_WRONG = 10


def main() -> None:
    """Fit, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--files", type=Path)
    parser.add_argument("--labels", type=int, default=3)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="seed of the first draw")
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--hide", action="store_true")
    options = parser.parse_args()
    print(f"{'set':24} {'wrong':>6} {'AUC':>6} {'by p':>6} | error at T*, at the best T, F1: "
          + ", ".join(SMALL_GROUPS))  # fmt: skip
    for name, X, truth in tables(options):
        rows = []
        hidden_classes = np.unique(truth) if options.hide else [None]
        for hidden in hidden_classes:
            for draw in range(options.first, options.first + options.draws):
                y = drawn(truth, options.labels, hidden, draw)
                rows.append(measured(X, y, truth, options.seconds))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a column without any number
            mean = np.nanmean(np.array(rows), axis=0)
        errors = "  ".join(
            f"{mean[k]:.3f} {mean[k + 1]:.3f} {mean[k + 2]:.2f}" for k in range(3, len(mean), 3)
        )
        print(f"{name:24} {mean[0]:6.1%} {mean[1]:6.3f} {mean[2]:6.3f} | {errors}", flush=True)


def tables(options: argparse.Namespace) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, points and true classes (0, 1, ...) of every set."""
    if options.files is not None:
        for path in sorted(options.files.glob("*.npz")):
            arrays = np.load(path)
            if "X" in arrays and "y" in arrays:
                yield path.stem, arrays["X"], np.unique(arrays["y"], return_inverse=True)[1]
        return
    for name in options.sets:
        X, truth = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield name, X if name == "digits" else StandardScaler().fit_transform(X), truth


def drawn(truth: np.ndarray, n_labels: int, hidden: int | None, seed: int) -> np.ndarray:
    """Labels of some points of every class but the hidden one, -1 elsewhere."""
    generator = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for c in np.unique(truth):
        members = generator.permutation(np.flatnonzero(truth == c))
        if c != hidden:
            y[members[:n_labels]] = c
    return y


def measured(X: np.ndarray, y: np.ndarray, truth: np.ndarray, seconds: float) -> list[float]:
    """One draw: share wrong, AUC by confidence and by p; error, best error, F1 by small groups."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = PottsClassifier(
            method="paper",
            temperature="calibrated",
            engine=Auto(max_seconds=seconds),
            random_state=0,
        ).fit(X, y)
    classes = fitted.classes_
    # True classes as the decision numbers them: named ones first.
    order = np.concatenate([classes, np.setdiff1d(np.unique(truth), classes)])
    true = np.argsort(order)[truth]
    free = y < 0
    code = LabelCode(classes, fitted.answer_.labels)
    numbers: list[float] = []
    for small_groups in SMALL_GROUPS:
        answer = Answer.from_equilibrium(fitted.equilibrium_, code, small_groups=small_groups)
        wrong = misclassified(answer.decision, true)
        if not numbers:
            numbers = [float(wrong[free].mean()), *ranking(answer, wrong, free)]
        best = min(
            misclassified(answer.profile.decision(k), true)[free].mean()
            for k in range(len(answer.temperatures))
        )
        numbers += [wrong[free].mean(), best, hidden_f1(answer, true, len(classes))]
    return numbers


def ranking(answer: Answer, wrong: np.ndarray, free: np.ndarray) -> tuple[float, float]:
    """Area under the curve by confidence and by the probability of the call."""
    if not ENOUGH_WRONG <= wrong[free].sum() < free.sum():
        return np.nan, np.nan
    outcomes = answer.decision.outcomes
    named = (outcomes >= 0) & (outcomes < len(answer.classes))
    column = np.where(named, outcomes, 0)
    p = np.where(named, answer.probabilities[np.arange(len(outcomes)), column], 0.0)
    right = ~wrong[free]
    return roc_auc_score(right, answer.confidence[free]), roc_auc_score(right, p[free])


def hidden_f1(answer: Answer, true: np.ndarray, n_named: int) -> float:
    """Best F1 of a new class against a class that has no name; nan if all have."""
    if true.max() < n_named:
        return np.nan
    best = 0.0
    for members in answer.new_classes.values():
        hits = float(np.sum(true[members] >= n_named))
        best = max(best, 2 * hits / (len(members) + np.sum(true >= n_named)))
    return best


if __name__ == "__main__":
    main()
