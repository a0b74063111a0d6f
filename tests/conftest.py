"""Shared strategies: random models of every kind, small enough to enumerate."""

import os

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel

settings.register_profile(
    "default",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# One more thorough run by hand: HYPOTHESIS_PROFILE=long make test
settings.register_profile("long", parent=settings.get_profile("default"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@st.composite
def small_models(draw, max_states: int = 3000) -> PottsModel:
    """Any q to 5, forests to complete graphs, either sign, fields, clamps, pair-cost tables."""
    q = draw(st.integers(2, 5))
    n = draw(st.integers(1, int(np.log(max_states) / np.log(q))))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pairs = np.array([(i, j) for i in range(n) for j in range(i + 1, n)]).reshape(-1, 2)
    density = draw(st.sampled_from([0.0, 0.3, 0.6, 1.0]))
    edges = pairs[rng.random(len(pairs)) < density]
    # Integers make exact ties (degenerate ground states), reals make none.
    integer = draw(st.booleans())
    couplings = (
        rng.choice([-2.0, -1.0, 1.0, 1.0, 2.0], len(edges))
        if integer
        else rng.normal(size=len(edges))
    )
    fields = None
    if draw(st.booleans()):
        fields = rng.integers(-2, 3, (n, q)) if integer else rng.normal(size=(n, q))
    pair_cost = None
    if draw(st.booleans()):
        table = rng.integers(-1, 3, (q, q)) if integer else rng.normal(size=(q, q))
        pair_cost = table + table.T
    clamped = np.where(rng.random(n) < draw(st.sampled_from([0.0, 0.4])), rng.integers(0, q, n), -1)
    return PottsModel(
        Graph(n, edges, couplings), q, fields=fields, pair_cost=pair_cost, clamped=clamped
    )


def labels_at(known: dict[int, int], n: int) -> np.ndarray:
    """-1 for n nodes but those of known state."""
    labels = np.full(n, -1)
    labels[list(known)] = list(known.values())
    return labels


def some_labels(truth, per_class: int, seed: int = 0, hidden=None, nothing=-1) -> np.ndarray:
    """The classes of so many random points of each but a hidden one, `nothing` elsewhere."""
    generator = np.random.default_rng(seed)
    labels = np.full(len(truth), nothing, dtype=object if nothing == "" else None)
    for c in np.unique(truth):
        if c != hidden:
            labels[generator.choice(np.flatnonzero(truth == c), per_class, replace=False)] = c
    return labels


def few_labels(truth: np.ndarray, count: int) -> np.ndarray:
    """The classes of the first `count` points of each, -1 elsewhere."""
    labels = np.full(len(truth), -1)
    for c in np.unique(truth):
        labels[np.flatnonzero(truth == c)[:count]] = c
    return labels


def grid_graph(height: int, width: int, weights: np.ndarray | None = None) -> Graph:
    """The height x width square lattice, nodes in row-major order."""
    number = np.arange(height * width).reshape(height, width)
    right = np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()])
    down = np.column_stack([number[:-1].ravel(), number[1:].ravel()])
    return Graph(height * width, np.concatenate([right, down]), weights)


def grids(count: int, height: int, width: int, links=(), weights=1.0, alone: int = 0) -> Graph:
    """Lattices side by side, links of these weights between them, and nodes without any edge."""
    size, one = height * width, np.array(grid_graph(height, width).edges)
    inside = np.concatenate([one + size * k for k in range(count)]).tolist()
    each = np.concatenate([np.ones(len(inside)), np.broadcast_to(weights, len(links))])
    return Graph(count * size + alone, [*inside, *links], each)


def cliques(*sizes: int, links=(), weights=1.0) -> Graph:
    """Complete graphs of these sizes side by side, and links of these weights between them."""
    part = np.repeat(np.arange(len(sizes)), sizes)
    inside = np.argwhere(np.triu(part[:, None] == part, 1)).tolist()
    each = np.concatenate([np.ones(len(inside)), np.broadcast_to(weights, len(links))])
    return Graph(len(part), [*inside, *links], each)
