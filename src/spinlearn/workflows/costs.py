"""What a large set will cost, said before the work begins.

Bytes are counted over the arrays that stand at the peak, while messages are passed
(`spinlearn.messages.potts_messages`): the messages, packed, with where they lie; the graph, with
the weights given and those of the energy; fields and beliefs; points and their names; averages of
all temperatures, or of one where the others wait on the disk. Measured peaks were SPARE times that.
Processor time is that of the default answer, measured with ten classes.
"""

from __future__ import annotations

from dataclasses import dataclass

from spinlearn.engines.cooled_run import SMALL
from spinlearn.messages.layout import lanes_for

EDGES_PER_NEIGHBOR = 0.75  # of a point, where either of two neighbours may have chosen the other
TEMPERATURES = 3  # of the phase of a large set
PER_MESSAGE, PER_EDGE = 16, 48  # bytes beside the message itself
PER_NODE, PER_NAME = 48, 65
PROGRAM = 7e8  # bytes
SPARE = 1.1
SECONDS_PER_MESSAGE = 2.2e-5  # with ten classes, all sweeps of all temperatures, one core
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
    q = max(n_classes, 2)
    memory = 2 * edges * (4 * q + PER_MESSAGE) + edges * PER_EDGE
    memory += n_points * (8 * q + 8 * lanes_for(q) + PER_NODE + PER_NAME + 8 * n_features)
    for row in (4 * q * n_points, 4 * edges):
        memory += row if TEMPERATURES * row > SMALL else TEMPERATURES * row
    seconds = SECONDS_OF_CHOICES + 2 * edges * SECONDS_PER_MESSAGE * q / 10
    return Cost(PROGRAM + SPARE * memory, seconds)
