"""Few labels: the default answer against all rivals on the same graph.

    python benchmarks/few_labels.py                       everything that is not on file yet
    python benchmarks/few_labels.py --part errors --sets digits wine --labels 1 3 --draws 5
    python benchmarks/few_labels.py --methods ours paper --fresh      these again, after a change
    python benchmarks/few_labels.py --page docs/few-labels.md         the page, from what is on file
    python benchmarks/few_labels.py --large --methods ours lgc        with the 70,000 images
    python benchmarks/few_labels.py --extra FOLDER        also every NAME.npz there with X and y

errors   1, 3, 10 labels a class, or the splits of ten labels in all that come with a file
hidden   3, 5 labels a class, each class hidden in turn (of many classes four), and none hidden;
         sets of at least three classes

Sets are described in few_labels_sets.py, methods in few_labels_rivals.py. Every set has one graph,
union 10-NN, for all methods. Measures, over unlabelled points:

    error      every point forced to a class (ours: `forced_labels_`)
    calls      error of the calls: undecided and new count as wrong, but new is right for a hidden
               class; `undecided`, `new`: shares of points; `decided`: error where a class is named
    ece        expected calibration error, 10 bins, of the probability of the call, where a class is
               named (rivals: their scores divided by the sum of the row)
    auc        area under the curve of right against wrong calls by confidence, where a class is
               named and at least five of each; `auc_forced`: of all points as forced
    f1         of the points in new classes of at least three against the hidden class; `f1_best`:
               of the one new class that fits best
    cpu        seconds of the processor, after a small run that compiles

Results are appended to benchmarks/results/few_labels.jsonl, one line per set, labels, draw, hidden
class and method. What is there is not run again; --fresh forgets the lines of the chosen sets,
parts, labels and methods first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from few_labels_page import write_page
from few_labels_rivals import (
    ERRORS_METHODS,
    FALLBACK,
    HIDDEN_METHODS,
    NEW,
    ON_REQUEST,
    Found,
    answer,
)
from few_labels_sets import LARGE, SETS, LabelledSet, NotAtHandError, load

RESULTS = Path(__file__).parent / "results" / "few_labels.jsonl"
ERRORS_LABELS = ("1", "3", "10", "all10")
HIDDEN_LABELS = ("3", "5")
MOST_HIDDEN = 4  # classes of one set hidden in turn
NOTHING = -1  # in place of a hidden class
ENOUGH = 5  # right and wrong calls each for an AUC
BINS = 10
KEY = ("part", "set", "neighbors", "labels", "draw", "hidden", "method")


# -- measures --------------------------------------------------------------------------------------


def calibration_error(probability: np.ndarray, right: np.ndarray) -> float:
    """Mean gap between how sure and how often right, over bins of equal width."""
    place = np.minimum((probability * BINS).astype(int), BINS - 1)
    gaps = np.bincount(place, weights=right - probability, minlength=BINS)
    return float(np.abs(gaps).sum() / len(probability))


def ranking(confidence: np.ndarray, right: np.ndarray) -> float | None:
    """Area under the curve of right against wrong; None where it means nothing."""
    from sklearn.metrics import roc_auc_score

    if min(right.sum(), (~right).sum()) < ENOUGH or np.ptp(confidence) == 0:
        return None
    return float(roc_auc_score(right, confidence))


def measures(found: Found, truth: np.ndarray, free: np.ndarray, hidden: int = NOTHING) -> dict:
    """All numbers of one answer, see the module's docstring."""
    calls, true = found.calls[free], truth[free]
    row: dict = {}
    if found.forced is not None:
        right = found.forced[free] == true
        row["error"] = float(np.mean(~right))
        if found.confidence is not None:
            row["auc_forced"] = ranking(found.confidence[free], right)
    named = calls >= 0
    correct = (calls == true) | ((calls == NEW) & (true == hidden))
    if found.undecided:
        row["calls"] = float(np.mean(~correct))
        row["undecided"] = float(np.mean(~named & (calls != NEW)))
        row["new"] = float(np.mean(calls == NEW))
        row["decided"] = float(np.mean(~correct[named])) if named.any() else None
    if found.scores is not None and named.any():
        probability = found.scores[free][named, calls[named]]
        row["ece"] = calibration_error(probability, correct[named])
    if found.confidence is not None and named.any():
        row["auc"] = ranking(found.confidence[free][named], correct[named])
    if hidden != NOTHING:
        row |= discovery(found, truth == hidden)
    return row


