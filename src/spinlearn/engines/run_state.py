"""The state of a sampling run as plain arrays: what a checkpoint holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spinlearn.analysis.energy_bins import FINE_PER_COARSE, EnergyBins
from spinlearn.core.array_checks import FINITE, check_numbers, kinds_of, same_arrays, within
from spinlearn.core.array_file import Arrays
from spinlearn.core.model import FREE, PottsModel
from spinlearn.engines.regions import MAX_REGIONS, Regions, regions_of
from spinlearn.engines.saved_state import check_seconds, check_states, check_streams, restoring
from spinlearn.engines.saved_tallies import check_tallies
from spinlearn.engines.walker_group import Walkers

if TYPE_CHECKING:
    from spinlearn.engines.sampling_run import SamplingRun

NUMBERS = (
    "phase", "rounds", "burn", "burn_rounds", "next_check", "first_cold", "tries", "log_z_first",
    "log_z_first_error", "seconds",
)  # fmt: skip
MOST_REPEATS = 256  # of a region move, as of a sweep


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
    _check_ladder(run, arrays)
    run.betas = arrays["betas"]
    run.before_layout(header["own"])
    run.lay_out(EnergyBins(arrays["bin_edges"]))
    run.regions = _regions(run.model, arrays)
    _check_header(run, header)
    for name in NUMBERS:
        setattr(run, name, header[name])
    run.worst = np.inf if header["worst"] is None else header["worst"]
    same_arrays(arrays, kinds_of(run.tallies.arrays()))
    run.tallies.restore(arrays)
    check_tallies(run.tallies, run.model.energy_scale, run.measured_rounds(header))
    for k, group in enumerate(run.groups):
        group.use_regions(run.regions)
        same_arrays(arrays, kinds_of(group.arrays()), f"group{k}_")
        saved = {name: arrays[f"group{k}_{name}"] for name in group.arrays()}
        _check_group(run, group, saved)
        group.restore(saved)
    own = {k[4:]: v for k, v in arrays.items() if k[:4] == "own_"}
    same_arrays(own, kinds_of(run.own_state()[1]))
    run.put_own_state(header["own"], own)
    # It was killed before its answer was written: one more round would make another answer.
    run.stopped = run.finished()


def _check_header(run: SamplingRun, header: dict[str, Any]) -> None:
    """Every number is one that this run can reach."""
    if header["phase"] not in (run.settling, "production"):
        raise ValueError(f"phase is neither {run.settling} nor production")
    check_seconds(header["seconds"], ("ladder", run.settling, "production"))
    if header["worst"] is not None:
        check_numbers(header, {"worst": (float, 0.0, FINITE)})
    # ln Z is known at beta = 0, from where no energy carries it further than this. Nobody asks for
    # it where levels are not joined.
    hot = 0.0 if run.plan.dynamics == "held" else run.hot_log_z
    off = 0.0 if run.plan.dynamics == "held" else 1e-9 * hot
    off += (1 + 1e-9) * run.model.energy_scale * float(run.betas[0])
    check_numbers(
        header,
        {
            "first_cold": (int, 0, len(run.betas) - 1),
            "log_z_first": (float, hot - off, hot + off),
            "log_z_first_error": (float, 0.0, 2 * off),
        },
    )
    run.check_numbers(header)


def _check_ladder(run: SamplingRun, arrays: Arrays) -> None:
    """The ladder and the bins."""
    betas, edges = arrays["betas"], arrays["bin_edges"]
    # Room is taken by their number, so there must be as much in the file.
    n_levels, n_fine = arrays["series_sums"].shape[-1], len(arrays["histogram_counts"])
    same_arrays(
        arrays,
        {
            "betas": (np.float64, (n_levels,)),
            "bin_edges": (np.float64, (n_fine // FINE_PER_COARSE + 1,)),
        },
    )
    if len(betas) == 0 or len(edges) < 2:
        raise ValueError("the ladder or the bins of energy are missing")
    within("betas", betas, 0.0, float(run.requested[-1]))
    within("bin_edges", edges, -FINITE, FINITE)
    if not np.all(np.diff(betas) > 0) or not np.all(np.isin(run.requested, betas)):
        raise ValueError("betas do not ascend through the temperatures asked for")
    if not np.all(edges[:-1] < edges[1:]) and run.model.energy_scale > 0:
        raise ValueError("bin_edges do not ascend")


def _regions(model: PottsModel, arrays: Arrays) -> Regions:
    """The library: sets of free nodes with the borders that they have in the model."""
    saved = {k[8:]: v for k, v in arrays.items() if k.startswith("regions_")}
    empty = Regions.none().arrays()
    for name, values in empty.items():
        shape = (len(saved[name]), *values.shape[1:])
        same_arrays(arrays, {f"regions_{name}": (values.dtype, shape)})
    regions = Regions(**saved)
    ptr, nodes = regions.ptr, regions.nodes
    if len(ptr) == 0 or ptr[0] != 0 or ptr[-1] != len(nodes):
        raise ValueError("regions_ptr leads beyond its array")
    within("regions", regions.count, 0, MAX_REGIONS)
    within("regions_ptr", np.diff(ptr), 1, model.n_nodes)
    within("regions_nodes", nodes, 0, model.n_nodes - 1)
    sets = np.split(nodes.astype(np.intp), ptr[1:-1]) if regions.count else []
    if np.any(model.clamped[nodes] != FREE) or any(len(np.unique(s)) < len(s) for s in sets):
        raise ValueError("regions_nodes are not free, or there twice")
    for name, values in regions_of(model, sets).arrays().items():
        if not np.array_equal(values, saved[name]):
            raise ValueError(f"regions_{name} are not those of the model")
    return regions


def _check_group(run: SamplingRun, group: Walkers, saved: Arrays) -> None:
    """Walkers stand where the dynamics of the run can have brought them."""
    check_states(run.model, saved["states"])
    within("levels", saved["levels"], 0, len(run.betas) - 1)
    expected = run.levels_of(group)
    if expected is not None and not np.array_equal(np.sort(saved["levels"]), expected):
        raise ValueError("levels are taken twice")
    check_streams(saved["stream"][None])
    steps = (run.rounds + run.burn_rounds) * run.round_steps
    most = steps * run.tries * group.n_walkers * MOST_REPEATS
    within("region_moves", saved["region_moves"], 0, most)
