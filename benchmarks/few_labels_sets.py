"""The sets of `few_labels.py`: points, classes, one graph each, and which points are labelled.

    tables     scikit-learn's iris, wine, breast_cancer (standardised) and digits (pixels)
    files      FOLDER/few-labels/*.npz, with X, y and perhaps `labelled10` (rows of a split)
    cells      pbmc68k_reduced, where scanpy can be imported
    images     Fashion-MNIST as Debian's dataset-fashion-mnist installs it: 2,000, or all 70,000
    synthetic  gauss241: two Gaussians in 241 dimensions, 2.5 standard deviations apart (the recipe
               of the SSL book's set g241c, drawn anew); moons: two half circles with noise
    extra      any FOLDER/NAME.npz with X and y

`prepared` turns raw values into the points that all methods see. A set that is not at hand is left
out with a word about why.
"""

from __future__ import annotations

import gzip
import os
import struct
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from spinlearn import KNN, Graph

TABLES = ("iris", "wine", "breast_cancer", "digits")
FILES = (
    "digit1",
    "usps2",
    "coil",
    "xin_pancreas",
    "alizadeh2000",
    "golub1999",
    "khan2001",
    "nutt2003",
)
SYNTHETIC = ("gauss241", "moons")
SETS = (*TABLES, *FILES, "pbmc68k", "fashion2000", *SYNTHETIC)
LARGE = ("fashion70000",)
FASHION = Path("/usr/share/datasets/fashion-mnist")
SMALL_SAMPLE = 2_000  # images of fashion2000
EXPRESSION = ("xin_pancreas", "alizadeh2000", "golub1999", "khan2001", "nutt2003", "pbmc68k")
LOGGED = {"golub1999": (10.0, 16_000.0), "nutt2003": (10.0, 16_000.0), "khan2001": (0.01, 100.0)}
EXPRESSION_COMPONENTS = 20
IMAGE_COMPONENTS = 50
UNLIKE = 10.0  # largest spread of a column, in medians of the columns, of an extra set as it is
SMALL = 100  # points below which --small-neighbors holds


class NotAtHandError(Exception):
    """A set cannot be read here; the text says why."""


@dataclass(eq=False)
class LabelledSet:
    """Points, their true classes 0 .. q-1 and the graph that all methods share."""

    name: str
    X: np.ndarray
    truth: np.ndarray
    class_names: list[str]
    neighbors: int
    splits: np.ndarray | None = field(default=None, repr=False)

    @property
    def n_classes(self) -> int:
        return len(self.class_names)

    @cached_property
    def graph(self) -> Graph:
        """The union nearest-neighbour graph."""
        return KNN(n_neighbors=self.neighbors).build(self.X)

    @cached_property
    def weights(self) -> csr_matrix:
        """Its weights as a symmetric matrix, of the type that the peers accept."""
        u, v = self.graph.edges.T
        rows, columns = np.concatenate([u, v]), np.concatenate([v, u])
        n = self.graph.n_nodes
        return csr_matrix((np.tile(self.graph.weights, 2), (rows, columns)), shape=(n, n))

    @cached_property
    def n_parts(self) -> int:
        """Connected components of the graph."""
        return int(connected_components(self.weights, directed=False)[0])

    def facts(self) -> dict:
        """What the page says about the set."""
        u, v = self.graph.edges.T
        sizes = np.bincount(self.truth)
        return {
            "points": len(self.truth),
            "columns": int(self.X.shape[1]),
            "classes": self.n_classes,
            "largest": float(sizes.max() / sizes.sum()),
            "smallest": int(sizes.min()),
            "edges": int(self.graph.n_edges),
            "within": float(np.mean(self.truth[u] == self.truth[v])),
            "parts": self.n_parts,
        }

    def drawn(self, labels: str, draw: int, hidden: int = -1) -> np.ndarray:
        """Labels of some points of every class but the hidden one, -1 elsewhere.

        Parameters
        ----------
        labels : str
            A number a class, or "all10" for split number `draw` of the file, ten labels in all.
            One point of every class stays unlabelled. A draw of one label a class is part of the
            draw of three with the same seed, and so on.
        """
        y = np.full(len(self.truth), -1)
        if labels == "all10":
            rows = self.splits[draw]
            y[rows] = self.truth[rows]
            return y
        generator = np.random.default_rng(draw)
        for c in range(self.n_classes):
            members = generator.permutation(np.flatnonzero(self.truth == c))
            if c != hidden:
                y[members[: min(int(labels), len(members) - 1)]] = c
        return y


