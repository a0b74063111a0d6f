"""Small models of every energy, for tests of deltas and of sampled laws."""

import numpy as np

from spinlearn.energies import (
    LGC,
    BalancedCut,
    ClassPrior,
    Custom,
    DiffusedCut,
    Harmonic,
    MinCut,
    Modularity,
    NormalizedCut,
    RatioCut,
)
from spinlearn.model.class_penalty import ClassPenalty
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel


def random_graph(rng: np.random.Generator, n: int, density: float = 0.5) -> Graph:
    """Positive weights; isolated nodes happen."""
    pairs = np.array([(i, j) for i in range(n) for j in range(i + 1, n)]).reshape(-1, 2)
    edges = pairs[rng.random(len(pairs)) < density]
    return Graph(n, edges, rng.uniform(0.2, 1.5, len(edges)))


def dense(graph: Graph) -> np.ndarray:
    """The weights of a graph as a symmetric matrix."""
    matrix = np.zeros((graph.n_nodes, graph.n_nodes))
    u, v = graph.edges.T
    matrix[u, v] = matrix[v, u] = graph.weights
    return matrix


def random_labels(rng: np.random.Generator, n: int, q: int) -> np.ndarray:
    """About a third of the nodes labelled, at least one."""
    labels = np.where(rng.random(n) < 0.3, rng.integers(0, q, n), -1)
    labels[rng.integers(n)] = rng.integers(q)
    return labels


def all_energies(rng: np.random.Generator, n: int, q: int, graph: Graph) -> dict:
    """Every energy of the package by name, with settings that use all of its terms."""
    half = rng.normal(size=(q, q))
    return {
        "min_cut": MinCut(),
        "harmonic": Harmonic(),
        "harmonic_ordered": Harmonic(class_values=np.arange(q) * 0.7),
        "lgc": LGC(),
        "lgc_mu": LGC(mu=0.4),
        "balanced_cut": BalancedCut(strength=2.0),
        "balanced_volume": BalancedCut(
            strength=3.0, size="volume", proportions=rng.uniform(0.5, 1.5, q)
        ),
        "diffused_cut": DiffusedCut(diffusion=0.5, strength=2.0),
        "modularity": Modularity(resolution=0.8),
        "modularity_shares": Modularity(resolution=1.5, proportions=rng.uniform(0.5, 1.5, q)),
        "normalized_cut": NormalizedCut(),
        "ratio_cut": RatioCut(),
        "class_prior": ClassPrior(prior=np.arange(q) + 1.0, energy="balanced_cut"),
        "custom_table": Custom(
            pair_cost=half + half.T,
            fields=0.4 * rng.normal(size=(n, q)),
            class_penalty=rng.normal(size=(q, n + 1)),
        ),
        "custom_signed": Custom(
            couplings=rng.normal(size=graph.n_edges),
            class_penalty=ClassPenalty.ratio(graph, rng.uniform(0.5, 2, n), n_states=q),
        ),
    }


ENERGY_NAMES = sorted(all_energies(np.random.default_rng(0), 4, 2, Graph(4, [(0, 1)])))


def random_model(name: str, rng: np.random.Generator, n: int, q: int) -> PottsModel:
    """A model of the named energy; labels are certain, uncertain or mixed."""
    graph = random_graph(rng, n)
    labels = random_labels(rng, n, q)
    strength = np.where(rng.random(n) < 0.5, np.inf, rng.uniform(0, 2, n))
    return all_energies(rng, n, q, graph)[name](graph, labels, q, label_strength=strength)
