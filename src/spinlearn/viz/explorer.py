"""The explorer: one self-contained HTML file in which to move the temperature.

The page (`page/`) is plain HTML, CSS and JavaScript that fetches nothing; a content security policy
with the hash of its own script forbids everything else. Arrays travel as whole numbers: the
difference to the row before, split into byte planes, deflated, in base64. Text of the user (ids,
class names, the title) travels as data and enters the page only as text nodes.

Axes: T temperatures (ascending), n points, k named classes, m edges. Outcomes are coded as in
`spinlearn.answers.labels`.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn import __version__
from spinlearn.answers.answer import Answer
from spinlearn.answers.law import (
    call_probability,
    mean_confidence,
    second_choices,
    trusted_rows,
    warning_at,
)
from spinlearn.answers.rule import STATUS_NAMES, Status
from spinlearn.answers.table import STEPS, whole_steps
from spinlearn.errors import InvalidInputError
from spinlearn.files.arrays import SINGLE
from spinlearn.files.atomic_write import atomic_write
from spinlearn.model.arrays import FloatArray, IntArray
from spinlearn.viz import palette
from spinlearn.viz.layout import Layout, layouts

NO_STATE = 255  # as in page/lookup.js
SIDE = 192  # bins along a side of the density


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ExplorerContent:
    """An answer and what the explorer needs beside it, in the answer's row that of the answer."""

    answer: Answer
    ids: tuple[str, ...]
    classes: tuple[str, ...]
    layouts: tuple[Layout, ...]  # the first is shown at the start
    confidence: FloatArray  # (T, n), probability of the calls at every temperature
    probability: FloatArray  # (T, n, k), of the named classes
    second: npt.NDArray[np.uint8]  # (T, n), the most probable other state, or NO_STATE
    title: str


def explorer_content(
    answer: Answer,
    *,
    ids: Sequence[object] | npt.NDArray[Any] | None = None,
    places: tuple[Layout, ...] | None = None,
    title: str = "spinlearn",
    **sources: Any,
) -> ExplorerContent:
    """Collect what the explorer shows; `ids` default to row numbers.

    `places` are layouts made before; else `sources` are what `layouts` makes them from.
    """
    equilibrium, profile, n = answer.equilibrium, answer.profile, answer.graph.n_nodes
    if ids is None:
        ids = range(n)
    if len(ids) != n:
        raise InvalidInputError(f"there are {len(ids)} ids for {n} points: give one id per point")
    confidence, second = [], []
    for row in range(len(profile.temperatures)):
        here = row == answer.row
        law = answer.law_states if here else equilibrium.marginals[row]
        second.append(second_choices(law, profile.outcomes[row]))
        confidence.append(
            answer.confidence if here else call_probability(equilibrium, profile.decision(row), row)
        )
    probability = equilibrium.marginals[:, :, : len(answer.classes)]
    if answer.law is not None:
        probability = probability.copy()
        probability[answer.row] = answer.probabilities
    return ExplorerContent(
        answer=answer,
        ids=tuple(str(i) for i in ids),
        classes=tuple(str(c) for c in answer.classes),
        layouts=places or layouts(answer.graph, **sources),
        confidence=np.array(confidence),
        probability=probability,
        second=np.where(np.array(second) < 0, NO_STATE, second).astype(np.uint8),
        title=title,
    )


