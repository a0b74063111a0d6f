"""PottsModel, and the same model conditioned on its clamps.

PottsModel: the arrays that define E(s), with energy(), the reference every engine is held to.

    E(s) = sum_e couplings[e] * pair_cost[s_u, s_v] + sum_i fields[i, s_i]        (e = (u, v))
           + sum_c f_c(class size, class cut)                     (class_penalty, none by default)

The paper's eq. 2 is pair_cost = 1 - identity, with h_k(1 - delta(s_k, c_k)) as fields when h_k is
finite and as a clamp, E = inf off the label, when h_k is infinite. Axes: n nodes, m edges,
q states, S samples. Energies and temperatures share one unit, that of the couplings.

ConditionedModel: pair terms and fields of a model given its clamps, over its free nodes.

    E(s) = constant + sum_{e free-free} couplings[e] * pair_cost[s_u, s_v] + sum_i fields[i, s_i]

Indices here run over free nodes only; `nodes` and `edge_ids` map back to the model.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import (
    MAX_STATES,
    FloatArray,
    IntArray,
    StateArray,
    frozen,
    integer_array,
    real_array,
    restore,
)
from spinlearn.model.class_penalty import ClassPenalty
from spinlearn.model.graph import Graph

Result = TypeVar("Result")

FREE = -1  # value of `clamped` for a node that may take any state
ARGUMENTS = ("graph", "couplings", "pair_cost", "fields", "clamped", "class_penalty")


class _Memory:
    """Holds what is costly to find; a slot of a base class is neither pickled nor copied."""

    __slots__ = ("_memory",)
    _memory: dict[Hashable, Any]


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class PottsModel(_Memory):
    """A spin model on a graph: points in one of q states each, and the energy of every labelling.

    ``E(s) = sum_e couplings[e] * pair_cost[s_u, s_v] + sum_i fields[i, s_i]`` over the edges e =
    (u, v) and the nodes i, plus a term in whole classes if there is one. Energies and temperatures
    share one unit, that of the couplings. Axes are n nodes, m edges, q states. A model cannot be
    changed once it is made; see `replace`.

    Parameters
    ----------
    graph : Graph
        Which points interact.
    n_states : int
        q, from 2 to 127.
    couplings : array-like of shape (m,), optional
        Strength of every edge, in the order of ``graph.edges``; either sign. Default: its weights.
    pair_cost : array-like of shape (q, q), optional
        Symmetric table of the cost of two neighbouring states. Default: 1 - identity (Potts).
    fields : array-like of shape (n, q), optional
        Cost of every state of every node. Default: zero.
    clamped : array-like of int, shape (n,), optional
        State in which a node is held, or -1 for a free node. Default: all free.
    class_penalty : ClassPenalty, optional
        A term in the sizes and cuts of whole classes. Default: none.

    Attributes
    ----------
    n_nodes : int
        Number of nodes, n, clamped ones included.
    energy_scale : float
        Upper bound of the absolute energy, the yardstick for rounding errors.
    energy_resolution : float
        Energies closer than this count as equal: 1e-12 of `energy_scale`. Sums of the same
        couplings in another order differ by rounding; ground states of real-valued models would
        lose their degeneracy at T = 0 without this.

    References
    ----------
    G. Getz, N. Shental and E. Domany, Semi-supervised learning - a statistical physics approach,
    ICML 2005, eq. 2.

    Examples
    --------
    Three points in a row, the first held in state 0:

    >>> from spinlearn import Graph, PottsModel
    >>> chain = Graph(3, [(0, 1), (1, 2)], weights=[1.0, 0.5])
    >>> model = PottsModel(chain, 2, clamped=[0, -1, -1])
    >>> model
    PottsModel(n_nodes=3, n_edges=2, n_states=2, n_clamped=1)
    >>> model.energy([0, 0, 1])
    0.5
    >>> model.energy([[0, 1, 1], [1, 1, 1]]).tolist()  # the second violates the clamp
    [1.0, inf]
    """

    graph: Graph
    couplings: FloatArray
    pair_cost: FloatArray
    fields: FloatArray
    clamped: StateArray
    class_penalty: ClassPenalty | None
    n_nodes: int
    n_states: int
    energy_scale: float
    energy_resolution: float

    def __init__(
        self,
        graph: Graph,
        n_states: int,
        *,
        couplings: npt.ArrayLike | None = None,
        pair_cost: npt.ArrayLike | None = None,
        fields: npt.ArrayLike | None = None,
        clamped: npt.ArrayLike | None = None,
        class_penalty: ClassPenalty | None = None,
    ) -> None:
        if not isinstance(graph, Graph):
            raise InvalidInputError(
                f"graph must be a spinlearn Graph, got {type(graph).__name__}; "
                "make one with Graph(n, edges) or Graph.from_sparse(matrix)"
            )
        given = {
            "couplings": couplings,
            "pair_cost": pair_cost,
            "fields": fields,
            "clamped": clamped,
            "class_penalty": class_penalty,
        }
        q = checked_n_states(n_states)
        self._fill(graph=graph, **{k: _checked(graph, q, k, v) for k, v in given.items()})

    def _fill(self, *, checked: bool = False, **arguments: Any) -> None:
        """Store the arguments; unless they were `checked` before, energies must not overflow."""
        penalty = arguments["class_penalty"]
        with np.errstate(over="ignore"):
            cost = np.abs(arguments["couplings"]).sum() * np.abs(arguments["pair_cost"]).max()
            scale = float(cost) + float(np.abs(arguments["fields"]).max(axis=1).sum())
            scale += 0.0 if penalty is None else penalty.bound
        if not (checked or np.isfinite(scale)):
            raise InvalidInputError(
                "energies overflow: couplings, pair_cost and fields are too large; divide them by "
                "one number, and the temperatures too, which changes nothing else"
            )
        arguments |= {
            "n_nodes": arguments["graph"].n_nodes,
            "n_states": len(arguments["pair_cost"]),
            "energy_scale": scale,
            "energy_resolution": 1e-12 * scale,
            "_memory": {},
        }
        for name, value in arguments.items():
            object.__setattr__(self, name, value)

    @property
    def is_potts(self) -> bool:
        """Whether the pair cost is the paper's 1 - delta."""
        return bool(np.array_equal(self.pair_cost, 1.0 - np.eye(self.n_states)))

    @property
    def free_nodes(self) -> npt.NDArray[np.intp]:
        """Nodes that may change state, ascending."""
        return np.flatnonzero(self.clamped == FREE)

    @property
    def effective_couplings(self) -> FloatArray:
        """Couplings that set the scale of temperature, a ratio penalty's cut among them, (m,)."""
        if self.class_penalty is None or self.class_penalty.kind != "ratio":
            return self.couplings
        return np.asarray(self.couplings + self.class_penalty.effective_couplings)

    def energy(self, states: npt.ArrayLike) -> float | FloatArray:
        """Energies of `states`, (n,) or (S, n), in the couplings' unit; inf off the clamps."""
        samples = integer_array(states, "states")
        if samples.ndim not in (1, 2) or samples.shape[-1] != self.n_nodes:
            raise InvalidInputError(
                f"states have shape {samples.shape}, expected ({self.n_nodes},) or "
                f"(S, {self.n_nodes})"
            )
        if samples.size and (samples.min() < 0 or samples.max() >= self.n_states):
            raise InvalidInputError(f"states must lie in 0 to {self.n_states - 1}")
        rows = np.atleast_2d(samples)
        u, v = self.graph.edges.T
        energies = self.pair_cost[rows[:, u], rows[:, v]] @ self.couplings
        energies += self.fields[np.arange(self.n_nodes), rows].sum(axis=1)
        if self.class_penalty is not None:
            energies += self.class_penalty.value(self.graph, rows)
        held = self.clamped != FREE
        energies[np.any(rows[:, held] != self.clamped[held], axis=1)] = np.inf
        return float(energies[0]) if samples.ndim == 1 else energies

    def replace(self, **changes: Any) -> PottsModel:
        """A model like this one with other arguments of `PottsModel`, the `changes` by name."""
        arguments = {name: getattr(self, name) for name in ARGUMENTS}
        q = self.n_states
        if "graph" in changes or "n_states" in changes:
            return PottsModel(**({**arguments, "n_states": q} | changes))
        arguments |= {k: _checked(self.graph, q, k, v) for k, v in changes.items()}
        model = object.__new__(PottsModel)
        model._fill(**arguments)
        if "clamped" not in changes:
            object.__setattr__(model, "_memory", self._memory)
        return model

    def remembered(self, key: Hashable, find: Callable[[], Result]) -> Result:
        """What `find` returns, called once for a `key`, graph and clamps, whatever the numbers."""
        if key not in self._memory:
            self._memory[key] = find()
        result: Result = self._memory[key]
        return result

    def __setstate__(self, state: Sequence[Any]) -> None:
        restore(self, state)
        object.__setattr__(self, "_memory", {})

    def __repr__(self) -> str:
        return (
            f"PottsModel(n_nodes={self.n_nodes}, n_edges={self.graph.n_edges}, "
            f"n_states={self.n_states}, n_clamped={int(np.sum(self.clamped != FREE))})"
        )


