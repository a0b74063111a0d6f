"""BASELINES: the methods the paper compares with, by name. A new one is one file and one line."""

from __future__ import annotations

BASELINES: dict[str, type] = {}
