"""Advice on labels: which to give next, which to doubt."""

from __future__ import annotations

from spinlearn.advice.suggestion import Suggestion, suggest
from spinlearn.advice.suspects import Suspect, suspect_labels, suspects

__all__ = ["Suggestion", "Suspect", "suggest", "suspect_labels", "suspects"]
