"""Walks from the labels: a few quick walkers at one temperature that know no other answer.

Every walker starts where labels lead: they spread along the edges, each edge taking an
exponential time of mean 1/J, and a point takes the label that comes first. Then it moves by heat
bath. So walkers end in the valleys of the energy that labels lead to, each with its weight; a run
this short does not pass from one to another, and is no equilibrium.
"""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import FloatArray, IntArray, StateArray
from spinlearn.core.class_layout import GeneralLayout
from spinlearn.core.model import FREE, PottsModel
from spinlearn.core.seeds import seed_sequence

WALKERS = 8
SWEEPS = 45  # of every walker where there is time,
FEWEST = 12
IDLE = 0.55  # share of them before reading
WORK = 2.5e7  # couplings and states looked at by all walkers: half a second


def laws_from_labels(
    model: PottsModel, labels: IntArray, otherwise: StateArray, temperature: float, seed: int
) -> FloatArray:
    """Mean law of every point along each walk, (walkers, n, q).

    Parameters
    ----------
    model : PottsModel
        Its class-level term, if any, depends on class sizes alone.
    labels : int array (n,)
        States from which walks start, -1 where there is none; a clamped point counts as well.
    otherwise : int8 array (n,)
        Where a point starts that no label reaches.
    temperature : float
        Positive, finite.
    seed : int
    """
    from spinlearn.kernels.rng import make_stream
    from spinlearn.kernels.sampled_laws import sampled_laws

    q, n = model.n_states, model.n_nodes
    seeds = seed_sequence(seed)
    states = _spread(model, labels, otherwise, np.random.default_rng(seeds))
    held = model.clamped != FREE
    laws = np.zeros((WALKERS, n, q))
    laws[:, held] = np.eye(q)[model.clamped[held]]
    a = GeneralLayout(model)
    per_sweep = 2 * model.graph.n_edges + 2 * q * n
    n_sweeps = int(np.clip(WORK / (WALKERS * per_sweep), FEWEST, SWEEPS))
    n_idle = round(IDLE * n_sweeps)
    sampled_laws(
        states, 1 / temperature, a.free, a.indptr, a.neighbors, a.weights, a.cut_weights,
        a.pair_cost, a.potts, a.fields, a.term, a.volumes, a.cuts, a.tally, a.cost,
        make_stream(seeds), n_idle, n_sweeps - n_idle, laws,
    )  # fmt: skip
    return laws


def _spread(
    model: PottsModel, labels: IntArray, otherwise: StateArray, random: np.random.Generator
) -> StateArray:
    """Labellings in which labels have spread, int8 (walkers, n)."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    known = np.where(model.clamped != FREE, model.clamped, labels)
    sources = np.flatnonzero(known >= 0)
    states = np.tile(otherwise, (WALKERS, 1)).astype(np.int8)
    binding = np.flatnonzero(model.couplings > 0)
    u, v = model.graph.edges[binding].T
    ends = np.concatenate([u, v]), np.concatenate([v, u])
    for state in states:
        state[sources] = known[sources]
        # A zero would be no edge.
        times = np.maximum(random.exponential(size=len(binding)), 1e-300) / model.couplings[binding]
        links = csr_array((np.tile(times, 2), ends), shape=(len(known), len(known)))
        origin = dijkstra(links, indices=sources, min_only=True, return_predecessors=True)[2]
        reached = np.flatnonzero(origin >= 0)
        state[reached] = known[origin[reached]]
    return states
