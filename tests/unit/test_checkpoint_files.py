"""Checkpoints: a file that is not what the run wrote is refused; no room for one stops no run."""

from __future__ import annotations

import errno
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from spinlearn.core.array_file import read_npz
from spinlearn.core.model import PottsModel
from spinlearn.engines import (
    BeliefPropagation,
    Metropolis,
    Multicanonical,
    PopulationAnnealing,
    SwendsenWang,
    Tempering,
    checkpoint,
)
from spinlearn.errors import CheckpointError, CheckpointWarning
from tests.conftest import grid_graph

pytestmark = pytest.mark.slow

TEMPERATURES = [0.3, 0.6, 1.2]
ENGINES = {
    "multicanonical": Multicanonical(tol=0.2),
    "tempering": Tempering(tol=0.2),
    "population_annealing": PopulationAnnealing(n_walkers=64),
    "belief_propagation": BeliefPropagation(),
}
ALL_ENGINES = ENGINES | {"metropolis": Metropolis(tol=0.2), "swendsen_wang": SwendsenWang(tol=0.2)}


def model() -> PottsModel:
    clamped = np.full(25, -1)
    clamped[[0, 24]] = 0, 1
    return PottsModel(grid_graph(5, 5), 3, clamped=clamped)


def run(engine):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return engine.run(model(), TEMPERATURES, seed=1)


def saved_run(engine, path: Path):
    """An engine that saves, all its checkpoints, and the answer of an undisturbed run."""
    engine = clone(engine).set_params(checkpoint=path, checkpoint_seconds=0.0)
    kept: list[bytes] = []
    save = checkpoint.save

    def save_and_keep(*arguments) -> None:
        save(*arguments)
        kept.append(path.read_bytes())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "save", save_and_keep)
        whole = run(engine)
    return engine, kept, whole


@pytest.fixture(scope="module", params=ENGINES)
def interrupted(request, tmp_path_factory):
    """An engine, its checkpoint half way, and the answer of an undisturbed run."""
    path = tmp_path_factory.mktemp(request.param) / "run.npz"
    engine, kept, whole = saved_run(ENGINES[request.param], path)
    return engine, kept[2 * len(kept) // 3], whole


@pytest.fixture
def resumed(interrupted):
    """How to go on from arrays that were changed, or from the file as it was."""
    engine, saved, _ = interrupted

    def go_on(changes=None, content=None):
        engine.checkpoint.write_bytes(saved if content is None else content)
        if changes is not None:
            arrays = read_npz(engine.checkpoint)
            np.savez(engine.checkpoint, **changes(arrays))
        return run(engine)

    return go_on


@pytest.mark.parametrize("name", ALL_ENGINES)
def test_a_run_resumed_from_any_of_its_checkpoints_ends_where_an_undisturbed_one_does(
    name, tmp_path
):
    """Whenever a process is killed, one of these is what it leaves."""
    engine, kept, whole = saved_run(ALL_ENGINES[name], tmp_path / "run.npz")
    for k in np.unique(np.linspace(0, len(kept) - 1, 9).astype(int)):
        (tmp_path / "run.npz").write_bytes(kept[k])
        found = run(engine)
        for average in ("marginals", "edge_agreement", "mean_energy", "heat_capacity"):
            np.testing.assert_array_equal(getattr(found, average), getattr(whole, average))


def test_arrays_that_would_be_stretched_to_fit_are_refused(interrupted, resumed, tmp_path):
    (tmp_path / "a.npz").write_bytes(interrupted[1])
    n_tried = 0
    for name, values in read_npz(tmp_path / "a.npz").items():
        if name == "header" or values.ndim == 0 or values.shape[-1] < 2:
            continue
        n_tried += 1
        with pytest.raises(CheckpointError):
            resumed(lambda arrays, n=name, v=values: arrays | {n: v[..., :1]})
    assert n_tried > 2


@pytest.mark.parametrize("value", [-100, 100])
def test_states_and_places_out_of_range_are_refused(interrupted, resumed, tmp_path, value):
    (tmp_path / "a.npz").write_bytes(interrupted[1])
    n_tried = 0
    for name, values in read_npz(tmp_path / "a.npz").items():
        ends = ("states", "levels", "nodes", "borders", "ptr", "families", "row_marginals")
        if name.endswith(ends) and values.size:
            n_tried += 1
            with pytest.raises(CheckpointError):
                resumed(lambda arrays, n=name, v=values: arrays | {n: np.full_like(v, value)})
    assert n_tried > 0


def test_no_single_flipped_bit_changes_the_answer(interrupted, resumed):
    _, saved, whole = interrupted
    generator = np.random.default_rng(2)
    n_refused = 0
    for place in generator.choice(8 * len(saved), 12, replace=False).tolist():
        damaged = bytearray(saved)
        damaged[place // 8] ^= 1 << place % 8
        try:
            found = resumed(content=bytes(damaged))
        except CheckpointError:
            n_refused += 1
        else:
            np.testing.assert_array_equal(found.marginals, whole.marginals)
    assert n_refused > 6


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
