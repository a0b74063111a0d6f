"""What estimators are given, as they need it, or an error that says why.

X is either points, from which a builder makes the graph, or a graph already (spinlearn, networkx, a
symmetric SciPy sparse matrix; other sparse ones hold features). Unseen points are attached to the
training graph by their similarities A to its nodes.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import column_or_1d, validate_data

from spinlearn.answers.labels import LabelCode, as_array, parse_labels
from spinlearn.errors import (
    ContradictionWarning,
    GraphWarning,
    InvalidInputError,
    LabelWarning,
)
from spinlearn.graphs import PixelGrid, as_graph, make_builder
from spinlearn.graphs.neighbors import PointBuilder
from spinlearn.graphs.points import PRECOMPUTED, Reduction, checked_features, checked_points
from spinlearn.model.arrays import FloatArray, IntArray, frozen, restore
from spinlearn.model.graph import AsymmetricError, Graph
from spinlearn.model.protocols import Callback, GraphBuilder


class NoTableError(InvalidInputError, TypeError):
    """X is of a kind that holds no points; scikit-learn's contract asks for a TypeError."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingGraph:
    """The graph of the training points and, unless it was given, what it was made from.

    `points` are the components of those given if `reduction` is not None. `pixels` are
    row and column of every node, where the mask of an image was given, and `shape` is that of the
    mask; `nodes` are their names where a networkx graph was, `index` is that of a data frame.
    """

    graph: Graph
    points: FloatArray | None = None
    builder: GraphBuilder | None = None
    pixels: IntArray | None = None
    reduction: Reduction | None = None
    nodes: list[Hashable] | None = None
    shape: tuple[int, ...] | None = None
    index: Any = None

    def __setstate__(self, state: Sequence[Any]) -> None:
        restore(self, state)


class LabelledScore(ClassifierMixin):
    """A classifier whose `score` knows that y may have points without a label."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the labelled points among X that are given their label, from 0 to 1.

        y are true classes, -1 (None, NaN, "") where unknown; these points do not count.
        `sample_weight`, (n,), says how much each point counts.
        """
        index = index_of(X)
        if index is not None:
            refuse_other_order(y, index)
        given = read_labels(y, len(y))
        known = given.states >= 0
        if not np.any(known):
            raise InvalidInputError("y holds no label, so nothing can be scored: give the truth")
        right = self.predict(X)[known] == given.classes[given.states[known]]
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(np.average(right, weights=weights))


def joining(training: TrainingGraph) -> str:
    """How the parts of a graph could be joined, in words."""
    if training.points is None:
        return "add links between the parts if they belong together"
    return "a builder with a spanning tree joins all parts"


def read_graph(
    estimator: Any, X: Any, builder: Any, callback: Callback | None = None
) -> TrainingGraph:
    """The graph of X; sets the estimator's n_features_in_ (and feature names) on the way.

    X is points, or a graph of any kind, of which no `builder` is needed; with a `PixelGrid`, the
    mask of an image.
    """
    graph = given_graph(X, builder, estimator.graph)
    if graph is not None:
        estimator.n_features_in_ = graph.n_nodes
        return TrainingGraph(graph, nodes=list(X.nodes) if hasattr(X, "is_directed") else None)
    chosen = make_builder(builder)
    if isinstance(chosen, PixelGrid):
        graph = chosen.build(X)
        estimator.n_features_in_ = graph.n_nodes
        return TrainingGraph(graph, pixels=chosen.coordinates(X), shape=np.shape(X))
    # A copy: the caller may change X.
    points = _checked(estimator, X, reset=True)
    if not isinstance(chosen, PointBuilder):
        points = frozen(checked_points(points), np.float64)
        return TrainingGraph(chosen.build(points), points, chosen, index=index_of(X))
    if hasattr(points, "tocoo"):
        _warn_of_empty(points)
    else:
        points = frozen(points, np.float64)
    plain, places, reduction = chosen.reduced(points)
    if reduction is not None:
        points = frozen(places, np.float64)
    graph = plain.build(points, callback=callback, checked=True)
    return TrainingGraph(graph, points, plain, reduction=reduction, index=index_of(X))


