"""Sampling a contracted model against exact averages of the whole one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import minimum_spanning_tree

from spinlearn import KNN, Graph, PottsClassifier, PottsModel
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.energies import Modularity
from spinlearn.engines import Enumeration, JunctionTree, Tempering
from spinlearn.errors import InvalidInputError
from tests.oracles import clique_chain

pytestmark = pytest.mark.slow

BUDGET, TOLERANCE = 0.025, 0.06
COLD = [0.1, 0.15]


@pytest.fixture(scope="module")
def model() -> PottsModel:
    return clique_chain(40, 6, 3)


@pytest.fixture(scope="module")
def exact(model) -> Equilibrium:
    return JunctionTree().run(model, COLD)


@pytest.fixture(scope="module")
def found(model) -> Equilibrium:
    return Tempering(tol=TOLERANCE, contract=BUDGET).run(model, COLD, seed=1)


def test_averages_are_within_stated_errors_of_the_exact_ones(model, exact, found):
    said = found.diagnostics["contraction"]
    assert said["nodes"] < 0.5 * said["of"] == 0.5 * model.n_nodes
    assert 0 < said["bound"] <= BUDGET
    free = model.clamped < 0
    z = np.abs(found.marginals - exact.marginals)[:, free] / found.std_error[:, free]
    assert np.mean(z < 2) > 0.93
    assert z.max() < 6
    agreed = np.abs(found.edge_agreement - exact.edge_agreement)
    assert np.all(agreed <= 6 * found.agreement_std_error + 1e-12)
    off = np.abs(found.log_partition - exact.log_partition)
    assert np.all(off < 4 * found.log_partition_std_error)
    assert np.all(found.converged)
    assert found.std_error.max() <= TOLERANCE


def test_the_bound_holds_for_the_true_agreements(model, exact, found):
    """Of all forests within the modules, the one of least sum by the exact C."""
    bound = found.diagnostics["contraction"]["bound"]
    inside = np.all(found.edge_agreement == 1.0, axis=0)
    assert inside.sum() > 0.5 * model.graph.n_edges
    u, v = model.graph.edges[inside].T
    for agreement in exact.edge_agreement:
        apart = 1 - agreement[inside] + 1e-12
        tree = minimum_spanning_tree(coo_matrix((apart, (u, v)), shape=2 * (model.n_nodes,)))
        assert tree.sum() <= bound


def test_a_model_that_melts_is_left_whole(model):
    found = Tempering(tol=0.1, contract=BUDGET).run(model, [2.0], seed=3)
    assert "contraction" not in found.diagnostics


def test_class_sizes_add_up():
    """Two groups joined by a weak link, with the term of modularity, against enumeration."""
    groups = [(i + k, j + k) for k in (0, 5) for i in range(5) for j in range(i)]
    graph = Graph(10, [*groups, (0, 5)], 20 * [1.0] + [0.5])
    model = Modularity()(graph, np.array([0] + 8 * [-1] + [1]), 2)
    exact = Enumeration().run(model, [0.35])
    found = Tempering(tol=0.06, contract=0.03).run(model, [0.35], seed=4)
    assert found.diagnostics["contraction"]["nodes"] < 10
    assert np.all(np.abs(found.marginals - exact.marginals) <= 3 * found.std_error + 1e-12)


def test_other_temperatures_are_answered_below_and_refused_above(model, found):
    assert found.at([COLD[1]]).marginals.shape == (1, model.n_nodes, 3)
    with pytest.raises(InvalidInputError, match="up to which nodes were contracted"):
        found.at([0.5])


def test_the_answer_of_a_classifier_is_that_without():
    X = np.random.default_rng(0).normal(size=(150, 2)) * 0.3
    X[75:] += 2.0
    y = np.full(150, -1)
    y[[0, 1, 75, 76]] = [0, 0, 1, 1]
    settings = {"graph": KNN(n_neighbors=8), "energy": "min_cut", "temperatures": [0.1, 0.15, 0.2]}
    plain, small = (
        PottsClassifier(engine=Tempering(contract=c), random_state=0, **settings).fit(X, y)
        for c in (None, BUDGET)
    )
    assert small.equilibrium_.diagnostics["contraction"]["nodes"] < 75
    assert np.array_equal(plain.names_, small.names_)


@pytest.mark.parametrize("contract", [0, -1, 0.03, "much", np.nan])
def test_budgets_that_are_none_are_refused(model, contract):
    with pytest.raises(InvalidInputError, match="contract="):
        Tempering(tol=0.05, contract=contract).run(model, [0.3], seed=0)
