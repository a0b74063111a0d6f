"""`spinlearn reproduce`: the paper's experiments."""

from __future__ import annotations


def reproduce() -> None:
    """Run the paper's experiments."""
