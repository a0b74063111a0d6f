"""LargeMessages: belief propagation over a Potts model with millions of nodes, in single precision.

The equations are those of `PottsMessages`. A message takes as many numbers in memory as there are
states, not lanes; couplings are looked up in the model whenever the temperature changes; nothing is
kept of an edge but where its messages lie. With q states and d neighbours a node takes about
4 d (q + 5) + 8 lanes + 40 bytes beside the model.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spinlearn.core.arrays import BoolArray, FloatArray
from spinlearn.core.model import FREE, PottsModel
from spinlearn.messages.large_layout import LargeLayout, Singles, blocks
from spinlearn.messages.layout import lanes_for
from spinlearn.messages.potts_messages import (
    COARSE_TOL,
    LARGEST_EXPONENT,
    LARGEST_FIELD,
    TINY,
    is_two_valued,
)
from spinlearn.messages.reading import Reading

LARGEST_SINGLE = 80.0  # J/T of a message that single precision can still hold, e^-87


class LargeMessages:
    """The messages of a model at one temperature, as they are passed on.

    Parameters
    ----------
    layout : LargeLayout
        Of a model in which a pair costs one amount if alike, another if not.
    """

    coarsest_tol = COARSE_TOL

    def __init__(self, layout: LargeLayout) -> None:
        model = layout.model
        assert is_two_valued(model)
        n, q, slots = layout.n_nodes, model.n_states, layout.n_slots
        self.layout = layout
        alike, apart = float(model.pair_cost[0, 0]), float(model.pair_cost[0, 1])
        self.factor, self.alike = apart - alike, alike
        lanes = lanes_for(q)
        self.lanes, self.columns = (0,) * lanes, (0,) * q
        self.messages: Singles = np.ones((slots, q), dtype=np.float32)
        self.fields = layout.fields(lanes)
        self.beliefs: Singles = np.zeros((n, lanes), dtype=np.float32)
        self.beliefs[:, :q] = 1 / q
        self.unlike: Singles = np.empty(slots, dtype=np.float32)
        self.slope: Singles = np.empty(slots, dtype=np.float32)
        self.rho = np.broadcast_to(np.ones(1), (slots,))  # edge weights of this propagation: none
        self.targets, self.volumes = np.zeros((1, lanes)), np.zeros((1, lanes))
        self.targets[0, :q] = layout.targets
        self.work = np.empty((layout.largest_degree + 1, lanes))
        self.pending: FloatArray = np.full(n, np.inf)
        self.movement = np.zeros(2)
        self.stiffness = _stiffness(layout, self.fields[:, :q], abs(self.factor))
        self.heavy: BoolArray = np.zeros(n, dtype=bool)
        self.beta = TINY
        self.recount()

    @property
    def coldest(self) -> float:
        """Temperature below which messages leave the range of floats, or fields their precision."""
        return coldest(self.layout.model, float(self.stiffness.max(initial=0.0)))

    def set_temperature(self, temperature: float) -> None:
        """Go on at this temperature with the messages that there are."""
        from spinlearn.kernels.large_layout import couple_slots

        a = self.layout
        couple_slots(
            a.at_u, a.at_v, a.model.couplings, self.factor, temperature, self.unlike, self.slope
        )
        self.heavy = self.stiffness / temperature > LARGEST_EXPONENT
        # Not 0 at infinity: lanes that are no states have an infinite field.
        self.beta = max(1 / temperature, TINY)

    def disturb(self, generator: np.random.Generator, amount: float) -> None:
        """Multiply all messages by random numbers between 1 - amount and 1."""
        for rows in blocks(len(self.messages)):
            part = self.messages[rows]
            part *= 1 - amount * generator.random(part.shape, dtype=np.float32)

    def recount(self) -> None:
        """Class sizes anew from the beliefs, free of the rounding errors of many sweeps."""
        self.volumes[:] = 0.0
        for rows in blocks(self.layout.n_nodes):
            self.volumes[0] += self.layout.sizes[rows] @ self.beliefs[rows].astype(np.float64)
        self.volumes[0, : len(self.columns)] += self.layout.held
        self.pending[:] = np.inf

    def sweep(self, order: Any, tol: float, damping: float, threshold: float) -> None:
        """Pass messages once; `movement` tells how far they moved."""
        from spinlearn.kernels.message_sweeps import sweep_potts

        a = self.layout
        sweep_potts(
            self.lanes, self.columns, order, self.beta, tol, a.indptr, a.senders, a.reverse,
            self.unlike, self.slope, self.rho, self.heavy, self.fields, a.coefficient, a.sizes,
            self.targets, self.volumes, self.messages, self.beliefs, self.work, damping,
            self.pending, threshold, self.movement,
        )  # fmt: skip

    def read(self, marginals: Any, agreement: Any) -> Reading:
        """What the present messages say of all nodes (N, q) and edges (m,), written to arrays."""
        from spinlearn.kernels.message_sweeps import node_sums

        a, model, q = self.layout, self.layout.model, len(self.columns)
        node_logs = np.empty(a.n_nodes)
        node_sums(
            self.lanes, self.columns, self.beta, a.indptr, self.rho, self.heavy, self.fields,
            a.coefficient, a.sizes, self.targets, self.volumes, self.messages, self.beliefs,
            self.beliefs, node_logs,
        )  # fmt: skip
        self.recount()
        marginals[a.order] = self.beliefs[:, :q]
        held = np.flatnonzero(model.clamped != FREE)
        marginals[held] = 0.0
        marginals[held, model.clamped[held]] = 1.0
        log_count = float(node_logs.sum())
        energy = constant = self._constant()
        for rows in blocks(model.graph.n_edges):
            cut, below, logs = self._read_edges(rows, marginals, agreement)
            energy, constant, log_count = energy + cut, constant + below, log_count - logs
        in_fields, class_energy, class_fields = self._node_energies()
        return Reading(
            marginals=np.empty((0, 0)),
            agreement=np.empty(0),
            energy=energy + in_fields + class_energy,
            least_energy=constant + class_energy - class_fields,
            log_count=log_count,
        )

    def _constant(self) -> float:
        """What every labelling costs."""
        a, total = self.layout, self.layout.constant()
        for rows in blocks(len(a.at_u)):
            free = a.at_u[rows] >= 0
            total += self.alike * float(a.model.couplings[rows][free].sum())
        return total

    def _read_edges(
        self, rows: slice, marginals: Any, agreement: Any
    ) -> tuple[float, float, float]:
        """Agreements of some edges; their mean cost, its least value, and their ln Z_e."""
        from spinlearn.kernels.message_sweeps import edge_sums

        a, model = self.layout, self.layout.model
        at_u, at_v = a.at_u[rows], a.at_v[rows]
        edges = model.graph.edges[rows]
        free = at_u >= 0
        u, v = np.ascontiguousarray(a.place[edges[free]].T)
        found, logs = np.empty(len(u)), np.empty(len(u))
        edge_sums(
            self.lanes, self.columns, at_u[free], at_v[free], u, v, self.unlike, self.slope,
            self.messages, self.beliefs, found, logs,
        )  # fmt: skip
        one, other = edges[~free].T
        part = np.empty(len(edges), dtype=np.float32)
        part[free] = found
        # At least one end is clamped, so the two ends are independent.
        part[~free] = np.sum(marginals[one] * marginals[other], axis=1)
        agreement[rows] = part
        couplings = model.couplings[rows][free] * self.factor
        # Repelling pairs count from the energy of unlike ones, see the kernels.
        least = float(np.minimum(couplings, 0.0).sum())
        return float(couplings @ (1 - found)), least, float(logs.sum())

    def _node_energies(self) -> tuple[float, float, float]:
        """<fields>, <class term> of independent nodes, and its share in fields.

        See `MessageLayout.class_energy`.
        """
        a, q = self.layout, len(self.columns)
        in_fields, squares, sums = 0.0, np.zeros(q), np.zeros(q)
        variance = 0.0
        for rows in blocks(a.n_nodes):
            p = self.beliefs[rows, :q].astype(np.float64)
            in_fields += float(np.sum(p * self.fields[rows, :q]))
            if a.coefficient != 0.0:
                size = a.sizes[rows]
                squares += size**2 @ p**2
                sums += size @ p
                variance += float(np.sum(size**2 @ (p * (1 - p))))
        gap = sums + a.held - a.targets
        energy = 0.5 * a.coefficient * (float(gap @ gap) + variance)
        return in_fields, energy, a.coefficient * float(gap @ sums - squares.sum())


def coldest(model: PottsModel, stiffness: float) -> float:
    """Temperature down to which single precision carries the messages of a model.

    Parameters
    ----------
    model : PottsModel
    stiffness : float
        Largest difference in energy that anything can make at a node.
    """
    strongest = float(np.abs(model.couplings).max(initial=0.0) * np.ptp(model.pair_cost))
    return max(strongest / LARGEST_SINGLE, stiffness / LARGEST_FIELD)


def _stiffness(layout: LargeLayout, fields: Singles, spread: float) -> FloatArray:
    """Largest difference in energy that anything can make at a node, (n,)."""
    total = float(layout.sizes.sum() + layout.held.sum() + np.abs(layout.targets).max(initial=0.0))
    stiffness = layout.strength * spread + abs(layout.coefficient) * total * layout.sizes
    for rows in blocks(layout.n_nodes):
        stiffness[rows] += np.ptp(fields[rows], axis=1)
    return stiffness
