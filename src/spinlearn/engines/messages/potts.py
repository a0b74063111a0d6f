"""PottsMessages: belief propagation where a pair costs one amount if alike, another if not.

Fast, and for temperatures down to a six-hundredth of the strongest coupling; colder or with other
pair costs see `TableMessages`. The Bethe free energy of normalised messages is

    ln Z = sum_i ln Z_i - sum_e ln Z_e,    Z_i = sum_s phi_i(s) prod_k m_k(s),
                                           Z_e = sum_{s,s'} psi_e(s, s') h_u(s) h_v(s').

On a layout in single precision nothing is kept of an edge but where its messages lie, and a message
takes as many numbers as there are states, not lanes: with q states and d neighbours a node takes
about 4 d (q + 5) + 8 lanes + 40 bytes beside the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.engines.messages.layout import MessageLayout, blocks
from spinlearn.model.arrays import BoolArray, FloatArray

LARGEST_EXPONENT = 600.0  # of a product of messages that is no danger to the range of floats
LARGE = 4_000_000  # numbers in messages from which they are kept in float32
TINY = 1e-300
COARSE_TOL = 1e-6  # that float32 allows
CACHE_LINE = 64  # bytes


@dataclass(frozen=True, slots=True)
class Reading:
    """Sums over a model at one temperature, as the messages of a fixed point give them."""

    energy: float  # <E>, that of the clamped nodes included
    least_energy: float  # the Bethe ln Z = log_count - least_energy / T; apart, because T may be 0
    log_count: float
    broken: int = 0  # nodes whose probabilities were averaged over states that are alike

    def log_partition(self, temperature: float) -> float:
        """Bethe ln Z; at T = 0 its limit."""
        if self.least_energy == 0.0:
            return self.log_count
        if temperature == 0.0:
            return float("-inf") if self.least_energy > 0 else float("inf")
        return self.log_count - self.least_energy / temperature


def aligned(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array that is not filled and begins with a line of the cache."""
    size = int(np.prod(shape, dtype=np.int64))
    whole: npt.NDArray[Any] = np.empty(size + CACHE_LINE, dtype=dtype)
    first = -whole.ctypes.data % CACHE_LINE // whole.itemsize
    return whole[first : first + size].reshape(shape)


