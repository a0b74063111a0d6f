"""`spinlearn suggest`."""

from __future__ import annotations

from spinlearn.cli.explore import Folder


def suggest(folder: Folder) -> None:
    """TODO."""
