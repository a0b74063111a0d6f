"""The labelled table: one row of text per point, as written to labels.csv and by the explorer.

Columns, for the named classes A, B, ...:

    id, call, status, p:A, p:B, ..., se:A, se:B, ..., t_low, t_high

*call* is a class, 'new:1' or 'confused:A|B'; *status* how the point came by it; p and se the
probability of each class at the temperature of the table and its standard error (0 when exact),
in steps of 0.0001; t_low and t_high the ends of the range of temperatures around it over which the
call stays the same. Numbers are rounded to whole steps before they become text, so that the
explorer, which holds those whole numbers, writes the very same characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, IntArray, frozen
from spinlearn.core.results import Equilibrium
from spinlearn.decision import STATUS_NAMES, Profile, outcome_name, profile
from spinlearn.errors import InvalidInputError

STEPS = 10_000  # to a unit of probability


@dataclass(frozen=True, slots=True)
class LabelTable:
    """Column names and rows, all text."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def csv(self) -> str:
        """The table as comma-separated text with a heading (RFC 4180 quotes, \\n line ends)."""
        return "".join(csv_line(line) for line in (self.columns, *self.rows))


def label_table(
    found: Profile,
    row: int,
    *,
    ids: Sequence[object] | npt.NDArray[Any],
    classes: Sequence[object] | npt.NDArray[Any],
    marginals: FloatArray,
    std_error: FloatArray | None = None,
) -> LabelTable:
    """The answer at one temperature of a profile.

    Parameters
    ----------
    found : Profile
    row : int
        Which of its temperatures.
    ids : sequence (n,)
    classes : sequence (n_classes,)
        Names of the classes.
    marginals, std_error : float arrays (n, q)
        At that temperature; the first n_classes states are the classes. No std_error: exact.
    """
    n_points, n_classes = found.outcomes.shape[1], len(classes)
    if len(ids) != n_points:
        raise InvalidInputError(
            f"there are {len(ids)} ids for {n_points} points: give one id per point"
        )
    codes, inverse = np.unique(found.outcomes[row], return_inverse=True)
    names = [outcome_name(int(code), classes, found.confused_sets) for code in codes]
    low, high = call_ranges(found, row)
    ends = [temperature_text(t) for t in found.boundaries().tolist()]
    probabilities = whole_steps(marginals[:, :n_classes])
    errors = np.zeros_like(probabilities)
    if std_error is not None:
        errors = whole_steps(std_error[:, :n_classes])
    text = [step_text(k) for k in range(STEPS + 1)]
    rows = tuple(
        (str(ids[i]), names[inverse[i]], STATUS_NAMES[found.status[row, i]])
        + tuple(text[k] for k in probabilities[i])
        + tuple(text[k] for k in errors[i])
        + (ends[low[i]], ends[high[i]])
        for i in range(n_points)
    )
    columns: tuple[str, ...] = ("id", "call", "status")
    columns += tuple(f"p:{c}" for c in classes) + tuple(f"se:{c}" for c in classes)
    return LabelTable((*columns, "t_low", "t_high"), rows)


def call_ranges(found: Profile, row: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Where the outcome at `row` begins and ends, per point, as indices into the boundaries."""
    same = found.outcomes == found.outcomes[row]
    before = np.argmin(same[row::-1], axis=0)  # steps down to the first that differs, 0 if none
    after = np.argmin(same[row:], axis=0)
    low = np.where(before > 0, row - before + 1, 0)
    high = np.where(after > 0, row + after, len(same))
    return low, high


def whole_steps(values: FloatArray) -> npt.NDArray[np.uint16]:
    """Probabilities (or standard errors; NaN becomes 0) in steps of 0.0001."""
    clipped = np.clip(np.nan_to_num(values, nan=0.0), 0.0, 1.0)
    return np.rint(clipped * STEPS).astype(np.uint16)


def step_text(steps: int) -> str:
    """Whole steps as a decimal number with four places."""
    return f"{steps // STEPS}.{steps % STEPS:04d}"


def temperature_text(value: float) -> str:
    """A temperature as it stands in tables."""
    return f"{value:.6g}"


def csv_line(fields: Sequence[str]) -> str:
    """One line of comma-separated text; quotes where a field needs them."""
    return ",".join(map(_quoted, fields)) + "\n"


def _quoted(field: str) -> str:
    if any(c in field for c in ',"\r\n'):
        return '"' + field.replace('"', '""') + '"'
    return field


def answer_grid(result: Any) -> tuple[Equilibrium, Profile]:
    """Equilibrium and profile over the grid with the temperature of the answer among its rows.

    A fixed `temperature=` need not lie on the grid; its row is then inserted, so that tables and
    pictures show the answer itself and not that of the nearest grid temperature.

    Parameters
    ----------
    result : fitted PottsClassifier, or anything with `equilibrium_`, `profile_`, `temperature_`
        and `tau`
    """
    equilibrium: Equilibrium = result.equilibrium_
    found: Profile = result.profile_
    temperature = float(result.temperature_)
    equilibrium = _merged(equilibrium, None)  # ascending, as the profile is
    if np.any(found.temperatures == temperature):
        return equilibrium, found
    here = equilibrium.at([temperature])
    extra = profile(here, tau=result.tau, n_classes=found.n_classes, reference=found)
    place = int(np.searchsorted(found.temperatures, temperature))

    def inserted(old: npt.NDArray[Any], new: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.concatenate([old[:place], new, old[place:]])

    joined = replace(
        found,
        temperatures=frozen(inserted(found.temperatures, extra.temperatures), np.float64),
        outcomes=frozen(inserted(found.outcomes, extra.outcomes), np.int32),
        status=frozen(inserted(found.status, extra.status), np.int8),
        margin=frozen(inserted(found.margin, extra.margin), np.float64),
        confused_sets=extra.confused_sets,
    )
    return _merged(equilibrium, here), joined


def _merged(equilibrium: Equilibrium, more: Equilibrium | None) -> Equilibrium:
    """The averages of one or two equilibria of a model, ascending in temperature."""
    parts = [equilibrium] if more is None else [equilibrium, more]
    temperatures = np.concatenate([part.temperatures for part in parts])
    order: IntArray = np.argsort(temperatures, kind="stable").astype(np.int32)
    if more is None and np.all(order == np.arange(len(order))):
        return equilibrium

    def joined(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        return None if any(v is None for v in values) else np.concatenate(values)[order]

    names = ("marginals", "edge_agreement", "mean_energy", "heat_capacity", "converged")
    optional = ("log_partition", "std_error", "agreement_std_error")
    return replace(
        equilibrium,
        temperatures=temperatures[order],
        **{name: joined(name) for name in names + optional},
    )
