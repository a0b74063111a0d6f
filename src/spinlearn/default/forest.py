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
from scipy.sparse import coo_array, csr_array, diags_array

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
TOLERANCE = 1e-4  # of eigenvectors: at 1e-3 cuts of near equal groups differ by 20 %
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
            cuts = _weakest_cuts(runs, tree.begin[:-1], tree.end[:-1])
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
    return float(_weakest_cuts(inside, np.zeros(1, np.intp), np.array([len(points)]))[0])


def _weakest_cuts(
    matrix: csr_array, begins: npt.NDArray[np.intp], ends: npt.NDArray[np.intp]
) -> FloatArray:
    """The same of runs of consecutive points."""
    from spinlearn.kernels.weak_cuts import weakest_cuts

    arrays = matrix.indptr, matrix.indices, matrix.data
    return np.asarray(weakest_cuts(*arrays, begins, ends, FEWEST, LEAST_PART, TOLERANCE))