def training_labels(y: Any, training: TrainingGraph) -> LabelCode:
    """Labels of the training points; for an image, y may be one of the same shape.

    A mapping holds the labels of those that have one: by node, by the index of a data frame, or by
    row number. A pandas Series whose index is nodes of a networkx graph is such a mapping.
    """
    n_points = training.graph.n_nodes
    if training.index is not None:
        refuse_other_order(y, training.index)
    if isinstance(y, Mapping) or training.nodes is not None:
        y = labels_by_row(y, n_points, training.nodes, training.index)
    image = None if training.pixels is None else as_array(y)
    if image is None or image.ndim < 2 or image.shape == (n_points, 1) != training.shape:
        return read_labels(y, n_points)
    if image.shape != training.shape:
        turned = ", turned (y.T)" if image.shape[::-1] == training.shape else ""
        raise InvalidInputError(
            f"the image of labels y has shape {image.shape}, but the mask {training.shape}: give "
            f"one label per pixel of the mask{turned}, or one per True pixel as a list"
        )
    assert training.pixels is not None
    inside = read_labels(image[tuple(training.pixels.T)], n_points)
    outside = int(np.sum(read_labels(image.ravel(), image.size).states >= 0))
    outside -= int(np.sum(inside.states >= 0))
    if outside:
        warnings.warn(
            f"{outside} labels lie on pixels outside the mask and are left out: widen the mask, or "
            "move them",
            LabelWarning,
            stacklevel=3,
        )
    return inside


def read_labels(y: Any, n_points: int) -> LabelCode:
    """Classes and states of y; -1, None, NaN and "" mark unlabelled points."""
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    return parse_labels(y, n_points)


def similarities(estimator: Any, X: Any, training: TrainingGraph) -> tuple[Any, FloatArray | None]:
    """Similarities of unseen points to the training points, sparse (n_new, n), and their features.

    X holds their features; after fitting a graph, the similarities themselves. Features are those
    in which neighbours are looked for.
    """
    takes_sparse = training.builder is None or training.reduction is not None
    if is_graph(X) and not (takes_sparse and hasattr(X, "tocoo")):
        raise InvalidInputError(
            f"unseen points cannot be read from a {type(X).__name__}: pass their features as a "
            "dense array; after fitting a graph, their similarities to its nodes, (n_new, n)"
        )
    if training.builder is None:
        return _similarity_rows(estimator, X, training.graph.n_nodes), None
    unseen = _checked(estimator, X, reset=False)
    if training.reduction is not None:
        unseen = training.reduction.apply(unseen)
    return training.builder.attach(unseen, training.points), unseen


def is_graph(X: Any) -> bool:
    """Whether X is of a kind that may be a graph, not a table."""
    return isinstance(X, Graph) or hasattr(X, "tocoo") or hasattr(X, "is_directed")


def given_graph(X: Any, builder: Any, said: Any) -> Graph | None:
    """X as a graph, None if it holds points.

    A sparse one is a graph if it is symmetric, or the metric of the builder is "precomputed"; if it
    is square and not symmetric, the user must have `said` more than the name of a builder.
    """
    if not is_graph(X):
        return None
    if not hasattr(X, "tocoo"):
        return as_graph(X)
    precomputed = getattr(make_builder(builder), "metric", None) == PRECOMPUTED
    if X.ndim != 2 or X.shape[0] != X.shape[1]:
        return as_graph(X) if precomputed else None
    try:
        return as_graph(X)
    except AsymmetricError as error:
        lists = _as_neighbour_lists(X)
        if lists is not None:
            raise InvalidInputError(lists) from error
        if precomputed:
            raise
        if said is not None and not (isinstance(said, str) and ":" not in said):
            return None
        raise InvalidInputError(
            f"X is sparse and square, {X.shape}, but not symmetric, so that it may be features or "
            "a graph whose couplings are not mutual: for features say how neighbours are found, "
            "graph='knn:10,n_components=auto'; for a graph W pass (W + W.T) / 2, W.maximum(W.T) "
            "or W.minimum(W.T)"
        ) from error


