"""Data to try things on: the paper's toy sets, loaders for its real ones."""

from __future__ import annotations

from spinlearn.datasets.real import Leukemia, Yeast, load_leukemia, load_yeast
from spinlearn.datasets.toy import ToySet, three_waves, two_bands

__all__ = [
    "Leukemia",
    "ToySet",
    "Yeast",
    "load_leukemia",
    "load_yeast",
    "three_waves",
    "two_bands",
]
