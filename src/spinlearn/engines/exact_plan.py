"""What an exact run costs, known before it is paid: the elimination, its memory and its time.

One pass over a block of B temperatures takes at most

    (25 + 4.5 B) ns * clique_states + 3 us * buckets,

and memory touched for the first time 3 ns a byte: measured on one core of a cloud machine for q = 2
to 100 on lattices 2 to 16 wide, complete graphs and stars. Typical passes take half of that: of
eight temperatures at once 4 ns each per state, of a single one 20.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from spinlearn.core.free_part import FreePart
from spinlearn.engines.elimination_order import BucketTree, bucket_tree
from spinlearn.engines.message_stack import MessageStack
from spinlearn.engines.time_limit import TimeLimit
from spinlearn.errors import StoppedError, UnsupportedModelError

GIB = 2.0**30
BLOCKS = (8, 4, 1)  # temperatures per pass: whole vector registers, few enough to stay in cache
PREFERRED_BYTES = 1.0 * GIB  # beyond this fewer temperatures share a pass
STATE_SECONDS, LANE_SECONDS = 25e-9, 4.5e-9  # of a clique state, and of each temperature in it
BUCKET_SECONDS = 3e-6
FRESH_BYTE_SECONDS = 3e-9
PLANNING_SHARE = 0.25  # of the time limit, the most that the search for an order may take


@dataclass(frozen=True, slots=True)
class Plan:
    """What an exact run will need: its width, memory and arithmetic."""

    tree: BucketTree
    width: int
    clique_states: float
    bytes_per_temperature: float
    fixed_bytes: float

    @classmethod
    def of(cls, tree: BucketTree, q: int) -> Plan:
        """The cost of eliminating the nodes of q states in this order."""
        sizes = np.array([float(q) ** len(s) for s in tree.separators])
        stack = MessageStack.of(tree, q)
        messages = (q - 1) * sizes.sum() + 3 * stack.size + 2 * len(tree.separators) * q
        return cls(
            tree=tree,
            width=tree.width,
            clique_states=tree.cost(q),
            bytes_per_temperature=8.0 * messages,
            fixed_bytes=8.0 * stack.size,
        )

    def bytes(self, block: int) -> float:
        """Memory of a pass over `block` temperatures."""
        return self.fixed_bytes + block * self.bytes_per_temperature

    def block(self, n_temperatures: int, max_bytes: float) -> int:
        """Temperatures per pass: the fewest that take all at once, else the most that fit."""
        limit = max(min(max_bytes, PREFERRED_BYTES), self.bytes(1))
        fitting = [size for size in BLOCKS if self.bytes(size) <= limit]
        return min([s for s in fitting if s >= n_temperatures], default=fitting[0])

    def seconds(self, n_temperatures: int, block: int) -> float:
        """Time of all passes, rather too long than too short, without the search for the order."""
        states = self.clique_states * _state_seconds(block)
        one_pass = states + len(self.tree.order) * BUCKET_SECONDS
        return ceil(n_temperatures / block) * one_pass + self.bytes(block) * FRESH_BYTE_SECONDS


@dataclass(frozen=True, slots=True)
class Budget:
    """What an exact run may cost at most."""

    max_memory_gb: float
    max_operations: float

    def plan(self, free: FreePart, n_temperatures: int, limit: TimeLimit) -> Plan:
        """The cheapest elimination that was found, within the budget and the time that is left.

        Raises UnsupportedModelError when there is none.
        """
        q = free.model.n_states
        # So many clique states take all the time however many temperatures share a pass.
        quickest = min(ceil(n_temperatures / block) * _state_seconds(block) for block in BLOCKS)
        affordable = limit.seconds / max(quickest, STATE_SECONDS)
        # q^(width + 1) alone must fit the budget of operations.
        max_width = max(int(np.log(min(self.max_operations, affordable)) / np.log(q)) - 1, 1)
        try:
            tree = bucket_tree(
                len(free.nodes), free.edges, q, max_width, lambda: limit.passed(PLANNING_SHARE)
            )
        except StoppedError:
            raise UnsupportedModelError(
                f"no elimination order was found within {PLANNING_SHARE * limit.seconds:.3g} s, "
                f"the share of max_seconds={limit.seconds:g} that the search for one may take: use "
                "a sampling engine, a sparser graph, or raise max_seconds"
            ) from None
        if tree is None:
            predicted = quickest * float(q) ** (max_width + 2)
            budget, remedy = (
                (f"max_operations={self.max_operations:g}", "max_operations")
                if self.max_operations <= affordable
                else (
                    f"max_seconds={limit.seconds:g} ({n_temperatures} temperatures are predicted "
                    f"to take more than {predicted:.2g} s)",
                    "max_seconds",
                )
            )
            raise UnsupportedModelError(
                f"the exact answer needs elimination width above {max_width} with {q} states, "
                f"beyond {budget}: use a sampling engine, a sparser graph (fewer neighbours), or "
                f"raise {remedy}"
            )
        plan = Plan.of(tree, q)
        self._check(plan, q, n_temperatures, limit)
        return plan

    def _check(self, plan: Plan, q: int, n_temperatures: int, limit: TimeLimit) -> None:
        if plan.clique_states > self.max_operations:
            raise UnsupportedModelError(
                f"the exact answer needs {plan.clique_states:.1e} clique states (width "
                f"{plan.width}, {q} states), beyond max_operations={self.max_operations:g}: use a "
                "sampling engine, a sparser graph, or raise max_operations"
            )
        max_bytes = self.max_memory_gb * GIB
        if plan.bytes(1) > max_bytes:
            raise UnsupportedModelError(
                f"the exact answer needs {plan.bytes(1) / GIB:.1f} GB (width {plan.width}, "
                f"{q} states), beyond max_memory_gb={self.max_memory_gb:g}: use a sampling engine, "
                "a sparser graph, or raise max_memory_gb"
            )
        predicted = limit.elapsed + plan.seconds(
            n_temperatures, plan.block(n_temperatures, max_bytes)
        )
        if predicted > limit.seconds:
            raise UnsupportedModelError(
                f"the exact answer at {n_temperatures} temperatures is predicted to take "
                f"{predicted:.2g} s ({plan.clique_states:.1e} clique states, width {plan.width}, "
                f"{q} states), beyond max_seconds={limit.seconds:g}: use a sampling engine, a "
                "sparser graph, fewer temperatures, or raise max_seconds"
            )


def _state_seconds(block: int) -> float:
    return STATE_SECONDS + LANE_SECONDS * block
