"""Checkpoints of long runs: one .npz file of plain arrays, replaced as a whole.

It is written to the side and then renamed. A file that is truncated, foreign, of another version
or of another run is refused and never overwritten. Nothing in it is executed: no pickled objects,
the header is JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.atomic_write import atomic_write
from spinlearn.core.model import PottsModel
from spinlearn.errors import CheckpointError

MAGIC = "spinlearn checkpoint"
VERSION = 1

Arrays = dict[str, npt.NDArray[Any]]


def fingerprint(model: PottsModel, *parts: object) -> str:
    """Digest of a model and of whatever else must be the same when a run is resumed."""
    digest = hashlib.sha256()
    arrays: list[npt.NDArray[Any]] = [
        model.graph.edges,
        model.couplings,
        model.pair_cost,
        model.fields,
        model.clamped,
    ]
    term = model.class_penalty
    if term is not None:
        scalars = np.array([term.code, term.coefficient, term.empty])
        arrays += [scalars, term.sizes, term.targets, term.table, term.cut_weights]
    for array in arrays:
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    for part in parts:
        digest.update(repr(part).encode())
    return digest.hexdigest()


def save(path: str | os.PathLike[str], run: str, header: dict[str, Any], arrays: Arrays) -> None:
    """Write atomically: the file is either the old one or the whole new one."""
    text = json.dumps({"magic": MAGIC, "version": VERSION, "run": run, **header})
    with atomic_write(path) as file:
        np.savez(file, allow_pickle=False, header=np.array(text), **arrays)


def load(path: str | os.PathLike[str], run: str) -> tuple[dict[str, Any], Arrays] | None:
    """Header and arrays of the checkpoint of this run, or None if there is no file."""
    target = Path(path)
    if not target.exists():
        return None
    try:
        with open(target, "rb") as file, np.load(file, allow_pickle=False) as archive:
            header = json.loads(str(archive["header"]))
            if not isinstance(header, dict) or header.get("magic") != MAGIC:
                raise KeyError("header")
            arrays = {name: archive[name] for name in archive.files if name != "header"}
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile) as error:
        raise CheckpointError(
            f"{target} is not a checkpoint that can be read ({type(error).__name__}): it is "
            "truncated or another kind of file; move it away or name another path"
        ) from error
    if header["version"] != VERSION:
        raise CheckpointError(
            f"{target} is a checkpoint of format version {header['version']}, this spinlearn "
            f"reads version {VERSION}: resume with the version that wrote it, or move it away"
        )
    if header["run"] != run:
        raise CheckpointError(
            f"{target} belongs to another run (model, temperatures, seed or settings differ): "
            "resume with the same inputs, or delete it to start anew"
        )
    return header, arrays
