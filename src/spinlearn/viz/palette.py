"""Looks of points that are told apart without full colour vision.

The first seven colours are those of Okabe & Ito (2008), two more follow for larger sets. Class k
has colour k mod 9 and shape k mod 8, so 72 classes can be told apart, and any 8 in a row even in
grey. Statuses differ by fill and shape as well as by colour.
"""

from __future__ import annotations

from typing import NamedTuple

from spinlearn.answers.rule import Status

COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#7570B3",
    "#A6761D",
)  # fmt: skip
SHAPES = ("circle", "square", "triangle", "diamond", "down", "plus", "star", "pentagon")
NEUTRAL = "#8C8C8C"  # confused points, small new classes

# Of matplotlib, for the shapes above.
MARKERS = ("o", "s", "^", "D", "v", "P", "*", "p")


class Look(NamedTuple):
    """How the points of a status are drawn, and what the page says of it."""

    colour: str  # this and the shape where points are coloured by status
    shape: str
    fill: str  # of the page's marks, see viz/page/marks.js
    layer: int  # 1 is drawn first
    meaning: str


STATUS_LOOKS = {
    Status.LABELLED: Look("#D55E00", "diamond", "labelled", 6, "given by you and held fixed"),
    Status.CONFIDENT: Look("#0072B2", "circle", "solid", 1,
                           "one class is clearly the most probable"),
    Status.GROWN: Look("#56B4E9", "triangle", "grown", 2,
                       "takes the class of the cluster it sits in"),
    Status.CONFUSED: Look("#8C8C8C", "cross", "cross", 5, "its cluster holds several classes"),
    Status.NEW: Look("#CC79A7", "ring", "open", 4,
                     "its cluster holds no label: a class nobody named"),
    Status.OUTLIER: Look("#7A5C3E", "plus", "strokes", 3,
                         "alone or in a pair, without a label: too few to be a class"),
}  # fmt: skip

# Ferromagnetic, super-paramagnetic, paramagnetic.
PHASE_COLOURS = ("#0072B2", "#009E73", "#D55E00")


def class_colour(code: int) -> str:
    return COLOURS[code % len(COLOURS)]


def class_marker(code: int) -> str:
    return MARKERS[code % len(MARKERS)]
