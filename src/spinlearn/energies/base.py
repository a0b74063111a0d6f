"""Energy: from a labelled graph to a PottsModel. What all energies share.

Couplings are the weights of the graph, or made homogeneous, w_ij / sqrt(d_i d_j) scaled to mean 1
(`Graph.homogeneous`). Labels add h_k (1 - delta(s_k, c_k)) for the labelled points k: a field, or
for h_k = inf a clamp (eq. 2 of the paper).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import FloatArray, float_array, integer_array
from spinlearn.model.graph import Graph
from spinlearn.model.potts import FREE, PottsModel, checked_n_states
from spinlearn.model.settings import Settings

UNLABELLED = -1
# Of all labels, in units of the strongest coupling: beyond, PottsModel.energy_resolution would come
# near the couplings.
MAX_STRENGTH = 1e8
SHARED = """label_strength : float or array-like of shape (n,), default inf
        Cost of leaving a label, >= 0, in the unit of the couplings. Infinite holds the point in its
        class, a finite value lets the neighbours overrule it. Entries of unlabelled points are
        ignored.
    couplings : {"weights", "homogeneous"}, default "weights"
        What is taken from the graph: its weights, or weights that bind points of dense and sparse
        regions alike, see `spinlearn.Graph.homogeneous`.
    n_states : int or None, default None
        Number of states, q, up to 127; those beyond the labels stand for classes without a name.
        None: as many as there are classes, at least 2."""

COUPLINGS: dict[str, Callable[[Graph], Graph]] = {
    "weights": lambda graph: graph,
    "homogeneous": Graph.homogeneous,
}
"""The ways from similarities to couplings, by name: functions from a graph to a graph.

"weights" takes the weights as they are, "homogeneous" makes them bind all points about equally
(see `spinlearn.Graph.homogeneous`).

Examples
--------
>>> from spinlearn.energies import COUPLINGS
>>> list(COUPLINGS)
['weights', 'homogeneous']
"""


@dataclass(kw_only=True)
class Energy(Settings):
    """Base of the energies: an object that makes a `spinlearn.PottsModel` of a graph and labels.

    A subclass has `_model`; "<shared>" in its docstring stands for the parameters of all energies.
    """

    label_strength: Any = np.inf
    couplings: Any = "weights"
    n_states: int | None = None

    def __init_subclass__(cls) -> None:
        if cls.__doc__:
            cls.__doc__ = cls.__doc__.replace("<shared>", SHARED)

    def __call__(
        self,
        graph: Graph,
        labels: npt.ArrayLike,
        n_states: int,
        *,
        label_strength: npt.ArrayLike | None = None,
    ) -> PottsModel:
        """The model of this energy.

        Parameters
        ----------
        graph : Graph
            Similar points; n nodes, m edges.
        labels : array-like of int, shape (n,)
            Class of every labelled point, from 0; -1 for the others.
        n_states : int
            Number of classes; the setting of this name overrides it.
        label_strength : float or array-like of shape (n,), optional
            In place of the setting of this name.

        Returns
        -------
        PottsModel
            The energy of every labelling, in the unit of the couplings.
        """
        q = checked_n_states(n_states)
        if self.n_states is not None:
            given = integer_array(labels, "labels")
            q, needed = checked_n_states(self.n_states), int(given.max(initial=-1)) + 1
            if q < needed:
                raise InvalidInputError(
                    f"n_states={q} is fewer than the {needed} classes among the labels: leave it "
                    "None or raise it"
                )
        strength = self.label_strength if label_strength is None else label_strength
        return self._model(self._coupled(graph), labels, q, strength)

    def _coupled(self, graph: Graph) -> Graph:
        """The graph with the couplings as weights."""
        name = self.couplings
        if not isinstance(name, str) or name not in COUPLINGS:
            raise InvalidInputError(
                f"couplings={name!r} is unknown: use one of {', '.join(map(repr, COUPLINGS))}; for "
                "couplings of your own give a graph with those weights, or "
                "energy=Custom(couplings=...)"
            )
        return COUPLINGS[name](graph)

    def _model(
        self, graph: Graph, labels: npt.ArrayLike, q: int, strength: npt.ArrayLike
    ) -> PottsModel:
        raise NotImplementedError


def checked_labels(graph: Graph, labels: npt.ArrayLike, n_states: int) -> npt.NDArray[np.int64]:
    """States of the labelled points, -1 for the others, (n,)."""
    given = integer_array(labels, "labels")
    n = graph.n_nodes
    if given.shape != (n,):
        raise InvalidInputError(f"labels have shape {given.shape}, the graph has {n} nodes")
    if np.any((given < UNLABELLED) | (given >= n_states)):
        raise InvalidInputError(f"labels must be -1 or states 0 to {n_states - 1}")
    return given


def label_terms(
    graph: Graph,
    labels: npt.ArrayLike,
    n_states: int,
    label_strength: npt.ArrayLike,
    couplings: FloatArray | None = None,
) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Fields (n, q) and clamps (n,) of labels with the given strength.

    `couplings` (default: the graph's weights) say which strengths would drown them.
    """
    n, q = graph.n_nodes, n_states
    given = checked_labels(graph, labels, q)
    strength = float_array(label_strength, "label_strength")
    if strength.shape not in ((), (n,)):
        raise InvalidInputError(
            f"label_strength has shape {strength.shape}: give one number, or one per point, ({n},)"
        )
    strength = np.broadcast_to(strength, (n,))
    labelled = given != UNLABELLED
    if np.any(np.isnan(strength[labelled]) | (strength[labelled] < 0)):
        raise InvalidInputError(
            "label_strength must be >= 0 (inf clamps the label, 0 ignores it), got a negative "
            "or NaN value"
        )
    hard = labelled & np.isinf(strength)
    soft = np.flatnonzero(labelled & ~hard)
    strengths = graph.weights if couplings is None else couplings
    strongest = float(np.abs(strengths).max(initial=0.0))
    # A sum of shares: strengths near the largest float must not overflow.
    if strongest > 0 and np.sum(strength[soft] / MAX_STRENGTH) > strongest:
        raise InvalidInputError(
            f"label_strength {strength[soft].max():g} drowns the couplings (at most "
            f"{strongest:g}) in rounding errors: use inf, which holds the label"
        )
    fields = np.zeros((n, q))
    fields[soft] = strength[soft, None]
    fields[soft, given[soft]] = 0.0
    return fields, np.where(hard, given, FREE)


def weighted_degrees(graph: Graph) -> FloatArray:
    """d_i = sum_j w_ij, (n,); weights must be positive, for degrees are divided by."""
    if np.any(graph.weights < 0):
        raise InvalidInputError(
            f"{int(np.sum(graph.weights < 0))} edges have negative weight, but this energy divides "
            "by sums of weights: use energy='min_cut', or similarities >= 0"
        )
    return graph.node_sums(graph.weights)


def mean_coupling(values: FloatArray) -> float:
    """<J>, the unit in which strengths are given."""
    return float(np.abs(values).mean()) if len(values) else 1.0
