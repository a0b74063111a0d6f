"""The files of a fit: labels.csv, profile.csv, model.npz and report.html in one folder.

labels.csv    one row per point, see `spinlearn.label_table`
profile.csv   one row per point and temperature interval: id, t_low, t_high, call
"""

from __future__ import annotations

from pathlib import Path

from spinlearn.errors import InvalidInputError
from spinlearn.io.result import Result
from spinlearn.label_table import LabelTable, answer_grid, csv_line, label_table, temperature_text

PROFILE_COLUMNS = ("id", "t_low", "t_high", "call")


def answer_table(result: Result) -> LabelTable:
    """The labelled table at the temperature of the answer."""
    equilibrium, found = answer_grid(result)
    row = found.nearest_row(result.temperature_)
    errors = equilibrium.std_error
    return label_table(
        found,
        row,
        ids=result.ids,
        classes=result.classes_,
        marginals=equilibrium.marginals[row],
        std_error=None if errors is None else errors[row],
    )


def write_answer(folder: Path, result: Result) -> list[Path]:
    """Write all files of a result into an existing folder."""
    from spinlearn.io.report import write_report

    files = [folder / name for name in ("labels.csv", "profile.csv", "model.npz", "report.html")]
    files[0].write_text(answer_table(result).csv(), encoding="utf-8", newline="")
    with open(files[1], "w", encoding="utf-8", newline="") as file:
        file.write(csv_line(PROFILE_COLUMNS))
        for point, name in enumerate(result.ids):
            for part in result.profile_.intervals(point):
                ends = temperature_text(part.low), temperature_text(part.high)
                file.write(csv_line((name, *ends, result.name_of(part.outcome))))
    result.save(files[2])
    write_report(files[3], result)
    return files


def check_is_result(folder: Path) -> None:
    """Refuse a folder that no fit made."""
    if not folder.is_dir():
        raise InvalidInputError(
            f"{folder} is not a folder: give the one that `spinlearn fit --out` made"
        )
