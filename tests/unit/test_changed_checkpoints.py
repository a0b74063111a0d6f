"""Checkpoints changed by hand: what no run can have written is refused in one line.

Their checksums are right, so every number is checked against what the run can reach.
"""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from spinlearn.core.array_file import read_npz
from spinlearn.core.model import PottsModel
from spinlearn.engines import (
    BeliefPropagation,
    Multicanonical,
    PopulationAnnealing,
    Tempering,
    checkpoint,
)
from spinlearn.errors import CheckpointError, StoppedError
from tests.conftest import grid_graph

pytestmark = pytest.mark.slow

TEMPERATURES = [0.5, 1.0]
# An engine, and after how many savings it is killed: while it settles, and while it measures.
RUNS = {
    "multicanonical, weights": (Multicanonical(tol=0.3), 3),
    "multicanonical, production": (Multicanonical(tol=0.3), 260),
    "tempering, burn-in": (Tempering(tol=0.3), 1),
    "tempering, production": (Tempering(tol=0.02), 4),
    "tempering, exchanged": (Tempering(tol=0.3, moves="local"), 210),
    "population_annealing": (PopulationAnnealing(n_walkers=64), 6),
    "belief_propagation, cooled": (BeliefPropagation(), 6),
    "belief_propagation, measured": (BeliefPropagation(), 30),
}
HEADER_VALUES = (None, "x", [], -1, 0.5, 10**9, 10**30, float("nan"), float("inf"), True)
# Numbers that may be others without anything in the file being wrong: a run would go on from them.
MAY_DIFFER = {
    "seconds": "time that was spent",
    "sweeps": "counted for people",
    "worst": "of the last look, a few rounds ago; without it the next look comes first",
    "log_z_first_error": "an error, measured once",
    "state": "of a generator of random numbers",
    "uinteger": "the same",
    "inc": "the same",
    "has_uint32": "the same",
    "snapshots_remembers": "whether walkers forgot at the last step",
    "own_eta": "weights of levels, learned by chance",
    "own_been_hot": "where walkers have been, for people",
    "own_been_cold": "the same",
    "own_occupancy": "the same",
    "own_met": "the same",
    "row_settled": "said of messages that are gone",
    "row_damped": "the same",
    "row_residual": "the same",
    "rows_std_error": "of samples that are gone",
    "rows_agreement_std_error": "the same",
    "rows_heat_capacity": "the same",
    "rows_mean_energy": "the same",
    "rows_samples": "the same",
    "row_heat_capacity": "of messages that are gone",
    "row_energy": "the same",
    "row_agreement": "the same",
    "rows_edge_agreement": "the same",
    "rows_log_partition": "the same",
    "sums_node_sums": "sums over labellings that are gone, within the number of those",
    "sums_edge_sums": "the same",
    "streams": "random numbers to come",
    "group0_stream": "the same",
    "group0_levels": "drawn anew at every step, where levels are drawn",
    "log_z_first": "measured once, on the way to the first level",
    "bin_edges": "no energies in them yet",
}


def model() -> PottsModel:
    clamped = np.full(9, -1)
    clamped[[0, 8]] = 0, 1
    return PottsModel(grid_graph(3, 3), 2, clamped=clamped)


class _KilledError(Exception):
    """Ends a run that has saved often enough."""


def run(engine):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return engine.run(model(), TEMPERATURES, seed=1)


def killed(engine, path: Path, n_saved: int):
    """An engine whose run left a checkpoint after so many savings."""
    engine = clone(engine).set_params(checkpoint=path, checkpoint_seconds=0.0)
    save, left = checkpoint.save, [n_saved]

    def save_and_end(*arguments) -> None:
        save(*arguments)
        left[0] -= 1
        if left[0] == 0:
            raise _KilledError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "save", save_and_end)
        with pytest.raises(_KilledError):
            run(engine)
    return engine


@pytest.fixture(scope="module", params=RUNS)
def left(request, tmp_path_factory):
    """An engine, header and arrays of its checkpoint, and the answer that follows from there."""
    engine = killed(*_placed(request.param, tmp_path_factory))
    engine.set_params(checkpoint_seconds=1e9)
    arrays = read_npz(engine.checkpoint)
    header = json.loads(str(arrays.pop("header")))
    whole = run(engine)
    return engine, header, arrays, whole


