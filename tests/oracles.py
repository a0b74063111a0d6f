"""Models of any size whose exact answer the junction tree gives, and how a sampled run compares.

Long and thin, or trees of small dense parts: 100,000 nodes have a treewidth below 8. One node in
fifty has a label, of a random class, so that no marginal is uniform by symmetry.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from tests.conftest import grid_graph

NODES_PER_LABEL = 50


def torus(size: int) -> Graph:
    """The square lattice whose ends are joined."""
    number = np.arange(size * size).reshape(size, size)
    edges = [np.column_stack([number.ravel(), np.roll(number, -1, k).ravel()]) for k in (1, 0)]
    return Graph(size * size, np.concatenate(edges))


def near_points(rng: np.random.Generator, n: int, k: int) -> Graph:
    """Random points in the plane, each joined to its k nearest by a weight of one."""
    points = rng.normal(size=(n, 2))
    near = np.argsort(np.linalg.norm(points[:, None] - points[None], axis=2), axis=1)[:, 1 : k + 1]
    return Graph(n, sorted({tuple(sorted((i, int(j)))) for i in range(n) for j in near[i]}))


def strip(length: int, width: int, q: int, seed: int = 0) -> PottsModel:
    """A lattice `width` nodes wide, all couplings one."""
    return _labelled(grid_graph(length, width), q, np.random.default_rng(seed))


def ribbon(length: int, width: int, q: int, seed: int = 0) -> PottsModel:
    """A lattice with random couplings, half of its cells with a diagonal of either direction."""
    rng = np.random.default_rng(seed)
    number = np.arange(length * width).reshape(length, width)
    corners = [number[:-1, :-1], number[1:, 1:], number[:-1, 1:], number[1:, :-1]]
    near, far, right, left = (corner.ravel() for corner in corners)
    falling = rng.random(len(near)) < 0.5
    diagonals = np.where(falling[:, None], np.stack([near, far], 1), np.stack([right, left], 1))
    chosen = diagonals[rng.random(len(near)) < 0.5]
    edges = np.concatenate([grid_graph(length, width).edges, chosen])
    weights = rng.uniform(0.2, 1.4, len(edges))
    return _labelled(Graph(length * width, edges, weights), q, rng)


def blob_tree(n_blobs: int, blob_size: int, q: int, seed: int = 0) -> PottsModel:
    """Random dense blobs, each joined to an earlier one by two weak edges."""
    rng = np.random.default_rng(seed)
    pairs = np.array(list(combinations(range(blob_size), 2)))
    path = pairs[:, 1] - pairs[:, 0] == 1  # keeps a blob in one piece
    present = path | (rng.random((n_blobs, len(pairs))) < 0.7)
    blob, pair = np.nonzero(present)
    inside = pairs[pair] + blob_size * blob[:, None]
    joined = np.arange(1, n_blobs)
    earlier = rng.integers(0, joined)
    first = _two_members(rng, joined, blob_size)
    second = _two_members(rng, earlier, blob_size)
    joints = np.stack([first.ravel(), second.ravel()], axis=1)
    weights = np.concatenate(
        [rng.uniform(0.3, 0.9, len(inside)), rng.uniform(0.3, 0.6, len(joints))]
    )
    graph = Graph(n_blobs * blob_size, np.concatenate([inside, joints]), weights)
    return _labelled(graph, q, rng)


def clique_chain(n_cliques: int, clique_size: int, q: int, seed: int = 0) -> PottsModel:
    """Complete graphs in a row, the last node of each tied to the first of the next."""
    rng = np.random.default_rng(seed)
    pairs = np.array(list(combinations(range(clique_size), 2)))
    starts = clique_size * np.arange(n_cliques)
    inside = (pairs[None] + starts[:, None, None]).reshape(-1, 2)
    joints = np.stack([starts[1:] - 1, starts[1:]], axis=1)
    weights = np.concatenate(
        [rng.uniform(0.3, 0.7, len(inside)), rng.uniform(0.5, 1.5, len(joints))]
    )
    graph = Graph(n_cliques * clique_size, np.concatenate([inside, joints]), weights)
    return _labelled(graph, q, rng)


def _two_members(rng: np.random.Generator, blobs: np.ndarray, size: int) -> np.ndarray:
    """Two different nodes of each blob, (blobs, 2)."""
    one = rng.integers(0, size, len(blobs))
    other = (one + rng.integers(1, size, len(blobs))) % size
    return np.stack([one, other], axis=1) + size * blobs[:, None]


def _labelled(graph: Graph, q: int, rng: np.random.Generator) -> PottsModel:
    clamped = np.full(graph.n_nodes, -1)
    chosen = rng.choice(graph.n_nodes, max(graph.n_nodes // NODES_PER_LABEL, q), replace=False)
    clamped[chosen] = np.arange(len(chosen)) % q
    return PottsModel(graph, q, clamped=clamped)


@dataclass(frozen=True)
class Scores:
    """A sampled run against the exact one, row by row (temperature by temperature)."""

    marginals: np.ndarray  # (sampled - exact) / stated error, (T, free nodes, q)
    agreements: np.ndarray  # the same, (T, edges with a free end)
    worst_error: np.ndarray  # the largest |sampled - exact| of both, (T,)
    converged: np.ndarray
    equilibrated: np.ndarray

    def __str__(self) -> str:
        """One line per row."""
        lines = []
        for t, worst in enumerate(self.worst_error):
            parts = [
                f"|z| < 2 for {share_below_two(z):.3f}, largest {np.abs(z).max():.1f}"
                for z in (self.marginals[t], self.agreements[t])
            ]
            marks = f"converged {self.converged[t]}, equilibrated {self.equilibrated[t]}"
            bias = self.agreements[t].mean()
            lines.append(f"row {t}: {'; '.join(parts)}; bias {bias:.2f}; {worst:.3f}; {marks}")
        return "\n".join(lines)


def assert_same_averages(run: Equilibrium, exact: Equilibrium, tolerance: float) -> None:
    """All averages but the heat capacity are equal, those that are no shares relatively."""
    for name in ("marginals", "edge_agreement"):
        found, expected = getattr(run, name), getattr(exact, name)
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance, err_msg=name)
    for name in ("mean_energy", "log_partition"):
        found, expected = getattr(run, name), getattr(exact, name)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, err_msg=name)


def share_below_two(z: np.ndarray) -> float:
    """Share of |z| < 2: 0.954 for normal errors of the size stated."""
    return float(np.mean(np.abs(z) < 2))


def scores(run: Equilibrium, exact: Equilibrium) -> Scores:
    """How far a run is from the exact answer at the same temperatures."""
    free = run.model.clamped < 0
    loose = free[run.model.graph.edges].any(axis=1)
    errors = [
        (run.marginals - exact.marginals)[:, free],
        (run.edge_agreement - exact.edge_agreement)[:, loose],
    ]
    stated = [run.std_error[:, free], run.agreement_std_error[:, loose]]
    with np.errstate(divide="ignore", invalid="ignore"):
        z = [np.where(e == 0, 0.0, e / s) for e, s in zip(errors, stated, strict=True)]
    worst = np.max([np.abs(e).reshape(len(e), -1).max(axis=1) for e in errors], axis=0)
    # Where the engine does not say, all rows are.
    equilibrated = np.asarray(getattr(run, "equilibrated", np.ones(len(worst), dtype=bool)))
    return Scores(z[0], z[1], worst, run.converged, equilibrated)


def z_scores(run: Equilibrium, exact: Equilibrium) -> tuple[np.ndarray, np.ndarray]:
    """|sampled - exact| / stated error of marginals and of agreements, row by row."""
    found = scores(run, exact)
    return np.abs(found.marginals), np.abs(found.agreements)


def broken_laws(found: Scores, tol: float) -> list[str]:
    """What honest error bars would not do; one row may be left out, marked as not equilibrated."""
    broken, judged = [], found.equilibrated
    if np.sum(~judged) > 1:
        broken.append(f"{np.sum(~judged)} rows are not equilibrated")
    for kind in ("marginals", "agreements"):
        z = getattr(found, kind)[judged]
        if share_below_two(z) < 0.93:
            broken.append(f"{kind}: |z| < 2 for {share_below_two(z):.3f}")
        if np.abs(z).max(initial=0.0) >= 6:
            broken.append(f"{kind}: largest |z| is {np.abs(z).max():.1f}")
    bias = found.agreements[judged].mean(axis=1)  # near zero, for distant edges err independently
    if np.any(np.abs(bias) > 0.25):
        broken.append(f"agreements: mean z is {bias.round(2).tolist()}")
    for t in np.flatnonzero(found.converged & (found.worst_error > 3 * tol)):
        broken.append(f"row {t} is called converged with an error of {found.worst_error[t]:.3f}")
    return broken
