"""Checkpoints: a file that is not what the run wrote is refused; no room for one stops no run."""

import errno
import json
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from spinlearn.engines import (
    Auto,
    BeliefPropagation,
    Metropolis,
    Multicanonical,
    PopulationAnnealing,
    SwendsenWang,
    Tempering,
    checkpoint,
)
from spinlearn.engines.sampling.run import SamplingRun
from spinlearn.errors import CheckpointError, CheckpointWarning
from spinlearn.files.arrays import read_npz
from spinlearn.model.potts import PottsModel
from tests.cluster.models import clouds
from tests.conftest import grid_graph

pytestmark = pytest.mark.slow

TEMPERATURES = [0.3, 0.6, 1.2]
ENGINES = {
    "multicanonical": Multicanonical(tol=0.2),
    "tempering": Tempering(tol=0.2),
    "population_annealing": PopulationAnnealing(n_walkers=64),
    "belief_propagation": BeliefPropagation(),
}
ALL_ENGINES = ENGINES | {
    "metropolis": Metropolis(tol=0.2),
    "swendsen_wang": SwendsenWang(tol=0.2),
    "exchanged": Tempering(tol=0.2, moves="local"),
}


def model() -> PottsModel:
    clamped = np.full(25, -1)
    clamped[[0, 24]] = 0, 1
    return PottsModel(grid_graph(5, 5), 3, clamped=clamped)


def run(engine, of: PottsModel | None = None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return engine.run(model() if of is None else of, TEMPERATURES, seed=1)


def saved_run(engine, path: Path, of: PottsModel | None = None):
    """An engine that saves, all its checkpoints, and the answer of an undisturbed run."""
    engine = clone(engine).set_params(checkpoint=path, checkpoint_seconds=0.0)
    kept: list[bytes] = []
    save = checkpoint.save

    def save_and_keep(*arguments) -> None:
        save(*arguments)
        kept.append(path.read_bytes())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "save", save_and_keep)
        whole = run(engine, of)
    return engine, kept, whole


