"""Datasets from AnnData's files: .h5ad."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from spinlearn.core.array_file import MOST_PACKED
from spinlearn.errors import InvalidInputError, MissingDependencyError
from spinlearn.io.anndata_parts import (
    feature_names,
    gene_readers,
    map_of,
    named_representations,
    neighbour_graph,
    neighbour_keys,
    overlooked_graph,
    representation,
)
from spinlearn.io.chosen_columns import array_of_points, one_array
from spinlearn.io.dataset import Dataset, ReadOptions
from spinlearn.io.graph_file import errors_about
from spinlearn.io.hdf5_probe import check_hdf5_ends
from spinlearn.io.names import ids_of, own_id_column, own_labels, row_numbers
from spinlearn.io.parquet_table import check_magic
from spinlearn.io.table import Table
from spinlearn.io.turned import rows_are_features

LITTLE = 1 << 20  # bytes that may be claimed without being stored: arrays of one value


def read_h5ad_data(path: Path, options: ReadOptions, label_table: Table | None) -> Dataset:
    """Cells with their neighbour graph, or with a representation."""
    check_magic(path, b"\x89HDF\r\n\x1a\n", "HDF5")
    try:
        import anndata
    except ImportError as error:
        raise MissingDependencyError(
            "h5ad files need anndata, which is not installed: pip install 'spinlearn[anndata]'"
        ) from error
    check_hdf5_ends(path)
    try:
        _check_sizes(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # names that repeat are told in a note
            adata = anndata.read_h5ad(path)
    except InvalidInputError:
        raise
    except Exception as error:  # anndata and h5py raise all kinds
        raise InvalidInputError(f"{path} cannot be read as an AnnData file: {error}") from error
    obs = Table(path=path, cells=adata.obs)
    if (
        options.labels_file is None
        and options.labels in adata.var
        and options.labels not in obs.columns
    ):
        raise rows_are_features(path, f"var has {options.labels!r}, obs has not", options)
    labels = own_labels(obs, options, adata.n_obs)
    id_column = own_id_column(path, obs.columns, options, label_table)
    ids = [str(name) for name in adata.obs_names] if id_column is None else ids_of(obs, id_column)
    notes: tuple[str, ...] = ()
    if not all(map(str.strip, ids)):
        raise InvalidInputError(
            f"{path} has a cell without a name in obs_names, and every one needs one: fill it in, "
            "or name a column of obs with --id"
        )
    if id_column is None and len(set(ids)) < len(ids):
        ids, notes = row_numbers(len(ids)), ("obs_names repeat: ids are row numbers",)
    name = one_array(path, named_representations(adata), options)
    if name is not None and options.neighbors is not None:
        raise InvalidInputError(
            f"{path}: --features {name} builds a new graph, --neighbors {options.neighbors} names "
            "one that is there: leave one of them out"
        )
    with errors_about(path):
        graph = neighbour_graph(adata, options.neighbors) if name is None else None
        if graph is None:
            traces = overlooked_graph(adata, "--neighbors {}") if name is None else None
            notes += (traces,) if traces else ()
            values, used = representation(adata, name)
    if graph is None:
        points = array_of_points(path, used, values, options)
        names, used = feature_names(adata, used, points.shape[1]), f"features: {used}"
    else:
        names = []
        points, used = None, f"graph: scanpy's neighbours ({_which(adata, options.neighbors)})"
    return Dataset(
        source=path,
        ids=ids,
        labels=labels,
        points=points,
        graph=graph,
        feature_names=names,
        layout=map_of(adata),
        notes=(*notes, used),
        cells={str(c): adata.obs[c].tolist() for c in adata.obs} if options.for_labelling else {},
        numbers=gene_readers(adata) if options.for_labelling else {},
    )


def _which(adata: Any, key: str | None) -> str:
    """Which neighbour graph is used, and which others there are."""
    own = key or "neighbors"
    others = [name for name in neighbour_keys(adata) if name != own]
    more = f"; there are others: --neighbors {' or '.join(others)}" if others else ""
    return f"uns[{own!r}]{more}" if key or others else "obsp connectivities"


def _check_sizes(path: Path) -> None:
    """Refuse arrays larger than what is stored of them can be, before memory is taken for them."""
    import h5py

    def check(name: str, part: Any) -> None:
        if not isinstance(part, h5py.Dataset) or not part.shape:
            return
        stored = part.id.get_storage_size()
        if part.nbytes > max(LITTLE, MOST_PACKED * stored):
            raise InvalidInputError(
                f"{path} claims {part.nbytes} bytes for {name!r}, of which {stored} are stored: it "
                "is damaged; get it again"
            )

    with h5py.File(path, "r") as file:
        file.visititems(check)
