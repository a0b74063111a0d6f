"""Law: the one probability of every point, from which its call, its status and all words follow.

    call = the most probable class,    confidence = its probability.

Status puts the same number into words: *confident* from SURE on, *confused* where the second class
is within tau of the first, *grown* between the two: ahead, but carried by its neighbours. A call is
*new* where a class without label is the most probable, and its point an *outlier* where no label
reaches it: then the commonest class is called. Axes: n points, k named classes.

The probability of a call that the paper's rule made is that of what is called:

- A class: its probability at the temperature of the answer; 1 for a given label that holds.
- Several classes (*confused*), or none (*outlier*): the largest of their probabilities.
- A *new* class that holds a state of the model: the probability of that state. A group that only
  agrees among itself is new as far as no label reaches it. With p_i(c) = P(i hangs together with a
  label of c) + P(i with none)/q in the bonds of Fortuin & Kasteleyn, that has a probability of at
  most q min_c p_i(c), which is exact where the least probable class reaches the point nowhere.

At T = 0 probabilities are 0 or 1 and say nothing. There we take the mean over all temperatures up
to the one where classes melt, each weighed by the range that it stands for.

With few effective samples every marginal looks certain. A sampled temperature is trusted where it
has reached equilibrium and all standard errors are at most MAX_STD_ERROR, one of an approximation
where the engine says that it converged too, an exact one always.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinlearn.answers.rule import Decision, Status
from spinlearn.model.arrays import BoolArray, FloatArray, IntArray, cell_ends
from spinlearn.model.equilibrium import Equilibrium, Kind
from spinlearn.model.phases import Phase, phases
from spinlearn.model.potts import FREE

LAWS = ("graph", "distance to labels", "features", "guessing")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Law:
    """Probabilities of all points, and what the labels taught about them."""

    # (n, k + new), of the named classes, then of the new ones. What a row lacks to one is the
    # probability of another class without label; a row of zeros is a point of which nothing is
    # known.
    probabilities: FloatArray
    # of the phase (belief propagation), the walk, the features, guessing
    shares: tuple[float, float, float, float]
    n_judged: int  # labels that were left out
    n_right: int  # and called right
    chance: bool  # whether left-out labels were predicted no better than by guessing
    # (k,), of the share of every class in all points, beyond that of single points
    class_errors: FloatArray
    temperatures: tuple[float, ...]  # of the phase, in the unit of the couplings
    resolutions: tuple[float, ...]  # strengths of its null model
    # of each resolution and temperature in the phase; sum is one
    phase_weights: tuple[tuple[float, ...], ...]


def second_choices(probabilities: FloatArray, outcomes: IntArray) -> npt.NDArray[np.int32]:
    """The most probable other class of every point, -1 where there is none."""
    if probabilities.shape[1] < 2:
        return np.full(len(probabilities), -1, dtype=np.int32)
    others = np.array(probabilities)
    known = np.flatnonzero((outcomes >= 0) & (outcomes < others.shape[1]))
    others[known, outcomes[known]] = -1.0
    undecided = np.flatnonzero(outcomes < 0)
    others[undecided, np.argmax(others[undecided], axis=1)] = -1.0
    return np.asarray(np.argmax(others, axis=1), dtype=np.int32)


MAX_STD_ERROR = 0.25  # of a marginal, at a temperature that may be chosen


def call_probability(equilibrium: Equilibrium, decision: Decision, row: int) -> FloatArray:
    """Probability of what is called, (n,), at one row of an equilibrium with ascending T."""
    model, k = equilibrium.model, decision.n_classes
    p = np.asarray(equilibrium.marginals[row], dtype=np.float64)
    if equilibrium.temperatures[row] == 0:
        grid = equilibrium.temperatures
        melted = np.array([phase is Phase.PARAMAGNETIC for phase in phases(equilibrium).phases])
        with np.errstate(invalid="ignore"):  # infinity less infinity, which does not stand
            widths = np.where(np.isfinite(grid) & ~melted, np.diff(cell_ends(grid)), 0.0)
        if not np.any(widths > 0):
            widths = (np.arange(len(grid)) == 0).astype(float)
        p = np.tensordot(widths / widths.sum(), equilibrium.marginals, axes=1)
    rows = np.arange(len(p))
    named = (decision.outcomes >= 0) & (decision.outcomes < k)
    held_new = np.any(model.clamped >= k)
    free = p[:, k:].max(axis=1) if held_new else p.shape[1] * p.min(axis=1)
    sure = np.where(decision.outcomes >= k, np.minimum(free, 1.0), p[:, :k].max(axis=1, initial=0))
    sure[named] = p[rows[named], decision.outcomes[named]]
    sure[(decision.status == Status.LABELLED) & (model.clamped != FREE)] = 1.0
    return np.asarray(np.clip(sure, 0.0, 1.0))


def mean_confidence(sure: FloatArray, decision: Decision, outcome: int) -> float:
    """Mean over the points with an outcome, without given labels unless there are no others."""
    members = decision.outcomes == outcome
    judged = members & (decision.status != Status.LABELLED)
    return float(sure[judged if np.any(judged) else members].mean())


def trusted_rows(equilibrium: Equilibrium) -> BoolArray:
    """Temperatures, ascending, at which a decision means something, (T,)."""
    run = equilibrium.ascending()
    trusted = np.asarray(run.equilibrated)
    if run.std_error is not None:  # not a number is no small error
        trusted = trusted & (run.std_error.max(axis=(1, 2), initial=0.0) <= MAX_STD_ERROR)
    return trusted & run.converged if run.kind is Kind.APPROXIMATE else trusted


def usable_rows(equilibrium: Equilibrium) -> BoolArray:
    """Rows from which a temperature may be chosen: the trusted ones, all if there are none.

    Those of a cooled run are usable too, as labellings of low energy; `warning_at` says so.
    """
    trusted = trusted_rows(equilibrium)
    return np.ones_like(trusted) if equilibrium.annealed or not np.any(trusted) else trusted


def warning_at(equilibrium: Equilibrium, row: int) -> str | None:
    """Why an answer at this row is not to be trusted, with a remedy; None if it is."""
    trusted = trusted_rows(equilibrium)
    if trusted[row]:
        return None
    run = equilibrium.ascending()
    where = f"T = {run.temperatures[row]:.4g}"
    worst = 0.0 if run.std_error is None else float(run.std_error[row].max(initial=0.0))
    if not np.asarray(run.equilibrated)[row]:
        fact = "walkers have not reached equilibrium"
        remedy = "sample longer (max_sweeps=, max_seconds=)"
    elif worst <= MAX_STD_ERROR:
        fact, remedy = "the engine did not converge", "use another engine"
    else:
        fact = f"standard errors of probabilities reach {worst:.2g}"
        remedy = "use more walkers" if run.annealed else "sample longer"
        if run.can_continue:
            remedy = "give the engine more time (max_seconds=, --max-seconds)"
    if run.annealed:
        return (
            f"do not trust the probabilities: at {where} {fact}, because the run was cooled into "
            "one deep valley of the energy and cannot weigh it against others; take the calls as "
            f"one labelling of low energy, or {remedy}"
        )
    if not np.any(trusted):
        return (
            f"nothing here can be trusted: {fact} at {where}, and no temperature is better than "
            f"{MAX_STD_ERROR:g}: {remedy}, or take a smaller or sparser graph"
            if worst > MAX_STD_ERROR
            else f"nothing here can be trusted: {fact} at any temperature: {remedy}"
        )
    good = run.temperatures[trusted]
    return (
        f"do not trust this answer: at {where} {fact}; {remedy}, or ask for one of the {len(good)} "
        f"temperatures from {good.min():.4g} to {good.max():.4g} that can be trusted"
    )
