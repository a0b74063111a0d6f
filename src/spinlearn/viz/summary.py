"""Answers as a small piece of HTML for notebooks; all text of the user is escaped."""

from __future__ import annotations

from html import escape

import numpy as np
import numpy.typing as npt

from spinlearn.label_table import STATUS_NAMES
from spinlearn.viz import palette

LISTED = 12


def answer_html(
    temperature: float, names: npt.NDArray[np.object_], status: npt.NDArray[np.str_]
) -> str:
    """Counts by status as a bar, and a table of the calls.

    Parameters
    ----------
    temperature : float
    names : object array (n,)
        The calls in words.
    status : str array (n,)
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
        f"<tbody>{rows}</tbody></table></div>"
    )
