"""ClassPenalty: the part of an energy that looks at whole classes, as arrays.

With node sizes a_i >= 0, class sizes V_c = sum_i a_i [s_i = c] and A = sum_i a_i, the term is a sum
over classes, sum_c f_c(V_c, cut_c), of one of the forms

    quadratic   f_c = (strength / 2A) (V_c - target_c)^2             balance, or given proportions
    ratio       f_c = scale * cut_c / V_c,   scale * empty if V_c = 0
    table       f_c = table[c, n_c]                                  n_c nodes in class c (a_i = 1)

cut_c is the weight of the edges that leave class c. a_i = degree makes the ratio Shi & Malik's
normalised cut (2000), a_i = 1 the ratio cut (Hagen & Kahng 1992). A class without any size costs as
much as the worst class possible, max_i degree_i / a_i (1 for the normalised cut): it could never be
better to leave a class empty than to give it a node.

Moving node i from class x to class y, with W_i its edge weight and t_c that to neighbours in c:

    V_x -= a_i        V_y += a_i        cut_x -= W_i - 2 t_x        cut_y += W_i - 2 t_y

so a delta costs O(degree) once and O(1) per class. Axes: n nodes, m edges, q states, S samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import FloatArray, float_array, frozen, real_array, restore
from spinlearn.model.graph import Graph

ONE = "give one finite number"
QUADRATIC, RATIO, TABLE = 1, 2, 3  # as kernels know them; 0 is no class term


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class ClassPenalty:
    """The part of an energy that looks at whole classes.

    Make one with `quadratic`, `ratio` or `from_table`, and give it to `spinlearn.PottsModel`. V_c
    is the summed size of the nodes in class c, cut_c the weight of the edges that leave it, A the
    summed size of all nodes.

    Attributes
    ----------
    kind : str
        "quadratic", "ratio" or "table".
    sizes : float array (n,)
        a_i.
    coefficient : float
        strength / A, or scale; 1 for a table.
    targets : float array (q,)
        Of the quadratic form, else zero.
    table : float array (q, n + 1)
        Of the table form, else (q, 0).
    cut_weights : float array (m,)
        Edge weights of the ratio form, in the order of ``graph.edges``, else (0,).
    empty : float
        cut_c / V_c of an empty class in the ratio form, else 0.
    largest_ratio : float
        Upper bound of cut_c / V_c in absolute value, in the ratio form, else 0.

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.energies import ClassPenalty
    >>> equal = ClassPenalty.quadratic([1, 1, 1, 1], strength=2.0, n_states=2, targets=[2, 2])
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)])
    >>> model = PottsModel(chain, 2, class_penalty=equal)
    >>> model.energy([[0, 0, 1, 1], [0, 0, 0, 0]]).tolist()
    [1.0, 2.0]
    """

    kind: str
    sizes: FloatArray
    coefficient: float
    targets: FloatArray
    table: FloatArray
    cut_weights: FloatArray
    empty: float
    largest_ratio: float

    def __init__(self, **parts: Any) -> None:
        if set(parts) != {f.name for f in fields(self)}:
            raise InvalidInputError(
                "a ClassPenalty is made with ClassPenalty.quadratic, .ratio or .from_table"
            )
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _made(cls, n_states: int, **parts: Any) -> ClassPenalty:
        unused = {  # as a form has them that does not use them
            "coefficient": 1.0,
            "targets": frozen(np.zeros(n_states), np.float64),
            "table": frozen(np.empty((n_states, 0)), np.float64),
            "cut_weights": frozen(np.empty(0), np.float64),
            "empty": 0.0,
            "largest_ratio": 0.0,
        }
        return cls(**(unused | parts))

    @classmethod
    def quadratic(
        cls,
        sizes: npt.ArrayLike,
        strength: float,
        *,
        n_states: int,
        targets: npt.ArrayLike | None = None,
    ) -> ClassPenalty:
        """The penalty ``(strength / 2A) sum_c (V_c - target_c)^2``.

        `sizes` (n,) are those of the nodes, >= 0; `strength` is in the unit of the couplings, and a
        positive one favours the `targets` (q,), the wanted sizes of the `n_states` = q classes.
        Without targets they are zero, which differs from equal ones by a constant only.
        """
        a = _checked_sizes(sizes)
        total = float(a.sum())
        if total <= 0:
            raise InvalidInputError("all node sizes are zero: give at least one a positive size")
        return cls._made(
            n_states,
            kind="quadratic",
            sizes=a,
            coefficient=float(real_array(strength, "strength", (), ONE)) / total,
            targets=real_array(
                np.zeros(n_states) if targets is None else targets, "targets", (n_states,)
            ),
        )

    @classmethod
    def ratio(
        cls,
        graph: Graph,
        sizes: npt.ArrayLike,
        *,
        n_states: int,
        weights: npt.ArrayLike | None = None,
        scale: float = 1.0,
        empty: float | None = None,
    ) -> ClassPenalty:
        """The penalty ``scale * sum_c cut_c / V_c``.

        The `graph` is the one whose edges are cut, `weights` (m,) are those with which the cut is
        counted, by default its own. `sizes` (n,) are those of the nodes, > 0 where they have edges;
        `n_states` is q, and `scale` the factor of the whole term. `empty` stands for cut_c / V_c
        where a class is empty, by default the worst that a class can have.
        """
        a = _checked_sizes(sizes)
        cut = real_array(graph.weights if weights is None else weights, "weights", (graph.n_edges,))
        if a.shape != (graph.n_nodes,):
            raise InvalidInputError(f"sizes have shape {a.shape}, expected ({graph.n_nodes},)")
        degree = graph.node_sums(np.abs(cut))
        lost = np.flatnonzero((a == 0) & (degree > 0))
        if len(lost):
            raise InvalidInputError(
                f"{len(lost)} nodes with edges have size 0, for example node {lost[0]}: a class of "
                "such nodes alone would cost infinitely much; give them a positive size"
            )
        worst = float(np.max(degree[a > 0] / a[a > 0], initial=0.0))
        return cls._made(
            n_states,
            kind="ratio",
            sizes=a,
            coefficient=float(real_array(scale, "scale", (), ONE)),
            cut_weights=cut,
            empty=worst if empty is None else float(real_array(empty, "empty", (), ONE)),
            largest_ratio=worst,
        )

    @classmethod
    def from_table(cls, table: npt.ArrayLike) -> ClassPenalty:
        """The penalty ``sum_c table[c, n_c]``, n_c nodes in class c; `table` is (q, n + 1)."""
        values = float_array(table, "table")
        if values.ndim != 2 or values.shape[0] < 2 or values.shape[1] < 2:
            raise InvalidInputError(
                f"table has shape {values.shape}, expected (q, n + 1): one row per state, one "
                "column for every number of nodes from 0 to n"
            )
        return cls._made(
            len(values),
            kind="table",
            sizes=frozen(np.ones(values.shape[1] - 1), np.float64),
            table=real_array(values, "table", values.shape),
        )

    @property
    def n_states(self) -> int:
        """Number of states, q."""
        return len(self.targets)

    @property
    def code(self) -> int:
        """The form as a number, for kernels."""
        return {"quadratic": QUADRATIC, "ratio": RATIO, "table": TABLE}[self.kind]

    @property
    def sizes_only(self) -> bool:
        """Whether the term depends on class sizes alone, not on which edges are cut."""
        return self.kind != "ratio"

    @property
    def smallest(self) -> float:
        """Class sizes below this are those of an empty class: half the smallest node size."""
        return 0.5 * float(np.min(self.sizes[self.sizes > 0], initial=np.inf))

    @property
    def bound(self) -> float:
        """Upper bound of the absolute value of the term."""
        total = float(self.sizes.sum())
        if self.kind == "quadratic":
            worst = np.maximum(np.abs(total - self.targets), np.abs(self.targets))
            return 0.5 * abs(self.coefficient) * float(np.sum(worst**2))
        if self.kind == "table":
            return float(np.abs(self.table).max(axis=1).sum())
        ratio = max(abs(self.empty), self.largest_ratio)
        return abs(self.coefficient) * self.n_states * ratio

    @property
    def effective_couplings(self) -> FloatArray:
        """2q scale/A times the cut weights, (m,) or (0,): an edge's cost between equal classes."""
        total = float(self.sizes.sum())
        if self.kind != "ratio" or total <= 0:
            return np.empty(0)
        return np.asarray(2 * self.n_states * self.coefficient / total * self.cut_weights)

    def value(self, graph: Graph, states: npt.NDArray[Any]) -> FloatArray:
        """The term for `states` (S, n) on the `graph`, (S,): the reference for compiled code."""
        q = self.n_states
        volumes = np.stack([(states == c) @ self.sizes for c in range(q)], axis=1)
        if self.kind == "quadratic":
            off = np.sum((volumes - self.targets) ** 2, axis=1)
            return np.asarray(0.5 * self.coefficient * off)
        if self.kind == "table":
            counts = np.rint(volumes).astype(np.int64)
            return np.asarray(self.table[np.arange(q), counts].sum(axis=1))
        u, v = graph.edges.T
        ends, others = states[:, u], states[:, v]
        differ = ends != others
        total = np.zeros(len(states))
        for c in range(q):
            cut = (((ends == c) | (others == c)) & differ) @ self.cut_weights
            filled = volumes[:, c] > self.smallest
            total += np.where(filled, cut / np.where(filled, volumes[:, c], 1.0), self.empty)
        return np.asarray(self.coefficient * total)

    def __setstate__(self, state: Sequence[Any]) -> None:
        restore(self, state)

    def __repr__(self) -> str:
        return f"ClassPenalty({self.kind}, n_nodes={len(self.sizes)}, n_states={self.n_states})"


def _checked_sizes(sizes: npt.ArrayLike) -> FloatArray:
    values = float_array(sizes, "sizes")
    if values.ndim != 1 or len(values) == 0:
        raise InvalidInputError(f"sizes have shape {values.shape}, expected one number per node")
    values = real_array(values, "sizes", values.shape)
    if np.any(values < 0):
        raise InvalidInputError(
            f"sizes hold {int(np.sum(values < 0))} negative numbers: a node cannot make its class "
            "smaller; give sizes >= 0"
        )
    return values
