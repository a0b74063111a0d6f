"""Pictures: what everything that holds an answer can draw of it.

Plots (matplotlib) of profiles, the phases and the map at one temperature, each on `ax` or a new
figure, and the explorer. Colours and markers are those of `spinlearn.viz.palette`.
"""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.answers.answer import Answer
from spinlearn.answers.labels import outcome_name
from spinlearn.answers.rule import Status
from spinlearn.errors import InvalidInputError, needing
from spinlearn.model.arrays import FloatArray, IntArray, cell_ends
from spinlearn.model.phases import Phase, Phases, phases
from spinlearn.viz import palette
from spinlearn.viz.explorer import explorer_content, write_explorer
from spinlearn.viz.layout import layouts

LISTED = 12  # new classes with a colour of their own
IN_LEGEND = 16  # named classes in a legend
LONGEST = 40  # name, in letters
MAX_ROWS = 2_000  # of the picture of all profiles; more points are thinned out evenly
MARKS = (12, 16)  # markers across and down that picture
PALE = 0.45
CROSS, PLUS = "x", "+"  # of points without a class


class Pictures:
    """Plots and the explorer, for classes that hold an `Answer`."""

    __slots__ = ()

    def _pictured(self) -> tuple[Answer, list[str] | None, dict[str, Any]]:
        """The answer, the points' names, and what is known of the arguments of `layouts`."""
        raise NotImplementedError

    def plot_profile(
        self, point: int | str | None = None, *, name: str | None = None, ax: Any = None
    ) -> Any:
        """Class probabilities of a `point` (row number, or id of a `Result`), or all calls, over T.

        `name` is for the title. Drawn on the Axes `ax`, default of a new figure, which are
        returned.
        """
        answer, ids, _ = self._pictured()
        if point is None:
            return _plot_profiles(answer, name, ax)
        equilibrium, profile, n = answer.equilibrium, answer.profile, answer.graph.n_nodes
        if ids is not None and isinstance(point, str) and point in ids:
            point = ids.index(point)
        if not isinstance(point, (int, np.integer)) or not -n <= point < n:
            known = "" if ids is None else f"an id such as {ids[0]!r} or "
            raise InvalidInputError(
                f"point={point!r} is none of the {n} points: give {known}a row number from 0 to "
                f"{n - 1}"
            )
        if name is None:
            name = str(point if ids is None else ids[point])
        point = int(point) % n
        axis = _axes(ax, (7, 4))
        places = _places(profile.temperatures)
        _shade(axis, phases(equilibrium), places)
        largest = np.argsort(-equilibrium.marginals[:, point, : len(answer.classes)].max(axis=0))
        for state, label in enumerate(answer.classes):
            values = equilibrium.marginals[:, point, state]
            errors = equilibrium.std_error
            spread = None if errors is None else np.nan_to_num(errors[:, point, state])
            axis.errorbar(
                places, values, spread, color=palette.class_colour(state),
                marker=palette.class_marker(state), markersize=4, capsize=2,
                label=_plain(str(label)) if state in largest[:IN_LEGEND] else None,
            )  # fmt: skip
        _tell_of_more(axis, len(largest) - IN_LEGEND)
        for code, low, high in _runs(profile.outcomes[:, point], places):  # a ribbon of the calls
            new, confused = code >= len(answer.classes), code < 0
            axis.barh(
                -0.07, high - low, left=low, height=0.06, edgecolor="white", linewidth=0.5,
                color=palette.NEUTRAL if confused else palette.class_colour(int(code)),
                alpha=PALE if new or confused else 1.0,
                hatch="xxxx" if confused else "...." if new else None,
            )  # fmt: skip
        call = answer.name_of(int(profile.outcomes[answer.row, point]))
        axis.set_title(_plain(f"point {name}: {call}"), loc="left")
        axis.set_ylabel("probability")
        axis.set_ylim(-0.12, 1.03)
        axis.set_yticks(np.linspace(0, 1, 6))
        _finish(axis, answer, places)
        return axis

    def plot_phases(self, *, ax: Any = None) -> Any:
        """Energy, heat capacity, susceptibility and largest cluster over T, phases shaded.

        In shares of the largest value or of the points, on the Axes `ax`, default new, which are
        returned.
        """
        answer, _, _ = self._pictured()
        equilibrium, profile = answer.equilibrium, answer.profile
        axis = _axes(ax, (7, 4))
        places = _places(profile.temperatures)
        state = phases(equilibrium)
        _shade(axis, state, places, named=True)
        n = equilibrium.model.n_nodes
        energy, heat = equilibrium.mean_energy, equilibrium.heat_capacity
        curves = [
            ("energy", energy - energy.min(), np.ptp(energy), "-"),
            ("heat capacity", heat, heat.max(), "--"),
            ("susceptibility", state.susceptibility, n, "-."),
            ("largest cluster", state.largest_grain, 1.0, ":"),
        ]
        for k, (name, values, unit, dash) in enumerate(curves):
            axis.plot(
                places, values / (unit if unit > 0 else 1.0), linestyle=dash, label=name,
                color=palette.COLOURS[(0, 4, 3, 2)[k]], marker=palette.MARKERS[k], markersize=3.5,
            )  # fmt: skip
        axis.set_ylabel("share of the largest value")
        axis.set_ylim(-0.03, 1.08)
        _finish(axis, answer, places)
        return axis

    def plot_map(
        self,
        temperature: float | None = None,
        *,
        coordinates: Any = None,
        pixels: Any = None,
        ax: Any = None,
    ) -> Any:
        """The points with their calls at a `temperature`, default that of the answer.

        `coordinates` (n, 2) are x and y of every point, or `pixels` (n, 2) row and column in an
        image; default: a layout made from the graph or the features. Solid: labelled (large) or
        confident. Pale: grown. Cross: confused or outlier. Outline: a new class. Drawn on the
        matplotlib Axes `ax`, default a new figure; the Axes are returned.
        """
        answer, _, sources = self._pictured()
        if coordinates is not None or pixels is not None:
            sources |= {"coordinates": coordinates, "pixels": pixels}
        layout = layouts(answer.graph, **sources, first_only=True)[0]
        answer = answer if temperature is None else answer.at(temperature)
        profile, row = answer.profile, answer.row
        axis = _axes(ax, (7, 5))
        x, y = layout.coordinates.T
        status = profile.status[row]
        size = float(np.clip(12_000 / max(len(x), 1), 4, 60))
        groups = _groups(profile.outcomes[[row]], answer.classes, profile.confused_sets)
        for group in groups:
            members = np.flatnonzero(np.isin(profile.outcomes[row], group.codes))
            for state in np.unique(status[members]):
                chosen = members[status[members] == state]
                if layout.pixels:
                    _draw_pixels(axis, layout.coordinates[chosen], group.colour, Status(state))
                if state == Status.LABELLED or not layout.pixels:
                    # Snapped to whole pixels a small plus would vanish.
                    style = {"snap": False, **_marker_style(group.colour, Status(state))}
                    scale = 3.0 if state == Status.LABELLED else 1.0
                    axis.scatter(x[chosen], y[chosen], s=scale * size, marker=group.marker, **style)
        _list(axis, groups)
        sizes = [(state, int(np.sum(status == state))) for state in Status]
        counts = ", ".join(f"{size} {state.name.lower()}" for state, size in sizes if size)
        axis.set_title(f"T = {answer.temperature:g}: {counts}", loc="left", fontsize=10)
        axis.set_xticks([])
        axis.set_yticks([])
        if layout.pixels or coordinates is not None:
            axis.set_aspect("equal")
            axis.autoscale_view()
        for side in axis.spines.values():
            side.set_visible(False)
        if groups:
            axis.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
        return axis

    def explore(
        self,
        path: str | PathLike[str],
        *,
        ids: Any = None,
        coordinates: Any = None,
        pixels: Any = None,
        title: str = "spinlearn",
    ) -> Path:
        """Write the explorer to `path`, one HTML file in which to move the temperature.

        `ids` (n,) name the points; `coordinates` and `pixels` are as for `plot_map`; `title` is the
        page's.
        """
        target = Path(path)
        folder = target.parent
        why = "" if os.access(folder, os.W_OK) else f"the folder {folder} is closed to you"
        if target.is_dir():
            why = "it is a folder"
        elif not folder.is_dir():
            why = f"there is no folder {folder}"
        if why:  # said before any work
            raise InvalidInputError(
                f"{target} cannot be written because {why}: name a file in a folder of yours, such "
                "as report.html"
            )
        answer, known_ids, sources = self._pictured()
        if coordinates is not None or pixels is not None:
            sources |= {"coordinates": coordinates, "pixels": pixels}
        ids = known_ids if ids is None else ids
        return write_explorer(target, explorer_content(answer, ids=ids, title=title, **sources))


