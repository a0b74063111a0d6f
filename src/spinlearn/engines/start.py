"""Where the walkers of a run start: labellings, levels, the regions that cold ones differ in."""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.model import PottsModel
from spinlearn.engines.regions import Regions, harvest
from spinlearn.engines.walker_group import Walkers

HARVESTED = 256  # cooled labellings in which regions are looked for
REGION_TRIES = (1, 40)  # per step: least, and most where a sweep costs much more


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


def spread(groups: list[Walkers], betas: FloatArray, ground: StateArray | None) -> None:
    """Spread the walkers over the levels; half of them start in the state a cut gives."""
    for group in groups:
        states = group.states()
        if ground is not None:
            states[::2] = ground
        group.use_ladder(betas)
        group.put_states(states)
        group.levels[:] = np.arange(group.n_walkers) * len(betas) // group.n_walkers
        group.apply_levels()
        group.sweep(20)
