"""Looks of points that are told apart without full colour vision.

The first seven colours are those of Okabe & Ito (2008), two more follow for larger sets. Class k
has colour k mod 9 and shape k mod 8, so 72 classes can be told apart, and any 8 in a row even in
grey. Statuses differ by fill and shape as well as by colour.
"""

from __future__ import annotations

COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#7570B3",
    "#A6761D",
)  # fmt: skip
SHAPES = ("circle", "square", "triangle", "diamond", "down", "plus", "star", "pentagon")
NEUTRAL = "#8C8C8C"  # confused points, small new classes

# Of matplotlib, for the shapes above.
MARKERS = ("o", "s", "^", "D", "v", "P", "*", "p")

# In the order of Status: labelled, confident, grown, confused, new, outlier.
STATUS_COLOURS = ("#D55E00", "#0072B2", "#56B4E9", "#8C8C8C", "#CC79A7", "#7A5C3E")
STATUS_SHAPES = ("diamond", "circle", "triangle", "cross", "ring", "plus")

# Ferromagnetic, super-paramagnetic, paramagnetic.
PHASE_COLOURS = ("#0072B2", "#009E73", "#D55E00")


def class_colour(code: int) -> str:
    return COLOURS[code % len(COLOURS)]


def class_marker(code: int) -> str:
    return MARKERS[code % len(MARKERS)]
