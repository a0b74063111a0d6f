"""Checkpoints of long runs: one .npz file of plain arrays, replaced as a whole.

It is written to the side and then renamed. A file that is truncated, foreign, of another version
or of another run is refused and never overwritten. Nothing in it is executed: no pickled objects,
the header is JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.array_file import Arrays, read_npz
from spinlearn.core.atomic_write import atomic_write
from spinlearn.core.model import PottsModel
from spinlearn.errors import CheckpointError, CheckpointWarning, InvalidInputError

MAGIC = "spinlearn checkpoint"
VERSION = 1


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
    """Write atomically: the file is either the old one or the whole new one.

    A run is worth more than its checkpoint: where there is no room for it, the run goes on.
    """
    text = json.dumps({"magic": MAGIC, "version": VERSION, "run": run, **header})
    try:
        with atomic_write(path) as file:
            np.savez(file, allow_pickle=False, header=np.array(text), **arrays)
    except OSError as error:
        warnings.warn(
            f"the checkpoint {path} could not be written ({error.strerror or error}): the run "
            "goes on, but could not be resumed from here; make room, or name another folder",
            CheckpointWarning,
            stacklevel=3,
        )


def refuse_any(path: str | os.PathLike[str] | None, engine: str) -> None:
    """Refuse a file that a run without checkpoints was to go on from: another run wrote it."""
    if path is not None and Path(path).exists():
        raise CheckpointError(
            f"{path} belongs to another run, for {engine} keeps no checkpoints here: resume with "
            "the same inputs and the same engine, or delete it to start again"
        )


def load(path: str | os.PathLike[str], run: str) -> tuple[dict[str, Any], Arrays] | None:
    """Header and arrays of the checkpoint of this run, or None if there is no file."""
    target = Path(path)
    if not target.exists():
        return None
    try:
        arrays = read_npz(target, own=True)
        header = json.loads(str(arrays.pop("header")))
        if not isinstance(header, dict) or header.get("magic") != MAGIC:
            raise KeyError("header")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        said = str(error) if isinstance(error, InvalidInputError) else f"{target}: no checkpoint"
        raise CheckpointError(
            f"{target} is not a checkpoint that can be read ({said}): it is truncated or another "
            "kind of file; move it away or name another path"
        ) from error
    if header.get("version") != VERSION:
        raise CheckpointError(
            f"{target} is a checkpoint of format version {header.get('version')}, this spinlearn "
            f"reads version {VERSION}: resume with the version that wrote it, or move it away"
        )
    if header.get("run") != run:
        raise CheckpointError(
            f"{target} belongs to another run (model, temperatures, seed or settings differ): "
            "resume with the same inputs, or delete it to start again"
        )
    return header, arrays
