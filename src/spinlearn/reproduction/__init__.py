"""The paper's experiments: one module per figure or table, run by `spinlearn reproduce`.

Every experiment is a list of cells (`runner.Task`), most of them one labelling each. A cell is
computed from its settings alone, so results depend neither on the number of cores nor on the order
of the cells, and is kept in a file of its own, so a killed run goes on where it stopped. The figure
modules make tasks, compute cells and draw; `claims` decides from the cells what holds; `report`
runs all of it and writes the page.
"""

from __future__ import annotations

from spinlearn.reproduction.report import EXPERIMENTS, Reproduction, reproduce
from spinlearn.reproduction.runner import FULL, QUICK, SCALES, TINY, Scale

__all__ = ["EXPERIMENTS", "FULL", "QUICK", "SCALES", "TINY", "Reproduction", "Scale", "reproduce"]
