"""Trust: which temperatures of an equilibrium a decision may rest on.

With few effective samples every marginal looks certain and every point decided. A sampled
temperature is trusted where it has reached equilibrium and all standard errors are at most
MAX_STD_ERROR, one of an approximation where the engine says that it converged too, an exact one
always.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from spinlearn.core.arrays import BoolArray, FloatArray
from spinlearn.core.equilibrium import Equilibrium, Kind

MAX_STD_ERROR = 0.25  # of a marginal, at a temperature that may be chosen


@dataclass(frozen=True, slots=True, eq=False)
class Trust:
    """Which temperatures of an equilibrium can be trusted, and in words why not the rest.

    Attributes
    ----------
    temperatures : float array (T,)
        Ascending, in the unit of the couplings.
    rows : bool array (T,)
        Where a decision means something.
    worst_error : float array (T,)
        Largest standard error of a probability; zero where there are no error bars.
    equilibrated : bool array (T,)
        Where a sampler's walkers have reached equilibrium.
    annealed : bool
        Whether the run was cooled, as in `spinlearn.engines.Equilibrium`.
    can_continue : bool
        Whether a longer run would have smaller errors.

    Examples
    --------
    Three groups of five points in a row; the middle one has no label:

    >>> from spinlearn import Graph
    >>> from spinlearn.energies import MinCut
    >>> from spinlearn.engines import JunctionTree
    >>> groups = [(i + k, j + k) for k in (0, 5, 10) for i in range(5) for j in range(i)]
    >>> graph = Graph(15, groups + [(0, 5), (9, 10)], 30 * [1.0] + [0.3, 0.2])
    >>> model = MinCut()(graph, [0] + 13 * [-1] + [1], n_states=2)
    >>> found = JunctionTree().run(model, [0.0, 0.3, 0.8, 5.0])
    >>> from spinlearn.answers import Trust
    >>> trust = Trust.of(found)  # exact averages are trusted everywhere
    >>> trust.rows.tolist(), trust.sentence(1)
    ([True, True, True, True], None)
    """

    temperatures: FloatArray
    rows: BoolArray
    worst_error: FloatArray
    equilibrated: BoolArray
    annealed: bool
    can_continue: bool

    @classmethod
    def of(cls, equilibrium: Equilibrium) -> Self:
        """What is known of an equilibrium.

        Parameters
        ----------
        equilibrium : Equilibrium
            Thermal averages, ascending in temperature.

        Returns
        -------
        Trust
        """
        order = np.argsort(equilibrium.temperatures, kind="stable")
        errors = equilibrium.std_error
        worst = np.zeros(len(order))
        if errors is not None:
            worst = errors.max(axis=(1, 2), initial=0.0)[order]
        rows = worst <= MAX_STD_ERROR  # not a number is no small error
        if equilibrium.kind is Kind.APPROXIMATE:
            rows &= equilibrium.converged[order]
        equilibrated = np.asarray(equilibrium.equilibrated)[order]
        return cls(
            equilibrium.temperatures[order],
            np.asarray(rows & equilibrated),
            worst,
            equilibrated,
            equilibrium.annealed,
            equilibrium.can_continue,
        )

    @property
    def usable(self) -> BoolArray:
        """Rows from which a temperature may be chosen: the trusted ones, all if there are none.

        Those of a cooled run are usable too, as labellings of low energy; `sentence` says so.
        """
        return np.ones_like(self.rows) if self.annealed or not np.any(self.rows) else self.rows

    def sentence(self, row: int) -> str | None:
        """Why an answer at this row is not to be trusted, with a remedy; None if it is.

        Parameters
        ----------
        row : int
            Row of the grid.

        Returns
        -------
        str or None
        """
        if self.rows[row]:
            return None
        where = f"T = {self.temperatures[row]:.4g}"
        if not self.equilibrated[row]:
            fact = "walkers have not reached equilibrium"
            remedy = "sample longer (max_sweeps=, max_seconds=)"
        elif self.worst_error[row] <= MAX_STD_ERROR:
            fact, remedy = "the engine did not converge", "use another engine"
        else:
            fact = f"standard errors of probabilities reach {self.worst_error[row]:.2g}"
            remedy = "use more walkers" if self.annealed else "sample longer"
            if self.can_continue:
                remedy = "give the engine more time (time_limit=, --time-limit)"
        if self.annealed:
            return (
                f"do not trust the probabilities: at {where} {fact}, because the run was cooled "
                "into one deep valley of the energy and cannot weigh it against others; take the "
                f"calls as one labelling of low energy, or {remedy}"
            )
        if not np.any(self.rows):
            return (
                f"nothing here can be trusted: {fact} at {where}, and no temperature is better "
                f"than {MAX_STD_ERROR:g}: {remedy}, or take a smaller or sparser graph"
                if self.worst_error[row] > MAX_STD_ERROR
                else f"nothing here can be trusted: {fact} at any temperature: {remedy}"
            )
        good = self.temperatures[self.rows]
        return (
            f"do not trust this answer: at {where} {fact}; {remedy}, or ask for one of the "
            f"{len(good)} temperatures from {good.min():.4g} to {good.max():.4g} that can be "
            "trusted"
        )
