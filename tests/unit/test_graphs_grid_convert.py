"""Pixel grids and other libraries' graphs, against networkx."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from spinlearn import PottsClassifier
from spinlearn.baselines import LocalGlobalConsistency
from spinlearn.errors import InvalidInputError, LabelWarning
from spinlearn.graphs import PixelGrid, as_graph, describe, from_networkx
from spinlearn.model.graph import Graph


@pytest.mark.parametrize("shape", [(1, 6), (6, 1), (5, 7)])
@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("share", [0.7, 1.0])
def test_pixel_grid_matches_networkx(shape, connectivity, share):
    mask = np.random.default_rng(0).random(shape) < share
    mask[-1, -1] = True
    lattice = nx.grid_2d_graph(*shape)
    if connectivity == 8:
        for r, c in list(lattice.nodes):
            lattice.add_edges_from(
                ((r, c), other) for other in ((r + 1, c + 1), (r + 1, c - 1)) if other in lattice
            )
    lattice = lattice.subgraph(map(tuple, np.argwhere(mask)))
    grid = PixelGrid(connectivity=connectivity)
    graph, places = grid.build(mask), grid.coordinates(mask)
    assert places.tolist() == sorted(map(list, lattice.nodes))
    number = {tuple(place): i for i, place in enumerate(places.tolist())}
    expected = {tuple(sorted((number[a], number[b]))) for a, b in lattice.edges}
    assert set(map(tuple, graph.edges.tolist())) == expected
    assert graph.n_nodes == mask.sum()
    assert np.all(graph.weights == 1)
    np.testing.assert_array_equal(clone(grid).build(mask.astype(int)).edges, graph.edges)


SQUARE = np.ones((2, 2), dtype=bool)


@pytest.mark.parametrize(
    ("mask", "settings", "message"),
    [
        (np.ones(4, dtype=bool), {}, r"2-D.*\(4,\)"),
        (np.zeros((3, 3), dtype=bool), {}, "no True pixel"),
        (np.full((2, 2), 0.5), {}, "dtype float64.*threshold"),
        (np.full((2, 2), 7), {}, "True or False"),
        (SQUARE, {"connectivity": 5}, r"connectivity=5.*use 4 .* or 8"),
        (SQUARE, {"values": np.zeros((3, 2))}, "values have shape"),
        (SQUARE, {"values": np.full((2, 2), np.nan)}, "inside the mask"),
        (SQUARE, {"values": [["a", "b"], ["c", "d"]]}, "values must be real numbers"),
        (SQUARE, {"values": np.eye(2), "contrast": np.nan}, "contrast=nan is not a pos"),
    ],
)
def test_bad_masks_and_images_are_refused(mask, settings, message):
    grid = PixelGrid(**settings)
    for use in (grid.build,) if settings else (grid.build, grid.coordinates):
        with pytest.raises(InvalidInputError, match=message):
            use(mask)


def test_from_networkx_keeps_names_and_weights():
    source = nx.Graph([("c", "a", {"weight": 2.5}), ("a", ("b", 1)), ("a", "a", {"weight": 9.0})])
    source.add_node("alone")
    graph, names = from_networkx(source)
    assert names == list(source.nodes) == ["c", "a", ("b", 1), "alone"]
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.weights.tolist() == [2.5, 1.0]
    assert from_networkx(source, weight=None)[0].weights.tolist() == [1.0, 1.0]
    by_matrix = as_graph(nx.to_scipy_sparse_array(source))
    for other in (as_graph(source), by_matrix):
        np.testing.assert_array_equal(other.edges, graph.edges)
        np.testing.assert_array_equal(other.weights, graph.weights)
    parallel = nx.MultiGraph([(0, 1, {"cost": 2.0}), (1, 0, {"cost": 3.0}), (1, 2)])
    assert from_networkx(parallel, weight="cost")[0].weights.tolist() == [5.0, 1.0]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (nx.DiGraph([(0, 1)]), r"directed.*to_undirected\(\)"),
        (nx.Graph(), "no nodes"),
        *[
            (nx.Graph([("a", "b", {"weight": 1}), ("b", "c", {"weight": bad})]), said)
            for bad, said in [
                ("2.5", r"edge \('b', 'c'\) .* has weight='2.5', which is no real.*weight=None"),
                (np.float32("inf"), r"edge \('b', 'c'\) .* has weight=inf, which is NaN or inf"),
                (10**400, r"edge \('b', 'c'\)"),
            ]
        ],
    ],
)
def test_unusable_networkx_graphs_are_refused(source, message):
    with pytest.raises(InvalidInputError, match=message):
        as_graph(source)


def test_as_graph():
    graph = Graph(3, [[0, 1]])
    assert as_graph(graph) is graph
    matrix = np.array([[0, 2.0], [2.0, 0]])
    assert as_graph(sparse.dok_array(matrix)).weights.tolist() == [2.0]
    for other in (matrix, [[0, 1]], "knn", None):
        with pytest.raises(InvalidInputError, match=r"is not a graph: pass .*MutualKNN"):
            as_graph(other)


def test_describe():
    summary = describe(Graph(7, [[0, 1], [1, 2], [3, 4]], [1.0, -1.0, 1e-300]))
    assert (summary.n_nodes, summary.n_edges) == (7, 3)
    assert summary.component_sizes == (3, 2, 1, 1)
    assert (summary.n_components, summary.n_isolated) == (4, 2)
    assert summary.mean_degree == pytest.approx(6 / 7)
    assert describe(Graph(1, [])).component_sizes == (1,)


@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_a_classifier_takes_the_mask_of_an_image():
    mask = np.zeros((6, 11), dtype=bool)
    mask[:, :5] = mask[:, 6:] = mask[2, 5] = True  # two blocks on a bridge
    image = np.full(mask.shape, -1)
    image[1, 1], image[4, 9] = 0, 1
    image[0, 5] = 7  # outside the mask: no label
    with pytest.warns(LabelWarning, match="1 labels lie on pixels outside the mask"):
        clf = PottsClassifier(graph=PixelGrid(), temperature=0.3).fit(mask, image)
    assert clf.classes_.tolist() == [0, 1]
    rows = np.argwhere(mask)
    np.testing.assert_array_equal(clf.transduction_[rows[:, 1] < 5], 0)
    np.testing.assert_array_equal(clf.transduction_[rows[:, 1] > 5], 1)
    same = PottsClassifier(graph=PixelGrid(), temperature=0.3).fit(mask, image[mask])
    np.testing.assert_array_equal(same.transduction_, clf.transduction_)
    column = clone(same).fit(mask, image[mask][:, None])  # as for points
    np.testing.assert_array_equal(column.transduction_, clf.transduction_)
    with pytest.raises(InvalidInputError, match="cannot be attached"):
        PixelGrid().attach(mask, mask)


def test_strokes_of_another_size_than_the_mask_are_refused():
    for shape, said in (
        ((9, 13), r"y has shape \(9, 13\), but the mask \(6, 11\): give one label per pixel"),
        ((11, 6), r"y has shape \(11, 6\), but the mask \(6, 11\).*turned \(y\.T\)"),
        ((6, 11, 3), r"y has shape \(6, 11, 3\), but the mask \(6, 11\)"),
    ):
        strokes = np.arange(np.prod(shape)).reshape(shape)
        with pytest.raises(InvalidInputError, match=said):
            PottsClassifier(graph=PixelGrid()).fit(np.ones((6, 11), dtype=bool), strokes)


@pytest.mark.slow
def test_strokes_fill_what_the_image_shows_and_not_what_lies_near():
    """A noisy image of a disc, and two strokes."""
    down, right = np.mgrid[:24, :24]
    truth = ((down - 12) ** 2 + (right - 12) ** 2 < 64).astype(int)
    image = truth + np.random.default_rng(0).normal(0, 0.15, truth.shape)
    strokes = np.full(truth.shape, -1)
    strokes[12, 10:14] = 1
    strokes[1, 2:-2] = 0
    paper = PottsClassifier(method="paper", random_state=0, temperature="0.2:grid=0.2")
    shown, near = (
        paper.set_params(graph=PixelGrid(values=values))
        .fit(np.ones(truth.shape, dtype=bool), strokes)
        .forced_labels_
        for values in (image, None)
    )
    assert np.mean(shown == truth.ravel()) > 0.99
    assert np.mean(near == truth.ravel()) < 0.9


def test_weights_are_those_of_the_formula():
    image, mask = np.array([[0.0, 1.0], [3.0, 1.0]]), np.ones((2, 2), dtype=bool)
    grid = PixelGrid(values=image, contrast=2.0).build(mask)
    apart = [image.ravel()[u] - image.ravel()[v] for u, v in grid.edges]
    np.testing.assert_allclose(grid.weights, np.exp(-np.square(apart) / 8))
    usual = PixelGrid(values=image, contrast=np.sqrt(np.mean(np.square(apart))))
    alike = (image, 255 * image + 7, np.stack([image, image, image], axis=2))  # units, channels
    for values in alike:
        found = PixelGrid(values=values).build(mask).weights
        np.testing.assert_allclose(found, usual.build(mask).weights)
    image[1, 0], mask[1, 0] = np.nan, False  # outside the mask anything may be
    assert np.all(np.isfinite(PixelGrid(values=image).build(mask).weights))
    assert set(PixelGrid(values=np.zeros((2, 2))).build(mask).weights) == {1.0}


NODES = ["a", "b", "c", "d", "e", "f"]
QUICK = PottsClassifier(method="paper", temperature=0.2)
LISTED = ["left", None, None, None, None, "right"]


@pytest.mark.parametrize(
    ("nodes", "y"),
    [
        (NODES, LISTED),
        (NODES, pd.Series({"f": "right", "a": "left"})),
        (NODES, pd.Series(LISTED[::-1], index=NODES[::-1])),
        (NODES, pd.Series(LISTED)),
        (range(1, 7), pd.Series(LISTED)),  # most of 0 .. 5 are nodes, but it only counts rows
    ],
)
def test_labels_of_a_graph_are_listed_or_named_by_its_nodes(nodes, y):
    by_name = clone(QUICK).fit(nx.path_graph(NODES), {"a": "left", "f": "right"})
    assert by_name.nodes_ == NODES
    assert by_name.forced_labels_[[0, 1, 4, 5]].tolist() == ["left", "left", "right", "right"]
    found = clone(QUICK).fit(nx.path_graph(nodes), y)
    assert found.names_.tolist() == by_name.names_.tolist()


POINTS = np.array([[0.0], [1.0], [5.0], [6.0]])
PATH = nx.path_graph(NODES)
TWICE = pd.DataFrame(POINTS, index=["a", "a", "b", "c"], columns=["size"])


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        (PATH, {"a": "left", "z": "right"}, "'z', which is not among the nodes of the graph"),
        (PATH, pd.Series(["left", "right"], index=["a", "a"]), "more than one label for the node"),
        (TWICE, {"a": 7, "b": 9}, r"repeats.*reset_index\(drop=True\)"),
    ],
)
def test_names_that_do_not_fit_are_refused(X, y, said):
    with pytest.raises(InvalidInputError, match=said):
        clone(QUICK).fit(X, y)


@pytest.mark.parametrize("rows", [None, list("wxyz"), [3, 0, 1, 2], [10, 11, 12, 13]])
def test_keys_of_a_dict_are_the_index_of_a_data_frame_and_else_count_rows(rows):
    frame = POINTS if rows is None else pd.DataFrame(POINTS, index=rows, columns=["size"])
    first, last = (0, 3) if rows is None else (rows[0], rows[3])
    found = clone(QUICK).fit(frame, {first: 7, last: 9})
    assert found.forced_labels_.tolist() == [7, 7, 9, 9]
    said = "the rows 0 to 3" if rows is None else r"99, which is not among the index of X \("
    with pytest.raises(InvalidInputError, match=said):
        clone(QUICK).fit(frame, {first: 7, 99: 9})


def test_labels_with_the_rows_of_a_data_frame_in_another_order_are_refused():
    frame = pd.DataFrame(POINTS, index=list("wxyz"), columns=["size"])
    y = pd.Series([7, -1, -1, 9], index=list("wxyz"))
    found = clone(QUICK).fit(frame, y)
    assert found.forced_labels_.tolist() == [7, 7, 9, 9]
    shuffled = y.loc[list("zxwy")]
    said = r"row 0 is 'z' in y, 'w' in X.*pass y\.loc\[X\.index\]"
    for use in (clone(QUICK).fit, found.score, LocalGlobalConsistency().fit):
        with pytest.raises(InvalidInputError, match=said):
            use(frame, shuffled)
    with pytest.raises(InvalidInputError, match=said):
        found.relabel(shuffled)
    assert found.relabel(shuffled.loc[frame.index]).forced_labels_.tolist() == [7, 7, 9, 9]


def test_labels_with_other_rows_go_by_position():
    for rows in (list("wxxz"), [0, 1, 2, 3]):
        for others in (list("wxyt"), [5, 6, 7, 8]):
            frame = pd.DataFrame(POINTS, index=rows, columns=["size"])
            found = clone(QUICK).fit(frame, pd.Series([7, -1, -1, 9], index=others))
            assert found.forced_labels_.tolist() == [7, 7, 9, 9]
