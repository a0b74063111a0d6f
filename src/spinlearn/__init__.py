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
    "min_cut": "spinlearn.energies",
    "ENGINES": "spinlearn.engines",
    "Enumeration": "spinlearn.engines",
    "JunctionTree": "spinlearn.engines",
    "Multicanonical": "spinlearn.engines",
    "Decision": "spinlearn.decision",
    "Profile": "spinlearn.decision",
    "Status": "spinlearn.decision",
    "best_temperature": "spinlearn.decision",
    "decide": "spinlearn.decision",
    "profile": "spinlearn.decision",
    "recommended_temperature": "spinlearn.decision",
    "misclassified": "spinlearn.scoring",
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
