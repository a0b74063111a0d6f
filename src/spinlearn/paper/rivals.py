"""The methods the paper compares with, as plain arrays of classes."""

from __future__ import annotations

import numpy as np

from spinlearn.baselines import (
    LocalGlobalConsistency,
    NormalizedCutClustering,
    SpectralGraphTransducer,
)
from spinlearn.core.arrays import IntArray
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.minimizers import minimize


def cut_labels(model: PottsModel) -> IntArray:
    """Graph cuts (GC): minimum cut for two classes, alpha-expansion for more."""
    return np.asarray(minimize(model).labels, dtype=np.int32)


def consistency_labels(graph: Graph, labels: IntArray) -> IntArray:
    """Local and global consistency (LGC) with alpha = 0.99; -1 where it is undecided."""
    answer = LocalGlobalConsistency().fit(graph, labels)
    return np.asarray(answer.transduction_, dtype=np.int32)


def transducer_labels(graph: Graph, labels: IntArray) -> IntArray:
    """Spectral graph transducer (SGT)."""
    return np.asarray(SpectralGraphTransducer().fit(graph, labels).transduction_, dtype=np.int32)


def normalized_cut_clusters(graph: Graph, n_clusters: int) -> IntArray:
    """Unsupervised normalised cut; clusters are numbered by size."""
    return np.asarray(NormalizedCutClustering(n_clusters).fit(graph).labels_, dtype=np.int32)