def _placed(name, tmp_path_factory):
    engine, n_saved = RUNS[name]
    return engine, tmp_path_factory.mktemp("run") / "run.npz", n_saved


def changed_headers(header: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every header with one entry replaced or left out; entries of entries too."""
    inner = header
    for key in path:
        inner = inner[key]
    keys = inner if isinstance(inner, dict) else range(len(inner))
    for key in keys:
        for value in HEADER_VALUES:
            other = copy.deepcopy(header)
            _at(other, path)[key] = value
            yield f"{key}={value!r}", other
        other = copy.deepcopy(header)
        del _at(other, path)[key]
        yield f"{key} is missing", other
        if isinstance(inner[key], (dict, list)):
            yield from changed_headers(header, (*path, key))


def _at(header: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        header = header[key]
    return header


def changed_arrays(values: np.ndarray) -> Iterator[tuple[str, np.ndarray | None]]:
    """An array with other values, of other types and shapes, or none."""
    yield "is missing", None
    yield "of another shape", values[None]
    yield "text", values.astype(str)
    yield "dates", np.zeros(values.shape, "M8[s]")
    yield "records", np.zeros(values.shape, [("a", "i4")])
    if values.dtype != bool:
        yield "truth values", values.astype(bool)
    if values.dtype.kind == "f":
        yield "whole", np.nan_to_num(values).astype(np.int64)
    worse: list[Any] = [0]
    if values.dtype.kind == "f":
        worse += [np.nan, np.inf, -1.0, 1e9, 1e300]
    elif values.dtype.kind == "i":
        worse += [-1, min(10**9, np.iinfo(values.dtype).max), np.iinfo(values.dtype).max]
    for value in worse:
        yield f"all {value}", np.full_like(values, value)
        if values.size > 1:
            one = values.copy()
            one.flat[values.size // 2] = value
            yield f"{value} in the middle", one


def tried(left, name: str, header: Any, arrays: Any) -> str | None:
    """What is wrong with how a changed checkpoint is treated, or None."""
    engine, _, _, whole = left
    np.savez(engine.checkpoint, header=np.array(json.dumps(header)), **arrays)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            stop = (lambda progress: True) if _may_differ(name) else None
            found = engine.run(model(), TEMPERATURES, seed=1, callback=stop)
    except StoppedError:
        return None
    except CheckpointError as error:
        return None if "\n" not in str(error) else f"{name}: more than a line: {error}"
    except Exception as error:
        return f"{name}: {error!r}"
    if _may_differ(name):
        return None
    for average in ("marginals", "edge_agreement", "mean_energy", "std_error", "log_partition"):
        if not np.array_equal(getattr(found, average), getattr(whole, average)):
            return f"{name}: other {average}"
    return None


def _may_differ(name: str) -> bool:
    return name.replace("=", " ").split()[0] in MAY_DIFFER


@pytest.mark.filterwarnings("ignore::spinlearn.errors.ConvergenceWarning")
def test_numbers_that_no_run_has_are_refused(left):
    _, header, arrays, _ = left
    wrong = [tried(left, name, other, arrays) for name, other in changed_headers(header)]
    assert "\n".join(what for what in wrong if what is not None) == ""


@pytest.mark.filterwarnings("ignore::spinlearn.errors.ConvergenceWarning")
def test_arrays_that_no_run_has_are_refused(left):
    _, header, arrays, _ = left
    wrong, n_tried = [], 0
    for name, values in arrays.items():
        if name.startswith("group") and not name.startswith("group0_"):
            continue  # treated like the first
        for how, other in changed_arrays(values):
            same_kind = other is not None and (other.dtype, other.shape) == (
                values.dtype,
                values.shape,
            )
            if same_kind and np.array_equal(other, values, equal_nan=values.dtype.kind == "f"):
                continue
            rest = {k: v for k, v in arrays.items() if k != name}
            n_tried += 1
            changed = rest if other is None else rest | {name: other}
            wrong.append(tried(left, f"{name} {how}", header, changed))
    assert "\n".join(what for what in wrong if what is not None) == ""
    assert n_tried > 100
