"""Figure 4: the three-class toy set of figure 3, 100 random labellings for every q, M.

q = 2: labels of the two lower classes only, exactly by the junction tree. q = 3: labels of all
classes, multicanonical; the ground state that the rules refer to is that of alpha-expansion. Every
labelling is one cell; some sampled ones are computed twice, for the sampling error of the counts.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from spinlearn.datasets import ToySet, three_waves
from spinlearn.engines import JunctionTree, Multicanonical
from spinlearn.model.graph import Graph
from spinlearn.reproduction.comparison import cell_seed, compare, unsupervised
from spinlearn.reproduction.drawing import draw_panels, pixel_panels, save
from spinlearn.reproduction.runner import Cell, Scale, Settings

EXACT_TEMPERATURES = np.round(np.linspace(0.0, 1.6, 33), 3)
SAMPLED_TEMPERATURES = np.round(np.linspace(0.3, 1.5, 25), 3)
UNSUPERVISED_TEMPERATURES = np.round(np.linspace(0.2, 1.4, 25), 3)


def tasks(scale: Scale, seed: int) -> list[Settings]:
    """The unsupervised cell, then every panel's labellings, then the twins."""
    alone = UNSUPERVISED_TEMPERATURES[:: scale.stride]
    cells: list[Settings] = [{"kind": "unsupervised", "temperatures": alone.tolist()}]
    for q, counts in ((2, scale.label_counts_q2), (3, scale.label_counts_q3)):
        for m in counts:
            for k in range(scale.n_labellings):
                cell: dict[str, Any] = {
                    "kind": "labelling", "q": q, "M": m, "labelling": k,
                    "label_seed": cell_seed(seed, 4, q, m, k),
                    "temperatures": EXACT_TEMPERATURES[:: scale.stride].tolist(),
                }  # fmt: skip
                if q == 2:
                    cells.append(cell)
                    continue
                cell["temperatures"] = SAMPLED_TEMPERATURES.tolist()
                cell |= {"tol": scale.tol, "max_sweeps": scale.max_sweeps}
                for twin in range(2 if k < scale.n_twins else 1):
                    seed_of_run = cell_seed(seed, 5, q, m, k, twin)
                    cells.append({**cell, "twin": twin, "seed": seed_of_run})
    return cells


def compute(settings: Settings) -> Cell:
    toy, graph = _data()
    temperatures = np.array(settings["temperatures"])
    if settings["kind"] == "unsupervised":
        return unsupervised(graph, toy.truth, 2, temperatures, JunctionTree())
    q = settings["q"]
    labels = toy.draw_labels(settings["M"], classes=range(q), seed=settings["label_seed"])
    engine: Any = JunctionTree()
    if q > 2:
        engine = Multicanonical(tol=settings["tol"], max_sweeps=settings["max_sweeps"])
    return compare(graph, toy.truth, labels, q, temperatures, engine, settings.get("seed", 0))


def draw(cells: list[Cell], out: Path) -> list[Path]:
    """Figure 3 (the data), figure 4 (sorted curves) and the tables behind them."""
    toy, _ = _data()
    example = toy.draw_labels(20, classes=[0, 1, 2], seed=0)
    panels = [("three classes; example of 20 labels", toy.truth)]
    files = save(pixel_panels(toy.mask, panels, example, columns=1), out / "figure3")
    return files + draw_panels(cells, out, "figure4", toy.n_points)


@cache
def _data() -> tuple[ToySet, Graph]:
    toy = three_waves()
    return toy, toy.graph()
