"""Models on one graph cooled together: their messages lie side by side, a model a lane.

For choices between models, in haste: one start each, cooled from above the mean-field temperature,
of which only probabilities are kept. What differs between the models are labels and fields, and the
weight of a quadratic class term; the couplings are those of the graph, >= 0. A label is a field
that nothing outweighs. Messages are kept in 16 bits, and multiplied in single precision; nodes wait
until their messages have changed in some model by WAITING of the largest change. Where links are so
strong that 16 bits lose what they say, models are cooled one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from spinlearn.engines.messages.cooling import ABOVE, STEP, follow
from spinlearn.engines.messages.layout import MessageLayout
from spinlearn.engines.messages.potts import aligned
from spinlearn.engines.messages.propagation import (
    DAMPING,
    HASTY_SWEEPS,
    HASTY_TOL,
    NOISE,
    PATIENCE,
    PROGRESS,
    Propagation,
    Settling,
)
from spinlearn.model.arrays import FloatArray
from spinlearn.model.graph import Graph, near_order
from spinlearn.model.phases import mean_field_temperature
from spinlearn.model.potts import FREE, PottsModel

LANES = 8  # models side by side
WAITING = 0.3  # at a third or twice of it the same takes a tenth longer
# Of every node at one temperature, in the mean; most settle in 12. From 12 on errors of the calls
# are the same to a thousandth.
MOST_VISITS = 20
NEAR = 1.1  # no step closer than this above a temperature that is wanted
HELD = 1e6  # temperatures: the field of a label
LARGEST_SUM = 80.0  # of J/T at a node, that single precision can hold; e^-87
STRONGEST = 10.0  # J/T of a link: 16 bits then are right to 0.001, and to nothing at 15


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where messages on a graph lie: neighbours close together."""

    order: npt.NDArray[np.int32]  # nodes as they are swept
    indptr: npt.NDArray[np.int32]
    neighbors: npt.NDArray[np.int32]
    reverse: npt.NDArray[np.int32]  # the opposite slot
    couplings: FloatArray  # of slots
    temperature: float  # the mean-field temperature

    @classmethod
    def of(cls, graph: Graph, n_states: int) -> Places:
        """Of a graph whose weights are the couplings."""
        n, slots = graph.n_nodes, 2 * graph.n_edges
        ids = np.arange(slots, dtype=np.int32)
        whole = csr_array((ids, graph.neighbors, graph.indptr), shape=(n, n))
        order = near_order(graph.indptr, graph.neighbors)
        near = whole[order][:, order]
        near.sort_indices()
        old = near.data  # the old slot of every new one
        near = csr_array((ids, near.indices, near.indptr), shape=(n, n))
        return cls(
            order=order,
            indptr=near.indptr.astype(np.int32),
            neighbors=near.indices.astype(np.int32),
            reverse=near.T.tocsr().data,
            couplings=graph.weights[graph.edge_ids[old]],
            temperature=mean_field_temperature(PottsModel(graph, n_states)),
        )


def way_in_haste(above: float, temperatures: Sequence[float]) -> list[float]:
    """The falling temperatures with steps between them, from above the mean-field temperature."""
    way: list[float] = []
    step = ABOVE * above
    for temperature in temperatures:
        while step > NEAR * temperature:
            way.append(step)
            step /= STEP
        way.append(temperature)
        step = min(step, temperature / STEP)
    return way


def _cooled_alone(
    model: PottsModel, way: Sequence[float], temperatures: Sequence[float], seed: int
) -> npt.NDArray[np.float32]:
    """The same of one model, with links of any strength."""
    propagation = Propagation(MessageLayout.of(model), Settling(HASTY_TOL, HASTY_SWEEPS))
    propagation.start(seed)
    return np.array(
        [
            propagation.marginals(averaged=False)
            for temperature, _ in follow(propagation, way)
            if temperature in temperatures
        ],
        dtype=np.float32,
    )


def cooled_together(
    models: Sequence[PottsModel],
    temperatures: Sequence[float],
    places: Places,
    seed: int = 0,
) -> list[npt.NDArray[np.float32]]:
    """Probabilities (T, n, q) of at most LANES models at falling temperatures above 0.

    Of states that are alike one wins, which the seed decides.
    """
    from spinlearn.kernels.messages import CODES, sweep_replicas

    way = way_in_haste(places.temperature, temperatures)
    if places.couplings.max(initial=0.0) > STRONGEST * min(temperatures):
        return [_cooled_alone(model, way, temperatures, seed) for model in models]
    count, slots = len(models), len(places.neighbors)
    n, q = models[0].n_nodes, models[0].n_states
    lanes = (0,) * LANES
    fields: npt.NDArray[np.float32] = np.zeros((n, q, LANES), dtype=np.float32)
    held = np.zeros((n, q, LANES), dtype=bool)
    coefficients, sizes = np.zeros((1, LANES)), np.zeros((n, LANES))
    targets = np.zeros((q, LANES))
    for lane, model in enumerate(models):
        fields[:, :, lane] = model.fields[places.order]
        clamped = model.clamped[places.order]
        known = np.flatnonzero(clamped != FREE)
        held[known, :, lane] = np.arange(q) != clamped[known, None]
        penalty = model.class_penalty
        if penalty is not None:
            coefficients[0, lane] = penalty.coefficient
            sizes[:, lane], targets[:, lane] = penalty.sizes[places.order], penalty.targets
    for terms in (fields, held, coefficients, sizes, targets):  # lanes that are left over
        terms[..., count:] = terms[..., :1]

    generator = np.random.default_rng(seed)
    # Laws in 16 bits, of which the first are equal but for noise.
    noise = (1 - NOISE * generator.random((slots, q, 1))) / q
    messages = aligned((slots, q, LANES), np.uint16)
    beliefs = aligned((n, q, LANES), np.float32)
    messages[:] = np.rint(noise * CODES)
    beliefs[:] = 1 / q
    rows = q * (int(np.diff(places.indptr).max(initial=0)) + 4)
    work = aligned((rows, LANES), np.float32)
    logs, pending = np.empty((2 * q, LANES)), np.empty(n)
    found = [np.empty((len(temperatures), n, q), dtype=np.float32) for _ in models]
    for temperature in way:
        exponent = places.couplings / temperature
        sums = np.concatenate([[0.0], np.cumsum(exponent)])
        heavy = np.diff(sums[places.indptr]) > LARGEST_SUM
        unlike = np.exp(-exponent).astype(np.float32)
        fields[held] = HELD * temperature
        volumes = np.einsum("nsl,nl->sl", beliefs, sizes)
        pending[:] = most = np.inf
        damping, before, visited, sweep = 0.0, np.inf, 0, 0
        while visited < MOST_VISITS * n:
            threshold = 0.0 if most <= HASTY_TOL else WAITING * most
            moved, nodes = sweep_replicas(
                lanes, sweep % 2 == 0, 1 / temperature, places.indptr, places.neighbors,
                places.reverse, unlike, heavy, fields, coefficients, sizes, targets, volumes,
                messages, beliefs, work, logs, damping, pending, threshold,
            )  # fmt: skip
            sweep, visited = sweep + 1, visited + nodes
            if moved <= HASTY_TOL and threshold <= 0:
                break
            most = float(pending.max())
            if sweep % PATIENCE == 0:
                damping = DAMPING if moved > PROGRESS * before else damping
                before = moved
        for row in np.flatnonzero(np.asarray(temperatures) == temperature):
            for lane, one in enumerate(found):
                one[row, places.order] = beliefs[:, :, lane]
    return found
