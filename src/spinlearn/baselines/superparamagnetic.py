"""Super-paramagnetic clustering, the paper's method without labels, and the tree of its clusters.

A q-state Potts model without fields; at every temperature points that agree more often than not,
C_ij > 1/2, share a cluster, and every point also joins the neighbour it agrees with most.

The temperature chosen is the most stable one, in the sense of the paper's section 6.1: eta(T) =
|c(T)| times the mean length of the interval of temperatures over which the clusters of c(T) live.
c(T) are the points of the clusters that count at T. A cluster counts if its core (C_ij > 1/2 alone)
has at least `min_cluster_size` points, if it is not the cluster of the ferromagnetic phase, and if
it lives over at least a factor of 1.5 in T. Its life ends where a fifth of it splits off and lives
at least half as long as the rest. Of temperatures that are about equally stable (2 %) the middle
one is taken. A homogeneous cloud, too, breaks into fragments before it melts, so the largest eta
must be that of one point in ten over all temperatures at which there are cores; otherwise all
points are one cluster, as at the lowest temperature.

The dendrogram over T: a cluster is the same as one at the next lower temperature when they share
more than half of their union; otherwise it is new, and its parent is the cluster below that holds
most of its members. At the lowest temperature clusters have no parent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval

from spinlearn.answers.answer import one_temperature
from spinlearn.baselines.base import GraphClusterer, numbered_by_size
from spinlearn.engines import make_engine
from spinlearn.engines.sampling.pair_agreement import PairAgreement
from spinlearn.model.arrays import (
    FloatArray,
    IntArray,
    cell_ends,
    frozen,
    nearest_row,
    restore,
    temperature_array,
)
from spinlearn.model.graph import Graph
from spinlearn.model.phases import WHOLE, grains, phases, temperature_grid, tracked
from spinlearn.model.potts import PottsModel
from spinlearn.model.protocols import Callback
from spinlearn.model.settings import is_open

NO_PARENT = -1


@dataclass(frozen=True, slots=True, eq=False)
class ClusterTree:
    """Clusters over rising temperatures, c in all; from `low` to `high`, half way to the next."""

    temperatures: FloatArray  # (T,)
    members: IntArray  # (T, n), cluster of every point at every temperature
    parents: IntArray  # (c,), the cluster each one splits off from; -1 at the root
    low: FloatArray  # (c,)
    high: FloatArray  # (c,)
    sizes: IntArray  # (c,), points at the lowest temperature of its life

    @property
    def n_clusters(self) -> int:
        """Number of clusters over all temperatures."""
        return len(self.parents)

    def __setstate__(self, state: Sequence[Any]) -> None:
        restore(self, state)


def cluster_tree(temperatures: FloatArray, parts: Sequence[IntArray]) -> ClusterTree:
    """Follow clusters, given at every temperature under any numbers, through ascending T."""
    everyone = np.ones(len(parts[0]), dtype=bool)
    members: list[IntArray] = []
    parents: list[npt.NDArray[np.int64]] = []
    sizes: list[npt.NDArray[np.int64]] = []
    fresh = 0
    for part in parts:
        previous = members[-1] if members else None
        numbers, after = tracked(part, everyone, previous, fresh)
        # Where most members of a fresh cluster were before; of equals, the first.
        origin = np.full(after - fresh, NO_PARENT, dtype=np.int64)
        if previous is not None:
            new = numbers >= fresh
            count = int(previous.max(initial=0)) + 1
            keys = (numbers[new] - fresh).astype(np.int64) * count + previous[new]
            pairs, shared = np.unique(keys, return_counts=True)
            cluster, before = np.divmod(pairs, count)
            order = np.lexsort((-before, shared, cluster))  # the last of a cluster is its parent
            origin[cluster[order]] = before[order]
        parents.append(origin)
        sizes.append(np.bincount(numbers, minlength=after)[fresh:])
        members.append(numbers)
        fresh = after
    all_members = frozen(np.array(members), np.int32)
    first, last = _rows_of_life(all_members, fresh)
    ends = np.concatenate(
        [temperatures[:1], (temperatures[:-1] + temperatures[1:]) / 2, temperatures[-1:]]
    )
    return ClusterTree(
        temperatures=frozen(temperatures, np.float64),
        members=all_members,
        parents=frozen(np.concatenate(parents), np.int32),
        low=frozen(ends[first], np.float64),
        high=frozen(ends[last + 1], np.float64),
        sizes=frozen(np.concatenate(sizes), np.int32),
    )


def _rows_of_life(numbers: IntArray, count: int) -> Sequence[npt.NDArray[np.intp]]:
    """First and last row (count,) of `numbers` (T, n) in which each number below `count` stands."""
    rows = np.broadcast_to(np.arange(len(numbers))[:, None], numbers.shape)
    first, last = np.full(count, len(numbers) - 1, dtype=np.intp), np.zeros(count, dtype=np.intp)
    np.minimum.at(first, numbers, rows)
    np.maximum.at(last, numbers, rows)
    return first, last


NOISE = -1  # label of points in clusters that are too small
HALF = 0.5 + 2e-9  # more often than not: an agreement of exactly one half is none
SMALLEST = 3
SMALL_SHARE = 0.02
LASTING = 1.5  # highest over lowest temperature of a cluster's life, below which it is a fragment
PARTED = 0.2  # of a cluster: when a lasting one of this size splits off, the rest is another one
AS_STABLE = 0.98  # of the largest eta: as good; its steps are single outliers that come off
LEAST_STABILITY = 0.1  # of all points, over all temperatures with cores
GRID = 36
# Highest over lowest temperature. Clusters lose their fringe long before they melt, so the best
# temperature lies just above the one at which they part, far below the mean-field bound.
SPAN = 200.0


@dataclass(kw_only=True, eq=False, repr=False)
class SuperparamagneticClustering(GraphClusterer):
    """Clusters of points that agree in the thermal equilibrium of a Potts model without labels.

    Between the cold (ferromagnetic) phase, in which all points agree, and the hot (paramagnetic)
    one, in which none do, the clusters of the data stand out. The temperature at which they are
    most stable is chosen. M. Blatt, S. Wiseman and E. Domany, Phys. Rev. Lett. 76, 3251 (1996);
    Neural Computation 9, 1805 (1997).

    Parameters
    ----------
    n_states : int, default 20
        Number of states, q.
    engine : str, engine or None, default None
        None samples agreements alone, by Swendsen-Wang sweeps of one heated and one cooled walker,
        which is enough without labels; or an engine's name, or an engine with settings of your own.
    temperatures : "auto" or array-like of float, default "auto"
        Grid, in the unit of the couplings.
    temperature : "auto" or float, default "auto"
        Temperature of `labels_`, rounded to the grid; "auto" is the most stable one.
    min_cluster_size : int or None, default None
        Smaller clusters are noise; None: one point in fifty, at least 3.
    callback : callable or None, default None
        Called with a progress report now and then; a true answer stops the run.
    random_state : int or None, default None

    Attributes
    ----------
    temperature_, temperatures_ : float, float array (T,)
        Temperature of `labels_`, and the grid, ascending.
    tree_ : ClusterTree
        The dendrogram over T: members of the clusters at every temperature, parents, life times.
    stability_ : float array (T,)
        eta(T), in points times temperature.
    susceptibility_ : float array (T,)
        Mean size of a point's cluster, as a share of all points; it falls where clusters break up.
    phases_ : Phases
        Where the ferromagnetic, super-paramagnetic and paramagnetic phases lie.
    model_, equilibrium_ : PottsModel, Equilibrium
        What was sampled, and its averages. With the default engine the agreements are rough, as
        their errors say, and few temperatures count as converged.

    Examples
    --------
    >>> import numpy as np
    >>> from spinlearn.baselines import SuperparamagneticClustering
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(8, 1, (40, 2))])
    >>> labels = SuperparamagneticClustering(random_state=0).fit(X).labels_
    >>> len(np.unique(labels[labels >= 0]))
    2
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "min_cluster_size": [Interval(Integral, 1, None, closed="left"), None],
        "callback": [callable, None],
    }

    n_states: int = 20
    engine: Any = None
    temperatures: Any = "auto"
    temperature: Any = "auto"
    min_cluster_size: int | None = None
    callback: Callback | None = None
    random_state: int | None = None

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.engine is not None:
            make_engine(self.engine)
        if not is_open(self.temperatures):
            temperature_array(self.temperatures)
        if not is_open(self.temperature):
            one_temperature(self.temperature)

    def _cluster(self, graph: Graph) -> IntArray:
        self.model_ = PottsModel(graph, self.n_states)
        if isinstance(self.temperatures, str):
            top = temperature_grid(self.model_)[-1]
            grid = np.geomspace(top / SPAN, top, GRID)
        else:
            grid = np.unique(temperature_array(self.temperatures))
        engine = PairAgreement() if self.engine is None else make_engine(self.engine)
        self.equilibrium_ = engine.run(
            self.model_, grid, seed=self.random_state, callback=self.callback
        )
        self.temperatures_ = self.equilibrium_.temperatures
        self.phases_ = phases(self.equilibrium_)
        self.susceptibility_ = self.phases_.susceptibility
        rows = range(len(self.temperatures_))
        cores = [grains(self.equilibrium_, row, HALF) for row in rows]
        parts = [grains(self.equilibrium_, row, HALF, join_all=True) for row in rows]
        self.tree_ = cluster_tree(self.temperatures_, parts)
        smallest = self.min_cluster_size or max(SMALLEST, int(np.ceil(SMALL_SHARE * graph.n_nodes)))
        self.stability_ = _stability(self.tree_, cores, smallest)
        if isinstance(self.temperature, str):
            row = _stable_row(self.temperatures_, self.stability_, cores, smallest)
        else:
            row = nearest_row(self.temperatures_, one_temperature(self.temperature))
        self.temperature_ = float(self.temperatures_[row])
        labels = numbered_by_size(self.tree_.members[row])
        small = np.bincount(labels)[labels] < smallest
        return labels if np.all(small) else np.where(small, np.int32(NOISE), labels)


