"""BASELINES: the methods the paper compares with, by name."""

from __future__ import annotations

from spinlearn.baselines.base import GraphClassifier, GraphClusterer
from spinlearn.baselines.cuts import (
    AlphaBetaSwap,
    AlphaExpansion,
    MinCutClassifier,
    RandomizedMinCut,
)
from spinlearn.baselines.diffusion import HarmonicFields, LocalGlobalConsistency
from spinlearn.baselines.spectral import NormalizedCutClustering, SpectralGraphTransducer
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