def points_on_display(content: ExplorerContent) -> IntArray:
    """Rows on display, ascending: a sample.

    Labelled points and small groups are kept; each has its share, or an even split of half the
    places.
    """
    answer, profile, n = content.answer, content.answer.profile, len(content.ids)
    values = len(profile.temperatures) * len(content.classes)
    most = min(MAX_POINTS, max(MAX_VALUES // max(values, 1), FEWEST))
    shown = np.arange(n)
    status, outcome = profile.status[answer.row], profile.outcomes[answer.row]
    if n > most:
        group = np.minimum(outcome, profile.n_classes).astype(np.int64) * 8 + status
        _, member, sizes = np.unique(group, return_inverse=True, return_counts=True)
        priority = status[np.unique(member, return_index=True)[1]] == Status.LABELLED
        quota = np.zeros(len(sizes), dtype=np.int64)
        for kind in (priority, ~priority):
            left = most - int(quota.sum())
            floor = max(left // 2 // max(int(kind.sum()), 1), 1)
            quota[kind] = np.minimum(sizes[kind], floor)
        spare = sizes - quota
        left = most - int(quota.sum())
        if left > 0:
            exact = spare * left / max(int(spare.sum()), 1)
            extra = np.floor(exact).astype(np.int64)
            largest = np.argsort(extra - exact, kind="stable")[: left - int(extra.sum())]
            extra[largest] += 1
            quota += np.minimum(extra, spare)
        chosen = [_evenly(np.flatnonzero(member == k), int(few)) for k, few in enumerate(quota)]
        shown = np.unique(np.concatenate(chosen))[:most]
    if n > MAX_TABLED:  # undecided points are for someone to look at: all, if few
        undecided = np.flatnonzero((status == Status.CONFUSED) | (status == Status.OUTLIER))
        shown = np.union1d(shown, _evenly(undecided, most))
    for proposal in answer.proposals:  # the page leads to their typical points
        shown = np.union1d(shown, proposal.typical)
    return shown.astype(np.int32)


def _evenly(points: npt.NDArray[np.intp], most: int) -> npt.NDArray[np.intp]:
    if len(points) <= most:
        return points
    return np.asarray(points[np.linspace(0, len(points) - 1, most).round().astype(int)])


def density(places: FloatArray, outcomes: IntArray) -> dict[str, npt.NDArray[Any]]:
    """How many points lie where, and what most of them are: what a map shows where they overlap.

    The square around `places` (n, 2), in units of the longer side, is cut into SIDE x SIDE bins. Of
    the b that hold points, ascending: bins (b,), row times SIDE plus column from the lowest corner;
    levels (b,), their number of points on a logarithmic scale up to 255; outcomes (T, b), of most.
    """
    cell = np.minimum((places * SIDE).astype(np.int32), SIDE - 1)
    bins, member = np.unique(cell[:, 1] * SIDE + cell[:, 0], return_inverse=True)
    counts = np.bincount(member)
    levels = np.rint(255 * np.log1p(counts) / np.log1p(counts.max()))
    most = []
    for row in outcomes:
        codes, code = np.unique(row, return_inverse=True)
        pairs, sizes = np.unique(member * len(codes) + code, return_counts=True)
        order = np.lexsort((pairs, -sizes, pairs // len(codes)))  # of several, the lowest code
        first = np.searchsorted(pairs[order] // len(codes), np.arange(len(bins)))
        most.append(np.asarray(codes[pairs[order][first] % len(codes)], dtype=np.int32))
    return {
        "bins": bins.astype(np.int32),
        "levels": levels.astype(np.uint8),
        "outcomes": np.array(most),
    }


MAX_POINTS = 20_000  # on display; larger sets are sampled
MAX_VALUES = 12_000_000  # probabilities embedded; fewer points beyond, but not below FEWEST
FEWEST = 2_000
MAX_AGREEMENTS = 4_000_000  # pair agreements embedded; fewer temperatures beyond
MAX_TABLED = 100_000  # points whose table is embedded; beyond, labels.csv has it
THOROUGH, HASTY = 6, 1  # levels of compression, of a file and of an answer that someone waits for
LISTED_GROUPS = 12  # new classes and confused sets listed per temperature
SCRIPTS = (
    "elements", "load", "lookup", "marks", "map", "density", "phases", "charts", "overview",
    "strip", "legend", "proposals", "calls", "panel", "table", "heading", "help", "controls",
    "pointer", "search", "keys", "main",
)  # fmt: skip  # main, which starts the page, comes last
LABELLING_SCRIPTS = ("fetching", "live", "looks", "tools", "changes", "labelling")  # before it
WORKER_SCRIPTS = ("load", "fetching", "worker")  # of the thread that unpacks answers


def write_explorer(path: str | os.PathLike[str], content: ExplorerContent) -> Path:
    text = page_html(content.title, explorer_payload(content))
    with atomic_write(path) as file:
        file.write(text.encode())
    return Path(path)


def labelling_html(title: str, settings: dict[str, Any], socket: str) -> str:
    """The page in labelling mode, see `page/labelling.js`; `socket` is the origin ws://...."""
    data = {"labelling": settings, "title": title, "version": __version__}
    return page_html(
        title,
        data,
        scripts=(*SCRIPTS[:-1], *LABELLING_SCRIPTS, SCRIPTS[-1]),
        style=_page("style.css") + _page("labelling.css"),
        card=_page("labelling.html"),
        policy=f" connect-src 'self' {socket}; img-src 'self' data: blob:; worker-src 'self';",
    )


def worker_script() -> str:
    """What unpacks answers beside the page in labelling mode."""
    return "'use strict';\n" + _page(*(f"{name}.js" for name in WORKER_SCRIPTS))


def page_html(
    title: str,
    data: dict[str, Any],
    *,
    scripts: tuple[str, ...] = SCRIPTS,
    style: str = "",
    card: str = "",
    policy: str = " img-src data: blob:;",
) -> str:
    """The page with its scripts and data in it; by default the explorer."""
    # In JSON nothing may end the script element that it stands in, whatever text it holds.
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign, code in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(sign, code)
    script = "(() => {\n'use strict';\n" + _page(*(f"{name}.js" for name in scripts))
    script += "\n})();\n"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        "title": html.escape(title),
        "script-hash": f"sha256-{digest}",
        "policy": policy,
        "style": style or _page("style.css"),
        "labelling": card,
        "data": text,
        "script": script,
    }
    # One pass, so that a mark inside a title or an id is left alone.
    return re.sub(r"{{([a-z-]+)}}", lambda mark: parts[mark[1]], _page("page.html"))


def packed(values: npt.NDArray[Any], level: int = THOROUGH) -> dict[str, Any]:
    """An array as differences along the first axis, byte planes, deflated, base64."""
    array = np.ascontiguousarray(values)
    if array.dtype.kind in "iu" and len(array) > 1:
        unsigned = array.view(np.dtype(f"u{array.itemsize}"))
        steps = unsigned.copy()
        steps[1:] -= unsigned[:-1]  # modulo 2^bits, undone by the same sum
        array = steps.view(array.dtype)
    planes = array.astype(array.dtype.newbyteorder("<"), copy=False).view(np.uint8)
    planes = planes.reshape(-1, array.itemsize).T
    return {
        "type": values.dtype.name,
        "shape": list(values.shape),
        "data": base64.b64encode(zlib.compress(planes.tobytes(), level)).decode(),
    }


def explorer_payload(content: ExplorerContent, shown: IntArray | None = None) -> dict[str, Any]:
    """What the page is given; in labelling mode `shown` are rows on display, with no table."""
    answer, n = content.answer, len(content.ids)
    equilibrium, profile, state = answer.equilibrium, answer.profile, answer.grid_phases
    live = shown is not None
    level = HASTY if live else THOROUGH
    if shown is None:
        shown = points_on_display(content)
    sampled = len(shown) < n
    # Edges between shown points by their display numbers, and C_ij at some of the temperatures.
    number = np.full(n, -1, dtype=np.int32)
    number[shown] = np.arange(len(shown))
    ends = number[answer.graph.edges]
    inside = np.flatnonzero(np.all(ends >= 0, axis=1))
    n_rows = len(profile.temperatures)
    n_agreements = min(n_rows, max(3, MAX_AGREEMENTS // max(len(inside), 1)))
    agreement_rows = np.unique(np.linspace(0, n_rows - 1, n_agreements).round().astype(np.int64))
    if answer.row not in agreement_rows:
        nearest = np.argmin(np.abs(agreement_rows - answer.row))
        agreement_rows[nearest] = answer.row
        agreement_rows = np.unique(agreement_rows)
    shares = np.clip(equilibrium.edge_agreement[agreement_rows][:, inside], 0, 1)
    arrays: dict[str, npt.NDArray[Any]] = {
        "outcomes": profile.outcomes[:, shown],
        "status": profile.status[:, shown].astype(np.uint8),
        "confidence": whole_steps(content.confidence[:, shown]),
        "probability": whole_steps(content.probability[:, shown]),
        "second": content.second[:, shown],
        "edges": ends[inside],
        "weights": np.clip(answer.graph.weights[inside], -SINGLE, SINGLE).astype(np.float32),
        # In per cent, as the page shows them, so that they are rounded once.
        "agreement": np.rint(100 * shares).astype(np.uint8),
        "degree": np.diff(answer.graph.indptr)[shown].astype(np.int32),
    }
    if equilibrium.std_error is not None:
        arrays["error"] = whole_steps(equilibrium.std_error[:, shown, : len(content.classes)])
    k, law = len(content.classes), answer.law
    if law is not None:
        arrays["phase"] = whole_steps(equilibrium.marginals[answer.row, shown, :k])
        arrays["beyond"] = whole_steps(answer.table_states(shown)[:, k:])
    if live:
        arrays["points"] = shown.astype(np.int32)
    texts = {"ids": json.dumps([content.ids[i] for i in shown.tolist()])}
    if sampled and n <= MAX_TABLED and not live:
        texts["labels"] = answer.table(content.ids).csv()
    distrust = [
        None if trusted else warning_at(equilibrium, row)
        for row, trusted in enumerate(trusted_rows(equilibrium))
    ]
    distrust[answer.row] = answer.warning
    return {
        "version": __version__,
        "title": content.title,
        "facts": {
            "points": f"{n:,}",
            "edges": f"{answer.graph.n_edges:,}",
            "classes": str(k),
            "labels": f"{int(np.sum(answer.labels >= 0)):,}",
            "engine": f"{equilibrium.engine.replace('_', ' ')} ({equilibrium.kind})",
            "answer": "average" if law is not None else f"T = {answer.temperature:.3g}",
        },
        "kind": str(equilibrium.kind),
        "nPoints": n,
        "nShown": len(shown),
        "classes": content.classes,
        "confusedSets": profile.confused_sets,
        "statuses": [
            {"name": name, **palette.STATUS_LOOKS[status]._asdict()}
            for name, status in zip(STATUS_NAMES, Status, strict=True)
        ],
        "stepsPerUnit": STEPS,
        # JSON knows no infinity.
        "temperatures": [t if np.isfinite(t) else None for t in profile.temperatures.tolist()],
        "boundaries": [f"{t:.6g}" for t in profile.boundaries().tolist()],
        "answerRow": answer.row,
        "averaged": law is not None,
        "nNew": answer.n_new,
        "another": answer.has_another,  # class without label
        "headline": answer.headline(),
        "converged": equilibrium.converged.tolist(),
        "distrust": distrust,
        "notes": answer.remarks(),
        "proposals": [
            {
                "name": one.name,
                "size": len(one.points),
                "probability": round(one.probability, 4),
                "beside": one.beside,
                "apart": one.apart_text(),
                "features": one.features_text(),
                "typical": [content.ids[k] for k in one.typical.tolist()],
                "rows": one.typical.tolist(),
                "shown": np.flatnonzero(np.isin(shown, one.points)).tolist(),  # by places there
            }
            for one in answer.proposals
        ],
        "phases": [
            {"name": p.phase.value}
            | {k: v if np.isfinite(v) else None for k, v in (("low", p.low), ("high", p.high))}
            for p in state.intervals()
        ],
        "curves": {
            name: [float(f"{v:.6g}") if np.isfinite(v) else None for v in values]
            for name, values in (
                ("energy", equilibrium.mean_energy),
                ("heat", equilibrium.heat_capacity),
                ("susceptibility", state.susceptibility),
            )
        }
        | {
            "grains": [[float(f"{v:.6g}") for v in size] for size in state.grains.T],
            "statusCounts": [np.sum(profile.status == s, axis=1).tolist() for s in Status],
        },
        "groups": [_groups(content, row) for row in range(n_rows)],
        "layouts": [_packed_layout(content, layout, shown) for layout in content.layouts],
        "agreementRows": agreement_rows.tolist(),
        "palette": {
            "colours": palette.COLOURS,
            "shapes": palette.SHAPES,
            "neutral": palette.NEUTRAL,
            "phaseColours": palette.PHASE_COLOURS,
        },
        "arrays": {name: packed(values, level) for name, values in arrays.items()},
        "texts": {
            name: base64.b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"), 6)).decode()
            for name, text in texts.items()
        },
    }


def _groups(content: ExplorerContent, row: int) -> dict[str, Any]:
    """Calls among all points at one T: code, size, mean confidence in per cent of the larger."""
    profile, n_classes = content.answer.profile, len(content.classes)
    outcomes = profile.outcomes[row]
    codes, counts = np.unique(outcomes, return_counts=True)
    small = max(3, len(outcomes) // 500)
    known = np.flatnonzero((codes >= 0) & (codes < n_classes))
    listed = known.tolist()
    other: dict[str, Any] = {}
    for kind, of_kind in (("new", codes >= n_classes), ("confused", codes < 0)):
        of = np.flatnonzero(of_kind)
        of = of[np.lexsort((np.abs(codes[of]), -counts[of]))]
        large = np.arange(len(of)) < LISTED_GROUPS
        if kind == "new":
            large &= counts[of] >= small
        listed += of[large].tolist()
        other[kind] = [int(np.sum(~large)), int(counts[of[~large]].sum())]
    decision, sure = profile.decision(row), content.confidence[row]
    rows = [
        [int(code), int(count), round(100 * mean_confidence(sure, decision, code))]
        for code, count in zip(codes[listed], counts[listed], strict=True)
    ]
    return {"listed": rows, "other": other}


def _packed_layout(content: ExplorerContent, layout: Layout, shown: IntArray) -> dict[str, Any]:
    """Places in 65535 steps of the longer side; with the density where some are not shown."""
    places = layout.coordinates
    low = places.min(axis=0, initial=np.inf)
    extent = np.maximum(places.max(axis=0, initial=-np.inf) - low, 0)
    side = float(extent.max()) or 1.0
    steps = np.rint((places[shown] - low) / side * 65535).astype(np.uint16)
    below = None
    if len(shown) < len(places) and not layout.pixels:
        bins = density((places - low) / side, content.answer.profile.outcomes)
        below = {"side": SIDE} | {name: packed(values) for name, values in bins.items()}
    return {
        "density": below,
        "name": layout.name,
        "pixels": layout.pixels,
        "extent": (extent / side).tolist(),
        "pixel": 1 / side,
        "places": packed(steps),
    }


def _page(*names: str) -> str:
    folder = files("spinlearn.viz").joinpath("page")
    return "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)
