"""Trees of a graph's modules, and how weakly the two halves of every group hang together.

How two groups A, B that make up a third are joined is judged pairwise, border against interior:

    kappa = (J(A, B) + s) / (min(c_A, c_B) + s),

J(A, B) the coupling between the two, c the weakest cut of each into parts that are not too unequal,
s the coupling of a few links, below which numbers are chance. Slices of one cloud and arcs of one
ring are joined at least as strongly as they hold together themselves; how much more strongly is a
matter of the data's dimension (kappa is about 1 on curves, 3 in ten dimensions). So kappa is taken
relative to what is usual in the same tree: most groups that are joined are parts of one class.

The weakest cut: points are ordered by the second eigenvector of the normalised adjacency
D^-1/2 J D^-1/2 of the group (Fiedler's vector, Shi & Malik 2000) and cut in two at every place; of
all cuts whose smaller part is large enough the one with the least summed coupling across counts.

Trees depend on the order in which nodes are looked at; several are grown, and what follows from
them is averaged. Of many points, trees are grown of their small modules instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh
from threadpoolctl import threadpool_limits

from spinlearn.constants import FEW_LINKS, USUAL
from spinlearn.default.walks import SAMPLE
from spinlearn.linear import weight_matrix
from spinlearn.minimizers.modules import FINE, ModuleTree
from spinlearn.minimizers.multilevel import modules
from spinlearn.model.arrays import FloatArray
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel

TREES = 5  # more change little
FEWEST = 6  # points: fewer cannot be judged
DENSE = 400  # points up to which the matrix is dense
TOLERANCE = 1e-3
ONE = 1e-9  # below one: second eigenvalues above are those of a group in several pieces
LEAST_PART = 0.2  # of the volume, in the smaller part of a cut
PART_OF_A_CLASS = 0.1  # of the mean class: smaller groups do not say what is usual


@dataclass(frozen=True, eq=False)
class SplitTree:
    """A tree with the points and the kappa of every group that was joined."""

    tree: ModuleTree
    sizes: FloatArray  # (2k - 1,)
    log_kappa: FloatArray  # (k - 1,)

    def usual(self, n_classes: int, n_borders: int = 0, n_usual: int = 0) -> float:
        """Median of ln kappa over groups that are not small for one of so many classes.

        So many of the smallest, which may be borders between classes, are left out, and so many of
        the value of other data are among them.
        """
        if len(self.log_kappa) == 0:
            return USUAL
        smaller = self.sizes[self.tree.children].min(axis=1)
        least = PART_OF_A_CLASS * float(self.sizes[-1]) / n_classes
        values = np.sort(self.log_kappa[smaller >= max(FEWEST, least)])
        values = np.concatenate([values[n_borders:], np.full(n_usual, USUAL)])
        return float(np.median(values)) if len(values) else USUAL


class Forest:
    """Trees of one graph, whose weights are couplings; negative ones count as none.

    `weights` are those of the graph. `member` is the node of every point: itself, or its small
    module where points are many. `sizes` are the points of every node, `matrix` the couplings
    between nodes in units of the mean. `check` is called between pieces of work; it may raise to
    end it.
    """

    def __init__(
        self, graph: Graph, seed: int = 0, check: Callable[[], None] = lambda: None
    ) -> None:
        self.weights = graph.weights
        weights = np.maximum(graph.weights, 0.0)
        mean = float(weights[weights > 0].mean()) if np.any(weights > 0) else 1.0
        graph = graph.with_weights(weights / mean)
        self.member: npt.NDArray[np.intp] = np.arange(graph.n_nodes)
        inner: FloatArray | None = None  # coupling inside of nodes
        if graph.n_nodes > SAMPLE:
            model = PottsModel(graph, 2)
            generator = np.random.default_rng(seed)
            self.member = modules(model, FINE, generator).astype(np.intp)
            graph, inner = _contracted(graph, self.member)
        self.n_nodes = graph.n_nodes
        self.sizes: FloatArray = np.bincount(self.member).astype(np.float64)
        self.matrix: csr_array = weight_matrix(graph)
        if inner is not None:
            self.matrix = csr_array(self.matrix + diags_array(2 * inner))
        trees = []
        for k in range(TREES):
            check()
            tree = ModuleTree(graph, seed + k, inner)
            sums = np.concatenate([[0.0], np.cumsum(self.sizes[tree.order])])
            runs = self.matrix[tree.order][:, tree.order]
            with threadpool_limits(1):  # small matrices: threads would only wait for each other
                ends = zip(tree.begin[:-1].tolist(), tree.end[:-1].tolist(), strict=True)
                cuts = np.array([_cut(runs.indptr, runs.indices, runs.data, *run) for run in ends])
            weaker = cuts[tree.children].min(axis=1) if len(tree.children) else np.empty(0)
            kappa = (tree.crossing + FEW_LINKS) / (weaker + FEW_LINKS)
            trees.append(SplitTree(tree, sums[tree.end] - sums[tree.begin], np.log(kappa)))
        self.trees = tuple(trees)

    def central(self, points: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Points of a group in the order of how strongly they are coupled to the others in it."""
        nodes, place = np.unique(self.member[points], return_inverse=True)
        inner = np.asarray(self.matrix[nodes][:, nodes].sum(axis=1)).ravel() / self.sizes[nodes]
        return np.asarray(points[np.argsort(-inner[place], kind="stable")])


