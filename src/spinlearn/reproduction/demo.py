"""The demo: figures 1, 2 of the paper on its two-class toy set, exactly."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.answers.answer import Answer
from spinlearn.answers.labels import LabelCode
from spinlearn.answers.temperature import answer_temperature
from spinlearn.baselines import LocalGlobalConsistency, SpectralGraphTransducer
from spinlearn.datasets.toy import ToySet, two_bands
from spinlearn.energies import MinCut
from spinlearn.engines import JunctionTree
from spinlearn.errors import InvalidInputError
from spinlearn.io.folder import new_files
from spinlearn.model.protocols import Callback
from spinlearn.reproduction.comparison import drawn_states, paper_profile, wrong_points
from spinlearn.reproduction.drawing import bare, pixel_panels, pyplot
from spinlearn.viz.explorer import explorer_content, write_explorer

TAU = 0.1  # the paper's confidence threshold
TEMPERATURES = np.concatenate([[0.0], np.linspace(0.1, 2.0, 20)])
FILES = ("figure1.png", "figure2.png", "report.md", "report.html", "rivals.png")
CURVES = (  # name, colour, line
    ("with 7 labels (semi-supervised, exact)", "#0072B2", "o-"),
    ("without labels (clustering, exact)", "#D55E00", "s-"),
)


class DemoResult(NamedTuple):
    """What the demo computed, and the files it wrote."""

    table: list[tuple[str, str, str]]  # T, errors with labels, errors without
    recommended: float
    n_points: int
    seconds: float
    files: list[Path]


def run_demo(out: Path, callback: Callback | None = None) -> DemoResult:
    """Classify the toy set with and without labels at 21 temperatures; write pictures, reports."""
    files = [out / name for name in FILES]
    there = [path.name for path in files if path.exists()]
    if 0 < len(there) < len(files):  # an earlier demo has them all
        raise InvalidInputError(
            f"{out} holds {', '.join(there)}, which would be replaced: name another folder"
        )
    toy = two_bands()
    graph, n = toy.graph(), toy.n_points
    runs, errors = [], []
    for labels, labelled in ((toy.labels, [0, 1]), (np.full(n, -1), [])):
        run = JunctionTree().run(MinCut()(graph, labels, 2), TEMPERATURES, callback=callback)
        runs.append(run)
        errors.append(wrong_points(paper_profile(run, 2), toy.truth, labelled).sum(axis=1))
    code = LabelCode(np.array(["upper", "lower"]), toy.labels)
    shown = Answer.from_equilibrium(runs[0], code, temperature="paper", tau=TAU, small_groups="new")
    best = shown.temperature
    ours = drawn_states(shown.decision)
    cut = np.argmax(runs[0].marginals[0], axis=1)
    panels = [
        (f"data: {n} pixels, {np.sum(toy.labels >= 0)} labels", np.full_like(ours, -1)),
        ("true classes", toy.truth),
        (f"minimum cut (T = 0): {np.sum(cut != toy.truth)} errors", cut),
        (f"spinlearn at T* = {best:g}: {errors[0][shown.row]} errors", ours),
    ]
    ids = [f"row {row} column {column}" for row, column in toy.coordinates.tolist()]
    content = explorer_content(
        shown, ids=ids, pixels=toy.coordinates, title="Two bands, seven labels"
    )
    result = DemoResult(
        table=[(f"{t:.1f}", str(a), str(b)) for t, a, b in zip(TEMPERATURES, *errors, strict=True)],
        recommended=best,
        n_points=n,
        seconds=sum(run.diagnostics["seconds"] for run in runs),
        files=files,
    )
    with new_files(out) as folder:
        drawn = [folder / name for name in FILES]
        _draw_pixels(toy, panels, drawn[0])
        _draw_errors(result, errors, drawn[1])
        drawn[2].write_text(_report(result), encoding="utf-8", newline="\n")
        write_explorer(drawn[3], content)
        _draw_rivals(drawn[4])
    return result


def _draw_errors(result: DemoResult, errors: list[npt.NDArray[np.int64]], path: Path) -> None:
    """Misclassified points against temperature, the paper's figure 2."""
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for values, (name, colour, line) in zip(errors, CURVES, strict=True):
        axis.plot(TEMPERATURES, values, line, color=colour, label=name, markersize=4)
    best = result.recommended
    axis.axvline(best, color="#666666", linestyle=":", label=f"T* = {best:g}")
    axis.set_xlabel("temperature T, in units of the coupling")
    axis.set_ylabel(f"misclassified points of {result.n_points}")
    axis.set_ylim(0, 1.02 * result.n_points)
    axis.legend(frameon=False)
    bare(axis)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _draw_pixels(
    toy: ToySet, panels: list[tuple[str, npt.NDArray[np.integer]]], path: Path
) -> None:
    figure = pixel_panels(toy.mask, panels, toy.labels, columns=2, panel_size=(5, 2.4), fontsize=10)
    figure.savefig(path, dpi=150)
    pyplot().close(figure)


def _draw_rivals(path: Path) -> None:
    """Figure 1 d-f: ten labels selected so that three rivals fail, and the law they minimise."""
    toy = two_bands(n_labels=10)
    graph = toy.graph()
    run = JunctionTree().run(MinCut()(graph, toy.labels, 2), TEMPERATURES)
    profile = paper_profile(run, 2)
    row = profile.nearest_row(answer_temperature(profile, "paper"))
    ours = drawn_states(profile.decision(row))
    cut = np.argmax(run.marginals[0], axis=1)
    lgc = LocalGlobalConsistency().fit(graph, toy.labels).transduction_
    sgt = SpectralGraphTransducer().fit(graph, toy.labels).transduction_
    panels = [
        ("data: 10 labels, selected so that the rivals fail", np.full_like(ours, -1)),
        ("true classes", toy.truth),
    ]
    for name, states in (
        ("minimum cut (T = 0)", cut),
        ("local and global consistency", lgc),
        ("spectral graph transducer", sgt),
        (f"spinlearn at T* = {profile.temperatures[row]:g}", ours),
    ):
        panels.append((f"{name}: {np.sum(states != toy.truth)} errors", states))
    _draw_pixels(toy, panels, path)


def _report(result: DemoResult) -> str:
    rows = "\n".join(f"| {t} | {a} | {b} |" for t, a, b in result.table)
    return f"""# Two bands, seven labels

{result.n_points} pixels, every pixel coupled to its neighbours with strength 1. Exact averages at
{len(result.table)} temperatures by the junction tree. Confused points count as errors.

![data, truth, minimum cut, answer at T*](figure1.png)

![error against temperature](figure2.png)

![rivals on ten labels selected so that they fail](rivals.png)

Recommended temperature: T* = {result.recommended:g}

| T | errors with labels | errors without labels |
|---|---|---|
{rows}
"""
