"""BASELINES: the methods the paper compares with, by name.

A new one is one file, with one line here.
"""

from __future__ import annotations

from spinlearn.baselines.base import GraphClassifier
from spinlearn.baselines.clustering import GraphClusterer
from spinlearn.baselines.expansion import AlphaBetaSwap, AlphaExpansion
from spinlearn.baselines.harmonic import HarmonicFields
from spinlearn.baselines.lgc import LocalGlobalConsistency
from spinlearn.baselines.mincut import MinCutClassifier
from spinlearn.baselines.ncut import NormalizedCutClustering
from spinlearn.baselines.randomized_mincut import RandomizedMinCut
from spinlearn.baselines.sgt import SpectralGraphTransducer
from spinlearn.baselines.superparamagnetic import SuperparamagneticClustering

BASELINES: dict[str, type] = {
    "min_cut": MinCutClassifier,
    "alpha_expansion": AlphaExpansion,
    "alpha_beta_swap": AlphaBetaSwap,
    "randomized_min_cut": RandomizedMinCut,
    "lgc": LocalGlobalConsistency,
    "harmonic": HarmonicFields,
    "sgt": SpectralGraphTransducer,
    "ncut": NormalizedCutClustering,
    "spc": SuperparamagneticClustering,
}
"""The rival methods by name, as `spinlearn.compare` takes them; each is an estimator.

Examples
--------
>>> from spinlearn.baselines import BASELINES
>>> sorted(BASELINES)[:4]
['alpha_beta_swap', 'alpha_expansion', 'harmonic', 'lgc']
"""

__all__ = [
    "BASELINES",
    "AlphaBetaSwap",
    "AlphaExpansion",
    "GraphClassifier",
    "GraphClusterer",
    "HarmonicFields",
    "LocalGlobalConsistency",
    "MinCutClassifier",
    "NormalizedCutClustering",
    "RandomizedMinCut",
    "SpectralGraphTransducer",
    "SuperparamagneticClustering",
]
