"""Regions that move as one: groups that the graph holds together, pieces where labellings differ.

At low temperature the labellings fall into valleys that differ on whole regions (one class has
taken over a band of another). Sweeps cannot carry a walker from one valley to the next, but moves
of such a region can. The library is collected once, from the tree of the graph's modules, cooled
walkers and a ground state, and it is frozen before anything is measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from spinlearn.minimizers.modules import ModuleTree
from spinlearn.model.arrays import BoolArray, FloatArray, IndexArray, StateArray
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
    couplings: FloatArray

    @property
    def count(self) -> int:
        """Number of regions."""
        return len(self.ptr) - 1

    def busy(self, model: PottsModel, moves: IndexArray) -> Regions:
        """Those that move, by the number of moves of each."""
        chosen = np.flatnonzero(moves > SELDOM * moves.max(initial=0))
        sets = np.split(self.nodes.astype(np.intp), self.ptr[1:-1])
        return regions_of(model, [sets[k] for k in chosen])


def harvest(
    model: PottsModel,
    labellings: StateArray,
    ground: StateArray | None,
    generator: np.random.Generator,
) -> Regions:
    """All free nodes; groups of the graph; where labellings differ from others and the ground."""
    free = model.free_nodes
    least, most = max(2, int(SMALLEST * model.n_nodes)), int(LARGEST * model.n_nodes)
    regions: dict[bytes, IndexArray] = {}
    if len(free):
        regions[free.tobytes()] = free
    pieces: list[IndexArray] = []
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
            regions.setdefault(region.tobytes(), region)
    sets = list(regions.values())
    if len(sets) > MAX_REGIONS:
        chosen = 1 + generator.permutation(len(sets) - 1)[: MAX_REGIONS - 1]
        sets = [sets[0], *(sets[k] for k in np.sort(chosen))]
    return regions_of(model, sets)


def _pieces(model: PottsModel, differ: BoolArray) -> list[IndexArray]:
    """Connected components of the nodes where two labellings differ."""
    nodes = np.flatnonzero(differ)
    if len(nodes) == 0:
        return []
    u, v = model.graph.edges[differ[model.graph.edges].all(axis=1)].T
    links = coo_array((np.ones(len(u)), (u, v)), shape=(model.n_nodes, model.n_nodes))
    part = connected_components(links, directed=False)[1][nodes]
    order = np.argsort(part, kind="stable")
    return np.split(nodes[order], np.flatnonzero(np.diff(part[order])) + 1)


def regions_of(model: PottsModel, sets: list[IndexArray]) -> Regions:
    """Sets of free nodes with their borders."""
    u, v = model.graph.edges.T
    leaving, borders = [np.empty(0, dtype=np.intp)], [np.empty((0, 2), dtype=np.int32)]
    for region in sets:
        inside = np.zeros(model.n_nodes, dtype=bool)
        inside[region] = True
        leaving.append(np.flatnonzero(inside[u] != inside[v]))
        pairs = model.graph.edges[leaving[-1]]
        borders.append(np.where(inside[pairs[:, :1]], pairs, pairs[:, ::-1]))
    return Regions(
        ptr=np.cumsum([0, *map(len, sets)], dtype=np.int64),
        nodes=np.concatenate([np.empty(0, dtype=np.intp), *sets]).astype(np.int32),
        border_ptr=np.cumsum([*map(len, borders)], dtype=np.int64),
        borders=np.concatenate(borders).astype(np.int32),
        couplings=model.couplings[np.concatenate(leaving)],
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
