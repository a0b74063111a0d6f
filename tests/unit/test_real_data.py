"""Loaders of the real data: where they look, what they refuse, what they return."""

import os
from pathlib import Path

import numpy as np
import pytest

from spinlearn.datasets import load_leukemia, load_yeast, real
from spinlearn.errors import DataFileError, InvalidInputError

FOLDERS = [os.environ.get("SPINLEARN_DATA", ""), Path(__file__).parents[2] / "../shared/data"]
DATA = next((Path(f) for f in FOLDERS if f and (Path(f) / real.LEUKEMIA.name).is_file()), None)
needs_data = pytest.mark.skipif(DATA is None, reason="SPINLEARN_DATA names no folder of real data")


@pytest.mark.parametrize(
    ("load", "file"), [(load_leukemia, real.LEUKEMIA), (load_yeast, real.YEAST)]
)
def test_absent_file_names_itself_its_source_and_checksum(load, file, monkeypatch, tmp_path):
    monkeypatch.delenv("SPINLEARN_DATA", raising=False)
    with pytest.raises(DataFileError, match="SPINLEARN_DATA is not set") as caught:
        load()
    for word in (file.name, file.sha256, "github.com"):
        assert word in str(caught.value)
    with pytest.raises(DataFileError, match="does not exist"):
        load(tmp_path / "nowhere")
    monkeypatch.setenv("SPINLEARN_DATA", str(tmp_path))
    with pytest.raises(DataFileError, match="does not exist"):
        load()


def test_an_explicit_path_wins_over_the_variable(tmp_path, monkeypatch):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / real.YEAST.name).write_bytes(b"something else")
    monkeypatch.setenv("SPINLEARN_DATA", str(tmp_path / "a"))
    assert real.find_file(real.YEAST) == tmp_path / "a" / real.YEAST.name
    by_file = tmp_path / "b" / real.YEAST.name
    assert real.find_file(real.YEAST, by_file.parent) == by_file
    assert real.find_file(real.YEAST, by_file) == by_file
    with pytest.raises(DataFileError, match="SHA-256"):
        load_yeast(by_file)


def test_genes_of_largest_variance_are_chosen_after_clipping():
    raw = np.array([[-50.0, 10, 100, 90], [30.0, 12, 400, 80], [10.0, 11, 100, 1e6]])
    probes = ("a", "b", "c", "AFFX")
    samples = real.Leukemia(raw, np.array([0, 1, 2]), ("ALL", "AML", "MLL"), probes)
    points = samples.points(1, floor=20.0)
    np.testing.assert_allclose(points[:, 0], np.array([-1, 2, -1]) / np.sqrt(2))
    assert np.all(samples.points(3)[:, 1] == 0)  # constant once it is clipped
    with pytest.raises(InvalidInputError, match="floor"):
        samples.points(1, floor=None)
    with pytest.raises(InvalidInputError, match="n_genes"):
        samples.points(4)


def test_missing_readings_take_the_mean_of_the_gene():
    readings = np.array([[1.0, np.nan, 3.0], [0.0, 2.0, 4.0]])
    genes = real.Yeast(readings, np.array([0, -1]), np.array([-1, 1]), ("YA", "YB"))
    np.testing.assert_allclose(genes.points(), [[-np.sqrt(1.5), 0, np.sqrt(1.5)]] * 2)
    assert genes.select(genes.readings() == 3).orfs == ("YB",)
    empty = real.Yeast(np.full((1, 3), np.nan), np.array([0]), np.array([0]), ("YC",))
    with pytest.raises(InvalidInputError, match="no reading"):
        empty.points()


@pytest.mark.slow
@needs_data
def test_leukemia_is_the_papers_set():
    samples = load_leukemia(DATA)
    assert samples.expression.shape == (57, 12582)
    assert np.bincount(samples.truth).tolist() == [20, 20, 17]
    assert len(load_leukemia(DATA, split="test").truth) == 15
    assert len(load_leukemia(DATA, split=None).truth) == 72
    points = samples.points()
    assert points.shape == (57, 200)
    np.testing.assert_allclose(points.std(axis=0), 1)
    with pytest.raises(InvalidInputError, match="split"):
        load_leukemia(DATA, split="validation")


@needs_data
def test_yeast_counts():
    genes = load_yeast(DATA)
    assert genes.expression.shape == (6178, 18)
    assert np.sum(genes.known_phase >= 0) == 104
    assert np.sum(genes.peak_phase >= 0) == 800
    complete = genes.select(genes.readings() == 18)
    known, peaks = (np.sum(p >= 0) for p in (complete.known_phase, complete.peak_phase))
    assert (len(complete.orfs), known, peaks) == (4489, 81, 613)
