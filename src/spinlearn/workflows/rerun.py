"""An answer made from what run.json says, and what is different between two answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from spinlearn.answers.table import STEPS, whole_steps
from spinlearn.errors import InvalidInputError
from spinlearn.io.dataset import ReadOptions
from spinlearn.io.reading import read_dataset
from spinlearn.io.record import asked_for, inputs_of, read_run, versions
from spinlearn.io.result import Result
from spinlearn.model.protocols import Callback
from spinlearn.settings import make_rule, read_grid
from spinlearn.workflows.fitting import Fitting, decided

Said = dict[str, Any]
# Commands that make an answer, with what else they were asked for.
COMMANDS: dict[str, tuple[str, ...]] = {
    "fit": ("profile",),
    "cluster": (),
    "accept": ("group", "name"),
    "reject": ("group", "name"),
    "explore": ("temperature", "temperatures"),
}


def made(
    run: Said, callback: Callback | None = None, tell: Callable[[str], None] | None = None
) -> tuple[Result, list[str]]:
    """The answer that was asked for (`spinlearn.io.record`), and the notes on the way.

    `run` gets the digests of what was read.
    """
    do, data, given = run["command"], Path(run["data"]), run["arguments"]
    if do in ("fit", "cluster"):
        dataset = read_dataset(data, _read_options(run["reading"]))
        run["inputs"] = inputs_of(run)
        if do == "fit":
            dataset.check_labels()
        elif len(dataset.ids) < 2:
            raise InvalidInputError(
                f"{dataset.source} holds {len(dataset.ids)} points: at least 2 are needed"
            )
        else:
            dataset = replace(dataset, labels=np.full(len(dataset.ids), None, dtype=object))
        return Fitting(dataset, run["settings"]).result(dataset.labels, callback, tell)
    result = Result.load(data)
    run["inputs"] = inputs_of(run)
    if do in ("accept", "reject"):
        return decided(result, do, str(given["group"]), str(given["name"]), callback), []
    if given["temperatures"] != "auto":
        result = result.on(read_grid(given["temperatures"]))
    if given["temperature"] is not None:
        result = result.at(make_rule(given["temperature"]).name).renumbered()
    return result, []


def _read_options(reading: Mapping[str, Any]) -> ReadOptions:
    """What was said about a file, from plain values."""
    said: Said = {k: tuple(v) if isinstance(v, list) else v for k, v in reading.items()}
    if said.get("labels_file") is not None:
        said["labels_file"] = Path(said["labels_file"])
    try:
        return ReadOptions(**said)
    except TypeError as error:
        raise InvalidInputError(f"run.json holds another version's settings: {error}") from error


def repeated(
    folder: Path, callback: Callback | None = None, tell: Callable[[str], None] | None = None
) -> tuple[Result, list[str], Said, Said]:
    """The answer of a folder made again, notes, what was asked for, and what is different."""
    run, old = read_run(folder), Result.load(folder)
    given = COMMANDS.get(str(run["command"]))
    if given is None or not set(given) <= set(run["arguments"]):
        raise InvalidInputError(
            f"run.json of {folder} names {run['command']!r} with {sorted(run['arguments'])}, which "
            "is no command that makes an answer: run the command itself again"
        )
    then, before = run["versions"], run["inputs"]
    where = Path(run["folder"])
    again = asked_for(run["command"], _found(where, run["data"]))
    again["arguments"] = {name: run["arguments"][name] for name in given}
    again |= {"reading": dict(run["reading"]), "settings": run["settings"]}
    if again["reading"].get("labels_file") is not None:
        again["reading"]["labels_file"] = _found(where, again["reading"]["labels_file"])
    result, notes = made(again, callback, tell)
    now, pairs = versions(), zip(before, again["inputs"], strict=False)
    different = {
        "inputs": [old["path"] for old, new in pairs if old["sha256"] != new["sha256"]],
        "versions": {
            name: [then.get(name), now.get(name)]
            for name in {**then, **now}
            if then.get(name) != now.get(name)
        },
        **differences(old, result),
    }
    same = not any(different[name] for name in ("inputs", "other_points", "calls", "probability"))
    return result, notes, again, {"same": same, **different}


def _found(folder: Path, path: str) -> Path:
    """A file that was named in `folder`: there, or else in the working folder."""
    for place in (folder / path, Path(path)):
        if place.exists():
            return place
    raise InvalidInputError(
        f"{path} is neither in {folder} nor here: go to the folder that holds it, or put it back"
    )


def differences(old: Result, new: Result) -> Said:
    """How many points are in one of two answers alone, and how the others differ.

    Probabilities are compared in the steps of labels.csv, of named and new classes alike; a class
    that the other answer lacks has probability 0 there.
    """
    places = {name: row for row, name in enumerate(new.ids)}
    rows = np.array([(row, places[name]) for row, name in enumerate(old.ids) if name in places])
    first, second = rows.reshape(-1, 2).T
    shares = [
        {c.name: whole_steps(c.values)[kept] for c in one._table_columns() if c.name[:2] == "p:"}
        for one, kept in ((old, first), (new, second))
    ]
    none = np.zeros(len(first), dtype=np.uint16)
    largest = 0
    for name in {**shares[0], **shares[1]}:
        steps = (one.get(name, none).astype(np.int64) for one in shares)
        largest = max(largest, int(np.abs(np.subtract(*steps)).max(initial=0)))
    return {
        "points": len(first),
        "other_points": len(old.ids) + len(new.ids) - 2 * len(first),
        "calls": int(np.sum(old.names[first] != new.names[second])),
        "probability": largest / STEPS,
    }
