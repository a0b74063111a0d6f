"""Simulated annealing: the fallback for energies that no cut minimises, the best labelling kept.

Single-node Metropolis moves while T falls geometrically, from where the stiffest node moves freely
(its cost / ln 2) to where a weak bond is almost never broken (its cost / ln 100), then descent to
the nearest local minimum. Kirkpatrick, Gelatt & Vecchi, Science 220, 671 (1983).
"""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.model import FREE, PottsModel
from spinlearn.core.seeds import seed_sequence
from spinlearn.errors import InvalidInputError, UnsupportedModelError
from spinlearn.minimizers.minimum import Minimum, choices, class_level_reason, unreachable

WEAK = 0.05  # quantile of the couplings that sets the lowest temperature
MAX_DESCENT = 10_000  # sweeps; every one lowers the energy, so this only guards against rounding


def annealing(
    model: PottsModel, *, n_sweeps: int = 500, n_runs: int = 4, seed: int | None = None
) -> Minimum:
    """The lowest of several annealing runs: any couplings, pair cost, fields and clamps.

    Parameters
    ----------
    model : PottsModel
        Without a term in whole classes.
    n_sweeps : int, default 500
        Temperatures of a run, one sweep each.
    n_runs : int, default 4
        Runs from random labellings.
    seed : int, optional
        Of random numbers; the same seed gives the same labelling.

    Returns
    -------
    Minimum
        The labelling, its energy, and whether it is exact.

    References
    ----------
    S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, Optimization by simulated annealing, Science 220,
    671 (1983).

    Examples
    --------
    A ring of three points that repel each other cannot have all its wishes: one edge stays unhappy.

    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.minimizers import annealing
    >>> ring = PottsModel(Graph(3, [(0, 1), (1, 2), (0, 2)], [-1, -1, -1]), n_states=2)
    >>> annealing(ring, seed=0).energy
    -2.0
    """
    from spinlearn.kernels.annealing import anneal, descend

    reason = class_level_reason(model)
    if reason is not None:
        raise UnsupportedModelError(reason)
    if n_sweeps < 1 or n_runs < 1:
        raise InvalidInputError(f"n_sweeps={n_sweeps} and n_runs={n_runs} must be at least 1")
    free = model.free_nodes.astype(np.int32)
    graph, q = model.graph, model.n_states
    terms = (
        graph.indptr, graph.neighbors, graph.edge_ids, model.couplings, model.pair_cost,
        model.fields,
    )  # fmt: skip
    temperatures = cooling_schedule(model, n_sweeps)
    labels, energy, sweeps = choices(model, 0), np.inf, 0
    if len(free) == 0:
        n_runs = 0
        energy = float(model.energy(labels))
    for child in seed_sequence(seed).spawn(n_runs):
        states = choices(model, 0)
        states[free] = np.random.default_rng(child).integers(0, q, len(free))
        best: StateArray = states.copy()
        stream = child.generate_state(1, np.uint64)
        anneal(temperatures, free, *terms, states, best, stream)
        sweeps += n_sweeps
        sweeps += descend(free, *terms, model.energy_resolution, MAX_DESCENT, best)
        found = float(model.energy(best))
        if found < energy:
            labels, energy = best, found
    return Minimum(
        labels=labels,
        energy=energy,
        exact=len(free) == 0,
        method="annealing",
        undecided=unreachable(model),
        sweeps=sweeps,
    )


def cooling_schedule(model: PottsModel, n_sweeps: int) -> FloatArray:
    """Temperatures of one annealing run, falling."""
    spans = np.ptp(model.pair_cost, axis=0)
    strengths = np.abs(model.couplings)
    stiffness = np.ptp(model.fields, axis=1)
    for end in model.graph.edges.T:
        stiffness = stiffness + np.bincount(
            end, weights=strengths * spans.max(), minlength=model.n_nodes
        )
    bonds = strengths[strengths > 0]
    levels = np.abs(model.pair_cost[:, :, None] - model.pair_cost[:, None, :])
    hot = float(stiffness[model.clamped == FREE].max(initial=0.0)) / np.log(2)
    if hot == 0:
        return np.ones(n_sweeps)  # all labellings cost the same
    cold = hot
    if len(bonds) and np.any(levels > 0):
        cold = float(np.quantile(bonds, WEAK) * levels[levels > 0].min()) / np.log(100)
    return np.asarray(np.geomspace(hot, min(cold, hot), n_sweeps))
