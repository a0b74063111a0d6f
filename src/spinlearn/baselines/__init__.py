"""BASELINES: the methods the paper compares with, by name. A new one is one file and one line."""

from __future__ import annotations

from spinlearn.baselines.base import GraphClassifier
from spinlearn.baselines.expansion import AlphaBetaSwap, AlphaExpansion
from spinlearn.baselines.mincut import MinCut
from spinlearn.baselines.randomized_mincut import RandomizedMinCut

BASELINES: dict[str, type] = {
    "min_cut": MinCut,
    "expansion": AlphaExpansion,
    "swap": AlphaBetaSwap,
    "randomized_min_cut": RandomizedMinCut,
}

__all__ = [
    "BASELINES",
    "AlphaBetaSwap",
    "AlphaExpansion",
    "GraphClassifier",
    "MinCut",
    "RandomizedMinCut",
]
