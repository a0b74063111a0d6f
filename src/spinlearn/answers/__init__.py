"""Answers: from an equilibrium to what is said about every point."""

from __future__ import annotations

from spinlearn.answers.answer import Answer
from spinlearn.answers.labels import outcome_name
from spinlearn.answers.profile import Interval, Profile, decide, profile
from spinlearn.answers.proposal import Proposal, Word
from spinlearn.answers.rule import SMALL_GROUPS, Decision, Status, misclassified
from spinlearn.answers.temperature import TEMPERATURE_RULES, answer_temperature, stability

__all__ = [
    "SMALL_GROUPS",
    "TEMPERATURE_RULES",
    "Answer",
    "Decision",
    "Interval",
    "Profile",
    "Proposal",
    "Status",
    "Word",
    "answer_temperature",
    "decide",
    "misclassified",
    "outcome_name",
    "profile",
    "stability",
]
