"""What is said of an answer in plain values: on screen, by --json, and in run.json beside it.

`described` counts once; the summary on screen is made from it, `--json` prints it, run.json holds
it. What a run was asked for (`asked_for`) is part of it, so that `spinlearn rerun` can repeat it:

    command, line, folder, began    what was asked for, where and when
    data, inputs                    the file, and all files that were read with their SHA-256
    reading, arguments              what was said about the file; what else was asked for
    settings, seed                  all settings of the fit, defaults too
    versions                        of spinlearn, Python and the libraries that compute

NaN and infinities are null, which JSON has for them.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from spinlearn import __version__
from spinlearn.answers.rule import STATUS_NAMES
from spinlearn.errors import InvalidInputError
from spinlearn.io.result import Result

SCHEMA = 1  # of what --json prints and run.json holds
RUN = "run.json"
NEEDED = ("numpy", "scipy", "numba", "scikit-learn", "joblib", "filelock")
MOST_NUMBERS = 64  # of an array; longer ones are left out
MOST_BYTES = 1 << 24  # of a run.json


def plain(values: Any) -> Any:
    """Settings, counts and diagnostics as JSON can hold them; long arrays are left out."""
    if isinstance(values, Mapping):
        return {str(key): plain(value) for key, value in values.items()}
    if isinstance(values, (list, tuple)):
        return [plain(value) for value in values]
    if isinstance(values, np.ndarray):
        short = values.size <= MOST_NUMBERS and values.dtype.kind in "biuf"
        return plain(values.tolist()) if short else None
    if isinstance(values, np.generic):
        return plain(values.item())
    if isinstance(values, float):
        return values if isfinite(values) else None
    return values if isinstance(values, (str, int)) or values is None else str(values)


def as_json(values: Mapping[str, Any]) -> str:
    """One object, in letters that every encoding has."""
    return json.dumps(plain(values), indent=1, allow_nan=False) + "\n"


def version_of(name: str) -> str | None:
    """The version of an installed library."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def versions() -> dict[str, str | None]:
    """Of what computes."""
    own = {"spinlearn": __version__, "python": platform.python_version()}
    return own | {name: version_of(name) for name in NEEDED}


def digest(path: Path) -> str:
    """SHA-256 of a file; of a folder, of the names and digests of the files in it."""
    if path.is_dir():
        parts = (f"{digest(p)} {p.name}\n" for p in sorted(path.iterdir()) if p.is_file())
        return hashlib.sha256("".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def asked_for(command: str, data: Path, reading: Any = None, **arguments: Any) -> dict[str, Any]:
    """What `command` was asked to do with `data`, as `reading` says, and with `arguments`."""
    return {
        "command": command,
        "line": shlex.join(["spinlearn", *sys.argv[1:]]),
        "folder": str(Path.cwd()),
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": str(data),
        "inputs": [],
        "reading": {} if reading is None else asdict(reading),
        "arguments": arguments,
    }


def inputs_of(run: Mapping[str, Any]) -> list[dict[str, str]]:
    """The files that a run reads, with their digests."""
    paths = [path for path in (run["data"], run["reading"].get("labels_file")) if path is not None]
    return [{"path": str(path), "sha256": digest(Path(path))} for path in paths]


def read_run(folder: Path) -> dict[str, Any]:
    """What `asked_for` and `described` said of the answer in a folder."""
    path = folder / RUN if folder.is_dir() else folder.with_name(RUN)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"{path.stat().st_size} bytes")
        run = json.loads(path.read_text(encoding="utf-8"))
        if run["schema"] != SCHEMA:
            raise ValueError(f"schema {run['schema']!r}, this spinlearn reads {SCHEMA}")
        if run["command"] is None:
            raise ValueError("it was labelled by looking, or written in Python")
        parts = {"inputs": list, "reading": dict, "arguments": dict, "settings": dict, "data": str}
        for name, kind in (parts | {"versions": dict, "folder": str}).items():
            if not isinstance(run[name], kind):
                raise TypeError(f"{name} is no {kind.__name__}")
        for one in run["inputs"]:
            one["path"] + one["sha256"]
    except FileNotFoundError as error:
        raise InvalidInputError(
            f"{path} does not exist: give a folder that `spinlearn fit --out` made"
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInputError(
            f"{path} does not say how an answer was made ({error}): run the command itself again"
        ) from error
    return dict(run)


def described(
    result: Result, run: Mapping[str, Any] | None = None, notes: Sequence[str] = ()
) -> dict[str, Any]:
    """All that is said of an answer, with how it was made if that is known (`asked_for`)."""
    decision, settings = result.decision, dict(result.settings.get("options", {}))
    # Named classes, new ones, undecided ones, the largest first.
    codes, sizes = np.unique(decision.outcomes, return_counts=True)
    order = np.lexsort((-sizes, codes >= decision.n_classes, codes < 0))
    calls = []
    for code, size in zip(codes[order].tolist(), sizes[order].tolist(), strict=True):
        status = np.bincount(decision.status[decision.outcomes == code]).tolist()
        calls.append(
            {
                "call": result.name_of(code),
                "points": size,
                "confidence": result.mean_confidence(code),
                "statuses": {STATUS_NAMES[s]: count for s, count in enumerate(status) if count},
            }
        )
    law = result.law
    return plain(  # type: ignore[no-any-return]
        {
            "schema": SCHEMA,
            **(run or {"command": None, "data": result.settings.get("data")}),
            "settings": settings,
            "seed": settings.get("random_state"),
            "versions": versions(),
            "seconds": result.settings.get("seconds"),
            "points": result.model.n_nodes,
            "labels": int(np.sum(result.labels >= 0)),
            "edges": result.graph.n_edges,
            "classes": [str(name) for name in result.classes],
            "temperature": None if law is not None else result.temperature,
            "warning": result.warning,
            "headline": result.headline(),
            "chance": law is not None and law.chance,
            "choices": result.choices,
            "calls": calls,
            "remarks": result.kind_remarks(),
            "phases": [
                {"low": part.low, "high": part.high, "phase": part.phase.value}
                for part in result.phases
            ],
            "proposals": proposals(result),
            "notes": list(notes),
        }
    )


def proposals(result: Result, members: bool = False) -> list[dict[str, Any]]:
    """Groups that may be a class of their own, best first; on demand with all their points."""
    return [
        {
            "group": one.name,
            "probability": one.probability,
            "points": len(one.points),
            "beside": one.beside or None,
            "apart": one.apart,
            "features": dict(one.features),
            "typical": [result.ids[k] for k in one.typical.tolist()],
            "text": one.text(),
        }
        | ({"members": [result.ids[k] for k in one.points.tolist()]} if members else {})
        for one in result.proposals
    ]