class PottsMessages:
    """The messages at one temperature; `packed` ones have no lanes beyond the states."""

    state = ("messages", "beliefs")  # all that is needed to go on at a known temperature

    def __init__(self, layout: MessageLayout, packed: bool | None = None) -> None:
        n, q, lanes = layout.n_nodes, layout.n_states, layout.lanes
        packed = layout.lean if packed is None else packed
        self.layout = layout
        self.lanes, self.columns = (0,) * lanes, (0,) * (q if packed else lanes)
        single = layout.lean or layout.n_rows * lanes > LARGE
        # Ones that begin with a line of the cache, so that rows straddle no more lines than they
        # must: half the memory traffic of a sweep.
        kind = np.dtype(np.float32 if single else np.float64)
        self.messages = aligned((layout.n_rows, len(self.columns)), kind)
        self.messages[:] = 1.0
        self.coarsest_tol = COARSE_TOL if single else 0.0
        kind = kind if packed else np.dtype(np.float64)
        self.unlike, self.slope = (np.empty(layout.n_slots, dtype=kind) for _ in range(2))
        self.beliefs: npt.NDArray[Any] = np.zeros((n, lanes), dtype=layout.fields.dtype)
        self.beliefs[:, :q] = 1 / q
        self.targets, self.volumes = np.zeros((1, lanes)), np.zeros((1, lanes))
        self.targets[0, :q] = layout.term.targets
        self.work = np.empty((int(np.diff(layout.indptr).max(initial=0)) + 1, lanes))
        # One more for all nodes that are elsewhere.
        self.pending: FloatArray = np.full(n + (layout.n_rows > layout.n_slots), np.inf)
        self.movement = np.zeros(2)
        self.heavy: BoolArray = np.zeros(n, dtype=bool)
        self.temperature, self.beta = np.inf, TINY
        self.recount()

    def set_temperature(self, temperature: float) -> None:
        """Go on at this temperature with the messages that there are."""
        a = self.layout
        for rows in blocks(len(a.at_u)):
            inner = np.flatnonzero(a.at_u[rows] >= 0)
            couplings = a.couplings[rows][inner] * a.factor
            exponent = np.abs(couplings) / temperature
            w, rest = np.exp(-exponent), -np.expm1(-exponent)
            attractive = couplings >= 0
            unlike, slope = np.where(attractive, w, 1.0), np.where(attractive, rest, -w)
            for at in (a.at_u[rows][inner], a.at_v[rows][inner]):
                self.unlike[at], self.slope[at] = unlike, slope
        self.heavy = a.stiffness / temperature > LARGEST_EXPONENT
        self.temperature = temperature
        # Not 0 at infinity: lanes that are no states have an infinite field.
        self.beta = max(1 / temperature, TINY)

    def disturb(self, generator: np.random.Generator, amount: float) -> None:
        """Multiply all messages by random numbers between 1 - amount and 1."""
        for rows in blocks(len(self.messages)):
            part = self.messages[rows]
            part *= 1 - amount * generator.random(part.shape, dtype=self.layout.fields.dtype.type)

    def point_to(self, states: Any, strength: float) -> None:
        """Messages as if every node of the model that is free were in the given state so surely."""
        a, q = self.layout, self.layout.n_states
        law = np.full((a.n_nodes, len(self.lanes)), (1 - strength) / q)
        law[np.arange(len(law)), np.asarray(states)[a.order]] += strength
        # A pair's two directions have the same coupling.
        sender, slope, unlike = law[a.neighbors], self.slope[:, None], self.unlike[:, None]
        self.messages[:] = np.where(slope >= 0, unlike + slope * sender, 1 - (1 + slope) * sender)
        self.beliefs[:] = 0.0
        self.beliefs[:, :q] = law[:, :q] / law[:, :q].sum(axis=1, keepdims=True)
        self.recount()

    def take(self, log_messages: FloatArray, beliefs: FloatArray) -> None:
        """Go on from messages ln m (slots, q) and beliefs (n, q)."""
        q = self.layout.n_states
        top = log_messages.max(axis=1, keepdims=True, initial=-np.inf)
        self.messages[:, :q] = np.exp(np.maximum(log_messages - top, -LARGEST_EXPONENT))
        self.beliefs[:, :q] = beliefs
        self.recount()

    def recount(self) -> None:
        """Class sizes anew from the beliefs, free of the rounding errors of many sweeps."""
        self.volumes[:] = 0.0
        for rows in blocks(self.layout.n_nodes):
            beliefs = self.beliefs[rows].astype(np.float64, copy=False)
            self.volumes[0] += self.layout.sizes[rows] @ beliefs
        self.volumes[0, : self.layout.n_states] += self.layout.term.held
        self.pending[:] = np.inf
        # Largest change of a message that has not been passed on.
        self.most_pending = float(self.pending[: self.layout.n_nodes].max(initial=0.0))

    def sweep(self, forth: bool, tol: float, damping: float, threshold: float) -> None:
        """Pass messages once; `movement` tells how far they moved."""
        from spinlearn.kernels.messages import sweep_potts

        a = self.layout
        sweep_potts(
            self.lanes, self.columns, forth, self.beta, tol, a.indptr, a.neighbors, a.reverse,
            self.unlike, self.slope, self.heavy, a.fields, a.term.coefficient, a.sizes,
            self.targets, self.volumes, self.messages, self.beliefs, self.work, damping,
            self.pending, threshold, self.movement,
        )  # fmt: skip
        self.most_pending = float(self.pending[: a.n_nodes].max(initial=0.0))

    def node_laws(self) -> tuple[npt.NDArray[Any], FloatArray]:
        """Beliefs of the nodes in the order of sweeps, (n, lanes), and their ln Z_i."""
        from spinlearn.kernels.messages import node_sums

        a = self.layout
        # There is no room for others in large models.
        beliefs = self.beliefs if a.lean else np.empty_like(self.beliefs)
        log_sums = np.empty(a.n_nodes)
        node_sums(
            self.lanes, self.columns, self.beta, a.indptr, self.heavy, a.fields,
            a.term.coefficient, a.sizes, self.targets, self.volumes, self.messages, self.beliefs,
            beliefs, log_sums,
        )  # fmt: skip
        if a.lean:
            self.recount()
        return beliefs, log_sums

    def read(self, marginals: Any, agreement: Any) -> Reading:
        """What the messages say of all nodes (N, q) and edges (m,), written to arrays."""
        from spinlearn.kernels.messages import edge_sums

        a, q = self.layout, self.layout.n_states
        beliefs, node_logs = self.node_laws()
        laws = beliefs[:, :q]
        broken = a.write_marginals(laws, marginals)
        cut = least = edge_logs = alike = in_fields = 0.0
        for rows in blocks(len(a.at_u)):
            edges, free = a.model.graph.edges[rows], a.at_u[rows] >= 0
            u, v = np.ascontiguousarray(a.place[edges[free]].T)
            same, logs = np.empty(len(u)), np.empty(len(u))
            edge_sums(
                self.lanes, self.columns, a.at_u[rows][free], a.at_v[rows][free], u, v,
                self.unlike, self.slope, self.messages, beliefs, same, logs,
            )  # fmt: skip
            one, other = edges[~free].T
            part = np.empty(len(edges), dtype=agreement.dtype)
            part[free] = same
            # At least one end is clamped, so the two ends are independent.
            part[~free] = np.sum(marginals[one] * marginals[other], axis=1)
            agreement[rows] = part
            bare = a.couplings[rows][free]
            couplings = bare * a.factor
            cut += float(np.sum(couplings * (1 - same)))
            least += float(np.minimum(couplings, 0.0).sum())
            edge_logs += float(logs.sum())
            alike += float(bare.sum())
        for rows in blocks(a.n_nodes):
            own = laws[rows].astype(np.float64, copy=False)
            in_fields += float(np.sum(own * a.fields[rows, :q]))
        constant = alike * float(a.model.pair_cost[0, 0]) + a.constant
        class_energy, class_fields = a.class_energy(laws)
        return Reading(
            energy=cut + in_fields + class_energy + constant,
            # Repelling pairs count from the energy of unlike ones, see the kernels.
            least_energy=constant + least + class_energy - class_fields,
            log_count=float(node_logs.sum()) - edge_logs,
            broken=broken,
        )

    def pair_laws(self, edges: Sequence[int]) -> list[FloatArray]:
        """p(s_u, s_v) of edges between free nodes, (q, q) each."""
        a, q, laws = self.layout, self.layout.n_states, []
        for edge in edges:
            u, v = a.place[a.model.graph.edges[edge]]
            k, back = a.at_u[edge], a.at_v[edge]
            one = self.beliefs[u, :q] / self.messages[k, :q]
            other = self.beliefs[v, :q] / self.messages[back, :q]
            one, other = one / one.sum(), other / other.sum()
            law = np.outer(one, other) * self.unlike[k]
            np.fill_diagonal(law, one * other * (1.0 if self.slope[k] >= 0 else -self.slope[k]))
            laws.append(law / law.sum())
        return laws

    def log_messages(self) -> FloatArray:
        """ln m by slot, (slots, q)."""
        logs: FloatArray = np.log(self.messages[:, : self.layout.n_states], dtype=np.float64)
        return logs
