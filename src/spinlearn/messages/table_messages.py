"""TableMessages: belief propagation for any pair cost at any temperature, zero included.

The Bethe free energy does not depend on how messages are normalised:

    ln Z = sum_e ln Z_e - sum_i (d_i - 1) ln Z_i,    Z_i = sum_s H_i(s),
                                        Z_e = sum_{s,s'} psi_e(s, s') H_u(s)/m(s) H_v(s')/m'(s')

with H_i(s) the product of field and messages at node i, d_i its number of neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.messages.layout import MessageLayout
from spinlearn.messages.reading import Reading


class TableMessages:
    """The messages of a model at one temperature, for any table of pair costs.

    Parameters
    ----------
    layout : MessageLayout
    weights : float array (m,), optional
        rho of the edges between free nodes, see `spinlearn.kernels.message_sweeps`; default ones.
    """

    coarsest_tol = 0.0
    coldest = 0.0

    def __init__(self, layout: MessageLayout, weights: FloatArray | None = None) -> None:
        n, q, slots = layout.n_nodes, layout.model.n_states, layout.n_slots
        self.layout = layout
        self.weights: FloatArray = np.ones(slots) if weights is None else weights[layout.slot_edges]
        self.couplings: FloatArray = layout.couplings / self.weights
        self.resolution = layout.model.energy_resolution
        self.energies, self.logs = np.zeros((slots, q)), np.zeros((slots, q))
        self.beliefs: FloatArray = np.full((n, q), 1 / q)
        self.volumes = np.zeros(q)
        self.work = np.empty((9, q))
        self.pending = np.zeros(0)  # no node is passed over
        self.movement = np.zeros(2)
        self.beta = 0.0
        self.temperature = np.inf
        self.recount()

    def set_temperature(self, temperature: float) -> None:
        """Go on at this temperature, zero included, with the messages that there are."""
        self.temperature = temperature
        self.beta = 1 / temperature if temperature > 0 else np.inf

    def take(self, log_messages: FloatArray, temperature: float, beliefs: FloatArray) -> None:
        """Go on from messages ln m (slots, q) of this temperature and from beliefs (n, q)."""
        self.energies[:] = -temperature * log_messages
        self.energies -= self.energies.min(axis=1, keepdims=True, initial=np.inf)
        self.logs[:] = 0.0
        self.beliefs[:] = beliefs
        self.recount()

    def disturb(self, generator: np.random.Generator, amount: float) -> None:
        """Multiply all messages by random numbers between 1 - amount and 1."""
        self.logs += np.log(1 - amount * generator.random(self.logs.shape))

    def point_to(self, states: Any, strength: float) -> None:
        """Messages as if every free node were in the given state (of `free.nodes`), surely."""
        a = self.layout
        here = np.asarray(states)[a.order]
        self.energies[:] = self.couplings[:, None] * a.model.pair_cost[here[a.neighbors]]
        self.energies -= self.energies.min(axis=1, keepdims=True, initial=np.inf)
        self.logs[:] = 0.0
        self.beliefs[:] = (1 - strength) / a.model.n_states
        self.beliefs[np.arange(len(here)), here] += strength
        self.recount()

    def recount(self) -> None:
        """Class sizes anew from the beliefs, free of the rounding errors of many sweeps."""
        self.volumes[:] = self.layout.sizes @ self.beliefs + self.layout.held

    def sweep(self, order: Any, tol: float, damping: float, threshold: float) -> None:
        """Pass all messages once, whatever the threshold."""
        from spinlearn.kernels.table_messages import sweep_tables

        a = self.layout
        sweep_tables(
            order, self.beta, tol, self.resolution, a.indptr, a.reverse, self.couplings,
            self.weights, a.model.pair_cost, a.fields, a.coefficient, a.sizes, a.targets,
            self.volumes, self.energies, self.logs, self.beliefs, self.work, damping, self.movement,
        )  # fmt: skip

    def read(self) -> Reading:
        """What the present messages say."""
        from spinlearn.kernels.table_messages import table_edge_sums, table_node_sums

        a, free = self.layout, self.layout.free
        n, q, m = a.n_nodes, a.model.n_states, len(free.edges)
        beliefs, node_least, node_logs = np.empty((n, q)), np.empty(n), np.empty(n)
        state = (
            self.weights, a.fields, a.coefficient, a.sizes, a.targets, self.volumes, self.energies,
            self.logs, self.beliefs, self.work,
        )  # fmt: skip
        table_node_sums(
            self.beta, self.resolution, a.indptr, *state, beliefs, node_least, node_logs
        )
        agreement, pair_energy, least, logs = (np.empty(m) for _ in range(4))
        u, v = a.place[free.edges].T.astype(np.int32)
        table_edge_sums(
            self.beta, self.resolution, u, v, a.at_u, a.at_v, self.couplings, a.model.pair_cost,
            a.indptr, *state, np.empty(q * q), np.empty(q * q), np.empty(q * q), agreement,
            pair_energy, least, logs,
        )  # fmt: skip
        class_energy, in_fields = a.class_energy(beliefs)
        spare = np.diff(a.indptr) - 1
        energy = float(pair_energy.sum() + np.sum(beliefs * a.fields)) + class_energy
        return Reading(
            marginals=a.nodes_back(beliefs),
            agreement=agreement,
            energy=energy + free.constant,
            least_energy=float(least.sum() - spare @ node_least)
            + free.constant + class_energy - in_fields,
            log_count=float(logs.sum() - spare @ node_logs),
        )  # fmt: skip

    def pair_law(self, edge: int) -> FloatArray:
        """p(s_u, s_v) of an edge between free nodes, (q, q)."""
        from spinlearn.kernels.table_messages import pair_law

        a, q = self.layout, self.layout.model.n_states
        u, v = a.place[a.free.edges[edge]]
        pair = np.empty(q * q)
        pair_law(
            self.beta, self.resolution, u, v, a.at_u[edge], a.at_v[edge],
            self.couplings[a.at_u[edge]], a.model.pair_cost, a.indptr, self.weights, a.fields,
            a.coefficient, a.sizes, a.targets, self.volumes, self.energies, self.logs, self.beliefs,
            self.work, np.empty(q * q), np.empty(q * q), pair,
        )  # fmt: skip
        return pair.reshape(q, q)

    def log_messages(self) -> FloatArray:
        """ln m by slot, (slots, q); T > 0."""
        return np.asarray(self.logs - self.beta * self.energies)

    def arrays(self) -> dict[str, Any]:
        """What a later `restore` needs to go on from here."""
        return {
            "energies": self.energies.copy(), "logs": self.logs.copy(),
            "beliefs": self.beliefs.copy(),
        }  # fmt: skip

    def restore(self, arrays: dict[str, Any]) -> None:
        """Go on from `arrays`."""
        self.energies[:], self.logs[:] = arrays["energies"], arrays["logs"]
        self.beliefs[:] = arrays["beliefs"]
        self.recount()