def _as_neighbour_lists(X: Any) -> str | None:
    """What to say of a matrix that seems to hold distances to nearest neighbours, else None."""
    rows = X.tocsr()
    counts, values = np.diff(rows.indptr), rows.data
    if np.ptp(counts) > 0 or values.min() < 0 or np.ptp(values) == 0 or np.any(X.diagonal()):
        return None
    steps = np.diff(values.reshape(len(counts), -1), axis=1)
    if np.any(steps < 0):  # such lists begin with the nearest
        return None
    return (
        f"X is sparse, square and not symmetric, with {counts[0]} rising values in every row, as "
        "kneighbors_graph(mode='distance') gives: weights of a graph are similarities, and by "
        "distances the nearest would be joined the weakest. Pass the points themselves; or make "
        "similarities, W = X.copy(); W.data = np.exp(-(W.data / W.data.mean()) ** 2), and pass "
        "W.maximum(W.T)"
    )


def _warn_of_empty(points: Any) -> None:
    """Say which sparse points have no feature, if there are any."""
    empty = np.flatnonzero(abs(points).sum(axis=1) == 0)
    if 0 < len(empty) < points.shape[0]:
        warnings.warn(
            f"{len(empty)} rows of X are empty, the first of them row {empty[0]}: nothing says "
            "which points they resemble, and they are nearest to each other; drop them",
            GraphWarning,
            stacklevel=4,
        )


def warn_of_contradiction(points: FloatArray, code: LabelCode, remedy: str) -> None:
    """Say that two identical points have different labels, if there are any."""
    labelled = np.flatnonzero(code.states >= 0)
    _, group = np.unique(points[labelled], axis=0, return_inverse=True)
    order = np.lexsort((labelled, group.ravel()))
    nodes, group = labelled[order], group.ravel()[order]
    states = code.states[nodes]
    clash = np.flatnonzero((group[1:] == group[:-1]) & (states[1:] != states[:-1]))
    if len(clash):
        pair = slice(clash[0], clash[0] + 2)
        first, second = map(int, nodes[pair])
        labels = str(code.classes[states[pair][0]]), str(code.classes[states[pair][1]])
        warnings.warn(ContradictionWarning((first, second), labels, remedy), stacklevel=4)


