"""The demo: figures 1, 2 of the paper on its two-class toy set, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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
from spinlearn.model.arrays import FloatArray
from spinlearn.model.protocols import Callback
from spinlearn.reproduction.comparison import drawn_states, paper_profile, wrong_points
from spinlearn.reproduction.drawing import bare, pixel_panels, pyplot
from spinlearn.viz.explorer import explorer_content, write_explorer

TAU = 0.1  # the paper's confidence threshold
TEMPERATURES = np.concatenate([[0.0], np.linspace(0.1, 2.0, 20)])


@dataclass(frozen=True, slots=True, eq=False)
class DemoResult:
    """What the demo found, and the files it wrote."""

    temperatures: FloatArray
    supervised_errors: npt.NDArray[np.int64]
    unsupervised_errors: npt.NDArray[np.int64]
    recommended: float
    n_points: int
    seconds: float
    files: list[Path]

    def table(self) -> list[tuple[str, str, str]]:
        """Rows (T, errors with labels, errors without) as text."""
        columns = (self.temperatures, self.supervised_errors, self.unsupervised_errors)
        return [(f"{t:.1f}", str(a), str(b)) for t, a, b in zip(*columns, strict=True)]


def run_demo(out: Path, callback: Callback | None = None) -> DemoResult:
    """Classify the toy set with and without labels at 21 temperatures; write pictures, reports."""
    names = ("figure1.png", "figure2.png", "report.md", "report.html", "rivals.png")
    files = [out / name for name in names]
    there = [path.name for path in files if path.exists()]
    if 0 < len(there) < len(files):  # an earlier demo has them all
        raise InvalidInputError(
            f"{out} holds {', '.join(there)}, which would be replaced: name another folder"
        )
    toy = two_bands()
    graph = toy.graph()
    engine = JunctionTree()
    with_labels = engine.run(MinCut()(graph, toy.labels, 2), TEMPERATURES, callback=callback)
    no_labels = np.full(toy.n_points, -1)
    without = engine.run(MinCut()(graph, no_labels, 2), TEMPERATURES, callback=callback)
    code = LabelCode(np.array(["upper", "lower"]), toy.labels)
    shown = Answer.from_equilibrium(
        with_labels, code, temperature="paper", tau=TAU, small_groups="new"
    )
    best = shown.temperature
    supervised, unsupervised = (
        wrong_points(paper_profile(run, 2), toy.truth, labelled).sum(axis=1)
        for run, labelled in ((with_labels, [0, 1]), (without, []))
    )
    ours = drawn_states(shown.decision)
    cut = np.argmax(with_labels.marginals[0], axis=1)
    panels = [
        (f"data: {toy.n_points} pixels, {np.sum(toy.labels >= 0)} labels", np.full_like(ours, -1)),
        ("true classes", toy.truth),
        (f"minimum cut (T = 0): {np.sum(cut != toy.truth)} errors", cut),
        (f"spinlearn at T* = {best:g}: {supervised[shown.row]} errors", ours),
    ]
    ids = [f"row {row} column {column}" for row, column in toy.coordinates.tolist()]
    content = explorer_content(
        shown, ids=ids, pixels=toy.coordinates, title="Two bands, seven labels"
    )
    result = DemoResult(
        temperatures=TEMPERATURES,
        supervised_errors=supervised,
        unsupervised_errors=unsupervised,
        recommended=best,
        n_points=toy.n_points,
        seconds=with_labels.diagnostics["seconds"] + without.diagnostics["seconds"],
        files=files,
    )
    with new_files(out) as folder:
        drawn = [folder / name for name in names]
        _pixel_maps(toy, panels, drawn[0])
        _draw_errors(result, drawn[1])
        drawn[2].write_text(_report(result), encoding="utf-8", newline="\n")
        write_explorer(drawn[3], content)
        _draw_rivals(drawn[4])
    return result


def _draw_errors(result: DemoResult, path: Path) -> None:
    """Misclassified points against temperature, the paper's figure 2."""
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for errors, name, colour, line in (
        (result.supervised_errors, "with 7 labels (semi-supervised, exact)", "#0072B2", "o-"),
        (result.unsupervised_errors, "without labels (clustering, exact)", "#D55E00", "s-"),
    ):
        axis.plot(result.temperatures, errors, line, color=colour, label=name, markersize=4)
    best = result.recommended
    axis.axvline(best, color="#666666", linestyle=":", label=f"T* = {best:g}")
    axis.set_xlabel("temperature T, in units of the coupling")
    axis.set_ylabel(f"misclassified points of {result.n_points}")
    axis.set_ylim(0, 1.02 * result.n_points)
    axis.legend(frameon=False)
    bare(axis)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _pixel_maps(toy: ToySet, panels: list[tuple[str, npt.NDArray[np.integer]]], path: Path) -> None:
    figure = pixel_panels(toy.mask, panels, toy.labels, columns=2, panel_size=(5, 2.4), fontsize=10)
    figure.savefig(path, dpi=150)
    pyplot().close(figure)


def _draw_rivals(path: Path) -> None:
    """Figure 1 d-f: ten labels selected so that three rivals fail, and the law they minimise."""
    toy = two_bands(n_labels=10)
    graph = toy.graph()
    run = JunctionTree().run(MinCut()(graph, toy.labels, 2), TEMPERATURES)
    found = paper_profile(run, 2)
    row = found.nearest_row(answer_temperature(found, "paper"))
    ours = drawn_states(found.decision(row))
    cut = np.argmax(run.marginals[0], axis=1)
    lgc = LocalGlobalConsistency().fit(graph, toy.labels).transduction_
    sgt = SpectralGraphTransducer().fit(graph, toy.labels).transduction_

    def panel(name: str, states: npt.NDArray[np.integer]) -> tuple[str, npt.NDArray[np.integer]]:
        return f"{name}: {np.sum(states != toy.truth)} errors", states

    panels = [
        ("data: 10 labels, selected so that the rivals fail", np.full_like(ours, -1)),
        ("true classes", toy.truth),
        panel("minimum cut (T = 0)", cut),
        panel("local and global consistency", lgc),
        panel("spectral graph transducer", sgt),
        panel(f"spinlearn at T* = {found.temperatures[row]:g}", ours),
    ]
    _pixel_maps(toy, panels, path)


def _report(result: DemoResult) -> str:
    rows = "\n".join(f"| {t} | {a} | {b} |" for t, a, b in result.table())
    return f"""# Two bands, seven labels

{result.n_points} pixels, every pixel coupled to its neighbours with strength 1. Exact averages at
{len(result.temperatures)} temperatures by the junction tree. Confused points count as errors.

![data, truth, minimum cut, answer at T*](figure1.png)

![error against temperature](figure2.png)

![rivals on ten labels selected so that they fail](rivals.png)

Recommended temperature: T* = {result.recommended:g}

| T | errors with labels | errors without labels |
|---|---|---|
{rows}
"""
