"""Names of classes, numbers of nodes and units of energy mean nothing to engines without dice."""

import numpy as np
import pytest

from spinlearn.engines import BeliefPropagation, GeneralizedBP, JunctionTree
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from tests.conftest import grid_graph, labels_at

# How far messages that have settled may be from each other, by engine.
ENGINES = [
    (JunctionTree(), 1e-13),
    (BeliefPropagation(n_starts=1, tol=1e-12), 1e-9),
    (GeneralizedBP(tol=1e-9), 1e-6),
]


@pytest.fixture
def model() -> PottsModel:
    rng = np.random.default_rng(3)
    clamped = labels_at({0: 0, 19: 1, 7: 2}, 20)
    graph = grid_graph(4, 5, rng.random(31))
    return PottsModel(graph, 3, fields=rng.normal(size=(20, 3)), clamped=clamped)


@pytest.mark.parametrize(("engine", "tolerance"), ENGINES)
def test_permuting_classes_and_nodes_permutes_marginals(engine, tolerance, model):
    states, nodes = np.array([2, 0, 1]), np.random.default_rng(4).permutation(20)
    clamped = np.where(model.clamped >= 0, np.argsort(states)[model.clamped], -1)
    other = PottsModel(
        Graph(20, np.argsort(nodes)[model.graph.edges], model.couplings),
        3,
        fields=model.fields[nodes][:, states],
        clamped=clamped[nodes],
    )
    run, twin = (engine.run(one, [0.4, 1.0]) for one in (model, other))
    assert run.converged.all()
    expected = run.marginals[:, nodes][:, :, states]
    np.testing.assert_allclose(twin.marginals, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(
        twin.log_partition, run.log_partition, rtol=max(0.1 * tolerance, 1e-12)
    )


@pytest.mark.parametrize(("engine", "tolerance"), ENGINES)
def test_energy_and_temperature_scale_together(engine, tolerance, model):
    scaled = model.replace(couplings=1e6 * model.couplings, fields=1e6 * model.fields)
    a = engine.run(model, [0.0, 0.4, 1.0])
    b = engine.run(scaled, [0.0, 0.4e6, 1.0e6])
    np.testing.assert_allclose(b.marginals, a.marginals, rtol=0, atol=tolerance)
    np.testing.assert_allclose(b.mean_energy, 1e6 * a.mean_energy, rtol=max(tolerance, 1e-12))
