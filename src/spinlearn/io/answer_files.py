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

from pathlib import Path

from spinlearn.answers.spreadsheet import safe_name
from spinlearn.answers.table import csv_writer, temperature_text
from spinlearn.io.label_parquet import parquet_at_hand, write_label_parquet
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
    if parquet_at_hand():
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
