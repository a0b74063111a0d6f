"""What a large set will cost, said before the work begins.

Bytes are counted over the arrays that stand at the peak, while messages are passed: the messages
themselves, in rows of a power of two; the graph and where messages lie; fields and beliefs; points;
and what is kept of each temperature. Measured peaks were SPARE times that. Processor time is that
of the default answer, measured with ten classes.
"""

from __future__ import annotations

from dataclasses import dataclass

from spinlearn.messages.layout import lanes_for

EDGES_PER_NEIGHBOR = 0.8  # of a point, where either of two neighbours may have chosen the other
TEMPERATURES = 7
PER_MESSAGE, PER_EDGE = 72, 48  # bytes of places and couplings, beside the message itself
COPIES_OF_FIELDS, COPIES_OF_POINTS = 6, 4
PROGRAM = 4e8  # bytes
SPARE = 1.1
SECONDS_PER_MESSAGE = 3.6e-5  # with ten classes, all sweeps of all temperatures, one core
SECONDS_OF_CHOICES = 60.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Memory in bytes at the peak, processor time in seconds."""

    memory: float
    seconds: float

    def __str__(self) -> str:
        return (
            f"about {self.memory / 1e9:.1f} GB of memory and {self.seconds / 60:.0f} minutes of "
            "processor time"
        )


def predicted_cost(
    n_points: int, n_features: int, n_classes: int, n_edges: int | None = None
) -> Cost:
    """Cost of the default answer.

    Parameters
    ----------
    n_points, n_features, n_classes : int
    n_edges : int, optional
        Of a graph that is given; else that of ten neighbours.
    """
    edges = 10 * EDGES_PER_NEIGHBOR * n_points if n_edges is None else float(n_edges)
    lanes = lanes_for(max(n_classes, 2))
    memory = 2 * edges * (4 * lanes + PER_MESSAGE) + edges * PER_EDGE
    memory += n_points * (16 * lanes + 8 * n_classes * COPIES_OF_FIELDS)
    memory += n_points * n_features * 8 * COPIES_OF_POINTS
    memory += TEMPERATURES * 4 * (n_points * n_classes + edges)
    seconds = SECONDS_OF_CHOICES + 2 * edges * SECONDS_PER_MESSAGE * lanes / 16
    return Cost(PROGRAM + SPARE * memory, seconds)
