"""Energies as data, each a class of settings: from a labelled graph to a PottsModel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spinlearn.energies.base import COUPLINGS
from spinlearn.energies.class_level import (
    BalancedCut,
    DiffusedCut,
    Modularity,
    NormalizedCut,
    RatioCut,
)
from spinlearn.energies.pairwise import LGC, ClassPrior, Custom, Harmonic, MinCut
from spinlearn.errors import InvalidInputError
from spinlearn.model.class_penalty import ClassPenalty
from spinlearn.model.potts import PottsModel
from spinlearn.model.settings import Settings, made

__all__ = [
    "COUPLINGS",
    "ENERGIES",
    "LGC",
    "BalancedCut",
    "ClassPenalty",
    "ClassPrior",
    "Custom",
    "DiffusedCut",
    "Harmonic",
    "MinCut",
    "Modularity",
    "NormalizedCut",
    "RatioCut",
    "energy_name",
    "make_energy",
]

ENERGIES: dict[str, Callable[..., Any]] = {
    "min_cut": MinCut,
    "lgc": LGC,
    "harmonic": Harmonic,
    "balanced_cut": BalancedCut,
    "diffused_cut": DiffusedCut,
    "modularity": Modularity,
    "normalized_cut": NormalizedCut,
    "ratio_cut": RatioCut,
}
"""The energies that can be made without settings, by name.

``PottsClassifier(energy=...)`` and ``spinlearn fit --energy`` take these names. A class, or a
function of (graph, labels, n_states), that is entered here is known to both.

Examples
--------
>>> from spinlearn.energies import ENERGIES
>>> sorted(ENERGIES)[:4]
['balanced_cut', 'diffused_cut', 'harmonic', 'lgc']
"""


def make_energy(spec: Any) -> Callable[..., PottsModel]:
    """An energy from its name, with settings if need be; one of your own is returned as it is.

    Parameters
    ----------
    spec : str or callable
        A name from `ENERGIES`, or one with settings, "min_cut:label_strength=2"; an object such as
        ``BalancedCut(strength=3)``; or a function of (graph, labels, n_states) that returns a
        PottsModel.

    Returns
    -------
    callable
        Of (graph, labels, n_states), it returns a PottsModel.

    Examples
    --------
    >>> from spinlearn.energies import make_energy
    >>> make_energy("balanced_cut:strength=3").strength
    3
    """
    example = "'min_cut:label_strength=2' or BalancedCut(strength=3)"
    energy: Callable[..., PottsModel] = made("energy", ENERGIES, spec, example)
    if isinstance(energy, type) or not callable(energy):
        raise InvalidInputError(
            f"energy={spec!r} is unknown: pass a name ({', '.join(map(repr, ENERGIES))}), an "
            "instance such as BalancedCut(), or a function of (graph, labels, n_states) that "
            "returns a PottsModel"
        )
    return energy


def energy_name(spec: Any) -> str:
    """A short name of an energy, for tables: the settings that differ from the usual ones.

    Parameters
    ----------
    spec : str or callable
        As for `make_energy`.

    Returns
    -------
    str

    Examples
    --------
    >>> from spinlearn.energies import BalancedCut, energy_name
    >>> energy_name("lgc"), energy_name(BalancedCut(strength=3))
    ('lgc', 'BalancedCut(strength=3)')
    """
    if isinstance(spec, str):
        return spec
    if not isinstance(spec, Settings):
        return getattr(spec, "__name__", repr(spec))
    usual = type(spec)().get_params()
    own = {
        k: v for k, v in spec.get_params().items() if v is not usual[k] and str(v) != str(usual[k])
    }
    return f"{type(spec).__name__}({', '.join(f'{k}={v!r}' for k, v in own.items())})"