@pytest.fixture(scope="module", params=ENGINES)
def interrupted(request, tmp_path_factory):
    """An engine, its checkpoint half way, and the answer of an undisturbed run."""
    path = tmp_path_factory.mktemp(request.param) / "run.npz"
    engine, kept, whole = saved_run(ENGINES[request.param], path)
    return engine, kept[2 * len(kept) // 3], whole


@pytest.fixture
def resumed(interrupted):
    """How to go on from a file, or from one array that was changed and saved in its place."""
    engine, saved, _ = interrupted

    def go_on(content=saved, **changes):
        engine.checkpoint.write_bytes(content)
        if changes:
            arrays = read_npz(engine.checkpoint)
            header = json.loads(str(arrays.pop("header")))
            del arrays["checksum"]
            checkpoint.save(engine.checkpoint, header["run"], header, arrays | changes)
        return run(engine)

    return go_on


@pytest.fixture
def saved_arrays(interrupted, tmp_path):
    (tmp_path / "a.npz").write_bytes(interrupted[1])
    arrays = read_npz(tmp_path / "a.npz")
    return {name: values for name, values in arrays.items() if values.size and values.ndim}


@pytest.mark.parametrize("name", [*ALL_ENGINES, "null_model"])
def test_a_run_resumed_from_any_of_its_checkpoints_ends_where_an_undisturbed_one_does(
    name, tmp_path
):
    """Whenever a process is killed, one of these is what it leaves."""
    # Sums over whole classes are kept up to date on the way, and summed anew from a file.
    of = clouds(120, 3) if name == "null_model" else None
    asked = ALL_ENGINES.get(name, BeliefPropagation())
    engine, kept, whole = saved_run(asked, tmp_path / "run.npz", of)
    for k in np.unique(np.linspace(0, len(kept) - 1, 9).astype(int)):
        (tmp_path / "run.npz").write_bytes(kept[k])
        found = run(engine, of)
        for average in ("marginals", "edge_agreement", "heat_capacity", "log_partition"):
            np.testing.assert_array_equal(getattr(found, average), getattr(whole, average))
        for number in ("round_trips", "regions", "sweeps"):
            known = whole.diagnostics.get(number)
            np.testing.assert_array_equal(found.diagnostics.get(number), known)


@pytest.mark.parametrize("share", [0.4, 1.0])
@pytest.mark.parametrize("engine", [Multicanonical(tol=0.2), Tempering(tol=0.2, moves="local")])
def test_a_run_that_its_clock_ended_goes_on_as_if_there_had_been_none(
    engine, share, tmp_path, monkeypatch
):
    """Neither weights that were cut short nor errors of a handful of rounds are taken over."""
    whole = run(engine)
    saving = clone(engine).set_params(checkpoint=tmp_path / "run.npz", max_seconds=1e9, tol=1e-9)
    with monkeypatch.context() as patch:
        patch.setattr(SamplingRun, "_late", lambda self, part: part >= share)
        short = run(saving)
    assert short.diagnostics["sweeps"] < whole.diagnostics["sweeps"]
    found = run(saving.set_params(tol=0.2))
    np.testing.assert_array_equal(found.marginals, whole.marginals)
    np.testing.assert_array_equal(found.std_error, whole.std_error)
    np.testing.assert_array_equal(found.equilibrated, whole.equilibrated)


def test_a_checkpoint_is_not_passed_by_where_another_engine_would_run(tmp_path):
    """The exact engine keeps none: it would answer, and the run that was saved be lost."""
    path = tmp_path / "run.npz"
    run(Multicanonical(tol=0.2, checkpoint=path, checkpoint_seconds=0.0))
    saved = path.read_bytes()
    assert run(Auto()).engine == "junction_tree"
    with pytest.raises(CheckpointError, match="belongs to another run"):
        run(Auto(checkpoint=path))
    with pytest.raises(CheckpointError, match="belongs to another run"):
        Multicanonical(checkpoint=path).run(model().replace(clamped=np.zeros(25)), [1.0])
    assert path.read_bytes() == saved
    path.unlink()
    sampled = Auto(checkpoint=path, checkpoint_seconds=0.0, tol=0.2, max_operations=1)
    assert run(sampled).engine == "tempering"
    assert run(Auto(checkpoint=path, tol=0.2)).engine == "tempering"  # though it could be exact


def test_arrays_of_another_shape_or_type_are_refused(saved_arrays, resumed):
    """They would be stretched, or read as something else."""
    for name, values in saved_arrays.items():
        changed = [values[..., :1]] if values.shape[-1] > 1 else []
        if name not in ("bin_edges", "region_ptr", "region_nodes"):  # what fits them is checked
            changed.append(np.zeros(values.shape, dtype=np.float16))
        for other in changed:
            with pytest.raises(CheckpointError, match="does not fit its own run"):
                resumed(**{name: other})
    assert len(saved_arrays) > 2


@pytest.mark.parametrize("value", [-100, 100])
def test_states_and_places_out_of_range_are_refused(saved_arrays, resumed, value):
    """Kernels would read beyond arrays."""
    ends = ("states", "levels", "nodes", "ptr", "families", "row_marginals")
    indices = {name: values for name, values in saved_arrays.items() if name.endswith(ends)}
    for name, values in indices.items():
        with pytest.raises(CheckpointError, match="does not fit its own run"):
            resumed(**{name: np.full_like(values, value)})
    assert len(indices) > 0


def test_what_is_no_checkpoint_of_this_run_is_refused_and_left_alone(
    interrupted, saved_arrays, tmp_path
):
    engine, saved, _ = interrupted
    path, other = engine.checkpoint, tmp_path / "other.npz"
    arrays = read_npz(tmp_path / "a.npz")
    contents = [saved[: len(saved) // 2], b"id,label\n1,A\n", b""]
    name = next(iter(saved_arrays))
    header = {"magic": checkpoint.MAGIC, "version": 1, "run": ""}
    for changed in (
        {"header": np.array([{"a": 1}], dtype=object)},  # pickled
        arrays | {name: arrays[name] + np.ones((), dtype=arrays[name].dtype)},  # checksum
        {"header": np.array(json.dumps(header))},  # format version 1
    ):
        np.savez(other, **changed)
        contents.append(other.read_bytes())
    reasons = [*4 * ["not a checkpoint"], "checksum", "format version 1"]
    for content, reason in zip(contents, reasons, strict=True):
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match=reason):
            run(engine)
        assert path.read_bytes() == content
    path.write_bytes(saved)
    for temperatures, seed in (([0.7], 1), (TEMPERATURES, 2)):
        with pytest.raises(CheckpointError, match="another run"):
            engine.run(model(), temperatures, seed=seed)
    assert path.read_bytes() == saved


def test_a_full_disk_costs_the_checkpoint_and_not_the_run(interrupted, monkeypatch):
    engine, _, whole = interrupted

    def no_room(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    engine.checkpoint.unlink(missing_ok=True)
    monkeypatch.setattr(os, "fsync", no_room)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = engine.run(model(), TEMPERATURES, seed=1)
    said = {str(w.message) for w in caught if w.category is CheckpointWarning}
    assert len(said) == 1
    assert f"{engine.checkpoint} could not be written (No space left on device)" in said.pop()
    np.testing.assert_array_equal(found.marginals, whole.marginals)
    assert list(engine.checkpoint.parent.iterdir()) == []
