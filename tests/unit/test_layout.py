"""Layouts: what they must keep, whatever the graph."""

import sys
import warnings

import numpy as np
import pytest
from sklearn.decomposition import PCA

from spinlearn.errors import InvalidInputError
from spinlearn.graphs import MutualKNN
from spinlearn.model.graph import Graph
from spinlearn.viz.layout import (
    LEAST_UMAP,
    MAX_MAPPED,
    layouts,
    neighbour_map,
    principal,
    spectral,
    umap_layout,
)
from tests.conftest import grid_graph


def mapped(graph: Graph) -> np.ndarray:
    return neighbour_map(graph, spectral(graph))


@pytest.mark.parametrize("shape", [(60, 6), (1, 4), (2, 1), (3, 2), (5, 1), (4, 300)])
def test_principal_components_are_those_of_scikit_learn(shape):
    points = np.random.default_rng(1).normal(size=shape) * np.linspace(2, 0, shape[1]) + 100
    places = principal(points)
    assert places.shape == (shape[0], 2)
    assert np.all(np.isfinite(places))
    if shape[0] > 1:
        theirs = np.abs(PCA(min(2, *shape)).fit_transform(points))
        np.testing.assert_allclose(np.abs(places[:, : theirs.shape[1]]), theirs, atol=1e-6)
        assert np.all(places[:, theirs.shape[1] :] == 0)
    assert np.all(principal(np.ones(shape)) == 0)


def test_spectral_layout_of_a_ring_is_a_ring():
    ring = Graph(40, [(i, (i + 1) % 40) for i in range(40)])
    places = spectral(ring)
    radius = np.hypot(*places.T)
    np.testing.assert_allclose(radius, radius.mean(), rtol=1e-9)
    steps = np.hypot(*(places - np.roll(places, -1, axis=0)).T)
    np.testing.assert_allclose(steps, steps.mean(), rtol=1e-9)


def test_spectral_layout_of_a_large_grid_is_its_two_longest_waves():
    high, wide = 20, 50  # beyond the dense solver
    places = spectral(grid_graph(high, wide))
    x = np.tile(np.arange(wide) + 0.5, high)
    for mode in (1, 2):
        wave = np.cos(mode * np.pi * x / wide)
        assert abs(np.corrcoef(places[:, mode - 1], wave)[0, 1]) > 0.99


def nearness(graph: Graph, places: np.ndarray) -> float:
    """How far neighbours are apart, over how far any two points are."""
    ends = places[graph.edges]
    any_two = places - places[np.random.default_rng(2).permutation(len(places))]
    return np.mean(np.hypot(*(ends[:, 0] - ends[:, 1]).T)) / np.mean(np.hypot(*any_two.T))


def blobs(n):
    rng = np.random.default_rng(5)
    return rng.normal(size=(n, 5)) + 8 * np.eye(4, 5)[np.arange(n) % 4]


@pytest.mark.slow
@pytest.mark.parametrize("layout", [spectral, mapped])
def test_layouts_bring_neighbours_together(layout):
    graph = MutualKNN().build(blobs(240))
    places = layout(graph)
    np.testing.assert_array_equal(places, layout(graph))
    assert nearness(graph, places) < 0.5


@pytest.mark.parametrize("layout", [spectral, mapped])
@pytest.mark.parametrize(
    "graph",
    [
        Graph(1, []),
        Graph(7, []),  # isolated points
        Graph(2, [(0, 1)]),
        Graph(9, [(0, 1), (1, 2), (3, 4), (5, 6)]),  # parts and loners
        Graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], [-1.0, 1, 1e-9, 1, 2]),
        grid_graph(3, 4),
    ],
)
def test_any_graph_has_a_layout(layout, graph):
    places = layout(graph)
    assert places.shape == (graph.n_nodes, 2)
    assert np.all(np.isfinite(places))


def names_of(*args, **kwargs):
    return [layout.name for layout in layouts(*args, **kwargs)]


def test_which_layouts_are_offered_and_which_first(monkeypatch):
    points = np.random.default_rng(3).normal(size=(40, 4))
    graph = MutualKNN(n_neighbors=5).build(points)
    flat = points[:, :2]
    assert names_of(graph) == ["neighbours", "spectral"]
    assert names_of(graph, points=points) == ["neighbours", "PCA"]
    assert names_of(graph, components=flat) == ["neighbours", "PCA"]
    assert names_of(graph, points=flat) == ["features"]
    assert names_of(graph, coordinates=flat, points=points) == ["coordinates"]
    assert names_of(graph, pixels=flat, points=points, components=flat) == ["pixels"]
    for given in ({}, {"points": points}, {"components": flat}, {"coordinates": flat}):
        first = layouts(graph, **given)[0]
        (only,) = layouts(graph, **given, first_only=True)
        assert only.name == first.name
        np.testing.assert_array_equal(only.coordinates, first.coordinates)
    # Very large sets with features are drawn by their components.
    assert MAX_MAPPED >= 10_000
    monkeypatch.setattr("spinlearn.viz.layout.MAX_MAPPED", 39)
    assert names_of(graph, points=points) == ["PCA"]
    assert names_of(graph) == ["neighbours", "spectral"]
    assert umap_layout(Graph(LEAST_UMAP, []), np.zeros((LEAST_UMAP, 2))) is None


@pytest.mark.slow
def test_larger_sets_are_laid_out_by_umap_where_it_is_installed(monkeypatch):
    pytest.importorskip("umap.umap_", reason="umap-learn is not installed")
    points = blobs(LEAST_UMAP)
    graph = MutualKNN().build(points)
    assert names_of(graph, points=points) == ["UMAP", "PCA"]
    assert names_of(graph) == ["UMAP", "spectral"]
    fewer = points[:-1]
    assert names_of(MutualKNN().build(fewer), points=fewer) == ["neighbours", "PCA"]
    monkeypatch.setitem(sys.modules, "umap.umap_", None)
    assert umap_layout(graph, spectral(graph)) is None
    assert names_of(graph, points=points) == ["neighbours", "PCA"]
    assert names_of(graph) == ["neighbours", "spectral"]


@pytest.mark.slow
def test_umap_is_quiet_repeatable_and_brings_neighbours_together():
    pytest.importorskip("umap.umap_", reason="umap-learn is not installed")
    graph = MutualKNN().build(blobs(400))
    start = spectral(graph)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        places = umap_layout(graph, start)
    np.testing.assert_array_equal(places, umap_layout(graph, start))
    assert nearness(graph, places) < 0.3


def test_known_components_are_drawn_as_the_points_would_be():
    points = np.random.default_rng(4).normal(size=(30, 60))  # fewer points than features
    graph = MutualKNN(n_neighbors=5).build(points)
    live, stored = layouts(graph, points=points), layouts(graph, components=principal(points))
    for one, other in zip(live, stored, strict=True):
        np.testing.assert_array_equal(one.coordinates, other.coordinates)
    with pytest.raises(InvalidInputError, match="components must be finite"):
        layouts(graph, components=np.full((30, 2), np.nan))
