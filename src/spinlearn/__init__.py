"""spinlearn: classification from a handful of labels by statistical physics.

Public names are loaded on first use (PEP 562), so that `import spinlearn` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "PottsClassifier": "spinlearn.estimators",
    "Classification": "spinlearn.estimators",
    "Graph": "spinlearn.core.graph",
    "PottsModel": "spinlearn.core.model",
    "Equilibrium": "spinlearn.core.results",
    "KNN": "spinlearn.graphs",
    "MutualKNN": "spinlearn.graphs",
    "Radius": "spinlearn.graphs",
    "PixelGrid": "spinlearn.graphs",
    "from_networkx": "spinlearn.graphs",
    "ClassPenalty": "spinlearn.core.class_penalty",
    "ENERGIES": "spinlearn.energies",
    "BalancedCut": "spinlearn.energies",
    "ClassPrior": "spinlearn.energies",
    "Custom": "spinlearn.energies",
    "DiffusedCut": "spinlearn.energies",
    "Harmonic": "spinlearn.energies",
    "LGC": "spinlearn.energies",
    "RatioCut": "spinlearn.energies",
    "balanced_cut": "spinlearn.energies",
    "diffused_cut": "spinlearn.energies",
    "harmonic": "spinlearn.energies",
    "lgc": "spinlearn.energies",
    "min_cut": "spinlearn.energies",
    "normalized_cut": "spinlearn.energies",
    "ratio_cut": "spinlearn.energies",
    "ENGINES": "spinlearn.engines",
    "Enumeration": "spinlearn.engines",
    "JunctionTree": "spinlearn.engines",
    "Multicanonical": "spinlearn.engines",
    "Tempering": "spinlearn.engines",
    "SwendsenWang": "spinlearn.engines",
    "Metropolis": "spinlearn.engines",
    "PopulationAnnealing": "spinlearn.engines",
    "Decision": "spinlearn.decision",
    "Profile": "spinlearn.decision",
    "Status": "spinlearn.decision",
    "best_temperature": "spinlearn.decision",
    "decide": "spinlearn.decision",
    "profile": "spinlearn.decision",
    "recommended_temperature": "spinlearn.decision",
    "misclassified": "spinlearn.scoring",
    "explorer_content": "spinlearn.viz.content",
    "write_explorer": "spinlearn.viz.explorer",
    "BASELINES": "spinlearn.baselines",
    "GraphClassifier": "spinlearn.baselines",
    "HarmonicFields": "spinlearn.baselines",
    "LocalGlobalConsistency": "spinlearn.baselines",
    "NormalizedCut": "spinlearn.baselines",
    "SpectralGraphTransducer": "spinlearn.baselines",
    "SuperparamagneticClustering": "spinlearn.baselines",
    "MINIMIZERS": "spinlearn.minimizers",
    "Minimum": "spinlearn.minimizers",
    "MinimumCut": "spinlearn.minimizers",
    "minimize": "spinlearn.minimizers",
    "AlphaBetaSwap": "spinlearn.baselines",
    "AlphaExpansion": "spinlearn.baselines",
    "MinCut": "spinlearn.baselines",
    "RandomizedMinCut": "spinlearn.baselines",
    "compare": "spinlearn.comparison",
    "annotate": "spinlearn.annotation",
    "draw_labellings": "spinlearn.labellings",
    "suggest": "spinlearn.suggestion",
    "Suggestion": "spinlearn.suggestion",
    "Suspect": "spinlearn.suspects",
    "Result": "spinlearn.io.result",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'spinlearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
