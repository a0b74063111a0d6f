"""ENGINES: every way to compute an equilibrium, by name.

A new engine is one file and one line here.
"""

from __future__ import annotations

from typing import Any

from spinlearn.core.protocols import Engine
from spinlearn.engines.auto import Auto
from spinlearn.engines.enumeration import Enumeration
from spinlearn.engines.junction_tree import JunctionTree
from spinlearn.engines.multicanonical import Multicanonical
from spinlearn.engines.population_annealing import PopulationAnnealing
from spinlearn.engines.tempering import Metropolis, SwendsenWang, Tempering
from spinlearn.errors import InvalidInputError

ENGINES: dict[str, type[Engine]] = {
    Auto.name: Auto,
    Enumeration.name: Enumeration,
    JunctionTree.name: JunctionTree,
    Multicanonical.name: Multicanonical,
    Tempering.name: Tempering,
    SwendsenWang.name: SwendsenWang,
    Metropolis.name: Metropolis,
    PopulationAnnealing.name: PopulationAnnealing,
}

__all__ = [
    "ENGINES",
    "Auto",
    "Engine",
    "Enumeration",
    "JunctionTree",
    "Metropolis",
    "Multicanonical",
    "PopulationAnnealing",
    "SwendsenWang",
    "Tempering",
    "make_engine",
]


def make_engine(spec: Any) -> Engine:
    """An engine from its name, with default settings; an engine is returned as it is."""
    if isinstance(spec, str):
        if spec not in ENGINES:
            raise InvalidInputError(
                f"engine {spec!r} is unknown: use one of {', '.join(map(repr, ENGINES))} "
                "or an engine such as JunctionTree(max_memory_gb=8)"
            )
        return ENGINES[spec]()
    if isinstance(spec, type) or not isinstance(spec, Engine):
        raise InvalidInputError(
            f"{spec!r} is not an engine: pass a name ({', '.join(map(repr, ENGINES))}) "
            "or an instance such as JunctionTree()"
        )
    return spec