def trusted_model(graph: Graph, pair_cost: FloatArray, **parts: Any) -> PottsModel:
    """A model of arrays that are known to fit: nothing is checked, all are frozen."""
    model = object.__new__(PottsModel)
    penalty = parts.pop("class_penalty", None)
    parts["pair_cost"] = pair_cost
    arrays = {k: frozen(v, np.int8 if k == "clamped" else np.float64) for k, v in parts.items()}
    model._fill(checked=True, graph=graph, class_penalty=penalty, **arrays)
    return model


def _checked(graph: Graph, q: int, name: str, value: Any) -> Any:
    """An argument of the model, or its default, frozen."""
    n = graph.n_nodes
    match name:
        case "couplings":
            return real_array(graph.weights if value is None else value, name, (graph.n_edges,))
        case "pair_cost":
            cost = real_array(1.0 - np.eye(q) if value is None else value, name, (q, q))
            if not np.array_equal(cost, cost.T):
                raise InvalidInputError(
                    "pair_cost is not symmetric, but edges have no direction: "
                    "pass (cost + cost.T) / 2, or put one-sided costs into fields"
                )
            return cost
        case "fields":
            remedy = "to hold a node in a state or forbid one, use `clamped` or a large finite cost"
            return real_array(np.zeros((n, q)) if value is None else value, name, (n, q), remedy)
        case "clamped":
            states = np.full(n, FREE) if value is None else integer_array(value, name)
            if states.shape != (n,):
                raise InvalidInputError(f"clamped has shape {states.shape}, expected ({n},)")
            bad = states[(states < FREE) | (states >= q)]
            if len(bad):
                raise InvalidInputError(
                    f"clamped holds {bad[0]}; allowed are -1 (free) and the states 0 to {q - 1}"
                )
            return frozen(states, np.int8)
        case "class_penalty":
            if value is None:
                return None
            if not isinstance(value, ClassPenalty):
                raise InvalidInputError(
                    f"class_penalty must be a ClassPenalty, got {type(value).__name__}: make one "
                    "with ClassPenalty.quadratic, .ratio or .from_table"
                )
            if len(value.targets) != q or len(value.sizes) != n:
                raise InvalidInputError(
                    f"class_penalty is for {len(value.sizes)} nodes and {value.n_states} states, "
                    f"the model has {n} and {q}: a table needs the shape (q, n + 1) = "
                    f"({q}, {n + 1})"
                )
            if value.kind == "ratio" and len(value.cut_weights) != graph.n_edges:
                raise InvalidInputError(
                    f"class_penalty has {len(value.cut_weights)} cut weights, the graph has "
                    f"{graph.n_edges} edges: make it from the same graph"
                )
            return value
    raise InvalidInputError(f"a PottsModel has no argument {name!r}: see its documentation")


