"""spinlearn: classification from a handful of labels by statistical physics.

What a user types in the first hour is here; the rest is in the public modules: `advice`, `answers`,
`baselines`, `datasets`, `energies`, `engines`, `errors`, `graphs` and `minimizers`. The names in
``spinlearn.__all__`` and in the ``__all__`` of these modules are public; other modules may change
without notice. All is loaded on first use (PEP 562), so that ``import spinlearn`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from spinlearn.model.equilibrium import NotebookTable

__version__ = "0.2.0"

_HOME = {
    "PottsClassifier": "spinlearn.classifier",
    "TemperatureRule": "spinlearn.settings",
    "Answer": "spinlearn.answers",
    "Result": "spinlearn.io.result",
    "Graph": "spinlearn.model.graph",
    "PottsModel": "spinlearn.model.potts",
    "KNN": "spinlearn.graphs",
    "MutualKNN": "spinlearn.graphs",
    "annotate": "spinlearn.workflows.annotation",
    "compare": "spinlearn.workflows.comparison",
    "label": "spinlearn.labelling.notebook",
    "minimize": "spinlearn.minimizers",
    "suggest": "spinlearn.advice",
    "suspects": "spinlearn.advice",
}
_MODULES = (
    "advice",
    "answers",
    "baselines",
    "datasets",
    "energies",
    "engines",
    "errors",
    "graphs",
    "minimizers",
)

__all__ = ["__version__", *_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"spinlearn.{name}")
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'spinlearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_MODULES])


def _drawn(value: Any) -> str:
    """What a notebook shows; the drawing is loaded on use."""
    from spinlearn.viz.notebook import as_html

    return as_html(value)


NotebookTable._draw = _drawn
