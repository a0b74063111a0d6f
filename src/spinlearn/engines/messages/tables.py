"""TableMessages: belief propagation for any pair cost at any temperature, zero included.

The Bethe free energy does not depend on how messages are normalised:

    ln Z = sum_e ln Z_e - sum_i (d_i - 1) ln Z_i,    Z_i = sum_s H_i(s),
                                        Z_e = sum_{s,s'} psi_e(s, s') H_u(s)/m(s) H_v(s')/m'(s')

with H_i(s) the product of field and messages at node i, d_i its number of neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spinlearn.engines.messages.layout import MessageLayout
from spinlearn.engines.messages.potts import Reading
from spinlearn.model.arrays import FloatArray


class TableMessages:
    """The messages of a model at one temperature, for any table of pair costs."""

    state = ("energies", "logs", "beliefs")  # all that is needed to go on
    coarsest_tol = 0.0
    most_pending = 0.0  # no node is passed over

    def __init__(self, layout: MessageLayout) -> None:
        n, q, slots = layout.n_nodes, layout.n_states, layout.n_slots
        self.layout = layout
        self.couplings = layout.slot_couplings()
        self.resolution = layout.model.energy_resolution
        self.energies, self.logs = np.zeros((slots, q)), np.zeros((slots, q))
        self.beliefs: FloatArray = np.full((n, q), 1 / q)
        self.volumes = np.zeros(q)
        self.work = np.empty((9, q))
        self.movement = np.zeros(2)
        self.beta = 0.0
        self.recount()

    def set_temperature(self, temperature: float) -> None:
        """Go on at this temperature, zero included, with the messages that there are."""
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
        """Messages as if every node of the model that is free were in the given state, surely."""
        a = self.layout
        here = np.asarray(states)[a.order]
        self.energies[:] = self.couplings[:, None] * a.model.pair_cost[here[a.neighbors]]
        self.energies -= self.energies.min(axis=1, keepdims=True, initial=np.inf)
        self.logs[:] = 0.0
        self.beliefs[:] = (1 - strength) / a.n_states
        self.beliefs[np.arange(len(here)), here] += strength
        self.recount()

    def recount(self) -> None:
        """Class sizes anew from the beliefs, free of the rounding errors of many sweeps."""
        self.volumes[:] = self.layout.sizes @ self.beliefs + self.layout.term.held

    def sweep(self, forth: bool, tol: float, damping: float, threshold: float) -> None:
        """Pass all messages once, whatever the threshold."""
        from spinlearn.kernels.messages import sweep_tables

        a = self.layout
        sweep_tables(
            forth, self.beta, tol, self.resolution, a.indptr, a.reverse, self.couplings,
            a.model.pair_cost, a.fields, a.term.coefficient, a.sizes, a.term.targets,
            self.volumes, self.energies, self.logs, self.beliefs, self.work, damping, self.movement,
        )  # fmt: skip

    def node_laws(self) -> tuple[FloatArray, ...]:
        """Beliefs (n, q), least energies and ln of counts of Z_i (n,), and of H_i (n, q)."""
        from spinlearn.kernels.messages import table_node_sums

        a = self.layout
        beliefs, total_e, total_l = (np.empty((a.n_nodes, a.n_states)) for _ in range(3))
        least, logs = np.empty(a.n_nodes), np.empty(a.n_nodes)
        table_node_sums(
            self.beta, self.resolution, a.indptr, a.fields, a.term.coefficient, a.sizes,
            a.term.targets, self.volumes, self.energies, self.logs, self.beliefs, total_e, total_l,
            beliefs, least, logs,
        )  # fmt: skip
        return beliefs, least, logs, total_e, total_l

    def read(self, marginals: Any, agreement: Any) -> Reading:
        """What the messages say of all nodes (N, q) and edges (m,), written to arrays."""
        a = self.layout
        beliefs, node_least, node_logs, *totals = self.node_laws()
        broken = a.write_marginals(beliefs, marginals)
        inner = a.at_u >= 0
        agreement[inner], pair_energy, least, logs, _ = self._edges(np.flatnonzero(inner), totals)
        # At least one end of the others is clamped, so the two ends are independent.
        one, other = a.model.graph.edges[~inner].T
        agreement[~inner] = np.sum(marginals[one] * marginals[other], axis=1)
        class_energy, in_fields = a.class_energy(beliefs)
        spare = np.diff(a.indptr) - 1
        pairs_and_fields = pair_energy.sum() + np.sum(beliefs * a.fields[:, : a.n_states])
        return Reading(
            energy=float(pairs_and_fields) + class_energy + a.constant,
            least_energy=float(least.sum() - spare @ node_least)
            + a.constant + class_energy - in_fields,
            log_count=float(logs.sum() - spare @ node_logs),
            broken=broken,
        )  # fmt: skip

    def _edges(self, ids: Any, totals: list[FloatArray]) -> tuple[FloatArray, ...]:
        """Agreement, energy, (e, l) of Z_e of edges between free nodes; the law of the last."""
        from spinlearn.kernels.messages import table_edge_sums

        a, q = self.layout, self.layout.n_states
        found = [np.empty(len(ids)) for _ in range(4)]
        scratch = [np.empty(q * q) for _ in range(3)]
        u, v = np.ascontiguousarray(a.place[a.model.graph.edges[ids]].T)
        table_edge_sums(
            self.beta, self.resolution, u, v, a.at_u[ids], a.at_v[ids], self.couplings,
            a.model.pair_cost, self.energies, self.logs, *totals, *scratch, *found,
        )  # fmt: skip
        return *found, scratch[2].reshape(q, q)

    def pair_laws(self, edges: Sequence[int]) -> list[FloatArray]:
        """p(s_u, s_v) of edges between free nodes, (q, q) each."""
        totals = list(self.node_laws()[3:])
        return [self._edges(np.array([edge]), totals)[4] for edge in edges]

    def log_messages(self) -> FloatArray:
        """ln m by slot, (slots, q); T > 0."""
        return np.asarray(self.logs - self.beta * self.energies)
