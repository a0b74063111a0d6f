"""Minimisers: labellings of least energy, the limit T = 0."""

from __future__ import annotations

from spinlearn.minimizers.class_annealing import class_annealing
from spinlearn.minimizers.minimum import Minimum

__all__ = ["Minimum", "class_annealing"]