def _plot_profiles(answer: Answer, name: str | None, ax: Any) -> Any:
    """The calls of all points over T; pale: grown or new. Markers tell them apart as on the map."""
    profile = answer.profile
    n_points = profile.outcomes.shape[1]
    # By the call at T*: classes, new ones, confused; then by those at the nearest temperatures, so
    # that like profiles adjoin.
    last = int(profile.outcomes.max(initial=0))
    keys = np.where(profile.outcomes < 0, last - profile.outcomes, profile.outcomes)
    nearest_last = np.argsort(-np.abs(np.arange(len(keys)) - answer.row), kind="stable")
    order = np.lexsort(keys[nearest_last])
    rows = order[np.linspace(0, n_points - 1, min(n_points, MAX_ROWS)).round().astype(np.intp)]
    outcomes, status = profile.outcomes[:, rows].T, profile.status[:, rows].T
    groups = _groups(profile.outcomes, answer.classes, profile.confused_sets)
    axis = _axes(ax, (7, 5))
    from matplotlib.colors import to_rgba

    places = _places(profile.temperatures)
    edges = _edges(places)
    across, down = ((np.arange(count) + 0.5) / count for count in MARKS)
    x, y = edges[0] + (edges[-1] - edges[0]) * across, n_points * down
    column = np.argmin(np.abs(places - x[:, None]), axis=1)
    row = (y * len(rows) / n_points).astype(np.intp)
    image = np.zeros((*outcomes.shape, 4))
    for group in groups:
        here = np.isin(outcomes, group.codes)
        image[here] = to_rgba(group.colour)
        image[here & np.isin(status, (Status.GROWN, Status.NEW)), 3] = PALE
        b, a = np.nonzero(here[np.ix_(row, column)])
        fill = "none" if group.is_new else "white"
        style = {"color": "black"} if group.marker in (CROSS, PLUS) else {"fc": fill, "ec": "black"}
        axis.scatter(x[a], y[b], s=24, marker=group.marker, linewidths=0.7, zorder=2, **style)
    axis.pcolormesh(edges, np.linspace(0, n_points, len(rows) + 1), image, rasterized=True)
    _list(axis, groups)
    axis.set_title(_plain(f"{n_points} points" if name is None else name), loc="left")
    axis.set_ylabel("points, ordered by their call at T*")
    axis.set_ylim(n_points, 0)
    _finish(axis, answer, places)
    return axis