def _contracted(graph: Graph, member: npt.NDArray[np.intp]) -> tuple[Graph, FloatArray]:
    """The graph of modules, and the coupling inside each."""
    k = int(member.max()) + 1
    ends = member[graph.edges]
    apart = ends[:, 0] != ends[:, 1]
    inner = np.bincount(ends[~apart, 0], weights=graph.weights[~apart], minlength=k)
    pairs = np.sort(ends[apart], axis=1)
    summed = coo_array((graph.weights[apart], (pairs[:, 0], pairs[:, 1])), shape=(k, k))
    summed = summed.tocsr().tocoo()
    edges = np.column_stack([summed.row, summed.col])
    return Graph(k, edges, summed.data), np.asarray(inner, dtype=np.float64)


def weakest_cut(matrix: csr_array, points: npt.NDArray[np.intp]) -> float:
    """Summed coupling across the weakest cut of the group `points`; couplings are >= 0, sorted.

    Zero for groups that are too small to judge; of a group in several pieces the largest is looked
    at.
    """
    inside = matrix[points][:, points]
    return _cut(inside.indptr, inside.indices, inside.data, 0, len(points))


def _cut(
    indptr: npt.NDArray[np.integer],
    indices: npt.NDArray[np.integer],
    data: FloatArray,
    begin: int,
    end: int,
) -> float:
    """The weakest cut of the run of nodes from `begin` to `end` of a matrix in rows."""
    size = end - begin
    if size < FEWEST:
        return 0.0
    first, last = int(indptr[begin]), int(indptr[end])
    columns = indices[first:last] - begin
    kept = (columns >= 0) & (columns < size)
    rows = np.repeat(np.arange(size), np.diff(indptr[begin : end + 1]))[kept]
    columns, weights = columns[kept], data[first:last][kept]
    degrees: FloatArray = np.bincount(rows, weights=weights, minlength=size).astype(np.float64)
    in_pieces = bool(np.any(degrees == 0))
    if not in_pieces:
        roots = 1 / np.sqrt(degrees)
        values = weights * roots[rows] * roots[columns]
        if size <= DENSE:
            normal = np.zeros((size, size))
            normal[rows, columns] = values
            found, vectors = eigh(normal, subset_by_index=[size - 2] * 2, check_finite=False)
            if len(found) == 0:  # LAPACK may lose one of many equal eigenvalues
                found, vectors = (part[..., -2:] for part in eigh(normal, check_finite=False))
        else:
            sparse = csr_array((values, (rows, columns)), shape=(size, size))
            start = np.sqrt(degrees) * (1 + 0.1 * np.cos(np.arange(size)))
            found, vectors = eigsh(sparse, k=2, which="LA", tol=TOLERANCE, v0=start)
        in_pieces = found[0] > 1 - ONE
    if in_pieces:
        links = csr_array((weights, (rows, columns)), shape=(size, size))
        _, piece = connected_components(links, directed=False)
        inner = np.flatnonzero(piece == np.bincount(piece).argmax())
        largest = links[inner][:, inner]
        if len(inner) == size or len(inner) < FEWEST:
            return 0.0
        return _cut(largest.indptr, largest.indices, largest.data, 0, len(inner))
    order = np.argsort(vectors[:, 0] * roots, kind="stable")  # by Fiedler's vector, up to sign
    place = np.empty(size, dtype=np.intp)
    place[order] = np.arange(size)
    low, high = np.minimum(place[rows], place[columns]), np.maximum(place[rows], place[columns])
    change = np.bincount(low, weights=weights / 2, minlength=size)
    change -= np.bincount(high, weights=weights / 2, minlength=size)
    across = np.cumsum(change)[:-1]
    before = np.cumsum(degrees[order])[:-1]
    smaller = np.minimum(before, degrees.sum() - before)
    allowed = smaller >= min(LEAST_PART * degrees.sum(), smaller.max())
    return float(np.min(across[allowed]))
