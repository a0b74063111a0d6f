"""The process that tries HDF5 is bounded by work: a busy machine damages no file."""

from __future__ import annotations

import pytest

from spinlearn.errors import InvalidInputError
from spinlearn.io import anndata_file as anndata_parts

pytestmark = pytest.mark.slow


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A file, for which one second of the processor is enough."""
    monkeypatch.setattr(anndata_parts, "MOST_SECONDS", 1)
    path = tmp_path / "cells.h5ad"
    path.write_bytes(b"")
    return path


def test_a_file_that_comes_to_no_end_is_refused(file, monkeypatch):
    endless = anndata_parts.PROBE.partition("def read")[0] + "while True: pass"
    monkeypatch.setattr(anndata_parts, "PROBE", endless)
    with pytest.raises(InvalidInputError, match="does not finish"):
        anndata_parts._check_hdf5_ends(file)


def test_a_file_that_waits_for_the_processor_is_not(file, monkeypatch):
    monkeypatch.setattr(anndata_parts, "PROBE", "import time; time.sleep(2)")
    monkeypatch.setattr(anndata_parts, "SLOWEST", 600)  # to start takes long on a busy machine
    anndata_parts._check_hdf5_ends(file)
