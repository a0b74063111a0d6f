"""Cells of figure 2, gathered into curves over temperature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.core.equilibrium import Equilibrium, Kind
from spinlearn.datasets import two_bands
from spinlearn.energies import MinCut
from spinlearn.paper.comparison import paper_profile, wrong_points
from spinlearn.paper.runner import Cell

REACH = 2.0  # standard errors of an error bar
LEAST_STD_ERROR = 1e-4  # below which a standard error, itself estimated, is not relied on


@dataclass(frozen=True, slots=True, eq=False)
class SampledCounts:
    """Figure 2 sampled: counts from the mean over chains, their intervals, the exact counts, (T,).

    A count is a step function of thousands of averages. On a grid many points share a margin by
    symmetry: exactly, all of them cross tau together; sampled, each has its own noise. So the error
    of the count is not that of a smooth function, and `low` and `high` are the least and largest
    counts when all margins, and all agreements, are `REACH` standard errors more, or less, decided.

    z : float array (T,)
        Largest difference of a mean marginal from the exact one, in standard errors of the mean.
    """

    temperatures: FloatArray
    errors: FloatArray
    low: FloatArray
    high: FloatArray
    exact: FloatArray
    z: FloatArray

    @classmethod
    def of(cls, cells: list[Cell]) -> SampledCounts:
        """From the cells of figure 2."""
        toy = two_bands()
        model = MinCut()(toy.graph(), toy.labels, 2)
        chains = _chains(cells)
        temperatures = np.array(chains[0]["temperatures"])
        nothing = np.zeros(len(temperatures))

        def mean_and_error(value: str, error: str) -> tuple[FloatArray, FloatArray]:
            squares = np.mean(np.square([c[error] for c in chains]), axis=0)
            return np.mean([c[value] for c in chains], axis=0), np.sqrt(squares / len(chains))

        first, first_error = mean_and_error("marginals", "std_error")
        agreement, agreement_error = mean_and_error("agreement", "agreement_std_error")
        side = np.where(first >= 0.5, 1.0, -1.0)

        def errors(margin_shift: float, agreement_shift: float) -> FloatArray:
            shifted = np.clip(first + margin_shift * side * first_error, 0, 1)
            pooled = Equilibrium(
                model=model,
                temperatures=temperatures,
                marginals=np.stack([shifted, 1 - shifted], axis=2),
                edge_agreement=np.clip(agreement + agreement_shift * agreement_error, 0, 1),
                mean_energy=nothing,
                heat_capacity=nothing,
                converged=np.ones(len(temperatures), dtype=bool),
                engine="multicanonical",
                kind=Kind.SAMPLED,
            )
            wrong = wrong_points(paper_profile(pooled, 2), toy.truth, [0, 1])
            return np.asarray(wrong.sum(axis=1), dtype=float)

        shifts = (-REACH, 0.0, REACH)
        shifted = np.array([errors(a, b) for a in shifts for b in shifts])
        difference = np.abs(first - np.array(chains[0]["exact_marginals"]))
        return cls(
            temperatures=temperatures,
            errors=errors(0.0, 0.0),
            low=shifted.min(axis=0),
            high=shifted.max(axis=0),
            exact=np.array(chains[0]["exact_errors"], dtype=float),
            z=(difference / np.maximum(first_error, LEAST_STD_ERROR)).max(axis=1),
        )


def summary(cells: list[Cell]) -> dict[str, Any]:
    """The exact curves and the comparisons of samplers with them, by name."""
    found: dict[str, Any] = {"n_points": two_bands().n_points, "traps": {}, "messages": {}}
    for cell in cells:
        settings, result = cell["settings"], cell["result"]
        if settings["kind"] == "exact":
            found["exact SS" if settings["labels"] else "exact US"] = result
        elif settings["kind"] in ("trap", "messages"):
            group = "traps" if settings["kind"] == "trap" else "messages"
            found[group][settings["engine"]] = result
    chains = _chains(cells)
    found["MC"] = {
        "temperatures": chains[0]["temperatures"],
        "n_chains": len(chains),
        "worst_difference": np.max([c["worst_difference"] for c in chains], axis=0).tolist(),
        "converged": np.all([c["converged"] for c in chains], axis=0).tolist(),
    }
    return found


def _chains(cells: list[Cell]) -> list[dict[str, Any]]:
    return [c["result"] for c in cells if c["settings"]["kind"] == "multicanonical"]
