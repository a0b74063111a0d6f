"""Equilibrium: every thermal average of a model as a function of temperature.

Axes: T temperatures, n nodes, m edges, q states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import BoolArray, FloatArray, frozen, restore, temperature_array
from spinlearn.core.html_table import html_table, shown_rows
from spinlearn.core.model import PottsModel
from spinlearn.errors import InvalidInputError


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Equilibrium:
    """Thermal averages at a list of temperatures.

    Attributes
    ----------
    model : PottsModel
        What the averages are of.
    temperatures : float array (T,)
        In the order they were asked for.
    marginals : float array (T, n, q)
        p_i(s; T).
    edge_agreement : float array (T, m)
        C_ij(T) = sum_s p_ij(s, s; T) for every edge of the graph.
    mean_energy, heat_capacity : float array (T,)
        <E> and (<E^2> - <E>^2) / T^2 (zero at T = 0 and T = infinity).
    log_partition : float array (T,) or None
        ln sum_s exp(-E(s)/T). Its limit at T = 0 is +inf, -inf, or the logarithm of the number of
        ground states, for a ground-state energy below, above or equal to zero.
    std_error, agreement_std_error : float arrays like marginals and edge_agreement, or None
        Standard errors; None means that the engine is exact.
    converged : bool array (T,)
        False where the requested accuracy was not reached.
    engine : str
        Name of the engine that made this.
    diagnostics : mapping
        Engine-specific numbers, for people and for reports.
    evaluate : callable or None
        Averages at other temperatures from the same run (exact engines compute them anew), with
        the keyword `callback`.
    """

    model: PottsModel
    temperatures: FloatArray
    marginals: FloatArray
    edge_agreement: FloatArray
    mean_energy: FloatArray
    heat_capacity: FloatArray
    converged: BoolArray
    engine: str
    log_partition: FloatArray | None = None
    std_error: FloatArray | None = None
    agreement_std_error: FloatArray | None = None
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    evaluate: Callable[..., Equilibrium] | None = None

    def __post_init__(self) -> None:
        for name in (
            "temperatures",
            "marginals",
            "edge_agreement",
            "mean_energy",
            "heat_capacity",
            "log_partition",
            "std_error",
            "agreement_std_error",
        ):
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, frozen(values, np.float64))
        object.__setattr__(self, "converged", frozen(self.converged, np.bool_))

    @property
    def exact(self) -> bool:
        """True when the averages carry no sampling error."""
        return self.std_error is None

    @property
    def free_energy(self) -> FloatArray:
        """F = -T ln Z (not a number at T = infinity)."""
        if self.log_partition is None:
            raise InvalidInputError(f"the engine {self.engine!r} does not give log Z")
        with np.errstate(invalid="ignore"):
            return np.asarray(-self.temperatures * self.log_partition)

    @property
    def entropy(self) -> FloatArray:
        """S = <E>/T + ln Z, the logarithm of the number of labellings in play."""
        if self.log_partition is None:
            raise InvalidInputError(f"the engine {self.engine!r} does not give log Z")
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.mean_energy / self.temperatures + self.log_partition)

    def at(
        self, temperatures: npt.ArrayLike, *, callback: Callable[..., Any] | None = None
    ) -> Equilibrium:
        """The averages at other temperatures, without starting again.

        Temperatures already in this result are looked up; the rest are evaluated by the engine
        that made it, which tells `callback` of its progress.
        """
        wanted = temperature_array(temperatures)
        known = {float(t): k for k, t in enumerate(self.temperatures)}
        if all(float(t) in known for t in wanted):
            return self.take([known[float(t)] for t in wanted])
        if self.evaluate is None:
            raise InvalidInputError(
                f"this result holds {len(self.temperatures)} temperatures and cannot be evaluated "
                f"at others: ask for one of {np.array2string(self.temperatures, threshold=8)}"
            )
        return self.evaluate(wanted, callback=callback)

    def take(self, rows: npt.ArrayLike) -> Equilibrium:
        """The averages at some of the temperatures, by row number."""
        index = np.asarray(rows, dtype=np.intp)

        def pick(values: FloatArray | None) -> FloatArray | None:
            return None if values is None else values[index]

        return replace(
            self,
            temperatures=self.temperatures[index],
            marginals=self.marginals[index],
            edge_agreement=self.edge_agreement[index],
            mean_energy=self.mean_energy[index],
            heat_capacity=self.heat_capacity[index],
            converged=self.converged[index],
            log_partition=pick(self.log_partition),
            std_error=pick(self.std_error),
            agreement_std_error=pick(self.agreement_std_error),
        )

    def __setstate__(self, state: Sequence[Any]) -> None:
        restore(self, state)

    def __repr__(self) -> str:
        low, high = float(np.min(self.temperatures)), float(np.max(self.temperatures))
        kind = "exact" if self.exact else "sampled"
        return (
            f"Equilibrium({kind} by {self.engine!r}, {self.model!r}, "
            f"{len(self.temperatures)} temperatures {low:g} to {high:g})"
        )

    def _repr_html_(self) -> str:
        n_rows, n_bad = len(self.temperatures), int(np.sum(~self.converged))
        graph = self.model.graph
        title = (
            f"{'exact' if self.exact else 'sampled'} by {self.engine}: {graph.n_nodes} points, "
            f"{graph.n_edges} edges, {self.model.n_states} states, {n_rows} temperatures, "
            + (f"{n_bad} not converged" if n_bad else "all converged")
        )
        columns = ["T", "mean energy", "heat capacity"]
        if self.log_partition is not None:
            columns.append("ln Z")
        if self.std_error is not None:
            columns.append("worst error")
        rows = []
        ascending = np.argsort(self.temperatures, kind="stable")
        for k in ascending[shown_rows(n_rows)]:
            cells = [f"{self.temperatures[k]:.4g}", f"{self.mean_energy[k]:.4g}"]
            cells.append(f"{self.heat_capacity[k]:.4g}")
            if self.log_partition is not None:
                cells.append(f"{self.log_partition[k]:.4g}")
            if self.std_error is not None:
                cells.append(f"{np.max(self.std_error[k], initial=0.0):.2g}")
            rows.append([*cells, "yes" if self.converged[k] else "no"])
        return html_table(title, [*columns, "converged"], rows)
