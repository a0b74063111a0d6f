"""Averages over a population of walkers, with error bars from the spread over its families.

Families are independent, so the spread over blocks of families is the error bar; where one family
has taken over, it says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.reweight import effective_samples, guarded_errors
from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.model import PottsModel
from spinlearn.engines.limits import log_partition
from spinlearn.engines.population import Population
from spinlearn.minimizers import minimize

BLOCKS = 32  # of families
LEAST_ERROR = 0.7  # of that of as many independent samples as families, for copies part again

Row = dict[str, Any]  # averages at one temperature by name, see `empty_row`


def empty_row(model: PottsModel) -> Row:
    """The types and shapes of a row; blocks and samples are effective numbers."""
    nodes, edges = np.zeros((model.n_nodes, model.n_states)), np.zeros(model.graph.n_edges)
    names = ("mean_energy", "heat_capacity", "log_partition", "blocks", "samples")
    return {
        "marginals": nodes,
        "std_error": nodes,
        "edge_agreement": edges,
        "agreement_std_error": edges,
        **dict.fromkeys(names, 0.0),
    }


def population_row(
    model: PottsModel, population: Population, temperature: float, n_reads: int, apart: int
) -> Row:
    """Averages over a population that stands at `temperature`, read several times.

    `apart` is the number of sweeps between two readings.
    """
    energies = []
    sums: list[Any] = [0, 0, 0]
    everyone = np.ones(population.n_walkers, dtype=bool)
    for read in range(n_reads):
        if read:
            population.sweep(apart)
        energies.append(population.energies())
        found = _sums(model, population, everyone)
        sums = [a + b for a, b in zip(sums, found, strict=True)]
    values = np.concatenate(energies)
    row = _averages(model, sums, len(values), population.n_walkers)
    row["mean_energy"] = float(values.mean())
    finite = np.isfinite(temperature)
    row["heat_capacity"] = float(values.var()) / temperature**2 if finite else 0.0
    row["log_partition"] = population.log_z
    return row


def ground_row(model: PottsModel, population: Population, seed: int) -> Row:
    """T = 0: the walkers of least energy, or the minimum of the minimiser if that is lower.

    Resampling goes by the weights of valleys at the temperatures where they part, so all walkers
    may end in a valley that is not the deepest.
    """
    energies = population.energies()
    lowest = float(energies.min())
    margin = 1e-9 * max(model.energy_scale, 1e-300)
    found = minimize(model, seed=seed)
    if found.energy < lowest - margin:
        lowest = found.energy
        row = _one_labelling(model, found.labels)
    else:
        best = energies <= lowest + margin
        sums = _sums(model, population, best)
        row = _averages(model, sums, int(best.sum()), population.n_walkers)
    row["mean_energy"], row["heat_capacity"] = lowest, 0.0
    row["log_partition"] = float(log_partition(lowest, np.array([np.nan]), np.zeros(1))[0])
    return row


def _one_labelling(model: PottsModel, labels: StateArray) -> Row:
    """Averages over a single labelling: nothing is known of others of the same energy."""
    marginals = np.eye(model.n_states)[labels]
    u, v = model.graph.edges.T
    same = (labels[u] == labels[v]).astype(np.float64)
    errors = np.full(marginals.shape, 0.5)
    errors[model.clamped >= 0] = 0.0
    return {
        "marginals": marginals,
        "std_error": errors,
        "edge_agreement": same,
        "agreement_std_error": np.full(len(same), 0.5),
        "blocks": 1.0,
        "samples": 1.0,
    }


def _sums(
    model: PottsModel, population: Population, counted: npt.NDArray[np.bool_]
) -> list[npt.NDArray[Any]]:
    """Walkers, node states and edge agreements per block of families."""
    from spinlearn.kernels.measure import accumulate

    n, q, m = model.n_nodes, model.n_states, model.graph.n_edges
    blocks = population.families * BLOCKS // population.n_walkers
    rows = np.where(counted, blocks, -1).astype(np.int64)
    nodes = np.zeros((BLOCKS, (q - 1) * n), dtype=np.uint32)
    edges = np.zeros((BLOCKS, m), dtype=np.uint32)
    counts = np.zeros(BLOCKS, dtype=np.int64)
    edge_u, edge_v = (np.ascontiguousarray(end) for end in model.graph.edges.T)
    accumulate(population.states(), rows, q, edge_u, edge_v, nodes, edges, counts)
    return [counts, nodes.astype(np.int64), edges.astype(np.int64)]


def _averages(model: PottsModel, sums: list[Any], n_samples: int, n_walkers: int) -> Row:
    """Means with jackknife errors over the blocks."""
    n, q = model.n_nodes, model.n_states
    counts, nodes, edges = (np.asarray(s, dtype=np.float64) for s in sums)
    others, others_error = _jackknife(nodes, counts)
    marginals, errors = np.empty((n, q)), np.empty((n, q))
    marginals[:, 1:] = others.reshape(q - 1, n).T
    marginals[:, 0] = np.clip(1 - marginals[:, 1:].sum(axis=1), 0.0, 1.0)
    errors[:, 1:] = others_error.reshape(q - 1, n).T
    zero_counts = counts[:, None] - nodes.reshape(BLOCKS, q - 1, n).sum(axis=1)
    errors[:, 0] = _jackknife(zero_counts, counts)[1]
    agreement, agreement_error = _jackknife(edges, counts)
    samples = effective_samples(marginals[None], errors[None], np.array([float(n_samples)]))
    # One family is one sample, however many copies of it there are: the fewest it can be.
    share = counts / counts.sum()
    samples = np.minimum(samples, max(n_walkers / BLOCKS, 1.0) / float(np.sum(share**2)))
    errors, agreement_error = (
        guarded_errors(mean[None], error[None], samples, LEAST_ERROR)[0]
        for mean, error in ((marginals, errors), (agreement, agreement_error))
    )
    errors[model.clamped >= 0] = 0.0
    return {
        "marginals": marginals,
        "std_error": errors,
        "edge_agreement": agreement,
        "agreement_std_error": agreement_error,
        "blocks": 1 / float(np.sum(share**2)),
        "samples": float(samples[0]),
    }


def _jackknife(sums: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean of sums (B, columns) over counts (B,), and its error by leaving out one block each."""
    total, whole = float(counts.sum()), sums.sum(axis=0)
    mean = whole / total
    filled = counts > 0
    blocks = int(filled.sum())
    if blocks < 2:
        return mean, np.full(mean.shape, 0.5)
    without = (whole - sums[filled]) / (total - counts[filled])[:, None]
    spread = without - without.mean(axis=0)
    return mean, np.asarray(np.sqrt((blocks - 1) / blocks * np.sum(spread**2, axis=0)))
