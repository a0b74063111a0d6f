"""Energies as data: functions from a labelled graph to a PottsModel.

ENERGIES holds those that need no settings, by name; the classes are the same with settings.
COUPLINGS are the ways from similarities to couplings.
"""

from __future__ import annotations

from spinlearn.core.class_penalty import ClassPenalty
from spinlearn.energies.class_level import balanced_cut, normalized_cut, ratio_cut
from spinlearn.energies.couplings import COUPLINGS, make_couplings
from spinlearn.energies.diffused import diffused_cut
from spinlearn.energies.modularity import modularity
from spinlearn.energies.pairwise import harmonic, lgc, min_cut
from spinlearn.energies.settings import (
    ENERGIES,
    LGC,
    BalancedCut,
    ClassPrior,
    Custom,
    DiffusedCut,
    Harmonic,
    MinCut,
    Modularity,
    NormalizedCut,
    RatioCut,
    energy_name,
    make_energy,
)
from spinlearn.energies.user_arrays import class_prior, custom

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
    "balanced_cut",
    "class_prior",
    "custom",
    "diffused_cut",
    "energy_name",
    "harmonic",
    "lgc",
    "make_couplings",
    "make_energy",
    "min_cut",
    "modularity",
    "normalized_cut",
    "ratio_cut",
]
