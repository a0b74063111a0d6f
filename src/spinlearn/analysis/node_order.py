"""An order of nodes that keeps neighbours close in memory, where sweeps find them in the cache."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import BoolArray, IntArray

BALL = 20_000  # nodes; with ten neighbours and ten states their messages take 10 MB


def near_order(
    indptr: IntArray, neighbors: IntArray, left_out: BoolArray | None = None
) -> npt.NDArray[np.int32]:
    """Nodes of a graph, given by its rows of neighbours, those left out not among them.

    Up to the size of a ball this is reverse Cuthill-McKee, beyond see `kernels.node_order`.
    """
    from spinlearn.kernels.node_order import list_in_balls

    n = len(indptr) - 1
    if n <= BALL and left_out is None:
        return _narrow(indptr, neighbors)
    listed = np.zeros(n, dtype=np.bool_) if left_out is None else left_out.copy()
    order, borders = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    count = list_in_balls(indptr, neighbors, BALL, listed, borders, order)
    return order[:count] if count == n else order[:count].copy()


def _narrow(indptr: Any, neighbors: Any) -> npt.NDArray[np.int32]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n = len(indptr) - 1
    links = csr_array((np.ones(len(neighbors), dtype=np.int8), neighbors, indptr), shape=(n, n))
    order = reverse_cuthill_mckee(links, symmetric_mode=True) if n else []
    return np.asarray(order, dtype=np.int32)
