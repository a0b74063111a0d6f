"""A second opinion on belief propagation: tree-reweighted messages.

Tree-reweighted propagation minimises a convex bound of the free energy (Wainwright, Jaakkola &
Willsky 2005), so that it has one fixed point, and it errs the other way: belief propagation counts
evidence that comes round a loop again and is too sure, the reweighted one is not sure enough. Where
both say the same, belief propagation is nearly always right. Edge weights rho are the shares of
random spanning trees that an edge is in.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from spinlearn.core.arrays import FloatArray
from spinlearn.messages.layout import MessageLayout
from spinlearn.messages.propagation import Propagation

TREES = 10
TOL = 1e-3  # far below differences that matter
MAX_SWEEPS = 60


def tree_weights(layout: MessageLayout, seed: int = 0) -> FloatArray:
    """Share of random spanning forests that holds an edge between free nodes, (m,), in (0, 1].

    One more forest, spread evenly over all edges, keeps every share above zero.
    """
    edges, n = layout.free.edges.astype(np.int64), layout.n_nodes
    m = len(edges)
    if m == 0:
        return np.ones(0)
    generator = np.random.default_rng(seed)
    links = coo_array((np.arange(m) + 1.0, edges.T), shape=(n, n)).tocsr()
    stored = links.data.astype(np.int64) - 1  # edge of every entry
    counts = np.zeros(m)
    for _ in range(TREES):
        # Ranks as lengths: all different and none zero, so that they name the edges of the tree.
        edge_at = generator.permutation(m)
        lengths = np.empty(m)
        lengths[edge_at] = np.arange(m) + 1.0
        links.data[:] = lengths[stored]
        tree = minimum_spanning_tree(links)
        counts[edge_at[tree.data.astype(np.int64) - 1]] += 1
    n_parts, _ = connected_components(links, directed=False)
    return np.asarray((counts + (n - n_parts) / m) / (TREES + 1))


class SecondOpinion:
    """Tree-reweighted marginals of a model, asked for at falling temperatures."""

    def __init__(self, layout: MessageLayout) -> None:
        self.layout = layout
        # The class term stays what belief propagation found it to be: a field.
        self.fixed = copy(layout)
        self.fixed.coefficient = 0.0
        self.fixed.fields = np.array(layout.fields)
        self.propagation = Propagation(
            self.fixed,
            tol=TOL,
            max_sweeps=MAX_SWEEPS,
            schedule="residual",
            weights=tree_weights(layout),
        )

    def doubt(self, marginals: FloatArray, temperature: float) -> FloatArray:
        """Largest difference in probability to marginals (n, q) of the free nodes, (n,)."""
        own = marginals[self.layout.order]
        self.fixed.fields[:] = self.layout.fields + self.layout.class_fields(own)
        self.propagation.settle(temperature)
        return np.asarray(
            np.abs(self.propagation.read().marginals - marginals).max(axis=1, initial=0.0)
        )
