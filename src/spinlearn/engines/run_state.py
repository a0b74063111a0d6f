"""The state of a sampling run as plain arrays: what a checkpoint holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spinlearn.analysis.energy_bins import EnergyBins
from spinlearn.core.array_checks import FINITE, same_shapes, within
from spinlearn.core.array_file import Arrays
from spinlearn.engines.regions import Regions
from spinlearn.engines.saved_state import restoring

if TYPE_CHECKING:
    from spinlearn.engines.sampling_run import SamplingRun

NUMBERS = (
    "phase", "rounds", "burn", "burn_rounds", "next_check", "first_cold", "tries", "log_z_first",
    "log_z_first_error", "seconds",
)  # fmt: skip


def state_of(run: SamplingRun) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a run that has left the ladder phase."""
    own_header, own_arrays = run.own_state()
    arrays: Arrays = {
        "betas": run.betas,
        "bin_edges": run.tallies.histogram.bins.edges,
        **run.tallies.arrays(),
        **{f"regions_{k}": v for k, v in run.regions.arrays().items()},
        **{f"own_{k}": v for k, v in own_arrays.items()},
    }
    for k, group in enumerate(run.groups):
        arrays |= {f"group{k}_{name}": v for name, v in group.arrays().items()}
    header = {
        **{name: getattr(run, name) for name in NUMBERS},
        "worst": run.worst if np.isfinite(run.worst) else None,
        "own": own_header,
    }
    return header, arrays


def put_state(run: SamplingRun, header: dict[str, Any], arrays: Arrays) -> None:
    """Bring a new run to where the saved one was; a state that does not fit it is refused."""
    with restoring():
        _put_state(run, header, arrays)


def _put_state(run: SamplingRun, header: dict[str, Any], arrays: Arrays) -> None:
    _check_ladder(arrays)
    for name in NUMBERS:
        setattr(run, name, header[name])
    run.worst = np.inf if header["worst"] is None else header["worst"]
    run.betas = arrays["betas"]
    run.regions = Regions(**{k[8:]: v for k, v in arrays.items() if k.startswith("regions_")})
    _check_regions(run.regions, run.model.n_nodes)
    run.before_layout(header["own"])
    run.lay_out(EnergyBins(arrays["bin_edges"]))
    same_shapes(arrays, run.tallies.arrays())
    run.tallies.restore(arrays)
    for k, group in enumerate(run.groups):
        group.use_regions(run.regions)
        same_shapes(arrays, group.arrays(), f"group{k}_")
        within("states", arrays[f"group{k}_states"], 0, run.model.n_states - 1)
        within("levels", arrays[f"group{k}_levels"], 0, len(run.betas) - 1)
        group.restore({n: arrays[f"group{k}_{n}"] for n in group.arrays()})
    own = {k[4:]: v for k, v in arrays.items() if k[:4] == "own_"}
    same_shapes(own, run.own_state()[1])
    run.put_own_state(header["own"], own)
    # It was killed before its answer was written: one more round would make another answer.
    run.stopped = run.finished()


def _check_ladder(arrays: Arrays) -> None:
    """The ladder and the bins."""
    betas, edges = arrays["betas"], arrays["bin_edges"]
    if betas.ndim != 1 or len(betas) == 0 or edges.ndim != 1 or len(edges) < 2:
        raise ValueError("the ladder or the bins of energy are missing")
    within("betas", betas, 0.0, FINITE)
    within("bin_edges", edges, -FINITE, FINITE)
    within("widths of bins", np.diff(edges), 0.0, FINITE)


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
