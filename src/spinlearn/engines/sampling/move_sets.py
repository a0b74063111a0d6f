"""Regions that move as one: groups that the graph holds together, pieces where labellings differ.

At low temperature the labellings fall into valleys that differ on whole regions (one class has
taken over a band of another). Sweeps cannot carry a walker from one valley to the next, but moves
of such a region can. The library is collected once, from the tree of the graph's modules, cooled
walkers and a ground state, and it is frozen before anything is measured.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.minimizers.modules import ModuleTree
from spinlearn.model.arrays import BoolArray, FloatArray, StateArray
from spinlearn.model.potts import FREE, PottsModel

MAX_REGIONS = 300
SMALLEST, LARGEST = 1 / 50, 1 / 2  # of all nodes; of two parts the smaller one moves
MANY = 300_000  # nodes, beyond which modules would take too long
HARVESTED = 256  # cooled labellings in which regions are looked for
REGION_TRIES = (1, 40)  # per step: least, and most where a sweep costs much more
SELDOM = 1 / 50  # of the moves of the busiest region: others are not worth their tries


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
        """The library by field, as kernels take it."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def count(self) -> int:
        """Number of regions."""
        return len(self.ptr) - 1

    def busy(self, moves: npt.NDArray[np.int64]) -> Regions:
        """Those that move, by the number of moves of each."""
        chosen = np.flatnonzero(moves > SELDOM * moves.max(initial=0))
        nodes, ptr = _parts(self.nodes, self.ptr, chosen)
        borders, border_ptr = _parts(self.borders, self.border_ptr, chosen)
        couplings, _ = _parts(self.border_couplings, self.border_ptr, chosen)
        return Regions(ptr, nodes, border_ptr, borders, couplings)


def _parts(
    values: npt.NDArray[Any], ptr: npt.NDArray[np.int64], chosen: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Some of the parts of an array that `ptr` divides, and where they begin."""
    parts = [values[ptr[k] : ptr[k + 1]] for k in chosen]
    sizes = [len(part) for part in parts]
    return np.concatenate([values[:0], *parts]), np.cumsum([0, *sizes], dtype=np.int64)


def harvest(
    model: PottsModel,
    labellings: StateArray,
    ground: StateArray | None,
    generator: np.random.Generator,
) -> Regions:
    """All free nodes; groups of the graph; where labellings differ from others and the ground."""
    free = model.free_nodes
    least, most = max(2, int(SMALLEST * model.n_nodes)), int(LARGEST * model.n_nodes)
    found: dict[bytes, npt.NDArray[np.intp]] = {}
    if len(free):
        found[free.tobytes()] = free
    pieces: list[npt.NDArray[np.intp]] = []
    if model.n_nodes <= MANY:
        groups = ModuleTree(model.graph).groups(least, most)
        pieces += [group[model.clamped[group] == FREE] for group in groups]
    for labelling in labellings:
        others = [labellings[generator.integers(len(labellings))]]
        if ground is not None:
            others.append(ground)
        for other in others:
            pieces += _pieces(model, labelling != other)
    for region in pieces:
        if least <= len(region) <= most:
            found.setdefault(region.tobytes(), region)
    sets = list(found.values())
    if len(sets) > MAX_REGIONS:
        chosen = 1 + generator.permutation(len(sets) - 1)[: MAX_REGIONS - 1]
        sets = [sets[0], *(sets[k] for k in np.sort(chosen))]
    return regions_of(model, sets)


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


def regions_of(model: PottsModel, sets: list[npt.NDArray[np.intp]]) -> Regions:
    """Sets of free nodes with their borders."""
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


def cold_regions(
    model: PottsModel,
    cold: StateArray,
    ground: StateArray | None,
    seed: np.random.SeedSequence,
) -> tuple[Regions, StateArray]:
    """Regions in which cold labellings differ, and the coldest labelling known."""
    generator = np.random.default_rng(seed)
    chosen = generator.permutation(len(cold))[:HARVESTED]
    cold = cold[np.sort(chosen)]
    regions = harvest(model, cold, ground, generator)
    known = cold if ground is None else np.concatenate([cold, ground[None]])
    return regions, known[np.argmin(model.energy(known))]


def region_tries(model: PottsModel, regions: Regions) -> int:
    """Region moves per step that cost about as much as a sweep of one walker."""
    degree = 2 * model.graph.n_edges / max(model.n_nodes, 1)
    looked_at = len(regions.nodes) * (1 + degree)  # nodes and edges, of all regions
    work = (model.n_nodes + model.graph.n_edges) * regions.count / (2 * max(looked_at, 1))
    return int(np.clip(work, *REGION_TRIES))
