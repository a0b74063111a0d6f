"""A ladder of replicas: one replica of the model per slot, every slot at its own temperature.

Slots are placed at equal steps of thermodynamic length, sigma_E * d(beta), measured while a few
walkers are cooled from beta = 0; every requested temperature is a slot. The same cooling gives ln Z
of the hottest slot, since Z is known at beta = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.free_part import FreePart
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.engines.regions import Regions

SPACING = 2.0  # of slots, in standard deviations of E; components pass where replicas would not
MAX_RATIO = 1.25  # of neighbouring temperatures, where the energy hardly fluctuates
MAX_SLOTS = 48  # beyond what is asked for; larger models get wider steps
PILOT_GROWTH = 0.04  # of beta per level while cooling, at least
PILOT_SWEEPS = 12  # per level while cooling, the first half not counted

MOVES = ("cluster", "local", "metropolis")


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The free nodes of a model as the kernels read them.

    `model` has no clamps: they are in its fields, of which the least of every node is zero;
    energies of the two models differ by `constant`. `ghost` has no fields: they are couplings to q
    more nodes, each held in one state, so that moving a region costs its border only.
    """

    free: FreePart
    model: PottsModel
    constant: float
    edge_u: npt.NDArray[np.uint32]
    edge_v: npt.NDArray[np.uint32]
    field_nodes: npt.NDArray[np.uint32]
    weights: FloatArray
    ghost: PottsModel

    @classmethod
    def of(cls, free: FreePart) -> Layout:
        """Lay out a model with at least one free node."""
        least = free.fields.min(axis=1)
        graph = Graph(len(free.nodes), free.edges)
        model = PottsModel(
            graph,
            free.model.n_states,
            couplings=free.couplings,
            pair_cost=free.model.pair_cost,
            fields=free.fields - least[:, None],
        )
        return cls(
            free=free,
            model=model,
            constant=free.constant + float(least.sum()),
            edge_u=graph.edges[:, 0].astype(np.uint32),
            edge_v=graph.edges[:, 1].astype(np.uint32),
            field_nodes=np.flatnonzero(np.any(model.fields != 0, axis=1)).astype(np.uint32),
            weights=model.couplings[graph.edge_ids],
            ghost=_with_ghosts(model),
        )

    @property
    def energy_unit(self) -> float:
        """A typical energy step: the median coupling, or field where there are no edges."""
        for values in (self.model.couplings, self.model.fields):
            steps = np.abs(values[values != 0])
            if len(steps):
                return float(np.median(steps))
        return 1.0


def _with_ghosts(model: PottsModel) -> PottsModel:
    """Fields as couplings to clamped nodes, one per state (for the Potts pair cost)."""
    n, q = model.n_nodes, model.n_states
    gains = model.fields.max(axis=1)[:, None] - model.fields
    nodes, states = np.nonzero(gains)
    edges = np.concatenate([model.graph.edges, np.column_stack([nodes, n + states])])
    couplings = np.concatenate([model.couplings, gains[nodes, states]])
    order = np.lexsort((edges[:, 1], edges[:, 0]))  # as Graph sorts them
    return PottsModel(
        Graph(n + q, edges),
        q,
        couplings=couplings[order],
        clamped=np.concatenate([np.full(n, -1), np.arange(q)]),
    )


