"""A new engine, energy, baseline and file format need this file and no other.

All four are made here, entered into the package's registries, and used through the library and the
command line: fit, save, load, explore, compare. No file of the package may change for it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import spinlearn
from spinlearn import PottsClassifier, PottsModel, Result
from spinlearn.baselines import BASELINES, GraphClassifier
from spinlearn.cli.main import app
from spinlearn.energies import ENERGIES, MinCut
from spinlearn.engines import ENGINES, Equilibrium, JunctionTree
from spinlearn.io.dataset import Dataset
from spinlearn.io.folder import ANSWER_FILES
from spinlearn.io.reading import READERS

pytestmark = pytest.mark.slow

PACKAGE = Path(spinlearn.__file__).parent


class MeanFieldish:
    """Half way between the exact averages and none: an approximation that says nothing of itself.

    It cannot be asked for other temperatures either.
    """

    name = "halfway"

    def get_params(self, deep=True):
        return {}

    def unsupported(self, model):
        return JunctionTree().unsupported(model)

    def run(self, model, temperatures, *, seed=None, callback=None):
        exact = JunctionTree().run(model, temperatures)
        held = model.clamped >= 0
        blurred = np.where(
            held[:, None], exact.marginals, 0.5 * exact.marginals + 0.5 / model.n_states
        )
        return Equilibrium(
            model=model,
            temperatures=exact.temperatures,
            marginals=blurred,
            edge_agreement=exact.edge_agreement,
            mean_energy=exact.mean_energy,
            heat_capacity=exact.heat_capacity,
            converged=exact.converged,
            engine=self.name,
        )


def stiff_cut(graph, labels, n_states, *, label_strength=np.inf) -> PottsModel:
    """The cut with couplings twice as strong."""
    return MinCut()(
        graph.with_weights(2 * graph.weights), labels, n_states, label_strength=label_strength
    )


class NearestLabel(GraphClassifier):
    """Every point takes the label fewest steps away."""

    def __init__(self, *, graph="mutual_knn"):
        self.graph = graph

    def _solve(self, graph, states, n_classes):
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        ones = np.ones(len(graph.neighbors))
        steps = csr_array((ones, graph.neighbors, graph.indptr), shape=(graph.n_nodes,) * 2)
        distances = np.array(
            [
                dijkstra(steps, indices=np.flatnonzero(states == c), min_only=True)
                for c in range(n_classes)
            ]
        )
        return np.exp(-distances.T)


def read_lines(path, options, label_table) -> Dataset:
    """One point a line: id, label or a dash, coordinates."""
    rows = [line.split() for line in path.read_text().splitlines()]
    labels = np.array([None if r[1] == "-" else r[1] for r in rows], dtype=object)
    points = np.array([[float(v) for v in r[2:]] for r in rows])
    return Dataset(source=path, ids=[r[0] for r in rows], labels=labels, points=points)


@pytest.fixture
def extended(monkeypatch):
    monkeypatch.setitem(ENGINES, "halfway", MeanFieldish)
    monkeypatch.setitem(ENERGIES, "stiff_cut", stiff_cut)
    monkeypatch.setitem(BASELINES, "nearest_label", NearestLabel)
    monkeypatch.setitem(READERS, ".lines", read_lines)


@pytest.fixture
def file(tmp_path):
    """Two rows of points, one label each, in the new format."""
    lines = []
    for k in range(24):
        side = k // 12
        label = {3: "left", 15: "right"}.get(k, "-")
        lines.append(f"p{k} {label} {k % 12 / 4 + 10 * side} {0.1 * (k % 3)}")
    path = tmp_path / "points.lines"
    path.write_text("\n".join(lines) + "\n")
    return path


def package_digest() -> dict[str, str]:
    return {
        str(path.relative_to(PACKAGE)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(PACKAGE.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_extensions_go_through_the_command_line(extended, file, tmp_path):
    before = package_digest()
    folder = tmp_path / "answer"
    common = ["--engine", "halfway", "--energy", "stiff_cut"]
    fitted = CliRunner().invoke(app, ["fit", str(file), *common, "--out", str(folder), "--quiet"])
    assert fitted.exit_code == 0, fitted.output
    assert "approximate by halfway" in " ".join(fitted.output.split())
    assert {path.name for path in folder.iterdir()} == set(ANSWER_FILES)

    stored = Result.load(folder)
    assert (stored.equilibrium.kind, stored.equilibrium.engine) == ("approximate", "halfway")
    half = len(stored.ids) // 2
    assert set(stored.names[:half]) == {"left"}
    assert set(stored.names[half:]) == {"right"}

    shown = CliRunner().invoke(app, ["explore", str(folder), "--temperature", "0.123"])
    assert shown.exit_code == 0, shown.output
    assert "exact by" not in shown.output

    table = CliRunner().invoke(
        app, ["compare", str(file), "--energy", "stiff_cut", "--method", "nearest_label"]
    )
    assert table.exit_code == 0, table.output
    assert "nearest_label" in table.output
    changed = [name for name, digest in package_digest().items() if before.get(name) != digest]
    assert changed == []


def test_an_outside_engine_is_never_called_exact(extended, file, tmp_path):
    data = read_lines(file, None, None)
    fitted = PottsClassifier(method="paper", engine="halfway", temperature=0.37)
    fitted.fit(data.points, data.labels)
    assert 0.37 in fitted.profile_.temperatures  # though the engine knows its own grid only
    assert not fitted.equilibrium_.exact
    result = Result.of(fitted, data.ids)
    result.save(tmp_path / "model.npz")
    stored = Result.load(tmp_path / "model.npz")
    grid = stored.temperatures
    middle = float(grid[4] + grid[5]) / 2
    there = stored.at(middle)
    truth = MeanFieldish().run(stored.model, [middle])
    error = np.abs(there.equilibrium.take([there.row]).marginals - truth.marginals)
    assert not there.equilibrium.exact
    # Interpolated: its error bar says by how much it may be off.
    assert np.all(error <= np.asarray(there.equilibrium.take([there.row]).std_error) + 1e-6)


def test_an_exact_outside_engine_is_computed_anew(file, tmp_path):
    class Oracle(MeanFieldish):
        name = "oracle"

        def run(self, model, temperatures, *, seed=None, callback=None):
            from dataclasses import replace

            return replace(JunctionTree().run(model, temperatures), engine=self.name, evaluate=None)

    data = read_lines(file, None, None)
    fitted = PottsClassifier(method="paper", engine=Oracle()).fit(data.points, data.labels)
    Result.of(fitted, data.ids).save(tmp_path / "model.npz")
    stored = Result.load(tmp_path / "model.npz").at(0.2345)
    exact = JunctionTree().run(stored.model, [0.2345])
    assert stored.equilibrium.exact
    np.testing.assert_allclose(
        stored.equilibrium.marginals[stored.row], exact.marginals[0], atol=1e-12
    )
