"""Figure 1: what six methods make of a few labels on the two-class toy set.

a data, b truth, c unsupervised normalised cut, d min-cut, e local and global consistency, f
spectral graph transducer, as in the paper; g is ours at T*. The paper prints no coordinates. With
the seven labels of figure 2, spread evenly, only min-cut fails; the figure has ten labels that were
selected so that all rivals fail, and `figure1_seven_labels` the others.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spinlearn.answers.rule import misclassified
from spinlearn.answers.temperature import answer_temperature
from spinlearn.baselines import NormalizedCutClustering, SpectralGraphTransducer
from spinlearn.datasets import two_bands
from spinlearn.energies import MinCut
from spinlearn.engines import JunctionTree
from spinlearn.reproduction.comparison import (
    consistency_labels,
    cut_labels,
    drawn_states,
    paper_profile,
)
from spinlearn.reproduction.drawing import pixel_panels, save, write_csv
from spinlearn.reproduction.runner import Cell, Scale, Settings

TEMPERATURES = np.linspace(0.0, 2.0, 41)
UNLABELLED = -1
FILES = {10: "figure1", 7: "figure1_seven_labels"}  # by number of labels


def tasks(scale: Scale, seed: int) -> list[Settings]:
    """One cell for either labelling; nothing here is random."""
    grid = TEMPERATURES[:: scale.stride].tolist()
    return [{"n_labels": n_labels, "temperatures": grid} for n_labels in FILES]


def compute(settings: Settings) -> Cell:
    toy = two_bands(settings["n_labels"])
    graph, truth = toy.graph(), toy.truth
    model = MinCut()(graph, toy.labels, 2)
    profile = paper_profile(JunctionTree().run(model, settings["temperatures"]), 2)
    row = profile.nearest_row(answer_temperature(profile))
    decision = profile.decision(row)
    clusters = NormalizedCutClustering(2).fit(graph).labels_
    if np.sum(clusters == truth) < np.sum(clusters != truth):  # named so that most are right
        clusters = 1 - clusters
    answers = {
        "ncut": clusters,
        "cut": cut_labels(model),
        "lgc": consistency_labels(graph, toy.labels),
        "sgt": SpectralGraphTransducer().fit(graph, toy.labels).transduction_,
        "ours": drawn_states(decision),
    }
    errors = {name: int(np.sum(states != truth)) for name, states in answers.items()}
    errors["ours"] = int(misclassified(decision, truth).sum())
    return {
        "temperature": decision.temperature,
        "n_points": toy.n_points,
        "errors": errors,
        "states": {name: states.tolist() for name, states in answers.items()},
    }


def draw(cells: list[Cell], out: Path) -> list[Path]:
    """The seven panels and the table behind them, for either labelling."""
    files: list[Path] = []
    for cell in cells:
        n_labels, result = cell["settings"]["n_labels"], cell["result"]
        toy, name = two_bands(n_labels), FILES[n_labels]
        errors, states = result["errors"], result["states"]

        panels = [
            (f"a. data and {n_labels} labels", np.full(toy.n_points, UNLABELLED, dtype=np.int32)),
            ("b. correct classification", toy.truth),
        ]
        for method, text in (
            ("ncut", "c. normalised cut, unsupervised"),
            ("cut", "d. min-cut"),
            ("lgc", "e. local and global consistency"),
            ("sgt", "f. spectral graph transducer"),
            ("ours", f"g. ours at T* = {result['temperature']:g}"),
        ):
            here = np.array(states[method], dtype=np.int32)
            panels.append((f"{text}: {errors[method]} errors", here))
        files += save(pixel_panels(toy.mask, panels, toy.labels, columns=3), out / name)
        rows = [
            [k, *place, toy.labels[k], toy.truth[k], *(states[method][k] for method in states)]
            for k, place in enumerate(toy.coordinates.tolist())
        ]
        header = ["point", "row", "column", "label", "truth", *states]
        files.append(write_csv(out / f"{name}.csv", header, rows))
    return files
