"""Datasets from AnnData's files: .h5ad."""

from __future__ import annotations

import warnings
from pathlib import Path

from spinlearn.errors import InvalidInputError, MissingDependencyError
from spinlearn.io.anndata_parts import (
    map_of,
    named_representations,
    neighbour_graph,
    representation,
)
from spinlearn.io.chosen_columns import array_of_points, one_array
from spinlearn.io.dataset import Dataset, ReadOptions
from spinlearn.io.graph_file import errors_about
from spinlearn.io.names import ids_of, own_id_column, own_labels, row_numbers
from spinlearn.io.parquet_table import check_magic
from spinlearn.io.table import Table


def read_h5ad_data(path: Path, options: ReadOptions, label_table: Table | None) -> Dataset:
    """Cells with their neighbour graph, or with a representation."""
    check_magic(path, b"\x89HDF\r\n\x1a\n", "HDF5")
    try:
        import anndata
    except ImportError as error:
        raise MissingDependencyError(
            "h5ad files need anndata, which is not installed: pip install 'spinlearn[anndata]'"
        ) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # names that repeat are told in a note
            adata = anndata.read_h5ad(path)
    except Exception as error:  # anndata and h5py raise all kinds
        raise InvalidInputError(f"{path} cannot be read as an AnnData file: {error}") from error
    obs = Table(path=path, cells=adata.obs)
    labels = own_labels(obs, options, adata.n_obs)
    id_column = own_id_column(path, obs.columns, options, label_table)
    ids = [str(name) for name in adata.obs_names] if id_column is None else ids_of(obs, id_column)
    notes: tuple[str, ...] = ()
    if id_column is None and len(set(ids)) < len(ids):
        ids, notes = row_numbers(len(ids)), ("obs_names repeat: ids are row numbers",)
    name = one_array(path, named_representations(adata), options)
    with errors_about(path):
        graph = neighbour_graph(adata, None) if name is None else None
        if graph is None:
            values, used = representation(adata, name)
    if graph is None:
        points, used = array_of_points(path, used, values), f"features: {used}"
    else:
        points, used = None, "graph: scanpy's neighbours (obsp connectivities)"
    return Dataset(
        source=path,
        ids=ids,
        labels=labels,
        points=points,
        graph=graph,
        layout=map_of(adata),
        notes=(*notes, used),
    )
