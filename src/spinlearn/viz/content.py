"""What the explorer shows, as plain arrays, and how it is read off a fitted classifier.

Axes: T temperatures (ascending), n points, k named classes, m edges, A temperatures at which the
pair agreement is kept. Outcomes are coded as in `spinlearn.decision`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.phases import PhaseInterval, grain_sizes, phases
from spinlearn.core.arrays import FloatArray, IntArray, float_array
from spinlearn.core.graph import Graph
from spinlearn.core.results import Equilibrium
from spinlearn.decision import Profile, Status
from spinlearn.errors import InvalidInputError
from spinlearn.label_table import answer_grid
from spinlearn.viz.layout import neighbour_map, principal, spectral

GRAINS = 4  # curves of the largest clusters


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """A place for every point: x to the right and y upwards; pixels touch each other."""

    name: str
    coordinates: FloatArray
    pixels: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ExplorerContent:
    """Everything the explorer shows.

    Attributes
    ----------
    ids : tuple of str (n,)
    classes : tuple of str (k,)
    layouts : tuple of Layout
        The first is shown at the start.
    profile : Profile
        Outcome, status and margin of every point over T; the answer's temperature is a row.
    answer_row : int
        Row of the answer, T*.
    marginals : float array (T, n, q)
        The first k states are the classes.
    std_error : float array (T, n, q) or None
        None: exact.
    graph : Graph
    agreement : float array (T, m)
        C_ij.
    mean_energy, heat_capacity, susceptibility : float arrays (T,)
    grains : float array (T, GRAINS)
        Shares of all points in the largest clusters, descending.
    phases : tuple of PhaseInterval
    converged : bool array (T,)
    title : str
    facts : dict
        Short texts for the heading: name -> value.
    """

    ids: tuple[str, ...]
    classes: tuple[str, ...]
    layouts: tuple[Layout, ...]
    profile: Profile
    answer_row: int
    marginals: FloatArray
    std_error: FloatArray | None
    graph: Graph
    agreement: FloatArray
    mean_energy: FloatArray
    heat_capacity: FloatArray
    susceptibility: FloatArray
    grains: FloatArray
    phases: tuple[PhaseInterval, ...]
    converged: npt.NDArray[np.bool_]
    title: str = "spinlearn"
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.ids)

    def status_counts(self) -> npt.NDArray[np.int64]:
        """Number of points of every status, (T, 5)."""
        return np.array([np.bincount(row, minlength=len(Status)) for row in self.profile.status])


def explorer_content(
    result: Any,
    *,
    ids: Sequence[object] | npt.NDArray[Any] | None = None,
    coordinates: npt.ArrayLike | None = None,
    pixels: npt.ArrayLike | None = None,
    points: npt.ArrayLike | None = None,
    title: str = "spinlearn",
) -> ExplorerContent:
    """Collect what the explorer shows.

    Parameters
    ----------
    result : fitted PottsClassifier or Result
        Or anything with their attributes `equilibrium_`, `profile_`, `classes_`, `temperature_` and
        `tau`.
    ids : sequence (n,), optional
        Names of the points; default those of the result, else row numbers.
    coordinates : array-like (n, 2), optional
        x and y (upwards) of every point; default the layout of the result, if it has one.
    pixels : array-like of int (n, 2), optional
        Row and column of every point of an image, instead of coordinates.
    points : array-like (n, d), optional
        Features, for the layout by principal components; default those given to `fit`.
    title : str
    """
    equilibrium, found = answer_grid(result)
    n = found.outcomes.shape[1]
    if ids is None:
        ids = getattr(result, "ids", range(n))
    if len(ids) != n:
        raise InvalidInputError(f"there are {len(ids)} ids for {n} points: give one id per point")
    state = phases(equilibrium)
    classes = tuple(str(c) for c in result.classes_)
    return ExplorerContent(
        ids=tuple(str(i) for i in ids),
        classes=classes,
        layouts=layouts_of(result, coordinates, pixels, points),
        profile=found,
        answer_row=found.nearest_row(float(result.temperature_)),
        marginals=equilibrium.marginals,
        std_error=equilibrium.std_error,
        graph=equilibrium.model.graph,
        agreement=equilibrium.edge_agreement,
        mean_energy=equilibrium.mean_energy,
        heat_capacity=equilibrium.heat_capacity,
        susceptibility=state.susceptibility,
        grains=_largest_grains(equilibrium),
        phases=tuple(state.intervals()),
        converged=equilibrium.converged,
        title=title,
        facts=_facts(equilibrium, found, classes),
    )


def _facts(equilibrium: Equilibrium, found: Profile, classes: tuple[str, ...]) -> dict[str, str]:
    model = equilibrium.model
    labels = found.n_labels
    if labels is None:
        labels = int(np.sum(found.status[0] == Status.LABELLED))
    return {
        "points": f"{model.n_nodes:,}",
        "edges": f"{len(model.graph.edges):,}",
        "classes": str(len(classes)),
        "labels": f"{labels:,}",
        "engine": equilibrium.engine.replace("_", " ") + (" (exact)" if equilibrium.exact else ""),
    }


def _largest_grains(equilibrium: Equilibrium) -> FloatArray:
    shares = np.zeros((len(equilibrium.temperatures), GRAINS))
    for row in range(len(shares)):
        sizes = np.sort(grain_sizes(equilibrium, row))[::-1][:GRAINS]
        shares[row, : len(sizes)] = sizes / equilibrium.model.n_nodes
    return shares


def layouts_of(
    result: Any,
    coordinates: npt.ArrayLike | None = None,
    pixels: npt.ArrayLike | None = None,
    points: npt.ArrayLike | None = None,
    *,
    first_only: bool = False,
) -> tuple[Layout, ...]:
    """`layouts` of a result, by its own places and features unless others are given."""
    if coordinates is None and pixels is None:
        coordinates = getattr(result, "layout", None)
    if points is None:
        points = getattr(getattr(result, "_training", None), "points", None)
    return layouts(
        result.equilibrium_.model.graph,
        coordinates,
        pixels,
        points,
        getattr(result, "components", None),
        first_only=first_only,
    )


def layouts(
    graph: Graph,
    coordinates: npt.ArrayLike | None = None,
    pixels: npt.ArrayLike | None = None,
    points: npt.ArrayLike | None = None,
    components: npt.ArrayLike | None = None,
    *,
    first_only: bool = False,
) -> tuple[Layout, ...]:
    """Where the points can be drawn, the first one to begin with.

    Given places, and no others; else, of points with features, their principal components and the
    neighbour map; else, of a graph alone, the neighbour map and the spectral layout.
    """
    found = []
    if pixels is not None:
        rows, columns = _places(pixels, "pixels", graph.n_nodes).T
        found.append(Layout("pixels", np.column_stack([columns, -rows]), pixels=True))
    if coordinates is not None:
        found.append(Layout("coordinates", _places(coordinates, "coordinates", graph.n_nodes)))
    features: FloatArray | None = None
    if points is not None:
        features = float_array(points, "points")
        if features.ndim != 2 or len(features) != graph.n_nodes:
            raise InvalidInputError(
                f"points has shape {features.shape}, but there are {graph.n_nodes} points: give "
                "one row of features per point"
            )
        if features.shape[1] == 2:
            found.append(Layout("features", features))
    if found:
        return tuple(found[:1] if first_only else found)
    if components is not None:
        found.append(Layout("PCA", _places(components, "components", graph.n_nodes)))
    elif features is not None and features.shape[1] > 2:
        found.append(Layout("PCA", principal(features)))
    if found and first_only:
        return tuple(found)
    start = spectral(graph)
    found.append(Layout("neighbours", neighbour_map(graph, start)))
    if features is None and components is None and not first_only:
        found.append(Layout("spectral", start))
    return tuple(found)


def _places(values: npt.ArrayLike, name: str, n_points: int) -> FloatArray:
    places = float_array(values, name)
    if places.shape != (n_points, 2) or not np.all(np.isfinite(places)):
        raise InvalidInputError(
            f"{name} must be finite numbers of shape ({n_points}, 2), got shape {places.shape}: "
            "give two per point, or leave them out and a layout is computed"
        )
    return places


def sample_for_display(content: ExplorerContent, max_points: int) -> IntArray:
    """Row numbers of at most `max_points` points that stand for all of them, ascending.

    Labelled points and small groups (one outcome and status at T*) are kept before large ones are
    thinned out evenly: each group gets its share, but at least as many as an even split of half the
    places would give.
    """
    n = content.n_points
    if n <= max_points:
        return np.arange(n, dtype=np.int32)
    status = content.profile.status[content.answer_row]
    outcome = content.profile.outcomes[content.answer_row]
    new = outcome >= content.profile.n_classes
    group = np.where(new, content.profile.n_classes, outcome).astype(np.int64) * 8 + status
    _, member, sizes = np.unique(group, return_inverse=True, return_counts=True)
    priority = status[np.unique(member, return_index=True)[1]] == Status.LABELLED
    quota = np.zeros(len(sizes), dtype=np.int64)
    left = max_points
    quota[priority] = np.minimum(sizes[priority], max(left // 2 // max(int(priority.sum()), 1), 1))
    left -= int(quota.sum())
    rest = np.flatnonzero(~priority)
    floor = max(left // 2 // max(len(rest), 1), 1)
    quota[rest] = np.minimum(sizes[rest], floor)
    spare = sizes - quota
    left = max_points - int(quota.sum())
    if left > 0:
        exact = spare * left / max(int(spare.sum()), 1)
        extra = np.floor(exact).astype(np.int64)
        largest = np.argsort(extra - exact, kind="stable")[: left - int(extra.sum())]
        extra[largest] += 1
        quota += np.minimum(extra, spare)
    chosen = []
    for k, wanted in enumerate(quota):
        members = np.flatnonzero(member == k)
        chosen.append(members[np.linspace(0, len(members) - 1, int(wanted)).round().astype(int)])
    return np.unique(np.concatenate(chosen))[:max_points].astype(np.int32)
