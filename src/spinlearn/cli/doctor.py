"""`spinlearn doctor`: is everything in place?"""

from __future__ import annotations


def doctor() -> None:
    """Check versions, cores, the cache, and an answer against the exact one."""
