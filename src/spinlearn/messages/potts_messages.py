"""PottsMessages: belief propagation where a pair costs one amount if alike, another if not.

Fast, and for temperatures down to a six-hundredth of the strongest coupling; colder or with other
pair costs see `TableMessages`. The Bethe free energy of normalised messages is

    ln Z = sum_i ln Z_i - sum_e ln Z_e,    Z_i = sum_s phi_i(s) prod_k m_k(s),
                                           Z_e = sum_{s,s'} psi_e(s, s') h_u(s) h_v(s').
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spinlearn.core.arrays import BoolArray, FloatArray
from spinlearn.core.model import PottsModel
from spinlearn.messages.layout import MessageLayout, aligned_ones, lanes_for
from spinlearn.messages.reading import Reading

LARGEST_EXPONENT = 600.0  # of a product of messages that is no danger to the range of floats
LARGEST_FIELD = 1e6  # over T, beyond which the rounding errors of fields would show in ln Z
LARGE = 4_000_000  # numbers in messages from which they are kept in float32
TINY = 1e-300
COARSE_TOL = 1e-6  # that float32 allows


def is_two_valued(model: PottsModel) -> bool:
    """Whether a pair costs one amount if alike and one if not."""
    cost = model.pair_cost
    apart = cost[~np.eye(len(cost), dtype=bool)]
    return bool(np.ptp(apart) == 0 and np.ptp(np.diag(cost)) == 0)


class PottsMessages:
    """The messages of a model at one temperature, as they are passed on.

    Parameters
    ----------
    layout : MessageLayout
    weights : float array (m,), optional
        rho of the edges between free nodes, see `spinlearn.kernels.message_sweeps`; default ones.
    """

    def __init__(self, layout: MessageLayout, weights: FloatArray | None = None) -> None:
        assert is_two_valued(layout.model)
        n, q, slots = layout.n_nodes, layout.model.n_states, layout.n_slots
        self.layout, self.reweighted = layout, weights is not None
        alike, apart = layout.model.pair_cost[0, 0], layout.model.pair_cost[0, 1]
        self.couplings: FloatArray = layout.couplings * (apart - alike)
        self.constant = float(layout.free.couplings.sum() * alike) + layout.free.constant
        self.weights: FloatArray = np.ones(slots) if weights is None else weights[layout.slot_edges]
        self.lanes = (0,) * lanes_for(q)
        lanes = len(self.lanes)
        self.fields: FloatArray = np.full((n, lanes), np.inf)
        large = slots * lanes > LARGE
        self.messages = aligned_ones(slots, lanes, np.float32 if large else np.float64)
        self.coarsest_tol = COARSE_TOL if large else 0.0
        self.beliefs: FloatArray = np.zeros((n, lanes))
        self.beliefs[:, :q] = 1 / q
        self.targets, self.volumes = np.zeros((1, lanes)), np.zeros((1, lanes))
        self.targets[0, :q] = layout.targets
        self.work = np.empty((layout.largest_degree + 1, lanes))
        self.pending: FloatArray = np.full(n, np.inf)
        self.movement = np.zeros(2)
        self.stiffness = layout.stiffness
        self.heavy: BoolArray = np.zeros(n, dtype=bool)
        self.unlike = self.slope = np.empty(0)
        self.temperature, self.beta = np.inf, TINY
        self.recount()

    @property
    def coldest(self) -> float:
        """Temperature below which messages leave the range of floats, or fields their precision."""
        strongest = np.abs(self.couplings / self.weights).max(initial=0.0) / LARGEST_EXPONENT
        return float(max(strongest, self.stiffness.max(initial=0.0) / LARGEST_FIELD))

    def set_temperature(self, temperature: float) -> None:
        """Go on at this temperature with the messages that there are and the present fields."""
        self.fields[:, : self.layout.model.n_states] = self.layout.fields
        exponent = np.abs(self.couplings) / self.weights / temperature
        w, rest = np.exp(-exponent), -np.expm1(-exponent)
        attractive = self.couplings >= 0
        self.unlike = np.where(attractive, w, 1.0)
        self.slope = np.where(attractive, rest, -w)
        self.heavy = (self.stiffness / temperature > LARGEST_EXPONENT) | self.reweighted
        self.temperature = temperature
        # Not 0 at infinity: lanes that are no states have an infinite field.
        self.beta = max(1 / temperature, TINY)

    def disturb(self, generator: np.random.Generator, amount: float) -> None:
        """Multiply all messages by random numbers between 1 - amount and 1."""
        self.messages *= 1 - amount * generator.random(self.messages.shape)

    def point_to(self, states: Any, strength: float) -> None:
        """Messages as if every free node were in the given state (of `free.nodes`) so surely."""
        q = self.layout.model.n_states
        law = np.full((self.layout.n_nodes, len(self.lanes)), (1 - strength) / q)
        law[np.arange(len(law)), np.asarray(states)[self.layout.order]] += strength
        # A pair's two directions have the same coupling.
        sender, slope, unlike = (
            law[self.layout.neighbors],
            self.slope[:, None],
            self.unlike[:, None],
        )
        self.messages[:] = np.where(slope >= 0, unlike + slope * sender, 1 - (1 + slope) * sender)
        self.beliefs[:] = 0.0
        self.beliefs[:, :q] = law[:, :q] / law[:, :q].sum(axis=1, keepdims=True)
        self.recount()

    def take(self, log_messages: FloatArray, beliefs: FloatArray) -> None:
        """Go on from messages ln m (slots, q) and beliefs (n, q)."""
        q = self.layout.model.n_states
        top = log_messages.max(axis=1, keepdims=True, initial=-np.inf)
        self.messages[:, :q] = np.exp(np.maximum(log_messages - top, -LARGEST_EXPONENT))
        self.beliefs[:, :q] = beliefs
        self.recount()

    def recount(self) -> None:
        """Class sizes anew from the beliefs, free of the rounding errors of many sweeps."""
        q = self.layout.model.n_states
        self.volumes[0] = self.layout.sizes @ self.beliefs
        self.volumes[0, :q] += self.layout.held
        self.pending[:] = np.inf

    def sweep(self, order: Any, tol: float, damping: float, threshold: float) -> None:
        """Pass messages once; `movement` tells how far they moved."""
        from spinlearn.kernels.message_sweeps import sweep_potts

        a = self.layout
        sweep_potts(
            self.lanes, self.lanes, order, self.beta, tol, a.indptr, a.neighbors, a.reverse,
            self.unlike, self.slope, self.weights, self.heavy, self.fields, a.coefficient, a.sizes,
            self.targets, self.volumes, self.messages, self.beliefs, self.work, damping,
            self.pending, threshold, self.movement,
        )  # fmt: skip

    def read(self) -> Reading:
        """What the present messages say."""
        from spinlearn.kernels.message_sweeps import edge_sums, node_sums

        a, free, beta = self.layout, self.layout.free, self.beta
        q, m = a.model.n_states, len(free.edges)
        beliefs, node_logs = np.empty_like(self.beliefs), np.empty(a.n_nodes)
        node_sums(
            self.lanes, self.lanes, beta, a.indptr, self.weights, self.heavy, self.fields,
            a.coefficient, a.sizes, self.targets, self.volumes, self.messages, self.beliefs,
            beliefs, node_logs,
        )  # fmt: skip
        agreement, edge_logs = np.empty(m), np.empty(m)
        u, v = a.place[free.edges].T.astype(np.int32)
        edge_sums(
            self.lanes, self.lanes, a.at_u, a.at_v, u, v, self.unlike, self.slope, self.messages,
            beliefs, agreement, edge_logs,
        )  # fmt: skip
        laws = beliefs[:, :q]
        couplings = self.couplings[a.at_u]
        class_energy, in_fields = a.class_energy(laws)
        energy = float(
            np.sum(couplings * (1 - agreement)) + np.sum(laws * a.fields)
        ) + class_energy + self.constant  # fmt: skip
        # Repelling pairs count from the energy of unlike ones, see the kernels.
        shift = float(np.minimum(couplings, 0.0).sum())
        log_count = float(node_logs.sum() - edge_logs.sum())
        return Reading(
            marginals=a.nodes_back(laws),
            agreement=agreement,
            energy=energy,
            least_energy=self.constant + shift + class_energy - in_fields,
            log_count=log_count,
        )

    def pair_law(self, edge: int) -> FloatArray:
        """p(s_u, s_v) of an edge between free nodes, (q, q)."""
        a, q = self.layout, self.layout.model.n_states
        u, v = a.place[a.free.edges[edge]]
        k, back = a.at_u[edge], a.at_v[edge]
        one = self.beliefs[u, :q] / self.messages[k, :q]
        other = self.beliefs[v, :q] / self.messages[back, :q]
        one, other = one / one.sum(), other / other.sum()
        law = np.outer(one, other) * self.unlike[k]
        np.fill_diagonal(law, one * other * (1.0 if self.slope[k] >= 0 else -self.slope[k]))
        return np.asarray(law / law.sum())

    def log_messages(self) -> FloatArray:
        """ln m by slot, (slots, q)."""
        logs: FloatArray = np.log(self.messages[:, : self.layout.model.n_states], dtype=np.float64)
        return logs

    def arrays(self) -> dict[str, Any]:
        """What a later `restore` needs to go on from here."""
        return {"messages": self.messages.copy(), "beliefs": self.beliefs.copy()}

    def restore(self, arrays: dict[str, Any]) -> None:
        """Go on from `arrays`."""
        self.messages[:], self.beliefs[:] = arrays["messages"], arrays["beliefs"]
        self.recount()
