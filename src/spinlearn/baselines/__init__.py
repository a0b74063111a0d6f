"""BASELINES: the methods the paper compares with, by name. A new one is one file and one line."""

from __future__ import annotations

from spinlearn.baselines.base import GraphClassifier
from spinlearn.baselines.harmonic import HarmonicFields
from spinlearn.baselines.lgc import LocalGlobalConsistency
from spinlearn.baselines.ncut import NormalizedCut
from spinlearn.baselines.sgt import SpectralGraphTransducer
from spinlearn.baselines.superparamagnetic import SuperparamagneticClustering

BASELINES: dict[str, type] = {
    "lgc": LocalGlobalConsistency,
    "harmonic": HarmonicFields,
    "sgt": SpectralGraphTransducer,
    "ncut": NormalizedCut,
    "spc": SuperparamagneticClustering,
}

__all__ = [
    "BASELINES",
    "GraphClassifier",
    "HarmonicFields",
    "LocalGlobalConsistency",
    "NormalizedCut",
    "SpectralGraphTransducer",
    "SuperparamagneticClustering",
]
