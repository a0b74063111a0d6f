"""`spinlearn suspects`."""

from __future__ import annotations

from spinlearn.cli.explore import Folder


def suspects(folder: Folder) -> None:
    """TODO."""