def _marker_style(colour: str, status: Status) -> dict[str, Any]:
    if status == Status.NEW:
        return {"facecolors": "none", "edgecolors": colour, "linewidths": 1.0}
    if status in (Status.CONFUSED, Status.OUTLIER):
        return {"color": colour, "linewidths": 1.0}
    if status == Status.LABELLED:
        return {"facecolors": colour, "edgecolors": "black", "zorder": 3}
    return {"color": colour, "linewidths": 0, "alpha": PALE if status == Status.GROWN else 1.0}


def _draw_pixels(axis: Any, centres: FloatArray, colour: str, status: Status) -> None:
    """Unit squares; pale when grown, dotted when new, crossed when confused."""
    from matplotlib.collections import PolyCollection

    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    pale = status in (Status.GROWN, Status.NEW, Status.CONFUSED, Status.OUTLIER)
    hatch = {Status.NEW: "....", Status.CONFUSED: "xxxx", Status.OUTLIER: "++++"}.get(status)
    axis.add_collection(
        PolyCollection(
            centres[:, None] + corners,
            facecolors=[(colour, 0.4 if pale else 1.0)],
            edgecolors=colour if hatch else "white",
            linewidths=0.0 if hatch else 0.3,
            hatch=hatch,
        )
    )


class Group(NamedTuple):
    """A call, or several that share an entry of the legend."""

    colour: str
    marker: str
    codes: npt.NDArray[np.integer]
    name: str
    is_new: bool

    @property
    def is_class(self) -> bool:
        """Whether it is one of the classes that have labels."""
        return not self.is_new and self.marker not in (CROSS, PLUS)


