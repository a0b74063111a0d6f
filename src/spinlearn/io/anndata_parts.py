"""What an AnnData object offers to classify by: scanpy's neighbour graph, or a representation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.core.graph import Graph
from spinlearn.errors import InvalidInputError
from spinlearn.io.sparse_checks import check_compressed, check_dense_size

MAPS = ("X_umap", "X_tsne", "X_pca")
REPRESENTATIONS = ("X_pca", "X_scVI", "X_harmony")


def neighbour_graph(adata: Any, neighbors_key: str | None) -> Graph | None:
    """The graph that scanpy.pp.neighbors left, or None if there is none.

    Parameters
    ----------
    adata : AnnData
    neighbors_key : str or None
        Where scanpy was told to put it (its `key_added`); None means the default place. A key that
        is named must be there.
    """
    if neighbors_key is not None and neighbors_key not in adata.uns:
        raise InvalidInputError(
            f"adata.uns has no {neighbors_key!r}: run scanpy.pp.neighbors(adata, "
            f"key_added={neighbors_key!r}), or name one that is there ({_named(adata)})"
        )
    where = _where(adata, neighbors_key)
    if where not in adata.obsp:
        if neighbors_key is not None:
            raise InvalidInputError(f"adata.obsp has no {where!r}: run scanpy.pp.neighbors again")
        return None
    matrix = _checked(adata.obsp[where], where)
    # umap's fuzzy union is symmetric up to rounding, jaccard and gauss are too.
    return Graph.from_sparse((matrix + matrix.T) / 2)


def _where(adata: Any, neighbors_key: str | None) -> str:
    """The key of obsp at which a neighbour graph should be."""
    key = neighbors_key or "neighbors"
    usual = "connectivities" if neighbors_key is None else f"{key}_connectivities"
    settings = adata.uns.get(key, {})
    if not isinstance(settings, Mapping):
        raise InvalidInputError(
            f"adata.uns[{key!r}] holds {type(settings).__name__}, not what scanpy.pp.neighbors "
            f"writes: name a neighbour graph that is there ({_named(adata)}), or the features to "
            "build one from"
        )
    return str(settings.get("connectivities_key", usual))


def _named(adata: Any) -> str:
    return ", ".join(neighbour_keys(adata)) or "none is"


def overlooked_graph(adata: Any, option: str) -> str | None:
    """What to say where `neighbour_graph` found none at the default place, but there are traces.

    Parameters
    ----------
    adata : AnnData
    option : str
        How the user names another one; {} is its name.
    """
    said = []
    if "neighbors" in adata.uns:
        said.append(
            f"uns['neighbors'] is there, but its graph obsp[{_where(adata, None)!r}] is not: run "
            "scanpy.pp.neighbors again"
        )
    others = [
        name
        for name in neighbour_keys(adata)
        if name != "neighbors" and _where(adata, name) in adata.obsp
    ]
    if others:
        ways = " or ".join(option.format(name) for name in others)
        said.append(f"a neighbour graph is there under another name: use it with {ways}")
    return "; ".join(said) + "; a new graph is built" if said else None


def neighbour_keys(adata: Any) -> list[str]:
    """Where scanpy.pp.neighbors left graphs: names that `neighbour_graph` takes."""
    return [
        str(name)
        for name, part in adata.uns.items()
        if isinstance(part, Mapping) and "connectivities_key" in part
    ]


def named_representations(adata: Any) -> tuple[str, ...]:
    """Names that `representation` takes."""
    own = () if adata.X is None else ("X",)
    return (*own, *map(str, adata.obsm), *map(str, adata.layers))


def representation(adata: Any, name: str | None) -> tuple[FloatArray, str]:
    """Points of an AnnData object and where they were.

    Parameters
    ----------
    adata : AnnData
    name : str or None
        "X", or a key of obsm or layers; None means the first known representation, or else X.
    """
    if name is None:
        name = next((known for known in REPRESENTATIONS if known in adata.obsm), "X")
    if name in adata.obsm:
        return _dense(adata.obsm[name], name), f"obsm[{name!r}]"
    if name in adata.layers:
        return _dense(adata.layers[name], name), f"layers[{name!r}]"
    if name != "X":
        raise InvalidInputError(
            f"adata has no {name!r} in obsm or layers: it has "
            f"{', '.join(named_representations(adata)) or 'nothing'}"
        )
    if adata.X is None:
        raise InvalidInputError("adata has neither a representation in obsm nor X")
    return _dense(adata.X, name), "X"


def feature_names(adata: Any, used: str, count: int) -> list[str]:
    """Names of the columns that `representation` found: those of the genes where they are genes."""
    if not used.startswith("obsm") and adata.var_names.is_unique:
        return [str(name) for name in adata.var_names]
    key = used.partition("'")[2].strip("']") or used  # obsm['X_pca'] -> X_pca
    return [f"{key}[{k}]" for k in range(count)]


def _checked(values: Any, name: str, *, written_out: bool = False) -> Any:
    """A matrix of a file; a sparse one only if all its values lie inside it."""
    try:
        if hasattr(values, "indptr"):
            check_compressed(values)
        if written_out and hasattr(values, "nnz"):
            check_dense_size(values.shape, values.nnz)
    except ValueError as error:
        raise InvalidInputError(f"{name!r} is damaged: {error}; get the file again") from error
    return values


def _dense(values: Any, name: str) -> FloatArray:
    values = _checked(values, name, written_out=True)
    dense = values.toarray() if hasattr(values, "toarray") else values
    try:
        return np.asarray(dense, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name!r} holds more than numbers: {error}") from error


def map_of(adata: Any) -> FloatArray | None:
    """Where scanpy would draw the cells, (n, 2), or None if it has not said so."""
    for name in MAPS:
        if name in adata.obsm:
            places = np.asarray(adata.obsm[name])
            if places.ndim == 2 and places.shape[1] >= 2 and places.dtype.kind in "fiu":
                flat = places[:, :2].astype(np.float64)
                if np.all(np.isfinite(flat)):
                    return flat
    return None


def gene_readers(adata: Any) -> dict[str, Callable[[], FloatArray]]:
    """By name of a gene, what reads its values of all cells, (n,)."""
    if adata.X is None:
        return {}
    sparse = hasattr(adata.X, "tocsc")
    matrix = _checked(adata.X, "X").tocsc() if sparse else np.asarray(adata.X)

    def values(column: int) -> FloatArray:
        found = matrix[:, [column]]
        dense = found.toarray() if hasattr(found, "toarray") else found
        return np.asarray(dense, dtype=np.float64).ravel()

    return {str(name): partial(values, column) for column, name in enumerate(adata.var_names)}
