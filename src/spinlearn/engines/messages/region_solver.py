"""RegionSolver: beliefs of all regions at one temperature after the other, each from the last.

First comes the plain iteration, in which the held laws follow every sweep, with r_b = 0. Where it
does not settle, it starts again from the last settled temperature as a double loop
(Heskes, Albers & Kappen 2003): r_b = max(-c_b, 0), and the laws are held for two sweeps. Its many
small steps are extrapolated; where that leads nowhere the bare double loop goes on. Multipliers are
averaged over states that the model cannot tell apart, so that rounding errors do not grow into
knowledge below the temperature at which regions order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from spinlearn.engines.messages.layout import Symmetry
from spinlearn.engines.messages.regions import RegionGraph
from spinlearn.errors import StoppedError
from spinlearn.model.arrays import FloatArray, IntArray
from spinlearn.model.potts import ConditionedModel

HELD_SWEEPS = 2  # of the double loop: one diverges, more than two are slower
SETBACK = 3.0  # extrapolation begins anew when the disagreement grows by this factor,
MAX_SETBACKS = 5  # and is left alone after so many of these
REFILL = 10  # plain sweeps between two calculations of the tables from their logarithms
PATIENCE = 40  # plain sweeps in which the disagreement has to fall
PROGRESS = 0.9  # to this part of its least value
BLOCK_ENTRIES = 1e8  # table entries between two callbacks, about a second
RIDGE = 1e-8  # of the mean square of dF: keeps nearly equal steps from cancelling at random
WINDOW = 10  # steps remembered; 5 needs a half more sweeps at low T, 20 no fewer (7 x 20 grid)
MAX_BYTES = 4e8  # of these
SAFE_RANGE = 500.0  # energies over T in a table up to this leave plain numbers above underflow

Watch = Callable[[], bool]  # asked between blocks; True stops


@dataclass(frozen=True, slots=True)
class Iterated:
    """How an iteration ended: sweeps, largest disagreement between regions, kind of loop."""

    sweeps: int
    residual: float
    double_loop: bool


class Extrapolation:
    """Looks ahead of a slowly converging iteration from its last steps (Anderson 1965).

    With g(x) the iteration, f = g(x) - x, and differences between successive steps as the rows of
    dF, dG, the next point is g - c dG, where c minimises the weighted norm of f - c dF. A linear
    iteration with few slow modes is solved once the window holds as many steps.
    """

    def __init__(self, weight: FloatArray) -> None:
        size = len(weight)
        window = int(min(WINDOW, max(1.0, MAX_BYTES / (16.0 * max(size, 1)))))
        self.root = np.sqrt(weight)
        self.steps, self.moves = np.zeros((window, size)), np.zeros((window, size))
        self.gram = np.zeros((window, window))
        self.last: tuple[FloatArray, FloatArray] | None = None  # image, step
        self.count = 0

    def forget(self) -> None:
        """Begin anew, after steps that led nowhere."""
        self.last, self.count = None, 0
        self.gram[:] = 0.0

    def ahead(self, point: FloatArray, image: FloatArray) -> FloatArray:
        """Where to go on from, given that the iteration maps `point` to `image`."""
        step = (image - point) * self.root
        window = len(self.steps)
        if self.last is not None:
            row = self.count % window
            np.subtract(image, self.last[0], out=self.moves[row])
            np.subtract(step, self.last[1], out=self.steps[row])
            self.count += 1
            used = min(self.count, window)
            self.gram[row, :used] = self.gram[:used, row] = self.steps[:used] @ self.steps[row]
        self.last = image.copy(), step
        used = min(self.count, window)
        if used == 0:
            return image
        gram = self.gram[:used, :used].copy()
        gram[np.diag_indices(used)] += RIDGE * np.trace(gram) / used + 1e-300
        parts = np.linalg.solve(gram, self.steps[:used] @ step)
        return np.asarray(image - parts @ self.moves[:used])


class RegionSolver:
    def __init__(self, free: ConditionedModel, regions: RegionGraph) -> None:
        self.free, self.regions = free, regions
        self.energy = regions.share_energies(free)
        self.multiplier = np.zeros(int(regions.link_at[-1]))
        self.table = np.zeros(int(regions.parent_at[-1]))
        self.child_law = np.zeros(int(regions.child_at[-1]))
        widest = int(np.max(np.diff(regions.child_at), initial=1))
        most = int(np.max(np.diff(regions.link_ptr), initial=0))
        self.scratch = np.empty((most + 1, widest))
        # The child state that each multiplier acts on.
        begins = np.repeat(regions.child_at[:-1], np.diff(regions.link_ptr))
        lengths = np.diff(regions.link_at)
        places = np.arange(len(self.multiplier)) - np.repeat(regions.link_at[:-1], lengths)
        self.child_entry = places + np.repeat(begins, lengths)
        # Multipliers of parts with equal states, and the orbit that each is averaged over. If they
        # were averaged over the reversal of ordered states, too, they would not settle.
        symmetry = Symmetry.of(free, swaps_only=True)
        alike, orbits = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
        known: dict[tuple[int, int], IntArray] = {}
        total = 0
        for b, child in enumerate(regions.children):
            key = int(symmetry.pattern[child[0]]), len(child)
            if len(symmetry.exchanges[key[0]]) == 0:
                continue
            if key not in known:
                known[key] = symmetry.orbits(*key)
            for link in range(int(regions.link_ptr[b]), int(regions.link_ptr[b + 1])):
                alike.append(int(regions.link_at[link]) + np.arange(len(known[key])))
                orbits.append(known[key].astype(np.intp) + total)
                total += int(known[key].max()) + 1
        self.alike, self.orbits = np.concatenate(alike), np.concatenate(orbits)
        starts = regions.parent_at[:-1]
        self.range = 0.0  # of the energies in one table
        if len(starts):
            high = np.maximum.reduceat(self.energy, starts)
            self.range = float(np.max(high - np.minimum.reduceat(self.energy, starts)))
        self.beta = 0.0
        self.cold = False
        # The iteration without held laws exists where n_b + c_b > 0 for all children.
        self.hard = bool(np.any(np.diff(regions.link_ptr) + regions.counting <= 0))
        self.bare = False  # without extrapolation
        self._fill()

    def restart(self) -> None:
        """Forget all messages, and go on by the bare double loop."""
        self.multiplier[:] = 0.0
        sizes = np.diff(self.regions.child_at)
        self.child_law[:] = -np.log(np.repeat(sizes, sizes))
        self.hard = self.bare = True

    def log_partition_bound(self, states: IntArray) -> float:
        """What ln Z is not below: one labelling of the free nodes, or all of them on average."""
        free, cost = self.free, self.free.model.pair_cost
        n, q = free.fields.shape
        u, v = free.edges.T
        one = float(np.sum(free.couplings * cost[states[u], states[v]]))
        one += float(np.sum(free.fields[np.arange(n), states]))
        mean = float(free.couplings.sum() * cost.mean() + free.fields.mean(axis=1).sum())
        least = max(-self.beta * one, n * float(np.log(q)) - self.beta * mean)
        return float(least - self.beta * free.constant)

    def solve(self, beta: float, tol: float, max_sweeps: int, watch: Watch) -> Iterated:
        """Iterate at 1/T = beta until regions agree to `tol`; StoppedError if `watch` says so."""
        start = self.multiplier.copy(), self.child_law.copy()
        self.beta, self.cold = beta, beta * self.range > SAFE_RANGE
        plain = Iterated(0, np.inf, False)
        if not self.hard:
            plain = self.plain_loop(tol, max_sweeps, watch)
            if plain.residual <= tol or plain.sweeps >= max_sweeps:
                return plain
            self.multiplier[:], self.child_law[:] = start
            self.hard = True  # what does not settle here will not where it is colder
        slow = self.double_loop(tol, max_sweeps - plain.sweeps, watch)
        return replace(slow, sweeps=plain.sweeps + slow.sweeps)

    def plain_loop(self, tol: float, max_sweeps: int, watch: Watch) -> Iterated:
        """Sweeps without held laws, given up when they do not settle: exact on junction trees."""
        best, since, residual = np.inf, 0, np.inf
        held = np.zeros(len(self.regions.children))
        self._fill()
        for sweep in range(1, max_sweeps + 1):
            residual = self._sweep(held, self.child_law, sweep % 2 == 0, watch)
            if residual <= tol:
                break
            since += 1
            if residual < PROGRESS * best:
                best, since = residual, 0
            if since >= PATIENCE:
                break
            if sweep % REFILL == 0:
                self._fill()
        self._fill()
        return Iterated(sweep, residual, False)

    def double_loop(self, tol: float, max_sweeps: int, watch: Watch) -> Iterated:
        """Sweeps with laws held for a few at a time, extrapolated over many."""
        r = self.regions
        held = np.maximum(-r.counting, 0.0)
        sizes = np.diff(r.child_at)
        size = len(self.multiplier)
        # Multipliers matter as much as the states they act on are likely.
        laws = np.exp(self.child_law)
        ahead = Extrapolation(np.concatenate([laws[self.child_entry], laws]) + 1e-10)
        best, setbacks, residual, sweep = np.inf, 0, np.inf, 0
        self._fill()
        while sweep < max_sweeps:
            point = np.concatenate([self.multiplier, self.child_law])
            old = self.child_law.copy()
            apart = self._sweep(held, old, False, watch)
            for inner in range(1, HELD_SWEEPS):
                self._sweep(held, old, inner % 2 == 1, watch)
            sweep += HELD_SWEEPS
            moved = np.max(np.abs(np.exp(self.child_law) - np.exp(old)), initial=0.0)
            residual = max(apart, float(moved))
            if residual <= tol:
                break
            if residual > SETBACK * best:
                ahead.forget()
                best, setbacks = residual, setbacks + 1
            best = min(best, residual)
            if setbacks <= MAX_SETBACKS and not self.bare:
                image = np.concatenate([self.multiplier, self.child_law])
                guess = ahead.ahead(point, image)
                self.multiplier[:], self.child_law[:] = guess[:size], guess[size:]
                shift = np.logaddexp.reduceat(self.child_law, r.child_at[:-1])
                self.child_law -= np.repeat(shift, sizes)
            self._fill()
        self._fill()
        return Iterated(sweep, residual, True)

    def _sweep(self, held: FloatArray, old: FloatArray, backward: bool, watch: Watch) -> float:
        """One visit to every child; the largest disagreement met."""
        from spinlearn.kernels import messages as region_messages

        r = self.regions
        n = len(r.children)
        divisor = np.diff(r.link_ptr) + r.counting + held
        step = max(1, int(n * min(1.0, BLOCK_ENTRIES / max(r.operations, 1.0))))
        blocks = [(first, min(first + step, n)) for first in range(0, n, step)]
        worst = 0.0
        for first, last in reversed(blocks) if backward else blocks:
            worst = max(worst, region_messages.sweep_children(
                first, last, backward, self.cold, r.link_ptr, r.link_parent, r.link_map,
                r.link_at, r.parent_at, r.maps, r.child_at, held, divisor, old,
                self.child_law, self.multiplier, self.table, self.scratch,
            ))  # fmt: skip
            if watch():
                raise StoppedError("stopped while messages settled")
        return worst

    def _fill(self) -> None:
        """Beliefs of the parents from their multipliers, which are made symmetric before."""
        from spinlearn.kernels import messages as region_messages

        r = self.regions
        if len(self.alike):
            means = np.bincount(self.orbits, self.multiplier[self.alike])
            self.multiplier[self.alike] = (means / np.bincount(self.orbits))[self.orbits]
        region_messages.fill_tables(
            self.cold, self.beta, self.energy, r.parent_at, r.below_ptr, r.below, r.link_map,
            r.link_at, r.maps, self.multiplier, self.table,
        )  # fmt: skip

    def averages(self) -> tuple[FloatArray, FloatArray, float, float]:
        """Node laws (n, q), edge agreements (m,), <E> and entropy of the beliefs as they stand."""
        from spinlearn.kernels import messages as region_messages

        r, free = self.regions, self.free
        self.cold = True
        self._fill()
        of_parents = np.empty(len(r.parents))
        region_messages.entropies(self.table, r.parent_at, of_parents)
        of_children = np.empty(len(r.children))
        region_messages.entropies(self.child_law, r.child_at, of_children)
        entropy = float(of_parents.sum() + np.dot(r.counting, of_children))
        tables = np.exp(self.table)
        nodes = r.node_laws(tables)
        pairs = r.pair_laws(tables, free.edges)
        energy = free.constant + float(np.sum(free.fields * nodes))
        energy += float(np.sum(free.couplings[:, None, None] * free.model.pair_cost * pairs))
        agreement: FloatArray = np.trace(pairs, axis1=1, axis2=2)
        return nodes, agreement, energy, entropy
