"""The state of a sampling run as plain arrays: what a checkpoint holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spinlearn.analysis.energy_bins import EnergyBins
from spinlearn.core.array_checks import FINITE, same_shapes, within
from spinlearn.core.array_file import Arrays
from spinlearn.engines.regions import Regions
from spinlearn.engines.saved_state import restoring
from spinlearn.engines.trips import Trips

if TYPE_CHECKING:
    from spinlearn.engines.walk import Walk


def state_of(walk: Walk) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a run that has left the ladder phase."""
    arrays: Arrays = {
        "betas": walk.betas,
        "bin_edges": walk.tallies.histogram.bins.edges,
        "been_hot": np.concatenate(walk.trips.been_hot),
        "been_cold": np.concatenate(walk.trips.been_cold),
        "occupancy": walk.occupancy,
        "met": walk.met,
    }
    if walk.eta is not None:
        arrays["eta"] = walk.eta
    arrays |= walk.tallies.arrays()
    arrays |= {f"regions_{k}": v for k, v in walk.regions.arrays().items()}
    for k, group in enumerate(walk.groups):
        arrays |= {f"group{k}_{name}": v for name, v in group.arrays().items()}
    header = {
        "phase": walk.phase,
        "rounds": walk.rounds,
        "burn": walk.burn,
        "burn_rounds": walk.burn_rounds,
        "next_check": walk.next_check,
        "first_cold": walk.first_cold,
        "tries": walk.tries,
        "trips": walk.trips.count,
        "log_z_first": walk.log_z_first,
        "worst": walk.worst if np.isfinite(walk.worst) else None,
        "seconds": walk.seconds,
    }
    return header, arrays


def put_state(walk: Walk, header: dict[str, Any], arrays: Arrays) -> None:
    """Bring a new run to where the saved one was; a state that does not fit it is refused."""
    with restoring():
        _put_state(walk, header, arrays)


def _put_state(walk: Walk, header: dict[str, Any], arrays: Arrays) -> None:
    _check_ladder(arrays)
    walk.phase, walk.rounds, walk.burn = header["phase"], header["rounds"], header["burn"]
    walk.burn_rounds, walk.next_check = header["burn_rounds"], header["next_check"]
    walk.first_cold, walk.tries = header["first_cold"], header["tries"]
    walk.log_z_first = header["log_z_first"]
    walk.worst = np.inf if header["worst"] is None else header["worst"]
    walk.seconds = header["seconds"]
    walk.betas, walk.eta = arrays["betas"], arrays.get("eta")
    walk.occupancy, walk.met = arrays["occupancy"], arrays["met"]
    walk.regions = Regions(**{k[8:]: v for k, v in arrays.items() if k.startswith("regions_")})
    _check_regions(walk.regions, walk.model.n_nodes)
    if not walk.plan.pinned:
        seeds = walk.seeds[: walk.plan.n_groups]
        walk.groups = [walk.plan.kind(walk.model, seed) for seed in seeds]
    walk.lay_out(EnergyBins(arrays["bin_edges"]))
    same_shapes(arrays, walk.tallies.arrays())
    walk.tallies.restore(arrays)
    walk.trips = Trips(walk.groups, len(walk.betas))
    walk.trips.count = header["trips"]
    begin = 0
    for k, group in enumerate(walk.groups):
        group.use_regions(walk.regions)
        if not walk.plan.pinned:
            group.use_ladder(walk.betas)
        same_shapes(arrays, group.arrays(), f"group{k}_")
        within("states", arrays[f"group{k}_states"], 0, walk.model.n_states - 1)
        within("levels", arrays[f"group{k}_levels"], 0, len(walk.betas) - 1)
        group.restore({n: arrays[f"group{k}_{n}"] for n in group.arrays()})
        end = begin + group.n_walkers
        for name in ("been_hot", "been_cold"):
            same_shapes({name: arrays[name][begin:end]}, {name: getattr(walk.trips, name)[k]})
        walk.trips.been_hot[k][:] = arrays["been_hot"][begin:end]
        walk.trips.been_cold[k][:] = arrays["been_cold"][begin:end]
        begin = end
    if walk.phase == "production":
        # It was killed before its answer was written: one more round would make another answer.
        walk.stopped = walk.worst <= walk.plan.tol or walk.sweeps >= walk.plan.max_sweeps


def _check_ladder(arrays: Arrays) -> None:
    """The ladder and what is counted on it."""
    betas, edges = arrays["betas"], arrays["bin_edges"]
    if betas.ndim != 1 or len(betas) == 0 or edges.ndim != 1 or len(edges) < 2:
        raise ValueError("the ladder or the bins of energy are missing")
    within("betas", betas, 0.0, FINITE)
    within("bin_edges", edges, -FINITE, FINITE)
    within("widths of bins", np.diff(edges), 0.0, FINITE)
    per_level = {"occupancy": betas, "met": np.empty((len(betas), 2))}
    if "eta" in arrays:
        per_level["eta"] = betas
        within("eta", arrays["eta"], -FINITE, FINITE)
    same_shapes(arrays, per_level)


def _check_regions(regions: Regions, n_nodes: int) -> None:
    """Places in the library lead into it, and its nodes are nodes."""
    if regions.borders.shape != (len(regions.border_couplings), 2):
        raise ValueError("regions have borders without couplings")
    for name, ptr, size in (
        ("regions_ptr", regions.ptr, len(regions.nodes)),
        ("regions_border_ptr", regions.border_ptr, len(regions.borders)),
    ):
        if ptr.shape != regions.ptr.shape or ptr[0] != 0 or ptr[-1] != size:
            raise ValueError(f"{name} leads beyond its array")
        within(name, np.diff(ptr), 0, size)
    within("regions_nodes", regions.nodes, 0, n_nodes - 1)
    within("regions_borders", regions.borders, 0, n_nodes - 1)
    within("regions_border_couplings", regions.border_couplings, -FINITE, FINITE)