def checked_n_states(n_states: object) -> int:
    """q as an int, or an error that says which values are possible."""
    if isinstance(n_states, bool) or not isinstance(n_states, (int, np.integer)):
        raise InvalidInputError(f"n_states must be a whole number, got {n_states!r}")
    if not 2 <= n_states <= MAX_STATES:
        raise InvalidInputError(
            f"n_states={n_states} is out of range: a spin needs at least 2 states, "
            f"and states are stored in one byte, so at most {MAX_STATES}"
        )
    return int(n_states)


@dataclass(frozen=True, slots=True, eq=False)
class ConditionedModel:
    """The free nodes of a model: `nodes`, their `edges` (local numbers), couplings and fields."""

    model: PottsModel
    nodes: npt.NDArray[np.intp]
    edges: IntArray
    edge_ids: npt.NDArray[np.intp]
    couplings: FloatArray
    fields: FloatArray
    constant: float

    @classmethod
    def of(cls, model: PottsModel) -> ConditionedModel:
        """Condition `model` on its clamps; a class term is left out."""
        clamped, edges = model.clamped, model.graph.edges
        free = clamped == FREE
        nodes = np.flatnonzero(free)
        local = np.full(model.n_nodes, -1, dtype=np.int32)
        local[nodes] = np.arange(len(nodes), dtype=np.int32)
        u, v = edges[:, 0], edges[:, 1]
        inner = np.flatnonzero(free[u] & free[v])
        fields = model.fields[nodes]
        for end, other in ((u, v), (v, u)):
            border = np.flatnonzero(free[end] & ~free[other])
            costs = model.couplings[border, None] * model.pair_cost[clamped[other[border]]]
            np.add.at(fields, local[end[border]], costs)
        held, both = np.flatnonzero(~free), np.flatnonzero(~free[u] & ~free[v])
        constant = float(
            np.sum(model.couplings[both] * model.pair_cost[clamped[u[both]], clamped[v[both]]])
            + np.sum(model.fields[held, clamped[held]])
        )
        return cls(
            model, nodes, local[edges[inner]], inner, model.couplings[inner], fields, constant
        )

    def full_marginals(self, free_marginals: FloatArray) -> FloatArray:
        """Marginals of all nodes, (T, n, q), from those of the free ones, (T, n_free, q)."""
        model = self.model
        marginals = np.zeros((len(free_marginals), model.n_nodes, model.n_states))
        marginals[:, self.nodes] = free_marginals
        held = np.flatnonzero(model.clamped != FREE)
        marginals[:, held, model.clamped[held]] = 1.0
        return marginals

    def full_agreement(self, free_agreement: FloatArray, marginals: FloatArray) -> FloatArray:
        """C_ij of all edges, (T, m), from those between free nodes and the full marginals."""
        graph = self.model.graph
        agreement = np.empty((len(marginals), graph.n_edges))
        agreement[:, self.edge_ids] = free_agreement
        edge_ids = np.delete(np.arange(graph.n_edges), self.edge_ids)
        u, v = graph.edges[edge_ids].T
        # At least one end is clamped, so the two ends are independent.
        agreement[:, edge_ids] = np.sum(marginals[:, u] * marginals[:, v], axis=2)
        return agreement


def class_term_reason(model: PottsModel) -> str | None:
    """Why engines that see pairs and fields only cannot treat the model, or None."""
    if model.class_penalty is None:
        return None
    return (
        f"the model has a class-level term ({model.class_penalty.kind}), which couples all points "
        "at once: use engine='belief_propagation' (quadratic terms), 'multicanonical', 'tempering' "
        "or 'population_annealing', or 'enumeration' for a few points"
    )
