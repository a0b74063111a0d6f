"""Models cooled side by side, against exact averages and the engine that takes one at a time."""

import numpy as np
import pytest

from spinlearn import Graph
from spinlearn.energies import MinCut, Modularity
from spinlearn.engines import BeliefPropagation, JunctionTree
from spinlearn.engines.messages.replicas import LANES, STRONGEST, Places, cooled_together


def labelled(n, q, rng, per=2):
    """States of a few points, -1 for the others; every state has one."""
    labels = np.full(n, -1)
    labels[rng.choice(n, per * q, replace=False)] = np.tile(np.arange(q), per)
    return labels


def tree(n, rng, hub):
    """Every point hangs on an earlier one, or all on the first."""
    parents = [0 if hub else int(rng.integers(k)) for k in range(1, n)]
    return Graph(n, np.column_stack([parents, np.arange(1, n)]), rng.uniform(0.2, 1.5, n - 1))


@pytest.mark.parametrize("hub", [False, True])
@pytest.mark.parametrize("q", [2, 5])
def test_on_trees_they_are_exact_at_light_and_heavy_points(hub, q):
    """A point with 150 strong links has products of messages beyond single precision."""
    rng = np.random.default_rng(q)
    graph = tree(150, rng, hub)
    models = []
    for _ in range(LANES - 2):  # lanes that are left over disturb nobody
        model = MinCut()(graph, labelled(150, q, rng, 10), q)
        models.append(model.replace(fields=model.fields + 0.3 * rng.random((150, q))))
    ladder = [1.0, 0.5, 0.2]
    found = cooled_together(models, ladder, Places.of(graph, q))
    for model, laws in zip(models, found, strict=True):
        exact = JunctionTree().run(model, ladder).marginals
        np.testing.assert_allclose(laws, exact, atol=2e-3)


@pytest.mark.parametrize("strength", [1.0, STRONGEST, STRONGEST + 0.1, 30.0, 700.0])
@pytest.mark.parametrize("q", [2, 4])
def test_links_of_any_strength_between_two_classes(q, strength):
    """A wall may be at any of four links; what a point says of it is next to nothing at T = 0.1."""
    graph = Graph(5, [(0, 1), (1, 2), (2, 3), (3, 4)], [0.1 * strength] * 4)
    model = MinCut()(graph, np.array([0, -1, -1, -1, 1]), q)
    found = cooled_together([model, model], [0.5, 0.1], Places.of(graph, q))
    exact = JunctionTree().run(model, [0.5, 0.1]).marginals
    for laws in found:
        if strength < 20:  # in haste, what is next to nothing may be wrong
            np.testing.assert_allclose(laws, exact, atol=2e-3)
        np.testing.assert_allclose(laws[:, [0, 2, 4]], exact[:, [0, 2, 4]], atol=2e-3)
        np.testing.assert_allclose(laws.sum(axis=2), 1.0, atol=1e-5)


@pytest.mark.parametrize("q", [2, 3])
def test_with_null_models_they_are_those_of_one_run_each(q):
    rng = np.random.default_rng(1)
    graph = grouped(rng)
    places, models = Places.of(graph, q), []
    for resolution in (0.0, 0.25, 1.0):
        labels = labelled(graph.n_nodes, q, rng, 3)
        model = Modularity(resolution=resolution)(graph, labels, q)
        models.append(model.replace(fields=model.fields + 0.2 * rng.random(model.fields.shape)))
    ladder = [6.0, 1.0]  # between them slow modes take long
    alone = [BeliefPropagation(n_starts=1).run(m, ladder).marginals for m in models]
    for one, together in zip(alone, cooled_together(models, ladder, places), strict=True):
        np.testing.assert_allclose(together, one, atol=2e-3)
    # A model is the same in any company, but for when its neighbours stop.
    single = cooled_together(models[1:2], ladder, places)[0]
    np.testing.assert_allclose(cooled_together(models, ladder, places)[1], single, atol=2e-3)


def grouped(rng):
    """Sixty points in three groups, links within mostly."""
    group = np.repeat([0, 1, 2], 20)
    u, v = np.triu_indices(60, 1)
    kept = rng.random(len(u)) < np.where(group[u] == group[v], 0.4, 0.03)
    return Graph(60, np.column_stack([u, v])[kept], rng.uniform(0.5, 1.5, int(kept.sum())))


def test_the_seed_decides_between_like_states_and_nothing_else():
    graph = grouped(np.random.default_rng(0))
    model, places = MinCut()(graph, np.full(60, -1), 2), Places.of(graph, 2)
    one, again, other = (cooled_together([model], [0.8], places, seed)[0] for seed in (0, 0, 1))
    assert np.array_equal(one, again)
    sides = np.sort(np.abs(one - 0.5).ravel()), np.sort(np.abs(other - 0.5).ravel())
    np.testing.assert_allclose(*sides, atol=0.01)