class Replicas:
    """K replicas, one per slot, with a random stream and scratch of their own."""

    def __init__(
        self, layout: Layout, moves: str, n_slots: int, seed: np.random.SeedSequence
    ) -> None:
        from spinlearn.kernels import cluster
        from spinlearn.kernels.rng import make_stream

        n, q = layout.model.n_nodes, layout.model.n_states
        self._kernel = cluster
        self._layout, self._moves = layout, moves
        self.stream = make_stream(seed)
        generator = np.random.default_rng(seed)
        self.states: StateArray = generator.integers(0, q, (n_slots, n + q), dtype=np.int8)
        self.states[:, n:] = np.arange(q)  # the ghosts
        self.energies = np.zeros(n_slots)
        self._parent = np.zeros(n, dtype=np.int32)
        self._law_row = np.zeros(n, dtype=np.int32)
        self._law = np.zeros((len(layout.field_nodes), q))
        self._seen = np.zeros(n, dtype=np.bool_)
        self._tally, self._local_law = np.zeros(q), np.zeros(q)
        self.exchanged = np.zeros((n_slots, 2))
        self._uncounted = np.zeros((n_slots, 2))
        self._no_rows = np.full(n_slots, -1, dtype=np.int64)
        nothing = np.zeros((1, 0, 0), dtype=np.float32)
        self._no_sums = nothing, nothing[0], nothing[0]

    def use(self, betas: FloatArray, thresholds: npt.NDArray[np.uint32] | None = None) -> None:
        """Set the inverse temperature of every slot."""
        self.betas = betas
        if self._moves == "cluster":
            self._thresholds = (
                bond_thresholds(self._layout, betas) if thresholds is None else thresholds
            )

    def step(self, first: int = 0, sums: Sums | None = None, with_edges: bool = False) -> None:
        """One sweep of the slots from `first` on; energies, and averages into `sums`."""
        layout = self._layout
        model, graph = layout.model, layout.model.graph
        rows = self._no_rows if sums is None else sums.rows
        nodes, free, edges = self._no_sums if sums is None else (sums.nodes, sums.free, sums.edges)
        if self._moves == "cluster":
            self._kernel.cluster_step(
                self.states[first:],
                self.betas[first:],
                self._thresholds[first:],
                layout.edge_u,
                layout.edge_v,
                model.couplings,
                model.pair_cost,
                model.fields,
                layout.field_nodes,
                self._parent,
                self._law_row,
                self._law,
                self.energies[first:],
                rows[first:],
                with_edges,
                nodes,
                free,
                edges,
                self.stream,
            )
        else:
            self._kernel.local_step(
                self.states[first:],
                self.betas[first:],
                self._moves == "local",
                graph.indptr,
                graph.neighbors,
                layout.weights,
                layout.edge_u,
                layout.edge_v,
                model.couplings,
                model.pair_cost,
                model.fields,
                layout.field_nodes,
                self._tally,
                self._local_law,
                self.energies[first:],
                rows[first:],
                with_edges,
                nodes,
                edges,
                self.stream,
            )
        if sums is not None:
            measured = rows[first:][rows[first:] >= 0]
            sums.node_counts[measured] += 1
            sums.edge_counts[measured] += int(with_edges)

    def exchange(self, low: int, offset: int, start: int) -> None:
        """Exchange differing components between slots k and k + offset, k >= low."""
        layout = self._layout
        graph = layout.model.graph
        self._kernel.exchange_slots(
            self.states,
            self.betas,
            low,
            offset,
            start,
            graph.indptr,
            graph.neighbors,
            layout.weights,
            layout.model.pair_cost,
            layout.model.fields,
            self._seen,
            self._parent,
            self.exchanged if offset == 1 else self._uncounted,
            self.stream,
        )

    def move_regions(self, regions: Regions, low: int, n_tries: int, moved: Any) -> None:
        """Exchange two states on random regions in the slots from `low` on."""
        from spinlearn.kernels.regions import swap_on_regions

        q = self._layout.model.n_states
        cold = self.states[low:]
        swap_on_regions(
            cold.reshape(-1),
            len(cold),
            1,
            cold.shape[1],
            q,
            regions.ptr,
            regions.nodes,
            regions.border_ptr,
            regions.borders,
            regions.border_couplings,
            np.empty((0, q)),
            self.betas[low:],
            n_tries,
            moved,
            self.stream,
        )


