"""Plots for notebooks (matplotlib): the profile of a point, the phases, the map at one temperature.

Each function draws on `ax` or a new figure and returns the Axes. `result` is a fitted
`PottsClassifier`, or anything with its attributes `equilibrium_`, `profile_`, `classes_`,
`temperature_` and `tau`. Colours and markers are those of `spinlearn.viz.palette`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.phases import Phase, Phases, phases
from spinlearn.core.arrays import FloatArray
from spinlearn.decision import Profile, Status, outcome_name, profile
from spinlearn.errors import InvalidInputError, MissingDependencyError
from spinlearn.label_table import answer_grid
from spinlearn.viz import palette
from spinlearn.viz.content import layouts

LISTED = 12  # groups named in the legend of a map


def plot_profile(result: Any, point: int, *, name: str | None = None, ax: Any = None) -> Any:
    """Class probabilities of one point over temperature, with its calls as a ribbon below.

    Parameters
    ----------
    point : int
        Row number.
    name : str, optional
        For the title; default the row number.
    """
    equilibrium, found = answer_grid(result)
    n_points = found.outcomes.shape[1]
    if not (isinstance(point, (int, np.integer)) and -n_points <= point < n_points):
        raise InvalidInputError(
            f"point={point!r} is none of the {n_points} points: give a row number from 0 to "
            f"{n_points - 1}"
        )
    axis = _axes(ax, (7, 4))
    places = _places(found.temperatures)
    _shade(axis, phases(equilibrium), places)
    for state, label in enumerate(result.classes_):
        values = equilibrium.marginals[:, point, state]
        spread = None if equilibrium.exact else _errors(equilibrium, point, state)
        axis.errorbar(
            places,
            values,
            spread,
            color=palette.class_colour(state),
            marker=palette.class_marker(state),
            markersize=4,
            capsize=2,
            label=str(label),
        )
    _ribbon(axis, found, int(point), result.classes_, places)
    _mark_answer(axis, result, places, found)
    call = outcome_name(
        int(found.outcomes[found.nearest_row(float(result.temperature_)), point]),
        result.classes_,
        found.confused_sets,
    )
    axis.set_title(_plain(f"point {point if name is None else name}: {call}"), loc="left")
    axis.set_ylabel("probability")
    axis.set_ylim(-0.12, 1.03)
    axis.set_yticks(np.linspace(0, 1, 6))
    _finish(axis, found.temperatures, places)
    return axis


def plot_phases(result: Any, *, ax: Any = None) -> Any:
    """Energy, heat capacity, susceptibility and largest cluster over temperature, phases shaded.

    Energy and heat capacity are in units of their largest values, the other two in shares of the
    points.
    """
    equilibrium, found = answer_grid(result)
    axis = _axes(ax, (7, 4))
    places = _places(found.temperatures)
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
            places,
            values / (unit if unit > 0 else 1.0),
            color=palette.class_colour((0, 4, 3, 2)[k]),
            linestyle=dash,
            marker=palette.MARKERS[k],
            markersize=3.5,
            label=name,
        )
    _mark_answer(axis, result, places, found)
    axis.set_ylabel("share of the largest value")
    axis.set_ylim(-0.03, 1.08)
    _finish(axis, found.temperatures, places)
    return axis


def plot_map(
    result: Any,
    temperature: float | None = None,
    *,
    coordinates: npt.ArrayLike | None = None,
    pixels: npt.ArrayLike | None = None,
    ax: Any = None,
) -> Any:
    """The points with their calls at one temperature.

    Solid: labelled (large) or confident. Pale: grown. Cross: confused. Outline: a new class.

    Parameters
    ----------
    temperature : float, optional
        Default that of the answer, T*.
    coordinates : array-like (n, 2), optional
        x and y of every point; default the features if there are two, else the neighbour map.
    pixels : array-like of int (n, 2), optional
        Row and column of every point of an image.
    """
    equilibrium, found = answer_grid(result)
    value = float(result.temperature_ if temperature is None else temperature)
    row = found.nearest_row(value)
    if found.temperatures[row] != value:
        here = equilibrium.at([value])
        found = profile(here, tau=result.tau, n_classes=found.n_classes, reference=found)
        row = 0
    points = getattr(result, "_points", None)
    layout = layouts(equilibrium.model.graph, coordinates, pixels, points, first_only=True)[0]
    axis = _axes(ax, (7, 5))
    x, y = layout.coordinates.T
    outcomes, status = found.outcomes[row], found.status[row]
    size = float(np.clip(12_000 / max(len(x), 1), 4, 60))
    for colour, marker, members, label in _groups(found, row, result.classes_):
        for state in np.unique(status[members]):
            chosen = members[status[members] == state]
            if layout.pixels:
                _draw_pixels(axis, layout.coordinates[chosen], colour, Status(state))
            if state == Status.LABELLED or not layout.pixels:
                style = _marker_style(colour, Status(state))
                scale = 3.0 if state == Status.LABELLED else 1.0
                axis.scatter(x[chosen], y[chosen], s=scale * size, marker=marker, **style)
        axis.scatter([], [], s=30, marker=marker, color=colour, label=label)
    axis.set_title(f"T = {value:g}: {_counts(status)}", loc="left", fontsize=10)
    axis.set_xticks([])
    axis.set_yticks([])
    if layout.pixels or coordinates is not None:
        axis.set_aspect("equal")
        axis.autoscale_view()
    for side in axis.spines.values():
        side.set_visible(False)
    if len(outcomes):
        axis.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    return axis


def _marker_style(colour: str, status: Status) -> dict[str, Any]:
    if status == Status.NEW:
        return {"facecolors": "none", "edgecolors": colour, "linewidths": 1.0}
    if status == Status.CONFUSED:
        return {"color": colour, "linewidths": 1.0}
    if status == Status.LABELLED:
        return {"facecolors": colour, "edgecolors": "black", "zorder": 3}
    return {"color": colour, "linewidths": 0, "alpha": 0.45 if status == Status.GROWN else 1.0}


def _draw_pixels(axis: Any, centres: FloatArray, colour: str, status: Status) -> None:
    """Unit squares; pale when grown, dotted when new, crossed when confused."""
    from matplotlib.collections import PolyCollection

    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    pale = status in (Status.GROWN, Status.NEW, Status.CONFUSED)
    hatch = {Status.NEW: "....", Status.CONFUSED: "xxxx"}.get(status)
    axis.add_collection(
        PolyCollection(
            centres[:, None] + corners,
            facecolors=[(colour, 0.4 if pale else 1.0)],
            edgecolors=colour if hatch else "white",
            linewidths=0.0 if hatch else 0.3,
            hatch=hatch,
        )
    )


def _groups(
    found: Profile, row: int, classes: Any
) -> list[tuple[str, str, npt.NDArray[np.intp], str]]:
    """(colour, marker, members, name) of every call; small new classes and confused are pooled."""
    outcomes, k = found.outcomes[row], len(classes)
    codes, counts = np.unique(outcomes, return_counts=True)
    named = [int(c) for c in codes if 0 <= c < k]
    large = (codes >= k) & (counts >= max(3, len(outcomes) // 500))
    fresh = codes[large][np.argsort(-counts[large], kind="stable")][:LISTED].tolist()
    groups = [
        (
            palette.class_colour(c),
            palette.class_marker(c),
            np.flatnonzero(outcomes == c),
            _plain(outcome_name(c, classes, found.confused_sets)),
        )
        for c in named + fresh
    ]
    small = np.flatnonzero((outcomes >= k) & ~np.isin(outcomes, fresh))
    if len(small):
        name = f"{len(np.unique(outcomes[small]))} small new classes"
        groups.append((palette.NEUTRAL, "o", small, name))
    confused = np.flatnonzero(outcomes < 0)
    if len(confused):
        groups.append((palette.NEUTRAL, "x", confused, "confused"))
    return groups


def _counts(status: npt.NDArray[np.int8]) -> str:
    sizes = [(state, int(np.sum(status == state))) for state in Status]
    return ", ".join(f"{size} {state.name.lower()}" for state, size in sizes if size)


def _ribbon(axis: Any, found: Profile, point: int, classes: Any, places: FloatArray) -> None:
    """The calls of the point as coloured bars with their names, under the curves."""
    ends = np.concatenate([places[:1], (places[:-1] + places[1:]) / 2, places[-1:]])
    codes = found.outcomes[:, point]
    starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
    stops = np.concatenate([starts[1:], [len(codes)]])
    for a, b in zip(starts, stops, strict=True):
        code = int(codes[a])
        new, confused = code >= len(classes), code < 0
        axis.barh(
            -0.07,
            ends[b] - ends[a],
            left=ends[a],
            height=0.06,
            color=palette.NEUTRAL if confused else palette.class_colour(code),
            alpha=0.45 if new or confused else 1.0,
            hatch="xxxx" if confused else "...." if new else None,
            edgecolor="white",
            linewidth=0.5,
        )


def _mark_answer(axis: Any, result: Any, places: FloatArray, found: Profile) -> None:
    answer = float(result.temperature_)
    axis.axvline(
        places[found.nearest_row(answer)],
        color="black",
        linestyle=(0, (3, 3)),
        linewidth=1,
        label=f"T* = {answer:.3g}",
    )


def _shade(axis: Any, state: Phases, places: FloatArray, named: bool = False) -> None:
    ends = np.concatenate([places[:1], (places[:-1] + places[1:]) / 2, places[-1:]])
    hatches = dict(zip(Phase, (None, "..", "//"), strict=True))
    colours = dict(zip(Phase, palette.PHASE_COLOURS, strict=True))
    start = 0
    for k in range(1, len(state.phases) + 1):
        if k < len(state.phases) and state.phases[k] is state.phases[start]:
            continue
        phase = state.phases[start]
        axis.axvspan(
            ends[start],
            ends[k],
            facecolor=(colours[phase], 0.10),
            edgecolor=(colours[phase], 0.22),
            hatch=hatches[phase],
            linewidth=0,
            label=phase.value if named else None,
        )
        start = k


def _finish(axis: Any, temperatures: FloatArray, places: FloatArray) -> None:
    axis.set_xlabel("temperature T")
    axis.set_xlim(places[0], places[-1] if places[-1] > places[0] else places[0] + 1)
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


def _errors(equilibrium: Any, point: int, state: int) -> FloatArray:
    return np.asarray(np.nan_to_num(equilibrium.std_error[:, point, state]))


def _plain(text: str) -> str:
    """The user's text without matplotlib's mathematics."""
    return text.replace("$", r"\$")


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingDependencyError(
            "plots need matplotlib, which is not installed: pip install 'spinlearn[app]'"
        ) from error
    return plt.subplots(figsize=size, layout="constrained")[1]
