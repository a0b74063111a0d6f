"""Answers: from an equilibrium to what is said about every point."""

from __future__ import annotations

from spinlearn.answers.answer import Answer
from spinlearn.answers.names import outcome_name
from spinlearn.answers.new_class_hints import NewClassHint, new_class_hints
from spinlearn.answers.profile import Interval, Profile, decide, profile
from spinlearn.answers.rule import SMALL_GROUPS, Decision, Status
from spinlearn.answers.scoring import misclassified
from spinlearn.answers.temperature import (
    TEMPERATURE_RULES,
    answer_temperature,
    information,
    stability,
)
from spinlearn.answers.trust import Trust

__all__ = [
    "SMALL_GROUPS",
    "TEMPERATURE_RULES",
    "Answer",
    "Decision",
    "Interval",
    "NewClassHint",
    "Profile",
    "Status",
    "Trust",
    "answer_temperature",
    "decide",
    "information",
    "misclassified",
    "new_class_hints",
    "outcome_name",
    "profile",
    "stability",
]
