"""The files of a fit in one folder: labels.csv, profile.csv, model.npz, report.html.

labels.csv    one row per point, see `spinlearn.answers.table`
profile.csv   one row per point and temperature interval: id, t_low, t_high, call
"""

from __future__ import annotations

from pathlib import Path

from spinlearn.answers.spreadsheet import safe_name
from spinlearn.answers.table import csv_writer, temperature_text
from spinlearn.io.result import Result

PROFILE_COLUMNS = ("id", "t_low", "t_high", "call")
ANSWER_FILES = ("labels.csv", "profile.csv", "model.npz", "report.html")


def write_answer(folder: Path, result: Result) -> list[Path]:
    """Write all files of a result into an existing folder."""
    files = [folder / name for name in ANSWER_FILES]
    files[0].write_text(result.table(result.ids).csv(), encoding="utf-8", newline="")
    with open(files[1], "w", encoding="utf-8", newline="") as file:
        writer = csv_writer(file)
        writer.writerow(PROFILE_COLUMNS)
        for point, name in enumerate(result.ids):
            for part in result.profile.intervals(point):
                ends = temperature_text(part.low), temperature_text(part.high)
                call = safe_name(result.name_of(part.outcome))
                writer.writerow((safe_name(name), *ends, call))
    result.save(files[2])
    write_report(files[3], result)
    return files


def write_report(path: Path, result: Result) -> None:
    """Write the explorer page of a result, one self-contained file."""
    result.explore(path, title=str(result.settings.get("data", "spinlearn")))
