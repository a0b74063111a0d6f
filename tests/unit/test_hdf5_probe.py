"""The process that tries HDF5 is bounded by work: a busy machine damages no file."""

from __future__ import annotations

import sys

import pytest

from spinlearn.errors import InvalidInputError
from spinlearn.io import hdf5_probe

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="no bound of processor time there"),
]


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A file, for which one second of the processor is enough."""
    monkeypatch.setattr(hdf5_probe, "MOST_SECONDS", 1)
    path = tmp_path / "cells.h5ad"
    path.write_bytes(b"")
    return path


def test_a_file_that_comes_to_no_end_is_refused(file, monkeypatch):
    endless = hdf5_probe.PROBE.partition("def read")[0] + "while True: pass"
    monkeypatch.setattr(hdf5_probe, "PROBE", endless)
    with pytest.raises(InvalidInputError, match="does not finish"):
        hdf5_probe.check_hdf5_ends(file)


def test_a_file_that_waits_for_the_processor_is_not(file, monkeypatch):
    monkeypatch.setattr(hdf5_probe, "PROBE", "import time; time.sleep(2)")
    monkeypatch.setattr(hdf5_probe, "SLOWEST", 600)  # to start takes long on a busy machine
    hdf5_probe.check_hdf5_ends(file)
