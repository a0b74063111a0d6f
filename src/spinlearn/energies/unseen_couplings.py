"""CouplingLaw: how strongly unseen points are coupled to training points they resemble.

The law is read off the training couplings J and similarities w, so that it is theirs whatever the
energy and the unit:

    proportional   J_ij = c w_ij
    by degree      J_ij = c w_ij / sqrt(d_i d_j),    d_i = sum_j |w_ij|

The first is that of the minimum cut on weights, the second of homogeneous couplings and of lgc. An
unseen point x would have been in the sum of its neighbour j, so that w_xj counts in d_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from spinlearn.core.arrays import BoolArray, FloatArray
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel

ROUNDING = 1e-6  # relative: couplings that differ less follow one law
FAINTEST = 1e-250  # of the strongest similarity: weaker ones have lost digits


@dataclass(frozen=True, slots=True, eq=False)
class CouplingLaw:
    """From similarities to couplings.

    Attributes
    ----------
    factor : float
        c.
    unit : float
        The largest similarity in training, in which d is measured.
    degrees : float array (n,) or None
        d of the training points; None where couplings are proportional to similarities.
    """

    factor: float
    unit: float
    degrees: FloatArray | None

    @classmethod
    def of(cls, graph: Graph, model: PottsModel) -> Self | None:
        """The law of a model on a graph of similarities; None if it follows neither form."""
        unit = float(np.abs(graph.weights).max(initial=0.0))
        if unit == 0.0:
            return cls(1.0, 1.0, None)
        if not np.array_equal(graph.edges, model.graph.edges):
            return None
        w = np.abs(graph.weights) / unit
        d: FloatArray = np.bincount(
            graph.edges.ravel(), np.repeat(w, 2), minlength=graph.n_nodes
        ).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.sqrt(w[:, None] / d[graph.edges])
        forms = [(None, np.abs(graph.weights)), (d, shares[:, 0] * shares[:, 1])]
        if not np.array_equal(model.graph.weights, graph.weights):
            forms.reverse()  # made homogeneous, and perhaps in proportion all the same
        for degrees, form in forms:
            factor = _factor(model.couplings * np.sign(graph.weights), form, w > FAINTEST)
            if factor is not None:
                return cls(factor, unit, degrees)
        return None

    def couplings(self, similarity: Any) -> FloatArray:
        """Couplings of the stored entries of a CSR matrix (n_new, n) of similarities >= 0."""
        if self.degrees is None:
            return np.asarray(self.factor * similarity.data)
        counts = np.diff(similarity.indptr)
        rows = np.repeat(np.arange(len(counts)), counts)
        w = similarity.data / self.unit
        own = np.bincount(rows, w, minlength=len(counts))[rows]
        other = self.degrees[similarity.indices] + w
        some = w > 0
        values = np.zeros(len(w))
        values[some] = np.sqrt(w[some] / own[some]) * np.sqrt(w[some] / other[some])
        return np.asarray(self.factor * values)


def _factor(couplings: FloatArray, form: FloatArray, judged: BoolArray) -> float | None:
    """c > 0 of couplings = c form, or None where there is no such number."""
    ratios = couplings[judged] / form[judged]
    c = float(np.median(ratios))
    same = 0 < c < np.inf and bool(np.all(np.abs(ratios - c) <= ROUNDING * c))
    return c if same else None
