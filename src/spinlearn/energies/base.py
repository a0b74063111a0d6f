"""Energy: from a labelled graph to a PottsModel. What all energies share.

Labels add h_k (1 - delta(s_k, c_k)) for the labelled points k: a field, or for h_k = inf a clamp
(eq. 2 of the paper).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import FloatArray, float_array, integer_array
from spinlearn.model.graph import Graph
from spinlearn.model.potts import FREE, PottsModel, checked_n_states
from spinlearn.model.settings import Settings

Labels = npt.NDArray[np.int64]

UNLABELLED = -1
# Of all labels, in units of the strongest coupling: beyond, PottsModel.energy_resolution would come
# near the couplings.
MAX_STRENGTH = 1e8
SHARED = """label_strength : float or array-like of shape (n,), default inf
        Cost of leaving a label, >= 0, in the unit of the couplings. Infinite holds the point in its
        class, a finite value lets the neighbours overrule it.
    couplings : {"weights", "homogeneous"}, default "weights"
        The weights of the graph, or such as bind points of dense and sparse regions alike, see
        `spinlearn.Graph.homogeneous`.
    n_states : int or None, default None
        Number of states, q, up to 127; those beyond the labels stand for classes without a name.
        None: as many as there are classes, at least 2."""

COUPLINGS: dict[str, Callable[[Graph], Graph]] = {
    "weights": lambda graph: graph,
    "homogeneous": Graph.homogeneous,
}
"""The ways from similarities to couplings, by name: functions from a graph to a graph.

"homogeneous" makes weights bind all points about equally, see `spinlearn.Graph.homogeneous`.

Examples
--------
>>> from spinlearn.energies import COUPLINGS
>>> list(COUPLINGS)
['weights', 'homogeneous']
"""


@dataclass(kw_only=True)
class Energy(Settings):
    """Base of the energies: an object that makes a `spinlearn.PottsModel` of a graph and labels.

    A subclass has `_terms`; "<shared>" in its docstring stands for the parameters of all energies.
    """

    label_strength: Any = np.inf
    couplings: Any = "weights"
    n_states: int | None = None

    _own_couplings: ClassVar[bool] = False  # whether they may be an array

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
        """The model of this energy, in the unit of the couplings.

        `labels` (n,) hold the class of every labelled point of the `graph`, from 0, and -1 for the
        others. The setting `n_states` overrides the argument, the argument `label_strength` the
        setting.
        """
        n, q = graph.n_nodes, checked_n_states(n_states if self.n_states is None else self.n_states)
        needed = int(integer_array(labels, "labels").max(initial=-1)) + 1
        if self.n_states is not None and q < needed:
            raise InvalidInputError(
                f"n_states={q} is fewer than the {needed} classes among the labels: leave it None "
                "or raise it"
            )
        states = checked_labels(graph, labels, q)
        if isinstance(self.couplings, str) and self.couplings in COUPLINGS:
            graph = COUPLINGS[self.couplings](graph)
        elif isinstance(self.couplings, str) or not self._own_couplings:
            raise InvalidInputError(
                f"couplings={self.couplings!r} is unknown: use one of "
                f"{', '.join(map(repr, COUPLINGS))}; for couplings of your own give a graph with "
                "those weights, or energy=Custom(couplings=...)"
            )
        terms = self._terms(graph, states, q)
        given = self.label_strength if label_strength is None else label_strength
        strength = float_array(terms.pop("label_strength", given), "label_strength")
        if strength.shape not in ((), (n,)):
            raise InvalidInputError(
                f"label_strength has shape {strength.shape}: give one number, or one per point, "
                f"({n},)"
            )
        strength = np.broadcast_to(strength, (n,))
        labelled = states != UNLABELLED
        if np.any(np.isnan(strength[labelled]) | (strength[labelled] < 0)):
            raise InvalidInputError(
                "label_strength must be >= 0 (inf clamps the label, 0 ignores it), got a negative "
                "or NaN value"
            )
        hard = labelled & np.isinf(strength)
        soft = np.flatnonzero(labelled & ~hard)
        couplings, penalty = terms.get("couplings", graph.weights), terms.get("class_penalty")
        if penalty is not None and penalty.kind == "ratio":
            couplings = np.concatenate([couplings, penalty.effective_couplings])
        strongest = float(np.abs(couplings).max(initial=0.0))
        # A sum of shares: strengths near the largest float must not overflow.
        if strongest > 0 and np.sum(strength[soft] / MAX_STRENGTH) > strongest:
            raise InvalidInputError(
                f"label_strength {strength[soft].max():g} drowns the couplings (at most "
                f"{strongest:g}) in rounding errors: use inf, which holds the label"
            )
        fields = np.zeros((n, q))
        fields[soft] = strength[soft, None]
        fields[soft, states[soft]] = 0.0
        terms["fields"] = fields + terms.get("fields", 0.0)
        return PottsModel(graph, q, clamped=np.where(hard, states, FREE), **terms)

    def _terms(self, graph: Graph, states: Labels, q: int) -> dict[str, Any]:
        """What the model has besides labels, as arguments of `PottsModel` or a `label_strength`.

        The weights of the `graph` are the couplings.
        """
        return {}


def checked_labels(graph: Graph, labels: npt.ArrayLike, n_states: int) -> Labels:
    """States of the labelled points, -1 for the others, (n,)."""
    given = integer_array(labels, "labels")
    n = graph.n_nodes
    if given.shape != (n,):
        raise InvalidInputError(f"labels have shape {given.shape}, the graph has {n} nodes")
    if np.any((given < UNLABELLED) | (given >= n_states)):
        raise InvalidInputError(f"labels must be -1 or states 0 to {n_states - 1}")
    return given


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
