"""What notebooks show of our types: small HTML tables; all text of the user is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.answer import Answer
from spinlearn.answers.profile import Profile
from spinlearn.answers.rule import STATUS_NAMES, Decision, Status
from spinlearn.model.equilibrium import Equilibrium
from spinlearn.viz import palette

LISTED = 12  # rows of a table


@singledispatch
def as_html(value: object) -> str:
    """One of our types as a piece of HTML."""
    return f"<pre>{escape(repr(value))}</pre>"


@as_html.register
def _equilibrium(value: Equilibrium) -> str:
    n_rows, n_bad = len(value.temperatures), int(np.sum(~value.converged))
    graph = value.model.graph
    title = (
        f"{value.kind} by {value.engine}: {graph.n_nodes} points, {graph.n_edges} edges, "
        f"{value.model.n_states} states, {n_rows} temperatures, "
        + (f"{n_bad} not converged" if n_bad else "all converged")
    )
    columns: dict[str, Any] = {
        "T": value.temperatures,
        "mean energy": value.mean_energy,
        "heat capacity": value.heat_capacity,
    }
    if value.log_partition is not None:
        columns["ln Z"] = value.log_partition
    rows: list[list[object]] = []
    for k in np.argsort(value.temperatures, kind="stable")[_shown_rows(n_rows)]:
        cells: list[object] = [f"{values[k]:.4g}" for values in columns.values()]
        if value.std_error is not None:
            cells.append(f"{np.max(value.std_error[k], initial=0.0):.2g}")
        rows.append([*cells, "yes" if value.converged[k] else "no"])
    last = ["converged"] if value.std_error is None else ["worst error", "converged"]
    return _boxed(title, _table([*columns, *last], rows))


@as_html.register
def _answer(value: Answer) -> str:
    """A bar of the points by status, a table of the calls, what to know about them."""
    names, status = value.names, value.status
    n = max(len(names), 1)
    counts = [int(np.sum(status == name)) for name in STATUS_NAMES]
    colours = [palette.STATUS_LOOKS[status].colour for status in Status]
    bar = "".join(
        f'<span title="{size} {name}" style="display:inline-block;height:10px;'
        f'width:{100 * size / n:.3f}%;background:{colour}"></span>'
        for name, size, colour in zip(STATUS_NAMES, counts, colours, strict=True)
    )
    sizes = ", ".join(
        f"{size} {name}" for name, size in zip(STATUS_NAMES, counts, strict=True) if size
    )
    codes, points = np.unique(value.decision.outcomes, return_counts=True)
    order = np.argsort(-points, kind="stable")
    rows: list[list[object]] = []
    for k in order[:LISTED]:
        here = value.decision.outcomes == codes[k]
        kinds = ", ".join(np.unique(status[here]))
        sure = f"{value.mean_confidence(int(codes[k])):.2f}"
        rows.append([value.name_of(int(codes[k])), points[k], sure, kinds])
    if len(order) > LISTED:
        rest = int(points[order[LISTED:]].sum())
        rows.append([f"{len(order) - LISTED} further calls", rest, "", ""])
    where = "" if value.law is not None else f" at T = {value.temperature:.4g}"
    title = f"{len(names)} points{where}: {sizes or 'none'}"
    notes = [f"<div>{escape(note)}</div>" for note in value.notes()]
    warning = notes.pop(0) if value.warning is not None else ""
    return _boxed(
        title,
        f'<div style="font-size:0;margin:4px 0;white-space:nowrap">{bar}</div>'
        + _table(["call", "points", "mean confidence", "status"], rows)
        + "".join(notes),
        before=warning,
    )


@as_html.register
def _counts(value: Profile | Decision) -> str:
    """How many points have which status, at some of the temperatures."""
    n_classes, outcomes = value.n_classes, np.atleast_2d(value.outcomes)
    status, (n_rows, n_points) = np.atleast_2d(value.status), outcomes.shape
    temperatures = value.temperatures if isinstance(value, Profile) else [value.temperature]
    rows = []
    for k in _shown_rows(n_rows):
        counts = np.bincount(status[k], minlength=len(STATUS_NAMES))
        _, sizes = np.unique(outcomes[k][outcomes[k] >= n_classes], return_counts=True)
        cells: list[object] = [f"{temperatures[k]:.4g}", *counts.tolist()]
        rows.append([*cells, len(sizes), int(sizes.max(initial=0))])
    title = f"{n_points} points, {n_classes} classes, " + (
        f"T = {temperatures[0]:.4g}" if n_rows == 1
        else f"{n_rows} temperatures {temperatures[0]:.4g} to {temperatures[-1]:.4g}"
    )  # fmt: skip
    return _boxed(title, _table(["T", *STATUS_NAMES, "new classes", "largest"], rows))


def _boxed(title: str, body: str, *, before: str = "") -> str:
    return f'<div style="max-width:44em;font-size:13px">{before}<b>{escape(title)}</b>{body}</div>'


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table whose first column is set flush left."""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in columns)
    body = ""
    for row in rows:
        sides = ["left"] + (len(row) - 1) * ["right"]
        cells = (
            f'<td style="text-align:{side}">{escape(str(value))}</td>'
            for side, value in zip(sides, row, strict=True)
        )
        body += f"<tr>{''.join(cells)}</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _shown_rows(n_rows: int) -> npt.NDArray[np.intp]:
    """At most LISTED row numbers, evenly spread, the first and the last among them."""
    return np.unique(np.linspace(0, n_rows - 1, LISTED).round().astype(np.intp))
