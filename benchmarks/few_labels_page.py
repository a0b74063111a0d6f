"""The page of `few_labels.py`: tables in Markdown, made from the results on file and nothing else.

A cell is the mean over the draws and its standard error (over draws and hidden classes in the
hidden part); the row "mean" is over the sets that all methods of the table have, its error from
those of the sets. The best number of a row is bold.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

COMMAND = "python benchmarks/few_labels.py"
NOTHING = -1  # in place of a hidden class
TITLES = {
    "ours": "default",
    "ours_off": "default, no new classes",
    "paper": '`method="paper"`',
    "modularity_bp": "modularity, T = 2",
    "lgc": "LGC",
    "harmonic": "harmonic",
    "sgt": "SGT",
    "min_cut": "min cut",
    "label_spreading": "LabelSpreading",
    "poisson": "Poisson",
    "poisson_descent": "Poisson, descent",
    "poisson_mbo": "PoissonMBO",
    "nearest": "1-NN",
    "leiden": "Leiden",
    "lgc_threshold": "LGC, low share",
    "lgc_mass": "LGC, low mass",
}
LABELS = {
    "1": "one label a class",
    "3": "three labels a class",
    "5": "five labels a class",
    "10": "ten labels a class",
    "all10": "ten labels in all",
}
OUR_METHODS = ("ours", "ours_off", "paper", "modularity_bp")
Rows = list[dict]

HEAD = f"""\
Every method sees the same graph of a set (union of the nearest neighbours, their number k in the
table of sets) and the same labels, drawn with fixed seeds. Errors are over the unlabelled points.
Numbers are in per cent unless said otherwise, means with standard errors; the best of a row is
bold, the row *mean* is over the sets that all methods of the table have. What the methods and the
sets are is said in `benchmarks/few_labels_rivals.py` and `benchmarks/few_labels_sets.py`; no method
is told class sizes or sees the truth. This page is written by `{COMMAND} --page docs/few-labels.md`
from the results of the commands beside the tables (`pip install -r benchmarks/requirements.txt`
for all rivals and sets).
"""
TRUST = """\
Expected calibration error: ten bins, where a class is named; rivals: their scores divided by the
row's sum. AUC: area under the curve of right against wrong calls by confidence, where there are
five of each, so not over all sets nor the same ones for all methods. CPU seconds: a fit without
the construction of the graph. Means over sets; no standard error where a set has one draw only;
empty where the method gives no such score.
"""


# -- numbers ---------------------------------------------------------------------------------------


class Cell:
    """Mean and standard error of some values."""

    def __init__(self, values: Sequence[float]) -> None:
        self.n = len(values)
        self.mean = float(np.mean(values)) if self.n else np.nan
        self.error = float(np.std(values, ddof=1) / np.sqrt(self.n)) if self.n > 1 else np.nan

    @classmethod
    def over(cls, cells: Sequence[Cell]) -> Cell:
        """The mean of cells and the error that theirs give it."""
        cell = cls([c.mean for c in cells])
        errors = [c.error for c in cells]
        cell.error = float(np.sqrt(np.sum(np.square(errors))) / len(cells)) if cells else np.nan
        return cell

    def text(self, scale: float, digits: int, bold: bool = False) -> str:
        """For a table; empty without values."""
        if not self.n:
            return ""
        number = f"{scale * self.mean:.{digits}f}"
        number = f"**{number}**" if bold else number
        return number if np.isnan(self.error) else f"{number} ± {scale * self.error:.{digits}f}"


def chosen(rows: Rows, **wanted) -> Rows:
    """Rows with these values."""
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def values(rows: Rows, measure: str) -> list[float]:
    """The numbers of a measure, where there are any."""
    return [row[measure] for row in rows if row.get(measure) is not None]


def in_order(rows: Rows, key: str, order: Sequence[str] = ()) -> list[str]:
    """The different values of a key, in a given order or that of the file."""
    present = list(dict.fromkeys(row[key] for row in rows))
    return sorted(present, key=lambda x: order.index(x) if x in order else len(order))


def titled(labels: str) -> str:
    """A number of labels as a heading."""
    return LABELS.get(labels, labels).capitalize()


def wrapped(text: str) -> str:
    """A paragraph in lines of 120, as in the other pages."""
    return textwrap.fill(" ".join(text.split()), 120, break_on_hyphens=False)


# -- tables ----------------------------------------------------------------------------------------


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table."""
    rule = "|" + "---|" * len(header)
    return "\n".join(f"| {' | '.join(line)} |" for line in [header, *lines]).replace(
        "\n", f"\n{rule}\n", 1
    )


def by_set(
    rows: Rows, measure: str, *, scale: float = 100, digits: int = 1, best: Callable | None = min
) -> str:
    """One measure: sets down, methods across, the mean over sets at the bottom."""
    methods = in_order([r for r in rows if r.get(measure) is not None], "method", list(TITLES))
    sets = in_order(rows, "set")
    table = {
        (s, m): Cell(values(chosen(rows, set=s, method=m), measure)) for s in sets for m in methods
    }
    common = [s for s in sets if all(table[s, m].n for m in methods)]
    for m in methods:
        table["mean", m] = Cell.over([table[s, m] for s in common])
    lines = []
    for s in [*sets, "mean"]:
        means = [round(scale * table[s, m].mean, digits) for m in methods if table[s, m].n]
        top = best(means) if best and means else None
        texts = [
            table[s, m].text(scale, digits, round(scale * table[s, m].mean, digits) == top)
            for m in methods
        ]
        lines.append([f"*mean of {len(common)}*" if s == "mean" else s, *texts])
    return markdown(["", *(TITLES[m] for m in methods)], lines)


