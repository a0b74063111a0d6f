"""The state of a sampling run as plain arrays: what a checkpoint holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spinlearn.analysis.energy_bins import EnergyBins
from spinlearn.engines.checkpoint import Arrays
from spinlearn.engines.regions import Regions

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
    """Bring a new run to where the saved one was."""
    for name in NUMBERS:
        setattr(run, name, header[name])
    run.worst = np.inf if header["worst"] is None else header["worst"]
    run.betas = arrays["betas"]
    run.regions = Regions(**{k[8:]: v for k, v in arrays.items() if k.startswith("regions_")})
    run.before_layout(header["own"])
    run.lay_out(EnergyBins(arrays["bin_edges"]))
    run.tallies.restore(arrays)
    for k, group in enumerate(run.groups):
        group.use_regions(run.regions)
        group.restore({n: arrays[f"group{k}_{n}"] for n in group.arrays()})
    run.put_own_state(header["own"], {k[4:]: v for k, v in arrays.items() if k[:4] == "own_"})