def _stability(tree: ClusterTree, cores: list[IntArray], smallest: int) -> FloatArray:
    """eta(T) of the module's docstring; cores are the grains at every temperature."""
    n = tree.members.shape[1]
    spells = _spells(tree)
    whole = np.zeros(tree.n_clusters, dtype=bool)
    for members in tree.members:
        whole |= np.bincount(members, minlength=tree.n_clusters) >= WHOLE * n
    first, last = _rows_of_life(spells, int(spells.max()) + 1)
    ends = cell_ends(tree.temperatures)
    low, high = ends[first], ends[last + 1]
    lasting = (high >= LASTING * low) & np.isfinite(high)
    life = np.where(lasting, high, 0.0) - np.where(lasting, low, 0.0)
    counted = [
        (np.bincount(core)[core] >= smallest) & ~whole[members]
        for members, core in zip(tree.members, cores, strict=True)
    ]
    return np.array([life[s[here]].sum() for s, here in zip(spells, counted, strict=True)])


def _spells(tree: ClusterTree) -> IntArray:
    """Clusters (T, n) as in the tree, under another number from where a large part split off.

    The tree follows what is more than half of a cluster; of two that were one, neither lived there.
    """
    born = _rows_of_life(tree.members, tree.n_clusters)[0]
    # Half as long as the rest, at least: what comes off shortly before all melts is a fragment.
    rest = tree.high[tree.parents] - tree.low
    lasting = (tree.high >= LASTING * tree.low) & (tree.high - tree.low >= rest / 2)
    split_off = (tree.parents >= 0) & lasting
    number = np.arange(tree.n_clusters, dtype=np.int32)
    fresh = tree.n_clusters
    spells = tree.members.copy()
    for row in range(1, len(spells)):
        before = np.bincount(tree.members[row - 1], minlength=tree.n_clusters)
        new = np.flatnonzero(split_off & (born == row))
        parents = tree.parents[new]
        for parent in np.unique(parents[tree.sizes[new] >= PARTED * before[parents]]):
            number[parent] = fresh
            fresh += 1
        spells[row] = number[tree.members[row]]
    return spells


def _stable_row(
    temperatures: FloatArray, stability: FloatArray, cores: list[IntArray], smallest: int
) -> int:
    """The middle of the most stable temperatures, or the lowest where nothing is stable enough."""
    ordered = [
        np.isfinite(t) and np.bincount(core).max() >= smallest
        for t, core in zip(temperatures, cores, strict=True)
    ]
    warmest = max(temperatures[ordered], default=0.0)
    largest = float(stability.max())
    if largest < LEAST_STABILITY * len(cores[0]) * warmest:
        return 0
    stable = np.flatnonzero(stability >= AS_STABLE * largest)
    return int(stable[len(stable) // 2])
