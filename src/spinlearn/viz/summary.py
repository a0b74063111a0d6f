"""Answers as a small piece of HTML for notebooks; all text of the user is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.decision import STATUS_NAMES, trusted_rows
from spinlearn.hints import hint_text, new_classes_elsewhere
from spinlearn.label_table import answer_grid
from spinlearn.viz import palette

LISTED = 12


def answer_html(
    temperature: float,
    names: npt.NDArray[np.object_],
    status: npt.NDArray[np.str_],
    notes: Sequence[str] = (),
) -> str:
    """Counts by status as a bar, and a table of the calls.

    Parameters
    ----------
    temperature : float
    names : object array (n,)
        The calls in words.
    status : str array (n,)
    notes : sequence of str
        Lines under the table.
    """
    n = max(len(names), 1)
    counts = [int(np.sum(status == name)) for name in STATUS_NAMES]
    bar = "".join(
        f'<span title="{size} {name}" style="display:inline-block;height:10px;'
        f'width:{100 * size / n:.3f}%;background:{colour}"></span>'
        for name, size, colour in zip(STATUS_NAMES, counts, palette.STATUS_COLOURS, strict=True)
    )
    sizes = ", ".join(
        f"{size} {name}" for name, size in zip(STATUS_NAMES, counts, strict=True) if size
    )
    calls, inverse, points = np.unique(
        np.array([str(name) for name in names], dtype=object),
        return_inverse=True,
        return_counts=True,
    )
    order = np.argsort(-points, kind="stable")
    rows = "".join(
        f'<tr><td style="text-align:left">{escape(str(calls[k]))}</td><td>{points[k]}</td>'
        f"<td>{', '.join(np.unique(status[inverse == k]))}</td></tr>"
        for k in order[:LISTED]
    )
    if len(order) > LISTED:
        rest = int(points[order[LISTED:]].sum())
        rows += f"<tr><td>{len(order) - LISTED} further calls</td><td>{rest}</td><td></td></tr>"
    return (
        '<div style="max-width:34em;font-size:13px">'
        f"<b>{len(names)} points at T = {temperature:.4g}</b>: {sizes or 'none'}"
        f'<div style="font-size:0;margin:4px 0;white-space:nowrap">{bar}</div>'
        "<table><thead><tr><th>call</th><th>points</th><th>status</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
        + "".join(f"<div>{escape(note)}</div>" for note in notes)
        + "</div>"
    )


def answer_notes(result: Any) -> list[str]:
    """How an answer was found, and new classes that stand at other temperatures.

    Parameters
    ----------
    result : fitted PottsClassifier, or anything with its `equilibrium_`, `profile_`, `classes_`,
        `temperature_` and `tau`
    """
    equilibrium, found = answer_grid(result)
    n_bad = int(np.sum(~equilibrium.converged))
    low, high = found.temperatures[0], found.temperatures[-1]
    notes = [
        f"{'exact' if equilibrium.exact else 'sampled'} by {equilibrium.engine} at "
        f"{len(found.temperatures)} temperatures {low:.4g} to {high:.4g}, "
        + (f"{n_bad} of them not converged" if n_bad else "all converged")
    ]
    row = found.nearest_row(float(result.temperature_))
    for hint in new_classes_elsewhere(found, row, trusted_rows(equilibrium)):
        notes.append(hint_text(hint, result.classes_, found.confused_sets))
    return notes
