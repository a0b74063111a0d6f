"""Choices: what was decided for the user, each in one line with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Choice:
    """One decision.

    Attributes
    ----------
    name : str
        Of the setting that would override it.
    value : str
        What was taken.
    reason : str
        Why.
    """

    name: str
    value: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.value} ({self.reason})"
