"""Energies as data: functions from a labelled graph to a PottsModel.

ENERGIES holds those that need no settings, by name; the classes are the same with settings.
"""

from __future__ import annotations

from spinlearn.core.class_penalty import ClassPenalty
from spinlearn.energies.class_level import balanced_cut, normalized_cut, ratio_cut
from spinlearn.energies.diffused import diffused_cut
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
    NormalizedCut,
    RatioCut,
    energy_name,
    make_energy,
)
from spinlearn.energies.user_arrays import class_prior, custom

__all__ = [
    "ENERGIES",
    "LGC",
    "BalancedCut",
    "ClassPenalty",
    "ClassPrior",
    "Custom",
    "DiffusedCut",
    "Harmonic",
    "MinCut",
    "NormalizedCut",
    "RatioCut",
    "balanced_cut",
    "class_prior",
    "custom",
    "diffused_cut",
    "energy_name",
    "harmonic",
    "lgc",
    "make_energy",
    "min_cut",
    "normalized_cut",
    "ratio_cut",
]
