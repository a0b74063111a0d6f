"""Few labels: the default answer against all rivals on the same graph.

    python benchmarks/few_labels.py                       everything that is not on file yet
    python benchmarks/few_labels.py --part errors --sets digits wine --labels 1 3 --draws 5
    python benchmarks/few_labels.py --methods ours paper --fresh      these again, after a change
    python benchmarks/few_labels.py --page docs/few-labels.md         the page, from what is on file
    python benchmarks/few_labels.py --large --methods ours lgc        with the 70,000 images
    python benchmarks/few_labels.py --extra FOLDER        also every NAME.npz there with X and y
    python benchmarks/few_labels.py --part hidden --sets --extra FOLDER --most-points 1000
                                                          only those, here graphs too

errors   1, 3, 10 labels a class, or the splits of ten labels in all that come with a file. Every
         set has one graph, union 10-NN, for all methods
hidden   1, 3, 10 labels a class, at most half of it; nothing hidden, and in sets of at least three
         classes one hidden: by size those at a quarter, at half and at the end, in turn. Ours is
         fitted as a user does it; the rivals get the graph or the points that it makes by default.
         A table is printed at the end. Sets of --extra as in one_law.py: features or a graph

Sets are described in few_labels_sets.py, methods in few_labels_rivals.py. Measures, over unlabelled
points:

    error      every point forced to a class (ours: `forced_labels_`)
    calls      error of the calls: undecided and new count as wrong, but new is right for a hidden
               class; `undecided`, `new`: shares of points; `decided`: error where a class is named
    ece        expected calibration error, 10 bins, of the probability of the call, where a class is
               named (rivals: their scores divided by the sum of the row)
    auc        area under the curve of right against wrong calls by confidence, where a class is
               named and at least five of each; `auc_forced`: of all points as forced
    f1         of all points called new against the hidden class; `best3`: of the best of the first
               three groups (ours: proposals; rivals: new classes, the largest first)
    cpu        seconds of the processor, after a small run that compiles; hidden: with the graph,
               of rivals without it

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
from functools import cache
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from few_labels_page import markdown, write_page
from few_labels_rivals import (
    ERRORS_METHODS,
    FALLBACK,
    HIDDEN_METHODS,
    NEW,
    ON_REQUEST,
    Found,
    NotForThisError,
    WholeSet,
    answer,
)
from few_labels_sets import LARGE, SETS, LabelledSet, NotAtHandError, load
from one_law import drawn, folder_sets

RESULTS = Path(__file__).parent / "results" / "few_labels.jsonl"
ERRORS_LABELS = ("1", "3", "10", "all10")
HIDDEN_LABELS = ("1", "3", "10")
FIRST = 3  # groups that somebody looks at
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
        missed = free & (truth == hidden)
        row["f1"] = f1(np.flatnonzero(free & (found.calls == NEW)), missed)
        groups = [group[free[group]] for group in found.groups[:FIRST]]
        row["best3"] = max((f1(group, missed) for group in groups), default=0.0)
    return row


def f1(members: np.ndarray, wanted: np.ndarray) -> float:
    return float(2 * wanted[members].sum() / (len(members) + wanted.sum()))


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


def cases(part: str, case: LabelledSet, options: argparse.Namespace) -> Iterator[dict]:
    """Labels, draw and hidden class of every run on one set."""
    draws = range(options.first, options.first + options.draws)
    every = ERRORS_LABELS if part == "errors" else HIDDEN_LABELS
    for labels in [one for one in options.labels or every if one in every]:
        n_splits = 0 if case.splits is None else len(case.splits)
        for draw in draws if labels != "all10" else [d for d in draws if d < n_splits]:
            for hidden in [NOTHING] if part == "errors" else [NOTHING, *hidden_classes(case)]:
                yield {"part": part, "labels": labels, "draw": draw, "hidden": hidden}


def hidden_classes(case: LabelledSet) -> list[int]:
    """By size those at a quarter, at half and at the end; none of two."""
    k = case.n_classes
    order = np.argsort(np.bincount(case.truth[case.truth >= 0]), kind="stable")
    return [int(order[place]) for place in sorted({k // 4, k // 2, k - 1})] if k > 2 else []


def labels_of(case: LabelledSet, place: dict) -> np.ndarray:
    """The labels of a run, -1 elsewhere; of a hidden class none."""
    if place["part"] == "errors":
        return case.drawn(place["labels"], place["draw"])
    names = np.array([*case.class_names, ""])[case.truth]
    given = drawn(names, int(place["labels"]), place["draw"])
    return np.where((given != "") & (case.truth != place["hidden"]), case.truth, -1)


def methods_of(place: dict, options: argparse.Namespace) -> list[str]:
    """The methods of a run; without novelty ours runs only where nothing is hidden."""
    every = ERRORS_METHODS if place["part"] == "errors" else HIDDEN_METHODS
    wanted = options.methods or [m for m in every if m not in ON_REQUEST]
    if place["hidden"] != NOTHING:
        wanted = [m for m in wanted if m != "ours_off"]
    return [m for m in every if m in wanted]


def whole_sets(options: argparse.Namespace) -> dict[str, WholeSet]:
    """The sets of the hidden part by name."""
    found = {} if options.extra is None else folder_sets(options.extra)
    found = {name: one for name, one in found.items() if name in options.sets}
    for name in options.sets:
        if name in (*SETS, *LARGE):
            try:
                case = load(name, options)
            except NotAtHandError as error:
                print(f"{name} left out: {error}")
                continue
            found[name] = case.X, np.array(case.class_names)[case.truth]
    return {
        name: WholeSet.of(name, source, y)
        for name, (source, y) in found.items()
        if len(y) <= options.most_points
    }


def run(options: argparse.Namespace, store: Store) -> None:
    """Everything that is not on file."""
    if options.part in ("errors", "all"):
        for name in options.sets:
            try:
                case = load(name, options)
            except (NotAtHandError, KeyError) as error:  # a graph has no X
                print(f"{name} left out: {error}")
                continue
            facts = {"part": "set", "set": name, "neighbors": case.neighbors, **case.facts()}
            if store.rows.get(key_of(facts)) != facts:
                store.add(facts)
            run_set("errors", case, options, store)
    if options.part in ("hidden", "all"):
        sets = whole_sets(options)
        for case in sets.values():
            run_set("hidden", case, options, store)
        print_hidden(options, store, list(sets))


def run_set(part: str, case: LabelledSet, options: argparse.Namespace, store: Store) -> None:
    """One part on one set."""
    began, n_run = time.perf_counter(), 0
    for place in cases(part, case, options):
        labels = labels_of(case, place)
        for method in methods_of(place, options):
            row = {**place, "set": case.name, "neighbors": case.neighbors, "method": method}
            if store.done(key_of(row)) or not ready(method):
                continue
            try:
                measured = timed(method, case, labels, place["hidden"])
            except NotForThisError:
                continue
            store.add({**row, **measured, "code": code_version()})
            n_run += 1
    print(f"{case.name}: {n_run} runs, {time.perf_counter() - began:.0f} s", flush=True)


def print_hidden(options: argparse.Namespace, store: Store, sets: list[str]) -> None:
    """Means over the sets that all methods have, draws and hidden classes of a set first."""
    draws = range(options.first, options.first + options.draws)
    rows = [
        row
        for row in store.rows.values()
        if row["part"] == "hidden" and row["set"] in sets and row["draw"] in draws
        and "failed" not in row and row["method"] in methods_of({**row, "hidden": NOTHING}, options)
    ]  # fmt: skip
    percent, plain = (100, 1), (1, 2)  # factor, digits
    shown = {
        "nothing hidden": {"calls": percent, "undecided": percent, "new": percent, "cpu": plain},
        "one class hidden": {"calls": percent, "f1": plain, "best3": plain},
    }
    for title, keys in shown.items():
        these = [row for row in rows if (row["hidden"] == NOTHING) == (title == "nothing hidden")]
        methods = [m for m in HIDDEN_METHODS if any(row["method"] == m for row in these)]
        having = [{row["set"] for row in these if row["method"] == m} for m in methods]
        common = set.intersection(*having) if having else set()
        lines = []
        for labels in options.labels or HIDDEN_LABELS:
            for method in methods:
                some = [r for r in these if r["labels"] == labels and r["method"] == method]
                cells = []
                for key, (factor, digits) in keys.items():
                    means = [np.mean([r[key] for r in some if r["set"] == s]) for s in common]
                    cells.append(f"{factor * np.mean(means):.{digits}f}")
                lines.append([labels, method, *cells])
        print(f"\n{title}, {len(common)} sets, {options.draws} draws\n")
        print(markdown(["labels a class", "", *keys], lines))
        left = sorted(set().union(*having) - common)
        if left:
            print(f"\nnot in the means, as not every method ran there: {', '.join(left)}")


def timed(method: str, case: LabelledSet, labels: np.ndarray, hidden: int) -> dict:
    """The measures of one run, or how it failed."""
    began = time.process_time()
    try:
        found = answer(method, case, labels)
    except NotForThisError:
        raise
    except Exception as error:  # one method that breaks must not stop the table
        print(f"  {method} on {case.name} failed: {error!r}", file=sys.stderr)
        return {"failed": repr(error)[:300]}
    cpu = time.process_time() - began
    row = measures(found, case.truth, (labels < 0) & (case.truth >= 0), hidden)
    return {**row, "cpu": cpu, **({"settings": found.settings} if found.settings else {})}


@cache
def ready(method: str) -> bool:
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


@cache
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
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=methods)
    parser.add_argument("--labels", nargs="+", choices=labels)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="seed of the first draw")
    parser.add_argument("--neighbors", type=int, default=10)
    parser.add_argument("--small-neighbors", type=int, help="of sets below 100 points")
    parser.add_argument("--data", type=Path, help="folder of the .npz; default SPINLEARN_DATA")
    parser.add_argument("--fashion", type=Path, help="folder of Fashion-MNIST's idx files")
    parser.add_argument("--extra", type=Path, help="folder of further .npz with X and y")
    parser.add_argument("--most-points", type=int, default=3_000, help="of a set, hidden part")
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
        # The page says other things about the hidden part, which prints a table of its own.
        rows = [row for row in store.rows.values() if row["part"] != "hidden"]
        write_page(options.page, rows)
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
