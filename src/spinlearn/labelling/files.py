"""What a labelling leaves in its folder, beside the log.

given.csv     id, label      the labels so far; `spinlearn fit DATA --labels-file given.csv
                             --labels label` reads them
answer/                      the folder that this command would write
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from spinlearn.answers.spreadsheet import safe_name
from spinlearn.core.atomic_write import atomic_write
from spinlearn.io.answer_files import write_answer
from spinlearn.io.folder import new_folder
from spinlearn.io.result import Result

GIVEN, ANSWER = "given.csv", "answer"


def write_given(folder: Path, ids: Sequence[str], labels: Sequence[str | None]) -> Path:
    """Write the labels, whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("id", "label"))
    for name, label in zip(ids, labels, strict=True):
        if label is not None:
            writer.writerow((safe_name(name), label))
    target = folder / GIVEN
    with atomic_write(target) as file:
        file.write(text.getvalue().encode())
    return target


def write_answer_folder(folder: Path, result: Result) -> Path:
    """Write the answer, whole or not at all."""
    target = folder / ANSWER
    with new_folder(target) as side:
        write_answer(side, result)
    return target
