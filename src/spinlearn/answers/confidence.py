"""Confidence of a call that the paper's rule made: the probability of what is called.

- A class: its probability at the temperature of the answer; 1 for a given label that holds.
- Several classes (*confused*), or none for want of neighbours (*outlier*): the largest of their
  probabilities.
- A *new* class that holds a state of the model: the probability of that state. A group that only
  agrees among itself is new as far as no label reaches it. With p_i(c) = P(i hangs together with a
  label of c) + P(i with none)/q in the bonds of Fortuin & Kasteleyn, that has a probability of at
  most q min_c p_i(c), which is exact where the least probable class reaches the point nowhere.

At T = 0 probabilities are 0 or 1 and say nothing. There they are the mean over all temperatures up
to the one where classes melt, each weighed by the range that it stands for.
"""

from __future__ import annotations

import numpy as np

from spinlearn.analysis.phases import Phase, phases
from spinlearn.answers.rule import Decision, Status
from spinlearn.core.arrays import FloatArray
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.model import FREE
from spinlearn.core.temperature_cells import cell_ends


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
        p = _up_to_melting(equilibrium)
    rows = np.arange(len(p))
    named = (decision.outcomes >= 0) & (decision.outcomes < k)
    held_new = np.any(model.clamped >= k)
    free = p[:, k:].max(axis=1) if held_new else p.shape[1] * p.min(axis=1)
    sure = np.where(decision.outcomes >= k, np.minimum(free, 1.0), p[:, :k].max(axis=1, initial=0))
    sure[named] = p[rows[named], decision.outcomes[named]]
    sure[(decision.status == Status.LABELLED) & (model.clamped != FREE)] = 1.0
    return np.asarray(np.clip(sure, 0.0, 1.0))


def _up_to_melting(equilibrium: Equilibrium) -> FloatArray:
    """Mean marginals below the paramagnetic phase, (n, q); at T = 0 where there is nothing else."""
    grid = equilibrium.temperatures
    melted = np.array([phase is Phase.PARAMAGNETIC for phase in phases(equilibrium).phases])
    standing = np.isfinite(grid) & ~melted
    with np.errstate(invalid="ignore"):  # infinity less infinity, which does not stand
        widths = np.where(standing, np.diff(cell_ends(grid)), 0.0)
    if not np.any(widths > 0):
        widths = (np.arange(len(grid)) == 0).astype(float)
    return np.tensordot(widths / widths.sum(), equilibrium.marginals, axes=1)


def mean_confidence(sure: FloatArray, decision: Decision, outcome: int) -> float:
    """Mean over the points with an outcome, without given labels unless there are no others."""
    members = decision.outcomes == outcome
    judged = members & (decision.status != Status.LABELLED)
    return float(sure[judged if np.any(judged) else members].mean())
