"""Equilibrium: every thermal average of a model as a function of temperature.

Axes: T temperatures, n nodes, m edges, q states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from html import escape
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import BoolArray, FloatArray, frozen, restore, temperature_array
from spinlearn.model.potts import PottsModel


class NotebookTable:
    """How notebooks show types of lower layers; the package says on import who draws them."""

    __slots__ = ()
    _draw: ClassVar[Callable[[Any], str]] = lambda value: f"<pre>{escape(repr(value))}</pre>"

    def _repr_html_(self) -> str:
        return NotebookTable._draw(self)


AVERAGES = ("marginals", "edge_agreement", "mean_energy", "heat_capacity")
ERRORS = ("std_error", "agreement_std_error")
LARGE = ("marginals", "edge_agreement")  # may be in single precision, if they come so
OPTIONAL_AVERAGES = ("log_partition", "log_partition_std_error", *ERRORS)
VERDICTS = ("converged", "equilibrated")
PER_TEMPERATURE = ("temperatures", *VERDICTS, *AVERAGES, *OPTIONAL_AVERAGES)


class Kind(StrEnum):
    """What stands between an equilibrium and the true averages of its model.

    "exact" means rounding only; "sampled" statistical errors, with error bars; "approximate" errors
    of unknown size. Members compare equal to these words.

    Examples
    --------
    >>> from spinlearn.engines import Kind
    >>> [kind.value for kind in Kind]
    ['exact', 'sampled', 'approximate']
    >>> Kind.EXACT == "exact"
    True
    """

    EXACT = "exact"
    SAMPLED = "sampled"
    APPROXIMATE = "approximate"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Equilibrium(NotebookTable):
    """Thermal averages of a model at a list of temperatures.

    Engines make these. Axes are T temperatures, n nodes, m edges, q states; energies and
    temperatures are in the unit of the couplings.

    Parameters
    ----------
    model : PottsModel
        What the averages are of.
    temperatures : float array (T,)
        In the order they were asked for.
    marginals : float array (T, n, q)
        Probability of every state of every node, p_i(s; T).
    edge_agreement : float array (T, m)
        Probability that the two ends of an edge are in one state, the paper's C_ij.
    mean_energy : float array (T,)
        <E>.
    heat_capacity : float array (T,)
        (<E^2> - <E>^2) / T^2, zero at T = 0 and T = infinity.
    converged : bool array (T,)
        False where the requested accuracy was not reached, or equilibrium was not.
    engine : str
        Name of the engine that made this, for people.
    kind : Kind, optional
        Exact, sampled or approximate. An engine that does not say is taken as sampled where it
        gives standard errors and as approximate where it does not: never as exact.
    equilibrated : bool array (T,), optional
        False where a sampler's own tests say that its walkers have not reached equilibrium: there
        neither averages nor error bars are to be trusted, however small. True for other engines.
    log_partition : float array (T,), optional
        ln Z = ln sum_s exp(-E(s)/T). Its limit at T = 0 is +inf, -inf, or the logarithm of the
        number of ground states, for a ground-state energy below, above or equal to zero.
    log_partition_std_error : float array (T,), optional
        Standard error of ln Z.
    std_error : float array (T, n, q), optional
        Standard errors of the marginals; None where the engine gives none.
    agreement_std_error : float array (T, m), optional
        The same of the agreements.
    diagnostics : mapping
        Engine-specific numbers, for people and for reports.
    evaluate : callable, optional
        Averages at other temperatures from the same run (exact engines compute them anew), with the
        keyword ``callback``; None where they cannot be had.
    reweights : bool, default False
        Whether `evaluate` reads the same samples again, at next to no cost.
    can_continue : bool, default False
        Whether a longer run of the same engine would have smaller errors.
    annealed : bool, default False
        Whether the run was cooled. Where its errors are too large to weigh one valley of the energy
        against another, its averages are then at least those of one deep valley.

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import Enumeration
    >>> pair = PottsModel(Graph(2, [(0, 1)]), 2, clamped=[0, -1])
    >>> found = Enumeration().run(pair, [0.5, 1.0])
    >>> found.marginals[:, 1, 0].round(3).tolist()  # node 1 in state 0: 1 / (1 + exp(-1/T))
    [0.881, 0.731]
    >>> found.at([2.0]).log_partition.round(3).tolist()  # ln(1 + exp(-1/2))
    [0.474]
    """

    model: PottsModel
    temperatures: FloatArray
    marginals: FloatArray
    edge_agreement: FloatArray
    mean_energy: FloatArray
    heat_capacity: FloatArray
    converged: BoolArray
    engine: str
    kind: Kind | None = None
    equilibrated: BoolArray | None = None
    log_partition: FloatArray | None = None
    log_partition_std_error: FloatArray | None = None
    std_error: FloatArray | None = None
    agreement_std_error: FloatArray | None = None
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    evaluate: Callable[..., Equilibrium] | None = None
    reweights: bool = False
    can_continue: bool = False
    annealed: bool = False

    def __post_init__(self) -> None:
        for name in ("temperatures", *AVERAGES, *OPTIONAL_AVERAGES):
            values = getattr(self, name)
            if values is not None:
                single = name in LARGE and np.asarray(values).dtype == np.float32
                object.__setattr__(self, name, frozen(values, np.float32 if single else np.float64))
        if self.equilibrated is None:
            object.__setattr__(self, "equilibrated", np.ones(len(self.converged), dtype=np.bool_))
        for name in VERDICTS:
            object.__setattr__(self, name, frozen(getattr(self, name), np.bool_))
        unsaid = Kind.APPROXIMATE if self.std_error is None else Kind.SAMPLED
        object.__setattr__(self, "kind", unsaid if self.kind is None else Kind(self.kind))

    @property
    def exact(self) -> bool:
        """Whether the averages are right up to rounding."""
        return self.kind is Kind.EXACT

    @property
    def has_errors(self) -> bool:
        """Whether the averages carry error bars."""
        return self.std_error is not None

    @property
    def other_temperatures(self) -> bool:
        """Whether `at` answers at temperatures beyond those of the grid."""
        return self.evaluate is not None

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
        """The averages at other `temperatures`, without a new run.

        Those not in this result are evaluated by its engine, if it can, which calls the `callback`.
        """
        wanted = temperature_array(temperatures)
        known = {float(t): k for k, t in enumerate(self.temperatures)}
        if all(t in known for t in wanted.tolist()):
            return self.take([known[t] for t in wanted.tolist()])
        if self.evaluate is None:
            raise InvalidInputError(
                f"this result holds {len(self.temperatures)} temperatures and cannot be evaluated "
                f"at others: ask for one of {np.array2string(self.temperatures, threshold=8)}"
            )
        return self.evaluate(wanted, callback=callback)

    def take(self, rows: npt.ArrayLike) -> Equilibrium:
        """The averages at some of the temperatures: `rows` are positions in `temperatures`."""
        index = np.asarray(rows, dtype=np.intp)
        kept: dict[str, Any] = {name: getattr(self, name) for name in PER_TEMPERATURE}
        kept = {name: values if values is None else values[index] for name, values in kept.items()}
        return replace(self, **kept)

    def ascending(self, more: Equilibrium | None = None) -> Equilibrium:
        """The averages in the order of temperature, with those at other temperatures, `more`."""
        parts = [self] if more is None else [self, more]
        order = np.argsort(np.concatenate([p.temperatures for p in parts]), kind="stable")
        if more is None and np.all(order == np.arange(len(order))):
            return self
        joined: dict[str, Any] = {}
        for name in PER_TEMPERATURE:
            values = [getattr(part, name) for part in parts]
            known = next((v for v in values if v is not None), None)
            if known is not None and name in ERRORS:
                # Where one part has error bars the other has none to add.
                values = [
                    np.zeros((len(p.temperatures), *known.shape[1:])) if v is None else v
                    for p, v in zip(parts, values, strict=True)
                ]
            complete = all(v is not None for v in values)
            joined[name] = np.concatenate(values)[order] if complete else None
        return replace(self, **joined)

    def __setstate__(self, state: Sequence[Any]) -> None:
        restore(self, state)

    def __repr__(self) -> str:
        low, high = float(np.min(self.temperatures)), float(np.max(self.temperatures))
        return (
            f"Equilibrium({self.kind} by {self.engine!r}, {self.model!r}, "
            f"{len(self.temperatures)} temperatures {low:g} to {high:g})"
        )
