"""Errors of the package, warnings among them, so that callers can catch one family.

Messages say fact, cause and remedy, in that order.
"""

from __future__ import annotations

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
    >>> from spinlearn.errors import SpinlearnError
    >>> try:
    ...     Graph(2, [(0, 5)])
    ... except SpinlearnError as error:
    ...     print(error)
    edges name node 5, but the graph has nodes 0 to 1
    """


class InvalidInputError(SpinlearnError, ValueError):
    """The data, labels or settings given by the caller cannot be used as they are.

    Examples
    --------
    >>> from spinlearn.engines import make_engine
    >>> from spinlearn.errors import InvalidInputError
    >>> try:
    ...     make_engine("warp")
    ... except InvalidInputError as error:
    ...     print(str(error)[:24])
    engine='warp' is unknown
    """


class UnreachedTemperatureError(InvalidInputError):
    """Samples of other temperatures say nothing about the one asked for."""


class UnsupportedModelError(SpinlearnError, ValueError):
    """The engine or minimiser cannot treat this model (too wide, too many states, ...).

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import Enumeration
    >>> from spinlearn.errors import UnsupportedModelError
    >>> try:
    ...     Enumeration(max_states=4).run(PottsModel(Graph(3, [(0, 1)]), 2), [1.0])
    ... except UnsupportedModelError:
    ...     print("too many labellings")
    too many labellings
    """


class StoppedError(SpinlearnError):
    """The caller's callback stopped a run before it had anything to return.

    Examples
    --------
    >>> from spinlearn import KNN
    >>> from spinlearn.errors import StoppedError
    >>> try:
    ...     KNN(n_neighbors=1).build([[0.0], [1.0]], callback=lambda progress: True)
    ... except StoppedError:
    ...     print("stopped")
    stopped
    """


class CheckpointError(SpinlearnError):
    """A checkpoint file cannot be used: truncated, foreign, of another version or run.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import Tempering
    >>> from spinlearn.errors import CheckpointError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "run.npz")
    ...     _ = file.write_bytes(b"not a checkpoint")
    ...     try:
    ...         Tempering(checkpoint=file).run(PottsModel(Graph(2, [(0, 1)]), 2), [1.0])
    ...     except CheckpointError:
    ...         print("another file has that name")
    another file has that name
    """


class DataFileError(SpinlearnError, FileNotFoundError):
    """A data file is absent or not the one expected; the message says where to get it.

    Examples
    --------
    >>> from spinlearn.datasets import load_yeast
    >>> from spinlearn.errors import DataFileError
    >>> try:
    ...     load_yeast("no/such/folder")
    ... except DataFileError:
    ...     print("not there")
    not there
    """


class ClusterError(SpinlearnError):
    """A cluster lost its workers, or none came; the message says what to do.

    Examples
    --------
    >>> from spinlearn.errors import ClusterError, SpinlearnError
    >>> issubclass(ClusterError, SpinlearnError)
    True
    """


class MissingDependencyError(SpinlearnError, ImportError):
    """An optional package is needed; the message names the command that installs it.

    Examples
    --------
    >>> from spinlearn.errors import MissingDependencyError
    >>> issubclass(MissingDependencyError, ImportError)
    True
    """


class SpinlearnWarning(UserWarning):
    """Base of all warnings issued by spinlearn.

    Examples
    --------
    Turn them into errors:

    >>> import warnings
    >>> from spinlearn.errors import SpinlearnWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", SpinlearnWarning)
    """


class GraphWarning(SpinlearnWarning):
    """The graph is legal but probably not what was meant (isolated points, several parts).

    Examples
    --------
    >>> import warnings
    >>> from spinlearn import Graph, PottsClassifier
    >>> with warnings.catch_warnings(record=True) as heard:
    ...     warnings.simplefilter("always")
    ...     clf = PottsClassifier(method="paper").fit(Graph(3, [(0, 1)]), [0, 1, -1])
    >>> heard[0].category.__name__
    'GraphWarning'
    """


class LabelWarning(SpinlearnWarning):
    """The labels contradict each other or the data.

    Examples
    --------
    >>> import warnings
    >>> from spinlearn import PottsClassifier
    >>> from spinlearn.errors import LabelWarning
    >>> with warnings.catch_warnings(record=True) as heard:
    ...     warnings.simplefilter("always")
    ...     clf = PottsClassifier(method="paper").fit([[0.0], [0.0], [1.0]], [0, 1, -1])
    >>> any(issubclass(warning.category, LabelWarning) for warning in heard)
    True
    """


class ContradictionWarning(LabelWarning):
    """Two identical points have different labels.

    Parameters
    ----------
    points : tuple of two int
        Row numbers.
    labels : tuple of two str
        What they are labelled.
    remedy : str
        What to do about it.

    Examples
    --------
    >>> from spinlearn.errors import ContradictionWarning
    >>> print(ContradictionWarning((0, 3), ("A", "B"), "correct one of them"))
    points 0 and 3 are identical but labelled A and B: correct one of them
    """

    def __init__(self, points: tuple[int, int], labels: tuple[str, str], remedy: str) -> None:
        self.points, self._labels, self._remedy = points, labels, remedy
        super().__init__(self.naming(str(points[0]), str(points[1])))

    def naming(self, first: str, second: str) -> str:
        """The message with the points' names in place of their row numbers.

        Parameters
        ----------
        first : str
            Name of the first point.
        second : str
            Name of the second point.

        Returns
        -------
        str
        """
        return (
            f"points {first} and {second} are identical but labelled {self._labels[0]} and "
            f"{self._labels[1]}: {self._remedy}"
        )


class ConvergenceWarning(SpinlearnWarning):
    """Some temperatures did not reach the requested accuracy.

    Examples
    --------
    >>> import warnings
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import PopulationAnnealing
    >>> pair = PottsModel(Graph(2, [(0, 1)]), 2)
    >>> with warnings.catch_warnings(record=True) as heard:
    ...     warnings.simplefilter("always")
    ...     found = PopulationAnnealing(n_walkers=64, tol=1e-9).run(pair, [1.0], seed=0)
    >>> heard[0].category.__name__, found.converged.tolist()
    ('ConvergenceWarning', [False])
    """


class CheckpointWarning(SpinlearnWarning):
    """A run goes on without the checkpoint that it should have written.

    Examples
    --------
    >>> from spinlearn.errors import CheckpointWarning, SpinlearnWarning
    >>> issubclass(CheckpointWarning, SpinlearnWarning)
    True
    """
