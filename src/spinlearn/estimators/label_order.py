"""Which label is whose: those that come with names, in the order of the points.

Lists and arrays go by position, and so does pandas, as everywhere in scikit-learn; but a Series
with the row names of X in another order is refused, because its positions are surely not meant.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from spinlearn.errors import InvalidInputError


def index_of(table: Any) -> Any:
    """The index of a pandas object, else None."""
    index = getattr(table, "index", None)  # a list has a method of this name
    return index if hasattr(index, "get_indexer") else None


def refuse_other_order(y: Any, index: Any) -> None:
    """Refuse a y that names the same rows as X, but in another order.

    Parameters
    ----------
    y : object
    index : pandas Index or None
        That of X.
    """
    own = index_of(y)
    if own is None or index is None or len(own) != len(index):
        return
    if not (own.is_unique and index.is_unique):
        return
    place = own.get_indexer(index)
    if np.all(place >= 0) and np.any(place != np.arange(len(place))):
        row = int(np.argmax(place != np.arange(len(place))))
        raise InvalidInputError(
            f"y and X have the same index in different orders (row {row} is {own[row]!r} in y, "
            f"{index[row]!r} in X), and labels go by position: pass y.loc[X.index], or y.to_numpy()"
            " if their order is right as it is"
        )


def labels_by_row(y: Any, n_points: int, nodes: Sequence[Hashable] | None, index: Any) -> Any:
    """One label per point, None where there is none, if y names its points; else y as it is.

    Parameters
    ----------
    y : object
        A mapping, or a pandas Series whose index is nodes, names its points.
    n_points : int
    nodes : sequence or None
        Names of the points of a networkx graph.
    index : pandas Index or None
        Names of the rows of a data frame.
    """
    if not isinstance(y, Mapping):
        own = index_of(y)
        if own is None or nodes is None or not _names_nodes(own, nodes, n_points):
            return y
        if not own.is_unique:
            twice = own[own.duplicated()][0]
            raise InvalidInputError(f"y has more than one label for the node {twice!r}: keep one")
        y = dict(zip(own, np.asarray(y, dtype=object).ravel(), strict=True))
    names: Any = nodes if nodes is not None else range(n_points) if index is None else index
    if index is not None and not index.is_unique:
        raise InvalidInputError(
            "the index of X repeats, so that the keys of y do not say which rows are meant: make it"
            " unique, X.reset_index(drop=True), or give one label per row"
        )
    place = {name: k for k, name in enumerate(names)}
    labels = np.full(n_points, None, dtype=object)
    for name, label in y.items():
        if name not in place:
            raise InvalidInputError(
                f"y has a label for {name!r}, which is not among {_among(nodes, index, n_points)}: "
                "correct its keys"
            )
        labels[place[name]] = label
    return labels


def _names_nodes(own: Any, nodes: Sequence[Hashable], n_points: int) -> bool:
    """Whether the index of a Series names nodes; one that names none is a mere count of rows."""
    known = set(nodes)
    found = [name in known for name in own]
    counts = len(own) == n_points and list(own) == list(range(n_points))
    return all(found) or (any(found) and not counts)


def _among(nodes: Sequence[Hashable] | None, index: Any, n_points: int) -> str:
    if nodes is not None:
        return "the nodes of the graph"
    if index is None or list(index) == list(range(n_points)):
        return f"the rows 0 to {n_points - 1}"
    first = ", ".join(map(repr, index[:3].tolist()))
    return f"the index of X ({first}{', ...' if n_points > 3 else ''})"
