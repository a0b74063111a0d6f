"""The files of a fit in one folder: the answer, everything behind it, and a page to look at.

labels.csv      one row per point, see `spinlearn.answers.table`
labels.parquet  the same, where pyarrow is installed
proposals.csv   groups that may be a class of their own, best first
profile.csv     one row per point and temperature interval: id, t_low, t_high, call; of large sets
                only where it is asked for
model.npz       everything, for the other commands
report.html     the explorer
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.names import outcome_name
from spinlearn.answers.rule import STATUS_NAMES
from spinlearn.answers.spreadsheet import safe_name
from spinlearn.answers.table import (
    STEPS,
    csv_writer,
    table_columns,
    temperature_text,
    whole_steps,
)
from spinlearn.core.arrays import FloatArray
from spinlearn.io.result import Result

PROFILE_COLUMNS = ("id", "t_low", "t_high", "call")
PROPOSAL_COLUMNS = (
    "group", "probability", "points", "beside", "apart", "features", "typical", "members",
)  # fmt: skip
ANSWER_FILES = (
    "labels.csv", "labels.parquet", "proposals.csv", "profile.csv", "model.npz", "report.html",
)  # fmt: skip
MANY = 100_000  # points beyond which the profile is written only where it is asked for
BLOCK = 200_000  # rows of text held at a time


def write_answer(folder: Path, result: Result, *, profile: bool | None = None) -> list[Path]:
    """Write all files of a result into an existing folder.

    Parameters
    ----------
    folder : Path
    result : Result
    profile : bool, optional
        Whether to write profile.csv; default: up to MANY points.
    """
    files = [folder / "labels.csv"]
    _write_labels(files[0], result)
    if find_spec("pyarrow") is not None:
        files.append(folder / "labels.parquet")
        write_label_parquet(files[-1], result)
    files.append(folder / "proposals.csv")
    _write_proposals(files[-1], result)
    if profile or (profile is None and len(result.ids) <= MANY):
        files.append(folder / "profile.csv")
        _write_profile(files[-1], result)
    files += [folder / "model.npz", folder / "report.html"]
    result.save(files[-2])
    write_report(files[-1], result)
    return files


def _write_labels(path: Path, result: Result) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        for start in range(0, len(result.ids), BLOCK):
            part = result.table(result.ids, slice(start, start + BLOCK))
            file.write(part.csv(heading=start == 0))


def write_label_parquet(path: Path, result: Result) -> None:
    """Write the columns of labels.csv, typed.

    Calls and states are dictionary-encoded, numbers in single precision as whole steps of 0.0001.
    """
    import pyarrow as pa
    from pyarrow import parquet

    decision = result.decision
    codes, call = np.unique(decision.outcomes, return_inverse=True)
    names = [outcome_name(int(c), result.classes, decision.confused_sets) for c in codes]
    seconds, second = np.unique(result.second.astype(str), return_inverse=True)
    states, errors = result.table_states(), result.std_error
    values = [result.ids, _words(call.astype(np.int32), names),
              _words(decision.status.astype(np.int8), STATUS_NAMES), _rounded(result.confidence),
              _words(second.astype(np.int32), seconds), *map(_rounded, states.T)]  # fmt: skip
    if errors is not None:
        values += map(_rounded, errors.T)
    columns = table_columns(result.classes, result.n_new, states.shape[1], errors is not None)
    parquet.write_table(
        pa.table(dict(zip(columns, values, strict=True))),
        path, compression="zstd", write_page_checksum=True,
    )  # fmt: skip


def _rounded(values: FloatArray) -> npt.NDArray[np.float32]:
    return (whole_steps(values) / STEPS).astype(np.float32)


def _words(numbers: npt.NDArray[Any], words: Any) -> Any:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(list(words)))


def _write_proposals(path: Path, result: Result) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv_writer(file)
        writer.writerow(PROPOSAL_COLUMNS)
        for one in result.proposals:
            typical, members = (
                " ".join(result.ids[k] for k in rows.tolist()) for rows in (one.typical, one.points)
            )
            texts = (one.beside, one.apart_text(), one.features_text(), typical, members)
            size = str(len(one.points))
            writer.writerow((one.name, f"{one.probability:.4f}", size, *map(safe_name, texts)))


def _write_profile(path: Path, result: Result) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv_writer(file)
        writer.writerow(PROFILE_COLUMNS)
        for point, name in enumerate(result.ids):
            for part in result.profile.intervals(point):
                ends = temperature_text(part.low), temperature_text(part.high)
                call = safe_name(result.name_of(part.outcome))
                writer.writerow((safe_name(name), *ends, call))


def write_report(path: Path, result: Result) -> None:
    """Write the explorer page of a result, one self-contained file."""
    result.explore(path, title=str(result.settings.get("data", "spinlearn")))
