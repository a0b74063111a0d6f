"""Contents for the explorer's tests: small and exact, large and made up."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from sklearn.datasets import load_wine

from spinlearn import TemperatureRule
from spinlearn.answers.answer import Answer, Averages
from spinlearn.answers.profile import profile
from spinlearn.answers.table import LabelTable
from spinlearn.classifier import PottsClassifier
from spinlearn.graphs import PixelGrid
from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from spinlearn.viz.explorer import ExplorerContent, explorer_content
from tests.conftest import some_labels

NASTY = (
    "<script>window.pwned=1</script>",
    '</script><img src=x onerror="window.pwned=1">',
    'a,"b"\n',
)
FORMULAS = ("=1+2", "'=x", "-5", "+B cells", "@SUM(A1)", "-")  # to a spreadsheet, but for two


@dataclass(frozen=True)
class Case:
    """What the explorer shows, and the classifier (or answer) it was made from."""

    content: ExplorerContent
    result: Any

    def table(self, row: int) -> LabelTable:
        """The label table that spinlearn itself writes at a row of the grid."""
        answer = self.content.answer
        here = answer if row == answer.row else answer.at(float(answer.profile.temperatures[row]))
        return here.table(self.content.ids)


def three_blocks() -> Case:
    """Two labelled blocks of pixels and one without label, on thin bridges; hostile names."""
    mask = np.zeros((15, 25), dtype=bool)
    mask[8:14, 0:12] = mask[8:14, 13:25] = True  # two blocks side by side ...
    mask[10, 12] = True  # ... joined by a pixel
    mask[1:7, 5:20] = True  # a third above both ...
    mask[7, [8, 16]] = True  # ... on a pillar each
    grid = PixelGrid()
    places = grid.coordinates(mask)
    labels = np.full(len(places), "", dtype=object)
    for row, column, name in ((11, 3, "<b>left</b>"), (11, 9, "<b>left</b>"), (11, 20, "right")):
        labels[np.flatnonzero(np.all(places == (row, column), axis=1))[0]] = name
    ids = [f"p{r}-{c}" for r, c in places.tolist()]
    ids[:3] = NASTY
    ids[-len(FORMULAS) :] = FORMULAS
    temperatures = np.concatenate([np.linspace(0, 1.6, 17), [np.inf]])
    classifier = PottsClassifier(
        engine="junction_tree", temperature=TemperatureRule(name=0.55, grid=temperatures)
    )
    classifier.fit(grid.build(mask), labels)
    content = explorer_content(
        classifier.answer_, ids=ids, pixels=places, title="<i>blocks</i> & {{data}}"
    )
    return Case(content, classifier)


def hidden_class() -> Case:
    """Three kinds of wine, two of them labelled: an average, with groups that may be a class."""
    X, truth = load_wine(return_X_y=True)
    names = np.array(["barolo", "<b>grignolino</b>", ""], dtype=object)  # the last of no label
    labels = names[some_labels(truth, 5, hidden=2)]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    classifier = PottsClassifier().fit(X, labels)
    ids = [f"wine{k}" for k in range(len(X))]
    return Case(explorer_content(classifier.answer_, ids=ids, points=X, title="wine"), classifier)


def doubted(case: Case, rows: Any) -> Case:
    """The same with standard errors at some temperatures that nothing can rest on."""
    equilibrium = case.content.answer.equilibrium
    errors = equilibrium.std_error.copy()
    errors[rows] = 0.4
    answer = replace(
        case.content.answer, averages=Averages.of(replace(equilibrium, std_error=errors))
    )
    places = case.content.layouts[0].coordinates
    return Case(explorer_content(answer, coordinates=places), answer)


def many_points(n: int, *, n_temperatures: int = 24, seed: int = 0) -> Case:
    """n points in nine blobs, eight labelled; averages made up but consistent, with errors."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(9) / 9
    centres = 10 * np.column_stack([np.cos(angle), np.sin(angle)])
    blob = rng.integers(0, 9, n)
    points = centres[blob] + rng.normal(scale=1.6, size=(n, 2))
    pairs = cKDTree(points).query(points, k=5)[1]
    edges = np.column_stack([np.repeat(np.arange(n), 4), pairs[:, 1:].ravel()])
    distance = np.sqrt(np.sum((points[edges[:, 0]] - points[edges[:, 1]]) ** 2, axis=1))
    graph = Graph(n, edges, np.exp(-distance), duplicates="first")
    clamped = np.full(n, -1)
    clamped[:160] = np.where(blob[:160] < 8, blob[:160], -1)
    model = PottsModel(graph, n_states=8, clamped=clamped)

    temperatures = np.linspace(0, 2, n_temperatures)
    square = np.sum((points[:, None] - centres[None, :8]) ** 2, axis=2)
    known = np.exp(-np.min(square, axis=1) / 30)[:, None]
    marginals = np.empty((n_temperatures, n, 8))
    agreement = np.empty((n_temperatures, len(graph.edges)))
    for row, temperature in enumerate(temperatures):
        weight = np.exp(-square / (4 + 30 * temperature**2))
        order = known * np.exp(-temperature)
        marginals[row] = order * weight / weight.sum(axis=1, keepdims=True) + (1 - order) / 8
        marginals[row, clamped >= 0] = np.eye(8)[clamped[clamped >= 0]]
        agreement[row] = 1 / 8 + 7 / 8 * np.exp(-temperature * (1 - graph.weights) * 3)
    equilibrium = Equilibrium(
        model=model,
        temperatures=temperatures,
        marginals=marginals,
        edge_agreement=agreement,
        mean_energy=graph.weights @ (1 - agreement).T,
        heat_capacity=np.sin(temperatures) ** 2,
        converged=temperatures > 0.1,
        engine="made_up",
        std_error=0.03 * rng.random((n_temperatures, n, 8)),
    )
    row = n_temperatures // 4
    answer = Answer(
        classes=np.array([f"class {k}" for k in range(8)]),
        labels=clamped.astype(np.int32),
        averages=Averages.of(equilibrium),
        known_profile=profile(equilibrium).numbered_from(row),
        temperature=float(temperatures[row]),
        tau=0.1,
    )
    return Case(explorer_content(answer, points=points, title=f"{n} points"), answer)
