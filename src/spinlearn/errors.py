"""Errors of the package, warnings among them, so that callers can catch one family.

Messages say fact, cause and remedy, in that order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = [
    "CheckpointError",
    "CheckpointWarning",
    "ClusterError",
    "ContradictionWarning",
    "ConvergenceWarning",
    "DataFileError",
    "GraphWarning",
    "InvalidInputError",
    "LabelWarning",
    "MissingDependencyError",
    "SpinlearnError",
    "SpinlearnWarning",
    "StoppedError",
    "UnsupportedModelError",
]


class SpinlearnError(Exception):
    """Base of all errors raised on purpose by spinlearn.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> Graph(2, [(0, 5)])
    Traceback (most recent call last):
    ...
    spinlearn.errors.InvalidInputError: edges name node 5, but the graph has nodes 0 to 1
    """


class InvalidInputError(SpinlearnError, ValueError):
    """The data, labels or settings given by the caller cannot be used as they are."""


class UnreachedTemperatureError(InvalidInputError):
    """Samples of other temperatures say nothing about the one asked for."""


class UnsupportedModelError(SpinlearnError, ValueError):
    """The engine or minimiser cannot treat this model (too wide, too many states, ...)."""


class StoppedError(SpinlearnError):
    """The caller's callback stopped a run before it had anything to return."""


class CheckpointError(SpinlearnError):
    """A checkpoint file cannot be used: truncated, foreign, of another version or run."""


class DataFileError(SpinlearnError, FileNotFoundError):
    """A data file is absent or not the one expected; the message says where to get it."""


class ClusterError(SpinlearnError):
    """A cluster lost its workers, or none came; the message says what to do."""


class MissingDependencyError(SpinlearnError, ImportError):
    """An optional package is needed; the message names the command that installs it."""


@contextmanager
def needing(message: str) -> Iterator[None]:
    """Say so where what is imported in the block is not installed."""
    try:
        yield
    except ImportError as error:
        raise MissingDependencyError(message) from error


class SpinlearnWarning(UserWarning):
    """Base of all warnings issued by spinlearn."""


class GraphWarning(SpinlearnWarning):
    """The graph is legal but probably not what was meant (isolated points, several parts)."""


class LabelWarning(SpinlearnWarning):
    """The labels contradict each other or the data."""


class ContradictionWarning(LabelWarning):
    """Two identical points have different labels.

    Parameters
    ----------
    points, labels : tuple of two int, tuple of two str
        Row numbers, and what they are labelled.
    remedy : str
        What to do about it.
    """

    def __init__(self, points: tuple[int, int], labels: tuple[str, str], remedy: str) -> None:
        self.points, self._labels, self._remedy = points, labels, remedy
        super().__init__(self.naming(str(points[0]), str(points[1])))

    def naming(self, first: str, second: str) -> str:
        """The message with the points' names, `first` and `second`, for their row numbers."""
        return (
            f"points {first} and {second} are identical but labelled {self._labels[0]} and "
            f"{self._labels[1]}: {self._remedy}"
        )


class ConvergenceWarning(SpinlearnWarning):
    """Some temperatures did not reach the requested accuracy."""


class CheckpointWarning(SpinlearnWarning):
    """A run goes on without the checkpoint that it should have written."""
