"""ENGINES: every way to compute an equilibrium, by name.

A new engine is one file, and entered here; CONTRIBUTING.md says what else it needs.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from spinlearn.engines.auto import Auto
from spinlearn.engines.exact.enumeration import Enumeration
from spinlearn.engines.exact.junction_tree import JunctionTree
from spinlearn.engines.messages.belief_propagation import BeliefPropagation
from spinlearn.engines.messages.generalized_bp import GeneralizedBP
from spinlearn.engines.sampling.population import draw_labellings
from spinlearn.engines.sampling.population_annealing import PopulationAnnealing
from spinlearn.engines.sampling.samplers import Metropolis, Multicanonical, SwendsenWang, Tempering
from spinlearn.errors import InvalidInputError, UnsupportedModelError
from spinlearn.model.equilibrium import Equilibrium, Kind
from spinlearn.model.potts import PottsModel
from spinlearn.model.protocols import Callback, Engine
from spinlearn.model.settings import made

ENGINES: dict[str, type[Engine]] = {
    Auto.name: Auto,
    Enumeration.name: Enumeration,
    JunctionTree.name: JunctionTree,
    BeliefPropagation.name: BeliefPropagation,
    Multicanonical.name: Multicanonical,
    Tempering.name: Tempering,
    SwendsenWang.name: SwendsenWang,
    Metropolis.name: Metropolis,
    PopulationAnnealing.name: PopulationAnnealing,
    GeneralizedBP.name: GeneralizedBP,
}
"""All engines by name, as ``PottsClassifier(engine=...)`` and ``spinlearn fit --engine`` take them.

An engine that is entered here is known to both, and its answers are saved and loaded.

Examples
--------
>>> from spinlearn.engines import ENGINES
>>> sorted(ENGINES)[:4]
['auto', 'belief_propagation', 'enumeration', 'generalized_bp']
"""

__all__ = [
    "ENGINES",
    "Auto",
    "BeliefPropagation",
    "Engine",
    "Enumeration",
    "Equilibrium",
    "GeneralizedBP",
    "JunctionTree",
    "Kind",
    "Metropolis",
    "Multicanonical",
    "PopulationAnnealing",
    "SwendsenWang",
    "Tempering",
    "draw_labellings",
    "make_engine",
    "run_exactly",
]


def make_engine(spec: Any) -> Engine:
    """An engine from its name, with settings if need be; an engine is returned as it is.

    Parameters
    ----------
    spec : str or engine
        A name from `ENGINES`, or one with settings, "tempering:tol=0.01,n_jobs=2"; or an object
        with the methods of `Engine`.

    Returns
    -------
    Engine

    Examples
    --------
    >>> from spinlearn.engines import make_engine
    >>> make_engine("junction_tree")
    JunctionTree(max_memory_gb=6.0, max_operations=2000000000.0, max_seconds=None)
    """
    example = "'tempering:tol=0.01' or JunctionTree(max_memory_gb=8)"
    engine = made("engine", ENGINES, spec, example)
    if isinstance(engine, type) or not isinstance(engine, Engine):
        raise InvalidInputError(
            f"{spec!r} is not an engine: pass a name ({', '.join(ENGINES)}) or an instance such as "
            "JunctionTree()"
        )
    return engine


def run_exactly(
    model: PottsModel, temperatures: npt.ArrayLike, *, callback: Callback | None = None
) -> Equilibrium:
    """The exact averages, by whichever exact engine can treat the model.

    Parameters
    ----------
    model, temperatures, callback
        As for `Engine.run`.

    Returns
    -------
    Equilibrium

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import run_exactly
    >>> run_exactly(PottsModel(Graph(2, [(0, 1)]), 2), [1.0]).log_partition.round(4).tolist()
    [1.0064]
    """
    reasons = []
    for engine in (JunctionTree(), Enumeration()):
        try:
            return engine.run(model, temperatures, callback=callback)
        except UnsupportedModelError as error:
            reasons.append(str(error))
    raise UnsupportedModelError(f"no exact engine treats this model: {reasons[0]}")
