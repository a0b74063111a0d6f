"""Estimators: the whole method behind scikit-learn's interface."""

from __future__ import annotations

from spinlearn.estimators.potts_classifier import PottsClassifier

__all__ = ["PottsClassifier"]
