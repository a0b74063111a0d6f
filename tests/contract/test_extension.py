"""A new engine and a new baseline, entered into the package's registries, work everywhere.

Through the library and the command line: fit, save, load, explore, compare. CONTRIBUTING.md has
more, an energy and a file format too: tests/end_to_end/test_contributing.py runs them.
"""

import numpy as np
import pandas as pd
import pytest

from spinlearn import Result
from spinlearn.baselines import BASELINES, GraphClassifier
from spinlearn.engines import ENGINES, Equilibrium, JunctionTree
from tests.end_to_end.tool import worked

pytestmark = pytest.mark.slow


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
        free = (model.clamped < 0)[:, None]
        blurred = np.where(free, 0.5 * exact.marginals + 0.5 / model.n_states, exact.marginals)
        same = ("temperatures", "edge_agreement", "mean_energy", "heat_capacity", "converged")
        averages = {name: getattr(exact, name) for name in same}
        return Equilibrium(model=model, marginals=blurred, engine=self.name, **averages)


class Majority(GraphClassifier):
    """Every point takes the class with most labels."""

    def _solve(self, graph, states, n_classes):
        votes = np.bincount(states[states >= 0], minlength=n_classes)
        return np.tile(votes.astype(float), (graph.n_nodes, 1))


@pytest.fixture
def extended(monkeypatch):
    monkeypatch.setitem(ENGINES, "halfway", MeanFieldish)
    monkeypatch.setitem(BASELINES, "majority", Majority)


POINTS = [[k % 12 / 4 + 10 * (k // 12), 0.1 * (k % 3)] for k in range(24)]
LABELS = [{3: "left", 15: "right"}.get(k) for k in range(24)]


def test_extensions_go_through_the_command_line(extended, tmp_path):
    table = pd.DataFrame(POINTS, columns=["x", "y"]).assign(kind=LABELS)
    table.to_csv(tmp_path / "points.csv", index=False)
    read = ("points.csv", "--labels", "kind", "--energy", "min_cut")
    fitted = worked("fit", *read, "--engine", "halfway", "--out", "answer", cwd=tmp_path)
    assert "approximate by halfway" in " ".join(fitted.stdout.split())
    stored = Result.load(tmp_path / "answer")
    assert (stored.equilibrium.kind, stored.equilibrium.engine) == ("approximate", "halfway")
    assert stored.names.tolist() == ["left"] * 12 + ["right"] * 12
    shown = worked("explore", "answer", "--temperature", "0.123", cwd=tmp_path)
    assert "exact by" not in shown.stdout
    compared = worked("compare", *read, "--method", "majority", cwd=tmp_path)
    assert "majority" in compared.stdout
