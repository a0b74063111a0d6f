"""Checkpoints of long runs: one format and one check for every engine.

A checkpoint is a .npz file: plain arrays, a JSON header and the SHA-256 of both. It is written to
the side and then renamed, so that there is the old one or the whole new one. Nothing in it is
executed: there are no pickled objects. A file that is damaged, foreign, of another version or of
another run is refused and never overwritten: first checksum, version and fingerprint
(`Checkpoint.load`), then names, types, shapes and ranges, once the run knows what it expects
(`Saved.part`). What has passed is trusted.

A run that keeps one:

    self.checkpoint = Checkpoint(path, seconds, model, temperatures.tolist(), seed, settings...)
    saved = self.checkpoint.load()                          # None if there is nothing to resume
    if saved is not None:
        self.step = saved.header["step"]
        walkers = saved.part(self.arrays(), "walkers_", states=(0, model.n_states - 1))
    ...
    self.checkpoint.save(self._state, now=stopped)          # now and then, or now
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.errors import CheckpointError, CheckpointWarning, InvalidInputError
from spinlearn.files.arrays import Arrays, read_npz
from spinlearn.files.atomic_write import atomic_write
from spinlearn.model.potts import PottsModel

MAGIC = "spinlearn checkpoint"
VERSION = 2

Header = dict[str, Any]  # JSON


class Saved(NamedTuple):
    """What a checkpoint holds."""

    header: Header
    arrays: Arrays

    def part(
        self, like: Mapping[str, npt.NDArray[Any]], prefix: str = "", **ranges: tuple[float, float]
    ) -> Arrays:
        """The arrays `prefix` + name for the names in `like`.

        They must have types and shapes of those, and lie in `ranges`: kernels trust both.
        """
        for name, expected in like.items():
            values = self.arrays.get(prefix + name)
            if values is None or (values.dtype, values.shape) != (expected.dtype, expected.shape):
                raise misfit(f"{prefix}{name} is not {expected.dtype} of shape {expected.shape}")
            low, high = ranges.get(name, (-np.inf, np.inf))
            if name in ranges and not np.all((values >= low) & (values <= high)):
                raise misfit(f"{prefix}{name} holds values outside {low:g} to {high:g}")
        return {name: self.arrays[prefix + name] for name in like}


def rows_like(n_rows: int, like: Mapping[str, npt.ArrayLike]) -> Arrays:
    """`n_rows` times the types and shapes of `like`, for `Saved.part`; they take no memory."""
    arrays = {name: np.asarray(values) for name, values in like.items()}
    return {name: np.broadcast_to(a, (n_rows, *a.shape)) for name, a in arrays.items()}


def misfit(fact: str) -> CheckpointError:
    """The error of a state that the run it belongs to cannot have been in."""
    return CheckpointError(
        f"the checkpoint does not fit its own run ({fact}): another version of spinlearn wrote "
        "it, or it was changed; delete it to start again"
    )


class Checkpoint:
    """The checkpoint of one run, which its model and `settings` identify; none without a path."""

    def __init__(self, path: Any, seconds: float, model: PottsModel, *settings: object) -> None:
        self._path, self._seconds = path, seconds
        self._model, self._settings = model, settings
        self._saved = perf_counter()

    @cached_property
    def _run(self) -> str:
        return fingerprint(self._model, *self._settings)

    def load(self) -> Saved | None:
        """What an earlier run has left, if anything."""
        if self._path is None or not Path(self._path).exists():
            return None
        target = Path(self._path)
        try:
            arrays = read_npz(target, own=True)
            text = str(arrays.pop("header"))
            header = json.loads(text)
            if header["magic"] != MAGIC:
                raise KeyError("magic")
            version = header["version"]
            if version == VERSION and str(arrays.pop("checksum")) != _checksum(text, arrays):
                raise InvalidInputError("its checksum is wrong")
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            clear = isinstance(error, InvalidInputError)
            cause = str(error) if clear else f"{target}: no checkpoint"
            raise CheckpointError(
                f"{target} is not a checkpoint that can be read ({cause}): it is damaged or "
                "another kind of file; move it away or name another path"
            ) from error
        if version != VERSION:
            raise CheckpointError(
                f"{target} is a checkpoint of format version {version}, this spinlearn reads "
                f"version {VERSION}: resume with the version that wrote it, or move it away"
            )
        if header["run"] != self._run:
            raise CheckpointError(
                f"{target} belongs to another run (model, temperatures, seed or settings differ): "
                "resume with the same inputs, or delete it to start again"
            )
        return Saved(header, arrays)

    def save(self, state: Callable[[], tuple[Header, Arrays]], *, now: bool = False) -> None:
        """Save the state if it is time to, or `now`."""
        if self._path is None:
            return
        if now or perf_counter() - self._saved >= self._seconds:
            save(self._path, self._run, *state())
            self._saved = perf_counter()


def fingerprint(model: PottsModel, *settings: object) -> str:
    """Digest of a model and of whatever else must be the same when a run is resumed."""
    arrays: list[npt.NDArray[Any]] = [model.graph.edges, model.couplings, model.pair_cost]
    arrays += [model.fields, model.clamped]
    term = model.class_penalty
    if term is not None:
        scalars = np.array([term.code, term.coefficient, term.empty])
        arrays += [scalars, term.sizes, term.targets, term.table, term.cut_weights]
    return _checksum(repr(settings), {str(k): array for k, array in enumerate(arrays)})


def _checksum(text: str, arrays: Arrays) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        values = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {values.dtype.str} {values.shape}".encode())
        digest.update(values.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def save(path: str | os.PathLike[str], run: str, header: Header, arrays: Arrays) -> None:
    """Write the file whole, or warn: where there is no room for it, the run goes on."""
    text = json.dumps({"magic": MAGIC, "version": VERSION, "run": run, **header})
    own = {"header": np.array(text), "checksum": np.array(_checksum(text, arrays))}
    try:
        with atomic_write(path) as file:
            np.savez(file, allow_pickle=False, **own, **arrays)
    except OSError as error:
        warnings.warn(
            f"the checkpoint {path} could not be written ({error.strerror or error}): the run "
            "goes on, but could not be resumed from here; make room, or name another folder",
            CheckpointWarning,
            stacklevel=3,
        )


def refuse_existing(path: str | os.PathLike[str] | None, engine: str) -> None:
    """Refuse to pass by a checkpoint of another run, where this run would keep none."""
    if path is not None and Path(path).exists():
        raise CheckpointError(
            f"{path} belongs to another run, for {engine} keeps no checkpoints here: resume with "
            "the same inputs and the same engine, or delete it to start again"
        )