def by_method(rows: Rows, measures: dict[str, tuple[str, float, int]]) -> str:
    """Means over sets: methods down; across, measures by their title."""
    methods = in_order(rows, "method", list(TITLES))
    lines = []
    for m in methods:
        mine = chosen(rows, method=m)
        texts = []
        for measure, scale, digits in measures.values():
            cells = [Cell(values(chosen(mine, set=s), measure)) for s in in_order(mine, "set")]
            texts.append(Cell.over([c for c in cells if c.n]).text(scale, digits))
        lines.append([TITLES[m], str(len(in_order(mine, "set"))), *texts])
    return markdown(["", "sets", *measures], lines)


def command(rows: Rows, **options: str) -> str:
    """How a table's numbers are made again."""
    first = min(row["draw"] for row in rows)
    draws = max(row["draw"] for row in rows) - first + 1
    words = [f"--{name} {value}" for name, value in options.items()]
    words += [f"--draws {draws}"] + ([f"--first {first}"] if first else [])
    sets = "" if len(in_order(rows, "set")) > 1 else f" --sets {rows[0]['set']}"
    return f"`{COMMAND} {' '.join(words)}{sets}`"


# -- the parts of the page -------------------------------------------------------------------------


def sets_part(rows: Rows) -> list[str]:
    facts = [row for row in rows if row["part"] == "set"]
    lines = [
        [
            row["set"],
            str(row["points"]),
            str(row["columns"]),
            str(row["classes"]),
            f"{row['largest']:.0%}",
            str(row["smallest"]),
            str(row["neighbors"]),
            str(row["edges"]),
            f"{row['within']:.1%}",
            str(row["parts"]),
        ]
        for row in facts
    ]
    header = ["", "points", "columns", "classes", "largest class", "points of the smallest", "k",
              "edges", "edges within classes", "parts of the graph"]  # fmt: skip
    return ["## The sets", markdown(header, lines)]


def errors_part(rows: Rows) -> list[str]:
    found = ["## Errors, every point forced to a class"]
    for labels in in_order(rows, "labels", list(LABELS)):
        these = chosen(rows, labels=labels)
        found += [f"### {titled(labels)}", command(these, part="errors", labels=labels)]
        found.append(by_set(these, "error"))
    return found


def calls_part(rows: Rows) -> list[str]:
    """What the default and the paper's method leave open."""
    mine = [row for row in rows if row["method"] in OUR_METHODS]
    if not mine:
        return []
    measures = {
        "error, forced": ("error", 100, 1),
        "error of calls, undecided and new counted": ("calls", 100, 1),
        "error where a class is named": ("decided", 100, 1),
        "undecided": ("undecided", 100, 1),
        "called new": ("new", 100, 1),
    }
    found = ["## What ours leave undecided, nothing hidden"]
    for labels in in_order(mine, "labels", list(LABELS)):
        these = chosen(mine, labels=labels)
        found += [
            f"{titled(labels)}, means over sets ({command(these, part='errors', labels=labels)}):",
            by_method(these, measures),
        ]
    return found


def trust_part(rows: Rows) -> list[str]:
    found = ["## How sure, how fast", wrapped(TRUST)]
    measures = {
        "calibration error": ("ece", 100, 1),
        "AUC, named calls": ("auc", 1, 3),
        "AUC, all points forced": ("auc_forced", 1, 3),
        "CPU s": ("cpu", 1, 3),
    }
    for labels in in_order(rows, "labels", list(LABELS)):
        these = chosen(rows, labels=labels)
        made = command(these, part="errors", labels=labels)
        found += [f"### {titled(labels)}: trust", f"Means over sets ({made}):"]
        found.append(by_method(these, measures))
        found += [f"Calibration error ({made}):", by_set(these, "ece")]
        found += [
            f"AUC, named calls ({made}):",
            by_set(these, "auc", scale=1, digits=3, best=max),
        ]
        found += [f"CPU seconds ({made}):", by_set(these, "cpu", scale=1, digits=2, best=None)]
    return found


def failures_part(rows: Rows) -> list[str]:
    """What did not run, and settings that this version did not know."""
    lines = []
    for row in rows:
        if "failed" in row:
            place = f"{row['set']}, {row['labels']} labels, draw {row['draw']}"
            lines.append(f"- {TITLES[row['method']]} on {place}: {row['failed']}")
        elif "unknown here" in row.get("settings", ""):
            lines.append(f"- {TITLES[row['method']]}: {row['settings'].rsplit(', ', 1)[0]}")
    lines = list(dict.fromkeys(lines))
    return ["## What did not run as asked", "\n".join(lines)] if lines else []


def apart(rows: Rows) -> Rows:
    """A set that was run on several graphs is several sets."""
    graphs: dict[str, set[int]] = {}
    for row in rows:
        graphs.setdefault(row["set"], set()).add(row["neighbors"])
    several = {name for name, numbers in graphs.items() if len(numbers) > 1}
    return [
        {**row, "set": f"{row['set']}, k = {row['neighbors']}"} if row["set"] in several else row
        for row in rows
    ]


def write_page(path: Path, rows: Rows) -> None:
    """All tables."""
    rows = apart(rows)
    runs = [row for row in rows if row["part"] != "set" and "failed" not in row]
    errors = chosen(runs, part="errors")
    parts = ["# Few labels: the default against its rivals", wrapped(HEAD), *sets_part(rows)]
    if errors:
        parts += errors_part(errors) + calls_part(errors) + trust_part(errors)
    parts += failures_part(rows)
    path.write_text("\n\n".join(parts) + "\n")
    print(f"{path}: {len(runs)} results")