def _groups(outcomes: IntArray, classes: Any, confused_sets: Any) -> list[Group]:
    """The calls in outcomes (T, n); small new classes and confused sets are pooled."""
    k = len(classes)
    size: dict[int, int] = {}  # at the temperature where it is largest
    for row in outcomes:
        for code, count in zip(*np.unique(row, return_counts=True), strict=True):
            size[int(code)] = max(int(count), size.get(int(code), 0))
    codes = np.array(sorted(size))
    least = max(3, outcomes.shape[1] // 500)
    large = sorted((c for c in size if c >= k and size[c] >= least), key=lambda c: (-size[c], c))
    named = [c for c in codes.tolist() if 0 <= c < k]
    groups = [
        Group(palette.class_colour(c), palette.class_marker(c), np.array([c]),
              _plain(outcome_name(c, classes, confused_sets)), c >= k)
        for c in named + sorted(large[:LISTED])
    ]  # fmt: skip
    small = codes[(codes >= k) & ~np.isin(codes, large[:LISTED])]
    if len(small):
        name = f"{len(small)} small new class{'es' if len(small) > 1 else ''}"
        groups.append(Group(palette.NEUTRAL, "o", small, name, True))
    odd = np.array([c < 0 and not confused_sets[-1 - c] for c in codes.tolist()], dtype=bool)
    for which, name in (((codes < 0) & ~odd, "confused"), (odd, "outlier")):
        if np.any(which):
            marker = CROSS if name == "confused" else PLUS
            groups.append(Group(palette.NEUTRAL, marker, codes[which], name, False))
    return groups


def _list(axis: Any, groups: list[Group]) -> None:
    """Entries of the legend."""
    named = [group for group in groups if group.is_class]
    for group in named[:IN_LEGEND] + [group for group in groups if not group.is_class]:
        style = _marker_style(group.colour, Status.NEW if group.is_new else Status.CONFIDENT)
        if group.marker in (CROSS, PLUS):
            style = _marker_style(group.colour, Status.CONFUSED)
        axis.scatter([], [], s=30, marker=group.marker, label=group.name, **style)
    _tell_of_more(axis, len(named) - IN_LEGEND)


def _tell_of_more(axis: Any, n_classes: int) -> None:
    if n_classes > 0:
        axis.plot([], [], linestyle="none", label=f"and {n_classes} more classes")


def _runs(values: Any, places: FloatArray) -> list[tuple[Any, float, float]]:
    """Equal neighbours among `values` (T,): the value, where on the axis it begins and ends."""
    ends = _edges(places)
    starts = [k for k in range(len(values)) if k == 0 or values[k] != values[k - 1]]
    stops = [*starts[1:], len(values)]
    return [(values[a], ends[a], ends[b]) for a, b in zip(starts, stops, strict=True)]


def _shade(axis: Any, state: Phases, places: FloatArray, named: bool = False) -> None:
    looks = zip(palette.PHASE_COLOURS, (None, "..", "//"), strict=True)
    look = dict(zip(Phase, looks, strict=True))
    for phase, low, high in _runs(state.phases, places):
        colour, hatch = look[phase]
        axis.axvspan(
            low, high, facecolor=(colour, 0.10), edgecolor=(colour, 0.22), hatch=hatch, linewidth=0,
            label=phase.value if named else None,
        )  # fmt: skip


def _finish(axis: Any, answer: Answer, places: FloatArray) -> None:
    """T* and the axis of temperatures, the same in all plots over T."""
    label, temperatures = f"T* = {answer.temperature:.3g}", answer.profile.temperatures
    axis.axvline(places[answer.row], color="black", linestyle=(0, (3, 3)), linewidth=1, label=label)
    axis.set_xlabel("temperature T")
    if len(places) == 1:
        axis.set_xticks(places)
    axis.set_xlim(*_edges(places)[[0, -1]])
    if not np.all(np.isfinite(temperatures)):
        axis.set_xticks([*axis.get_xticks()[:-1], places[-1]])
        labels = [f"{t:g}" for t in axis.get_xticks()[:-1]]
        axis.set_xticklabels([*labels, "∞"])
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    axis.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))


def _places(temperatures: FloatArray) -> FloatArray:
    """Positions on the axis; infinity stands a little beyond the last finite temperature."""
    finite = temperatures[np.isfinite(temperatures)]
    if len(finite) == 0:
        return np.zeros(len(temperatures))
    beyond = finite[-1] + 0.08 * ((finite[-1] - finite[0]) or 1.0)
    return np.where(np.isfinite(temperatures), temperatures, beyond)


def _edges(places: FloatArray) -> FloatArray:
    """Ends of the cells around the positions; a single one gets a cell of unit width."""
    if len(places) == 1:
        return np.array([places[0] - 0.5, places[0] + 0.5])
    return cell_ends(places)


def _plain(text: str) -> str:
    """The user's text in one short line, dollars and a first underscore hidden from matplotlib."""
    line = " ".join(text.split())
    short = line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
    return (" " if short.startswith("_") else "") + short.replace("$", r"\$")


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    if ax is not None:
        return ax
    with needing("plots need matplotlib, which is not installed: pip install 'spinlearn[app]'"):
        import matplotlib.pyplot as plt
    return plt.subplots(figsize=size, layout="constrained")[1]