def _checked(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as finite points, sparse or not, after scikit-learn's checks of features and names."""
    if hasattr(X, "tocoo"):
        X = checked_features(X)
        return _validated(estimator, X, reset)
    if isinstance(X, Mapping):
        raise NoTableError(
            "X is a mapping, whose order of points is not plain: pass pandas.DataFrame(X) if its "
            "values are columns, np.array(list(X.values())) if they are points"
        )
    if hasattr(X, "__next__"):
        raise NoTableError(f"X is a {type(X).__name__}, which can be read only once: pass list(X)")
    if isinstance(X, np.ndarray) and X.dtype.names is not None:
        raise NoTableError(
            f"X is a structured array with the fields {', '.join(X.dtype.names)}, not a table of "
            "numbers: pass numpy.lib.recfunctions.structured_to_unstructured(X)"
        )
    if isinstance(X, np.matrix):
        X = np.asarray(X)
    kinds = list(getattr(X, "dtypes", ())) if hasattr(X, "sparse") else []
    if kinds and all(type(kind).__name__ == "SparseDtype" for kind in kinds):
        X = X.sparse.to_dense()  # a frame is a table of features, never a graph
    try:
        cells = np.asarray(X)
    except ValueError:  # rows of different length, of which more is said later
        cells = np.empty(0)
    # Text such as 1_000, which Python reads as a number and no one else does.
    for place, cell in np.ndenumerate(cells) if cells.dtype.kind in "OU" else ():
        if isinstance(cell, str) and "_" in cell and place:
            axes = zip(("row", "column"), place, strict=False)
            where = ", ".join(f"{axis} {k}" for axis, k in axes)
            raise InvalidInputError(
                f"X holds the text {str(cell)!r} at {where}, but features are numbers: write them "
                "without _"
            )
    kind = getattr(getattr(X, "dtype", None), "kind", "f")
    if hasattr(X, "columns") or np.ma.isMaskedArray(X) or kind in "mMUST":
        checked_points(X)  # names what scikit-learn would convert in silence
    return checked_points(_validated(estimator, X, reset))


def _validated(estimator: Any, X: Any, reset: bool) -> Any:
    """X as scikit-learn gives it."""
    try:
        return validate_data(
            estimator, X, reset=reset, dtype=np.float64, order="C", ensure_all_finite=False,
            accept_sparse="csr",
        )  # fmt: skip
    except (ValueError, TypeError) as error:
        hint = ""
        if any(word in str(error) for word in ("convert", "sequence", "argument")):  # NumPy's words
            hint = "; X must be a table of numbers, one row of equal length per point"
        refusal = NoTableError if isinstance(error, TypeError) else InvalidInputError
        raise refusal(f"{error}{hint}") from error


def _similarity_rows(estimator: Any, X: Any, n_nodes: int) -> Any:
    """Non-negative similarities of unseen points to the nodes of a fitted graph."""
    from scipy.sparse import csr_array

    if not hasattr(X, "tocoo"):
        matrix = csr_array(checked_points(X))
    elif X.ndim == 2 and X.dtype.kind in "biuf":
        matrix = csr_array(X).astype(np.float64)
    else:
        raise InvalidInputError(
            f"similarities must be a 2-D table of real numbers, got shape {X.shape} and dtype "
            f"{X.dtype}: give one row per new point"
        )
    if matrix.shape[1] != n_nodes:
        raise InvalidInputError(
            f"X has {matrix.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{n_nodes}: after fitting a graph, give the similarities of the new points to each of "
            "its nodes"
        )
    if matrix.nnz and (not np.all(np.isfinite(matrix.data)) or matrix.data.min() < 0):
        raise InvalidInputError(
            "similarities to the graph's nodes must be finite and >= 0, because they are weights "
            "of a mean: drop the others"
        )
    return matrix


# -- which label is whose --------------------------------------------------------------------------
# Lists and arrays go by position, and so does pandas, as everywhere in scikit-learn; but a Series
# with the row names of X in another order is refused: its positions are surely not meant.


def index_of(table: Any) -> Any:
    """The index of a pandas object, else None."""
    index = getattr(table, "index", None)  # a list has a method of this name
    return index if hasattr(index, "get_indexer") else None


def refuse_other_order(y: Any, index: Any) -> None:
    """Refuse a y that names the same rows as the `index` of X, but in another order."""
    names = index_of(y)
    if names is None or len(names) != len(index) or not (names.is_unique and index.is_unique):
        return
    place = names.get_indexer(index)
    moved = place != np.arange(len(place))
    if np.all(place >= 0) and np.any(moved):
        row = int(np.argmax(moved))
        raise InvalidInputError(
            f"y and X have the same index in different orders (row {row} is {names[row]!r} in y, "
            f"{index[row]!r} in X), and labels go by position: pass y.loc[X.index], or y.to_numpy()"
            " if their order is right as it is"
        )


def labels_by_row(y: Any, n_points: int, nodes: Sequence[Hashable] | None, index: Any) -> Any:
    """One label per point, None where there is none, if y names its points; else y as it is.

    A mapping, or a pandas Series whose index is nodes of a networkx graph, names its points; rows
    of a data frame are named by its index.
    """
    if not isinstance(y, Mapping):
        index_of_y = index_of(y)
        if index_of_y is None or nodes is None:
            return y
        known = set(nodes)
        is_node = [name in known for name in index_of_y]
        # An index that names no node, or is a mere count of rows, does not say whose labels are.
        counts = len(is_node) == n_points and list(index_of_y) == list(range(n_points))
        if not (all(is_node) or (any(is_node) and not counts)):
            return y
        if not index_of_y.is_unique:
            twice = index_of_y[index_of_y.duplicated()][0]
            raise InvalidInputError(f"y has more than one label for the node {twice!r}: keep one")
        y = dict(zip(index_of_y, np.asarray(y, dtype=object).ravel(), strict=True))
    names: Any = nodes if nodes is not None else range(n_points) if index is None else index
    if index is not None and not index.is_unique:
        raise InvalidInputError(
            "the index of X repeats, so that the keys of y do not say which rows are meant: make it"
            " unique, X.reset_index(drop=True), or give one label per row"
        )
    place = {name: k for k, name in enumerate(names)}
    labels = np.full(n_points, None, dtype=object)
    for name, label in y.items():
        if name not in place:
            among = "the nodes of the graph"
            if nodes is None and (index is None or list(index) == list(range(n_points))):
                among = f"the rows 0 to {n_points - 1}"
            elif nodes is None:
                first = ", ".join(map(repr, index[:3].tolist()))
                among = f"the index of X ({first}{', ...' if n_points > 3 else ''})"
            raise InvalidInputError(
                f"y has a label for {name!r}, which is not among {among}: correct its keys"
            )
        labels[place[name]] = label
    return labels
