"""A small table as HTML, for notebooks: everything in it is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import numpy.typing as npt

LISTED = 12


def html_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A title and a table under it; the first column is set flush left.

    Parameters
    ----------
    title : str
    columns : sequence of str
    rows : sequence of sequences
        Cells as text, or anything with a `str`.
    """
    head = "".join(f"<th>{escape(str(name))}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row, range(len(row))))}</tr>" for row in rows)
    return (
        f'<div style="max-width:44em;font-size:13px"><b>{escape(title)}</b>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def shown_rows(n_rows: int, most: int = LISTED) -> npt.NDArray[np.intp]:
    """At most `most` row numbers, evenly spread, the first and the last among them."""
    if n_rows <= most:
        return np.arange(n_rows, dtype=np.intp)
    return np.unique(np.linspace(0, n_rows - 1, most).round().astype(np.intp))


def _cell(value: object, column: int) -> str:
    side = "left" if column == 0 else "right"
    return f'<td style="text-align:{side}">{escape(str(value))}</td>'
