"""Regions that move as one: pieces in which cold labellings differ.

At low temperature the labellings fall into valleys that differ on whole regions (one class has
taken over a band of another). Sweeps cannot carry a walker from one valley to the next, but
exchanging two classes on such a region can. The library is collected once from cooled walkers and
a ground state, and frozen: moves that use it are ordinary Metropolis moves.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import BoolArray, FloatArray, StateArray
from spinlearn.core.model import PottsModel

MAX_REGIONS = 300


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """Sets of free nodes with the edges that leave them; border rows are (inside, outside)."""

    ptr: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.int32]
    border_ptr: npt.NDArray[np.int64]
    borders: npt.NDArray[np.int32]
    border_couplings: FloatArray

    @classmethod
    def none(cls) -> Regions:
        """An empty library."""
        ptr = np.zeros(1, dtype=np.int64)
        nodes = np.empty(0, dtype=np.int32)
        return cls(ptr, nodes, ptr, nodes.reshape(0, 2), np.empty(0))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The library by field, for a checkpoint."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def count(self) -> int:
        """Number of regions."""
        return len(self.ptr) - 1


def harvest(
    model: PottsModel,
    labellings: StateArray,
    ground: StateArray | None,
    generator: np.random.Generator,
) -> Regions:
    """The regions in which the labellings differ from each other and from the ground state."""
    free = model.free_nodes
    smallest = max(2, model.n_nodes // 50)
    found: dict[bytes, npt.NDArray[np.intp]] = {}
    if len(free):
        found[free.tobytes()] = free
    for labelling in labellings:
        others = [labellings[generator.integers(len(labellings))]]
        if ground is not None:
            others.append(ground)
        for other in others:
            for region in _pieces(model, labelling != other):
                if len(region) >= smallest:
                    found.setdefault(region.tobytes(), region)
    sets = list(found.values())
    if len(sets) > MAX_REGIONS:
        chosen = 1 + generator.permutation(len(sets) - 1)[: MAX_REGIONS - 1]
        sets = [sets[0], *(sets[k] for k in np.sort(chosen))]
    return _with_borders(model, sets)


def _pieces(model: PottsModel, differ: BoolArray) -> list[npt.NDArray[np.intp]]:
    """Connected components of the nodes where two labellings differ."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    nodes = np.flatnonzero(differ)
    if len(nodes) == 0:
        return []
    u, v = model.graph.edges.T
    inner = differ[u] & differ[v]
    number = np.zeros(model.n_nodes, dtype=np.int32)
    number[nodes] = np.arange(len(nodes))
    links = coo_array(
        (np.ones(int(inner.sum())), (number[u[inner]], number[v[inner]])),
        shape=(len(nodes), len(nodes)),
    )
    _, part = connected_components(links, directed=False)
    order = np.argsort(part, kind="stable")
    return np.split(nodes[order], np.flatnonzero(np.diff(part[order])) + 1)


def _with_borders(model: PottsModel, sets: list[npt.NDArray[np.intp]]) -> Regions:
    u, v = model.graph.edges.T
    borders, couplings, border_sizes = [], [], []
    for region in sets:
        inside = np.zeros(model.n_nodes, dtype=bool)
        inside[region] = True
        leaving = np.flatnonzero(inside[u] != inside[v])
        flip = ~inside[u[leaving]]
        pairs = model.graph.edges[leaving].copy()
        pairs[flip] = pairs[flip][:, ::-1]
        borders.append(pairs)
        couplings.append(model.couplings[leaving])
        border_sizes.append(len(leaving))
    return Regions(
        ptr=np.concatenate([[0], np.cumsum([len(s) for s in sets])]).astype(np.int64),
        nodes=np.concatenate([*sets, np.empty(0, dtype=np.intp)]).astype(np.int32),
        border_ptr=np.concatenate([[0], np.cumsum(border_sizes)]).astype(np.int64),
        borders=np.concatenate([*borders, np.empty((0, 2), dtype=np.int32)]).astype(np.int32),
        border_couplings=np.concatenate([*couplings, np.empty(0)]),
    )