@dataclass(slots=True)
class Sums:
    """What one ladder adds up in a round, at its measured slots (R of them)."""

    rows: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.float32]
    free: npt.NDArray[np.float32]
    edges: npt.NDArray[np.float32]
    node_counts: npt.NDArray[np.int64]
    edge_counts: npt.NDArray[np.int64]

    @classmethod
    def empty(cls, layout: Layout, rows: npt.NDArray[np.int64]) -> Sums:
        """All sums zero; `rows` is the row of every slot, -1 where it is not measured."""
        n, q, m = layout.model.n_nodes, layout.model.n_states, layout.model.graph.n_edges
        n_rows = max(int(rows.max()) + 1, 1)
        return cls(
            rows,
            np.zeros((n_rows, n, q), dtype=np.float32),
            np.zeros((n_rows, n), dtype=np.float32),
            np.zeros((n_rows, m), dtype=np.float32),
            np.zeros(n_rows, dtype=np.int64),
            np.zeros(n_rows, dtype=np.int64),
        )

    def clear(self) -> None:
        """Back to zero."""
        for values in (self.nodes, self.free, self.edges):
            values[:] = 0
        self.node_counts[:] = 0
        self.edge_counts[:] = 0

    def marginals(self, row: int) -> npt.NDArray[np.float32]:
        """Averages of the round, (n, q)."""
        share = self.free[row, :, None] / np.float32(self.nodes.shape[2])
        average: npt.NDArray[np.float32] = self.nodes[row] + share
        average /= np.float32(max(self.node_counts[row], 1))
        return average

    def agreements(self, row: int) -> npt.NDArray[np.float32]:
        """Averages of the round, (m,)."""
        average: npt.NDArray[np.float32] = self.edges[row].copy()
        average /= np.float32(max(self.edge_counts[row], 1))
        return average


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """Inverse temperatures of the slots, ascending, with what the pilot saw there."""

    betas: FloatArray
    means: FloatArray
    deviations: FloatArray
    log_z_first: float

    @property
    def first_cold(self) -> int:
        """First slot beyond the largest fluctuation of the energy, where valleys may part."""
        peak = int(np.argmax(self.deviations))
        beyond = np.flatnonzero(self.deviations[peak:] < 0.8 * self.deviations[peak])
        return peak + int(beyond[0]) if len(beyond) else len(self.betas) - 1


def some_regions(regions: Regions, chosen: npt.NDArray[np.intp]) -> Regions:
    """A selection of the regions."""

    def rows(ptr: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.concatenate([np.arange(ptr[g], ptr[g + 1]) for g in chosen])

    def lengths(ptr: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(np.diff(ptr)[chosen])])

    borders = rows(regions.border_ptr)
    return Regions(
        ptr=lengths(regions.ptr),
        nodes=regions.nodes[rows(regions.ptr)],
        border_ptr=lengths(regions.border_ptr),
        borders=regions.borders[borders],
        border_couplings=regions.border_couplings[borders],
    )


def bond_thresholds(layout: Layout, betas: FloatArray) -> npt.NDArray[np.uint32]:
    """Bond probabilities 1 - exp(-beta J) in units of 2^-32, (K, m)."""
    thresholds = np.empty((len(betas), layout.model.graph.n_edges), dtype=np.uint32)
    for row, beta in zip(thresholds, betas, strict=True):
        chance = -np.expm1(-beta * layout.model.couplings)
        row[:] = np.minimum(np.floor(chance * 2.0**32), 2.0**32 - 1)
    return thresholds


