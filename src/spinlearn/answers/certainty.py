"""How sure an answer is: the probability of every call, and a warning where no call means anything.

The probability of a call that the paper's rule made is that of what is called:

- A class: its probability at the temperature of the answer; 1 for a given label that holds.
- Several classes (*confused*), or none for want of neighbours (*outlier*): the largest of their
  probabilities.
- A *new* class that holds a state of the model: the probability of that state. A group that only
  agrees among itself is new as far as no label reaches it. With p_i(c) = P(i hangs together with a
  label of c) + P(i with none)/q in the bonds of Fortuin & Kasteleyn, that has a probability of at
  most q min_c p_i(c), which is exact where the least probable class reaches the point nowhere.

At T = 0 probabilities are 0 or 1 and say nothing. There we take the mean over all temperatures up
to the one where classes melt, each weighed by the range that it stands for.

With few effective samples every marginal looks certain and every point decided. A sampled
temperature is trusted where it has reached equilibrium and all standard errors are at most
MAX_STD_ERROR, one of an approximation where the engine says that it converged too, an exact one
always.
"""

from __future__ import annotations

import numpy as np

from spinlearn.analysis.phases import Phase, phases
from spinlearn.answers.rule import Decision, Status
from spinlearn.core.arrays import BoolArray, FloatArray
from spinlearn.core.equilibrium import Equilibrium, Kind
from spinlearn.core.model import FREE
from spinlearn.core.temperature_cells import cell_ends

MAX_STD_ERROR = 0.25  # of a marginal, at a temperature that may be chosen


def call_probability(equilibrium: Equilibrium, decision: Decision, row: int) -> FloatArray:
    """Probability of what is called, (n,).

    Parameters
    ----------
    equilibrium : Equilibrium
        Ascending in temperature.
    decision : Decision
        At one of its temperatures.
    row : int
        Which.
    """
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