def discovery(found: Found, is_hidden: np.ndarray) -> dict:
    """F1 of all new classes together and of the best one."""

    def f1(members: np.ndarray) -> float:
        return float(2 * is_hidden[members].sum() / (len(members) + is_hidden.sum()))

    together = np.concatenate([np.empty(0, dtype=int), *found.groups])
    return {
        "f1": f1(together),
        "f1_best": max(map(f1, found.groups), default=0.0),
        "groups": len(found.groups),
    }


# -- the runs --------------------------------------------------------------------------------------


class Store:
    """Results on file by their key; a later line of the same key holds."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(exist_ok=True)
        lines = path.read_text().splitlines() if path.exists() else []
        self.rows = {key_of(row): row for row in map(json.loads, lines)}

    def forget(self, chosen) -> None:
        """Drop rows for which `chosen` is true."""
        self.rows = {key: row for key, row in self.rows.items() if not chosen(row)}
        text = "".join(json.dumps(row) + "\n" for row in self.rows.values())
        self.path.write_text(text)

    def done(self, key: tuple) -> bool:
        """Whether a result is on file, no failure and run with the settings asked for."""
        row = self.rows.get(key, {"failed": True})
        return "failed" not in row and FALLBACK not in row.get("settings", "")

    def add(self, row: dict) -> None:
        self.rows[key_of(row)] = row
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def key_of(row: dict) -> tuple:
    return tuple(row.get(name) for name in KEY)


def cases(case: LabelledSet, options: argparse.Namespace) -> Iterator[dict]:
    """Part, labels, draw and hidden class of every run on one set, and its methods."""
    draws = range(options.first, options.first + options.draws)
    if options.part in ("errors", "all"):
        for labels in options.labels or ERRORS_LABELS:
            n_splits = 0 if case.splits is None else len(case.splits)
            for draw in draws if labels != "all10" else [d for d in draws if d < n_splits]:
                yield {"part": "errors", "labels": labels, "draw": draw, "hidden": NOTHING}
    if options.part in ("hidden", "all") and case.n_classes >= 3:
        for labels in options.labels or HIDDEN_LABELS:
            if labels in HIDDEN_LABELS:
                for draw in draws:
                    for hidden in [NOTHING, *case.hidden_classes(MOST_HIDDEN)]:
                        yield {"part": "hidden", "labels": labels, "draw": draw, "hidden": hidden}


def methods_of(place: dict, options: argparse.Namespace) -> list[str]:
    """The methods of a run; without novelty ours runs only where nothing is hidden."""
    every = ERRORS_METHODS if place["part"] == "errors" else HIDDEN_METHODS
    wanted = options.methods or [m for m in every if m not in ON_REQUEST]
    if place["part"] == "hidden" and place["hidden"] != NOTHING:
        wanted = [m for m in wanted if m != "ours_off"]
    return [m for m in every if m in wanted]


def run(options: argparse.Namespace, store: Store) -> None:
    """Everything that is not on file."""
    ready: dict[str, bool] = {}
    version = code_version()
    for name in options.sets:
        try:
            case = load(name, options)
        except NotAtHandError as error:
            print(f"{name} left out: {error}")
            continue
        base = {"set": name, "neighbors": case.neighbors}
        facts = {"part": "set", **base, **case.facts()}
        if store.rows.get(key_of(facts)) != facts:
            store.add(facts)
        began, n_run = time.perf_counter(), 0
        for place in cases(case, options):
            labels = case.drawn(place["labels"], place["draw"], place["hidden"])
            for method in methods_of(place, options):
                row = {**place, **base, "method": method}
                if store.done(key_of(row)):
                    continue
                if method not in ready:
                    ready[method] = warm_up(method)
                if not ready[method]:
                    continue
                store.add({**row, **timed(method, case, labels, place["hidden"]), "code": version})
                n_run += 1
        print(f"{name}: {n_run} runs, {time.perf_counter() - began:.0f} s", flush=True)


def timed(method: str, case: LabelledSet, labels: np.ndarray, hidden: int) -> dict:
    """The measures of one run, or how it failed."""
    began = time.process_time()
    try:
        found = answer(method, case, labels)
    except Exception as error:  # one method that breaks must not stop the table
        print(f"  {method} on {case.name} failed: {error!r}", file=sys.stderr)
        return {"failed": repr(error)[:300]}
    cpu = time.process_time() - began
    row = measures(found, case.truth, labels < 0, hidden)
    return {**row, "cpu": cpu, **({"settings": found.settings} if found.settings else {})}


def warm_up(method: str) -> bool:
    """A small run that imports and compiles; false where a package is missing."""
    from sklearn.datasets import make_blobs

    X, truth = make_blobs(60, centers=3, random_state=0)
    case = LabelledSet("blobs", X, truth, ["0", "1", "2"], 5)
    try:
        answer(method, case, case.drawn("2", 0))
    except ImportError as error:
        print(f"{method} left out: {error}")
        return False
    return True


def code_version() -> str:
    """The commit that was measured."""
    command = ["git", "describe", "--always", "--dirty"]
    found = subprocess.run(
        command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return found.stdout.strip()


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    methods = list(dict.fromkeys([*ERRORS_METHODS, *HIDDEN_METHODS]))
    labels = sorted({*ERRORS_LABELS, *HIDDEN_LABELS})
    parser.add_argument("--part", choices=["errors", "hidden", "all"], default="all")
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=methods)
    parser.add_argument("--labels", nargs="+", choices=labels)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="seed of the first draw")
    parser.add_argument("--neighbors", type=int, default=10)
    parser.add_argument("--small-neighbors", type=int, help="of sets below 100 points")
    parser.add_argument("--data", type=Path, help="folder of the .npz; default SPINLEARN_DATA")
    parser.add_argument("--fashion", type=Path, help="folder of Fashion-MNIST's idx files")
    parser.add_argument("--extra", type=Path, help="folder of further .npz with X and y")
    parser.add_argument("--large", action="store_true", help="also the 70,000 images")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--fresh", action="store_true", help="run the chosen again")
    parser.add_argument("--page", type=Path, help="write the page from what is on file; no runs")
    options = parser.parse_args()
    options.small_neighbors = options.small_neighbors or options.neighbors
    if options.extra:
        options.sets += sorted(path.stem for path in options.extra.glob("*.npz"))
    options.sets += [name for name in LARGE if options.large and name not in options.sets]
    unknown = [s for s in options.sets if s not in (*SETS, *LARGE)] if not options.extra else []
    if unknown:
        parser.error(f"unknown sets {unknown}: known are {', '.join((*SETS, *LARGE))}")
    return options


def main() -> None:
    options = read_options()
    store = Store(options.results)
    if options.page:
        write_page(options.page, list(store.rows.values()))
        return
    if options.fresh:
        store.forget(
            lambda row: (
                row["set"] in options.sets
                and row["part"] != "set"
                and options.part in ("all", row["part"])
                and (not options.methods or row["method"] in options.methods)
                and (not options.labels or row["labels"] in options.labels)
            )
        )
    run(options, store)


if __name__ == "__main__":
    main()