def load(name: str, options) -> LabelledSet:
    """One set by name, prepared.

    Parameters
    ----------
    name : str
        One of SETS or LARGE, or of the files in the folder `options.extra`.
    options : Namespace
        data, extra, fashion: folders or None; neighbors, small_neighbors.
    """
    splits = None
    if name in TABLES or name in SYNTHETIC:
        X, y = (_table if name in TABLES else _synthetic)(name)
    elif name in FILES:
        X, y, splits = _file(_data_folder(options.data) / f"{name}.npz")
    elif name == "pbmc68k":
        X, y = _cells()
    elif name.startswith("fashion"):
        X, y = _images(options.fashion or FASHION, int(name.removeprefix("fashion")))
    else:
        X, y, splits = _file(options.extra / f"{name}.npz")
    classes, truth = np.unique(y, return_inverse=True)
    neighbors = options.small_neighbors if len(truth) < SMALL else options.neighbors
    return LabelledSet(
        name, prepared(name, X), truth, [str(c) for c in classes], neighbors, splits=splits
    )


def prepared(name: str, X: np.ndarray) -> np.ndarray:
    """Raw values as the points that all methods see.

    Tables of unlike columns are standardised. Gene expression is in logarithms (intensities and
    ratios after clipping) and reduced to its first principal components, at most 20 and one fewer
    than points; Fashion-MNIST to 50. Sets of --extra: principal components where there are more
    columns than points, standardised where the spread of one column is ten times the median one.
    """
    X = np.asarray(X, dtype=np.float64)
    if name in LOGGED:
        X = np.log2(np.clip(X, *LOGGED[name]))
    if name in EXPRESSION:
        return _components(X, EXPRESSION_COMPONENTS)
    if name.startswith("fashion"):
        return _components(X / 255.0, IMAGE_COMPONENTS)
    known = name in SETS
    if known and (name not in TABLES or name == "digits"):
        return X
    if not known and X.shape[1] > X.shape[0]:
        return _components(X, EXPRESSION_COMPONENTS)
    spread = X.std(axis=0)
    if not known and spread.max() <= UNLIKE * np.median(spread[spread > 0]):
        return X
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def _components(X: np.ndarray, most: int) -> np.ndarray:
    """Principal components, the same ones on every run."""
    from sklearn.decomposition import PCA

    wide = X.shape[1] > X.shape[0]
    solver = "full" if wide else "covariance_eigh"
    return PCA(min(most, len(X) - 1, X.shape[1]), svd_solver=solver).fit_transform(X)


def _table(name: str) -> tuple[np.ndarray, np.ndarray]:
    from sklearn import datasets

    return getattr(datasets, f"load_{name}")(return_X_y=True)


def _synthetic(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name == "moons":
        from sklearn.datasets import make_moons

        return make_moons(600, noise=0.1, random_state=0)
    generator = np.random.default_rng(241)
    direction = generator.standard_normal(241)
    direction *= 2.5 / np.linalg.norm(direction)
    y = np.repeat([0, 1], 750)
    return generator.standard_normal((1500, 241)) + y[:, None] * direction, y


def _data_folder(given: Path | None) -> Path:
    """The folder of the .npz files: as given, or that of SPINLEARN_DATA; or its few-labels."""
    folder = given or os.environ.get("SPINLEARN_DATA")
    if not folder:
        raise NotAtHandError("no folder of data: give --data or set SPINLEARN_DATA")
    inner = Path(folder) / "few-labels"
    return inner if inner.is_dir() else Path(folder)


def _file(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    if not path.exists():
        raise NotAtHandError(f"no file {path}")
    arrays = np.load(path)
    return arrays["X"], arrays["y"], arrays.get("labelled10")


def _cells() -> tuple[np.ndarray, np.ndarray]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import scanpy

            cells = scanpy.datasets.pbmc68k_reduced()
    except ImportError as error:
        raise NotAtHandError("scanpy is not installed") from error
    return np.asarray(cells.X), np.asarray(cells.obs["bulk_labels"]).astype(str)


def _images(folder: Path, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Fashion-MNIST, all of it or a fixed draw of n images."""
    if not folder.is_dir():
        raise NotAtHandError(f"no folder {folder}: install dataset-fashion-mnist or give --fashion")
    X, y = (
        np.concatenate([_idx(folder / f"{part}-{what}-ubyte.gz") for part in ("train", "t10k")])
        for what in ("images-idx3", "labels-idx1")
    )
    rows = np.arange(len(y))
    if n < len(y):
        rows = np.sort(np.random.default_rng(0).choice(len(y), n, replace=False))
    return X[rows].reshape(len(rows), -1), y[rows]


def _idx(path: Path) -> np.ndarray:
    """An array of bytes in the idx format: two zeros, type, number of axes, their lengths."""
    raw = gzip.decompress(path.read_bytes())
    n_axes = raw[3]
    shape = struct.unpack(f">{n_axes}I", raw[4 : 4 + 4 * n_axes])
    return np.frombuffer(raw, dtype=np.uint8, offset=4 + 4 * n_axes).reshape(shape)
