"""`spinlearn.label(X, y)`: label by looking, from a notebook."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from contextlib import ExitStack
from html import escape
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from spinlearn.answers.answer import Answer
from spinlearn.answers.labels import parse_labels
from spinlearn.errors import InvalidInputError, MissingDependencyError
from spinlearn.graphs import PixelGrid, as_graph
from spinlearn.graphs.points import checked_points
from spinlearn.inputs import is_graph
from spinlearn.io.dataset import Dataset
from spinlearn.io.folder import only_run
from spinlearn.labelling.refit import Refit
from spinlearn.labelling.session import Session
from spinlearn.labelling.thumbnails import Thumbnails
from spinlearn.model.graph import Graph
from spinlearn.workflows.fitting import Fitting

HEIGHT = 760  # of the frame in a notebook, in screen units


class Labelling:
    """A labelling under way; shown in a notebook it is the page at `address`, on this machine."""

    def __init__(
        self,
        data: Dataset,
        thumbnails: Thumbnails,
        folder: Path,
        *,
        settings: Mapping[str, Any],
        unlabelled: tuple[str, ...] = (),
        who: str | None = None,
        port: int = 0,
    ) -> None:
        try:
            from spinlearn.labelling.server import ServerThread
        except ImportError as error:
            raise MissingDependencyError(
                f"labelling in the browser needs {error.name}, which is not installed: pip install "
                "'spinlearn[label]'"
            ) from error
        self._open = ExitStack()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._open.enter_context(only_run(folder))
            refit = Refit(Fitting(data, settings), unlabelled)
            self.session = Session(refit, thumbnails, folder)
            if not who:
                try:
                    who = getpass.getuser()
                except (KeyError, OSError, ImportError):  # no account has a name here
                    who = "someone"
            self._server = ServerThread(self.session, who, port)
            self._server.start()
        except OSError as error:
            self._open.close()
            raise InvalidInputError(
                f"{folder} cannot be used ({error.strerror or error}): name another folder"
            ) from error
        except BaseException:
            self._open.close()
            raise
        self.address = self._server.address

    @property
    def labels(self) -> npt.NDArray[np.object_]:
        """The labels given so far, None where there is none: what `fit` takes as y."""
        return self.session.refit.labels(self.session.labels)

    @property
    def answer(self) -> Answer:
        """The answer to them, as `PottsClassifier` gives it; waits for it."""
        return self.session.wait().answer

    def export(self) -> Path:
        """Write the answer folder of `spinlearn fit`, and where it is."""
        return Path(self.session.export()["folder"])

    def stop(self) -> npt.NDArray[np.object_]:
        """End the server and hand the labels back."""
        labels = self.labels
        self._server.stop()
        self._open.close()
        return labels

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Labelling of {len(self.session.data.ids)} points at {self.address}"

    def _repr_html_(self) -> str:
        address = escape(self.address)
        return (
            f'<p><a href="{address}" target="_blank" rel="noopener">{address}</a></p>'
            f'<iframe src="{address}" width="100%" height="{HEIGHT}" '
            'style="border:1px solid #8888"></iframe>'
        )


def label(
    X: Any,
    y: Any = None,
    *,
    ids: Any = None,
    out: str | Path = "spinlearn-labels",
    images: str | Path | None = None,
    pixels: str | None = None,
    picture: Any = None,
    who: str | None = None,
    port: int = 0,
    **settings: Any,
) -> Labelling:
    """Label points by looking at them, in a page that this machine alone can open.

    In a notebook, the value of this call shows the page. Every label is in the file log.jsonl of
    `out` before the page shows it, and the same call goes on from there.

    Parameters
    ----------
    X : array-like or data frame (n, d); a Graph, SciPy sparse matrix or networkx graph; or a mask
        Points, their similarity graph, or the mask of an image, (height, width) of True and False.
    y : array-like of shape (n,), optional
        Labels to begin with; -1, None, NaN or "" where there is none.
    ids : sequence of shape (n,), optional
        Names of the points; default: the index of a data frame, nodes, row numbers from 0.
    out : path-like, default "spinlearn-labels"
        Folder for the log and the answer.
    images : path-like, optional
        Folder of picture files named by ids.
    pixels : str, optional
        Size of the pictures that the features are, "28x28".
    picture : array of shape (height, width) or (height, width, channels), optional
        The image that the mask X is of: pixels are joined by how alike they are.
    who : str, optional
        Your name in the log; default: that of your account.
    port : int, default 0
        Of the page; 0 is any that is free.
    **settings
        Settings of the answer, such as ``novelty=0.5``.

    Returns
    -------
    Labelling
        Its ``labels`` are the labels so far, its ``answer`` is the answer to them, ``export()``
        writes the answer, ``stop()`` ends the server and hands the labels back, as the end of a
        ``with`` statement does.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import spinlearn
    >>> X, y = np.arange(24.0)[:, None], ["left", *22 * [""], "right"]
    >>> with tempfile.TemporaryDirectory() as folder, spinlearn.label(X, y, out=folder) as page:
    ...     page.labels[[0, 1, 23]].tolist()
    ['left', None, 'right']
    """
    data = _dataset(X, y, ids, picture)
    shown = Thumbnails(data, images=None if images is None else Path(images), pixels=pixels)
    return Labelling(data, shown, Path(out), settings=settings, who=who, port=port)


def _dataset(X: Any, y: Any, ids: Any, picture: Any) -> Dataset:
    """What is labelled, as if it had been read from a file."""
    parts: dict[str, Any] = {}
    if is_graph(X):
        graph: Graph = as_graph(X)
        parts["graph"], n = graph, graph.n_nodes
        if hasattr(X, "is_directed"):
            ids = list(X.nodes) if ids is None else ids
    elif getattr(np.asarray(X), "dtype", None) == np.bool_ and np.ndim(X) == 2:
        builder = PixelGrid(connectivity=8, values=picture)
        places = builder.coordinates(X)
        parts |= {"graph": builder.build(X), "pixels": places}
        if picture is not None:
            parts["colours"] = _colours(picture)[tuple(places.T)]
        n = len(places)
        ids = [f"r{row}c{column}" for row, column in places.tolist()] if ids is None else ids
        if y is not None and np.ndim(y) == 2:
            y = np.asarray(y)[tuple(places.T)]
    else:
        points = checked_points(X)
        names = list(map(str, X.columns)) if hasattr(X, "columns") else None
        if ids is None and hasattr(X, "index") and hasattr(X, "columns"):
            ids = X.index.tolist()
        n, d = points.shape
        parts |= {"points": points, "feature_names": names or [f"X[{k}]" for k in range(d)]}
    names = [str(name) for name in (range(n) if ids is None else ids)]
    if len(names) != n or len(set(names)) != n:
        raise InvalidInputError(f"ids must be {n} different names, one per point: correct them")
    labels = np.full(n, None, dtype=object)
    if y is not None:
        code = parse_labels(y, n)
        known = np.flatnonzero(code.states >= 0)
        labels[known] = code.classes[code.states[known]].tolist()
    return Dataset(source=Path("X"), ids=names, labels=labels, **parts)


def _colours(picture: Any) -> npt.NDArray[np.uint8]:
    """Red, green and blue of an image, (height, width, 3)."""
    values = np.asarray(picture, dtype=np.float64)
    values = values.reshape(*values.shape[:2], -1)
    low, high = float(values.min()), float(values.max())
    bytes_already = low >= 0 and 1 < high <= 255
    shares = values / 255 if bytes_already else (values - low) / (high - low or 1.0)
    shown = shares[:, :, :3] if shares.shape[2] >= 3 else np.repeat(shares[:, :, :1], 3, axis=2)
    return np.asarray(np.rint(255 * shown), dtype=np.uint8)