def choose_ladder(
    layout: Layout, moves: str, wanted: FloatArray, seed: np.random.SeedSequence
) -> Ladder:
    """Slots between and at the `wanted` inverse temperatures (ascending, finite, unique)."""
    model = layout.model
    n_walkers = 16 if model.n_nodes <= 5000 else 4
    walkers = Replicas(layout, moves, n_walkers, seed)
    betas, means, deviations = [0.0], [], []
    log_z = [model.n_nodes * float(np.log(model.n_states))]
    least = 1e-9 * layout.energy_unit
    before: FloatArray | None = None
    while True:
        beta = betas[-1]
        energies = _settle(walkers, beta)
        if before is not None:
            log_z.append(log_z[-1] + _free_energy_step(before, energies, beta - betas[-2]))
        before = energies
        means.append(float(energies.mean()))
        deviations.append(max(float(energies.std()), least))
        if beta >= wanted[-1]:
            break
        step = max(SPACING / deviations[-1], PILOT_GROWTH * beta)
        # sigma_E may rise towards a transition, so a step is short against beta itself.
        target = min(beta + step, max(beta * MAX_RATIO, beta + 0.5 * step)) if beta else step
        if beta < wanted[0]:
            target = min(target, wanted[0])
        betas.append(min(target, wanted[-1]))
    trail = np.array(betas)
    # Replicas are renewed above the transition, so the ladder begins there or hotter.
    peak = trail[int(np.argmax(deviations))]
    first = int(np.searchsorted(trail, min(wanted[0], 0.8 * peak), side="right")) - 1
    anchors = np.unique(np.concatenate([[trail[first]], wanted]))
    placed = _place(anchors, trail, np.array(deviations))
    return Ladder(
        betas=placed,
        means=np.interp(placed, trail, means) + layout.constant,
        deviations=np.interp(placed, trail, deviations),
        log_z_first=log_z[first] - trail[first] * layout.constant,
    )


def _settle(walkers: Replicas, beta: float) -> FloatArray:
    """Sweep all walkers at one temperature; energies of the second half."""
    walkers.use(np.full(len(walkers.states), beta))
    energies = []
    for sweep in range(PILOT_SWEEPS):
        walkers.step()
        if sweep >= PILOT_SWEEPS // 2:
            energies.append(walkers.energies.copy())
    return np.concatenate(energies)


def _place(wanted: FloatArray, betas: FloatArray, deviations: FloatArray) -> FloatArray:
    """Equal steps of thermodynamic length, refined so that every wanted beta is a slot."""
    steps = 0.5 * (deviations[1:] + deviations[:-1]) * np.diff(betas)
    length = np.concatenate([[0.0], np.cumsum(steps)])
    at = np.interp(wanted, betas, length)
    spacing = max(SPACING, float(at[-1] - at[0]) / MAX_SLOTS)
    hot_limit = betas[1] if len(betas) > 1 else np.inf
    placed = [wanted[0]]
    for a, b, from_a, to_b in zip(wanted[:-1], wanted[1:], at[:-1], at[1:], strict=True):
        pieces = int(np.ceil((to_b - from_a) / spacing))
        cold = max(a, hot_limit)
        if b > cold:
            pieces = max(pieces, int(np.ceil(np.log(b / cold) / np.log(MAX_RATIO) - 1e-9)))
        fractions = np.arange(1, pieces) / max(pieces, 1)
        inner = np.interp(from_a + (to_b - from_a) * fractions, length, betas)
        if a >= hot_limit:
            inner = 0.5 * (inner + a * (b / a) ** fractions)
        placed.extend(inner)
        placed.append(b)
    return np.array(placed)


def _free_energy_step(hot: FloatArray, cold: FloatArray, step: float) -> float:
    """ln Z(beta + step) - ln Z(beta) from energies at both."""
    if step * float(hot.std() + cold.std()) < 4:
        return bennett(hot, cold, step)
    # Too far apart to overlap: integrate -<E>, whose derivative is the variance.
    trapezoid = -step * 0.5 * float(hot.mean() + cold.mean())
    return trapezoid - step**2 / 12 * float(cold.var() - hot.var())


def bennett(hot: FloatArray, cold: FloatArray, step: float) -> float:
    """ln Z(beta + step) - ln Z(beta) from energies at both (Bennett's acceptance ratio)."""
    shift = -step * 0.5 * float(hot.mean() + cold.mean())
    for _ in range(100):
        forward = 1 / (1 + np.exp(np.clip(step * hot + shift, -700, 700)))
        backward = 1 / (1 + np.exp(np.clip(-step * cold - shift, -700, 700)))
        change = float(np.log(forward.mean()) - np.log(backward.mean()))
        shift += change
        if abs(change) < 1e-10:
            break
    return shift
