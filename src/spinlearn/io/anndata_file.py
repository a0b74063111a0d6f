"""AnnData: scanpy's neighbour graph, or a representation, of an object or a file (.h5ad)."""

from __future__ import annotations

import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from spinlearn.errors import InvalidInputError, needing
from spinlearn.files.arrays import MOST_PACKED
from spinlearn.graphs.points import checked_features
from spinlearn.io.dataset import Dataset, ReadOptions, row_numbers
from spinlearn.io.graph_file import check_lists, errors_about
from spinlearn.io.names import (
    array_of_points,
    id_column,
    ids_of,
    one_array,
    own_labels,
    rows_are_features,
)
from spinlearn.io.table import Table, check_magic
from spinlearn.model.arrays import FloatArray
from spinlearn.model.graph import Graph

SMALL = 10**7  # numbers that a matrix may have, however few of them are stored
MOST_WRITTEN = 2**27  # numbers, 1 GB: a sparse matrix of more stays sparse
LITTLE = 1 << 20  # bytes that may be claimed without being stored: arrays of one value
MAPS = ("X_umap", "X_tsne", "X_pca")
REPRESENTATIONS = ("X_pca", "X_scVI", "X_harmony")
MOST_SECONDS = 12  # of the processor, to read the text of a small file; most take a fraction of one
BYTES_PER_SECOND = 5_000_000  # of a large file; text takes a fifth of that time
SLOWEST = 10  # seconds by the clock for one of the processor, on a busy machine
# Damaged text sends HDF5 (2.0) into an endless loop, makes it ask for gigabytes, or ends the
# process. So another process, which bounds itself, reads what all that was met in: attributes and
# text of any length; and it refuses arrays larger than what is stored of them can be.
PROBE = (
    f"LITTLE, MOST_PACKED = {LITTLE}, {MOST_PACKED}"
    + """
import os, resource, sys
import h5py

seconds, most = int(sys.argv[2]), (3 << 29) + 20 * os.path.getsize(sys.argv[1])
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
resource.setrlimit(resource.RLIMIT_AS, (most, most))

def read(name, part):
    for key in part.attrs:
        part.attrs[key]
    if isinstance(part, h5py.Dataset) and part.shape:
        stored = part.id.get_storage_size()
        if part.nbytes > max(LITTLE, MOST_PACKED * stored):
            sys.exit(f"{name} claims {part.nbytes} bytes, of which {stored} are stored")
        if part.dtype.kind == "O":
            part[()]

with h5py.File(sys.argv[1], "r") as file:
    read("/", file)
    file.visititems(read)
"""
)


def neighbour_graph(adata: Any, neighbors_key: str | None) -> Graph | None:
    """The graph of scanpy.pp.neighbors, which must be there if its `key_added` is given."""
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
            f"writes: name a neighbour graph that is there ({_named(adata)}), or features"
        )
    return str(settings.get("connectivities_key", usual))


def _named(adata: Any) -> str:
    return ", ".join(neighbour_keys(adata)) or "none is"


def overlooked_graph(adata: Any, option: str) -> str | None:
    """Traces of a graph that was not found; {} in `option` is the name of another one."""
    said = []
    if "neighbors" in adata.uns:
        said.append(
            f"uns['neighbors'] is there, but its graph obsp[{_where(adata, None)!r}] is not: run "
            "scanpy.pp.neighbors again"
        )
    others = [
        k for k in neighbour_keys(adata) if k != "neighbors" and _where(adata, k) in adata.obsp
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


def representation(adata: Any, name: str | None) -> tuple[Any, str]:
    """Points by name ("X", a key of obsm or layers; None: the first known) and where they were."""
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


def _checked(values: Any, name: str) -> Any:
    """A matrix of a file; a sparse one only if all its values lie inside it."""
    try:
        if hasattr(values, "indptr"):
            shape = values.shape if values.format == "csr" else values.shape[::-1]
            check_lists(values.data, values.indices, values.indptr, *shape)
    except ValueError as error:
        raise InvalidInputError(f"{name!r} is damaged: {error}; get the file again") from error
    return values


def _dense(values: Any, name: str) -> Any:
    """A matrix of a file, written out unless it would fill the memory with zeros.

    One too large for that stays sparse, and neighbours in it are looked for by cosine.
    """
    values = _checked(values, name)
    if hasattr(values, "toarray"):
        n_numbers, n_stored = int(np.prod(values.shape, dtype=object)), values.nnz
        if n_numbers > max(SMALL, MOST_PACKED * n_stored):
            raise InvalidInputError(
                f"{name!r} is damaged: its shape {values.shape} claims {n_numbers} numbers, of "
                f"which {n_stored} are stored; get the file again"
            )
        if n_numbers > MOST_WRITTEN:
            return checked_features(values, repr(name))
        values = values.toarray()
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name!r} holds more than numbers: {error}") from error


# -- files -----------------------------------------------------------------------------------------


def _map_of(adata: Any) -> FloatArray | None:
    """Where scanpy would draw the cells, (n, 2), or None if it has not said so."""
    for name in MAPS:
        places = np.asarray(adata.obsm.get(name, ()))
        if places.ndim == 2 and places.shape[1] >= 2 and places.dtype.kind in "fiu":
            flat = places[:, :2].astype(np.float64)
            if np.all(np.isfinite(flat)):
                return flat
    return None


def _gene_readers(adata: Any) -> dict[str, Callable[[], FloatArray]]:
    """By name of a gene, what reads its values of all cells, (n,)."""
    if adata.X is None:
        return {}
    sparse = hasattr(adata.X, "tocsc")
    matrix: Any = _checked(adata.X, "X").tocsc() if sparse else np.asarray(adata.X)

    def values(column: int) -> FloatArray:
        dense = matrix[:, [column]].toarray() if sparse else matrix[:, column]
        return np.asarray(dense, dtype=np.float64).ravel()

    return {str(name): partial(values, column) for column, name in enumerate(adata.var_names)}


def read_h5ad_data(path: Path, options: ReadOptions, label_table: Table | None) -> Dataset:
    """Cells with their neighbour graph, or with a representation."""
    check_magic(path, b"\x89HDF\r\n\x1a\n", "HDF5")
    with needing(
        "h5ad files need anndata, which is not installed: pip install 'spinlearn[anndata]'"
    ):
        import anndata
    _check_hdf5_ends(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # names that repeat are told in a note
            adata = anndata.read_h5ad(path)
    except Exception as error:  # anndata and h5py raise all kinds
        raise InvalidInputError(f"{path} cannot be read as an AnnData file: {error}") from error
    obs = Table(path=path, cells=adata.obs)
    label = options.labels if options.labels_file is None else None
    if label in adata.var and label not in obs.cells:
        raise rows_are_features(path, f"var has {options.labels!r}, obs has not", options)
    labels = own_labels(obs, options, adata.n_obs)
    key = None if options.id is None else id_column(obs, options, label_table)[0]
    ids = [str(name) for name in adata.obs_names] if key is None else ids_of(obs, key)
    notes: tuple[str, ...] = ()
    if not all(map(str.strip, ids)):
        raise InvalidInputError(
            f"{path} has a cell without a name in obs_names: name it, or name a column with --id"
        )
    if key is None and len(set(ids)) < len(ids):
        ids = row_numbers(len(ids))
        notes = ("obs_names repeat: ids are row numbers, from 0",)
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
        sparse = hasattr(values, "tocoo")
        points = values if sparse else array_of_points(path, used, values, options)
        names = list(map(str, adata.var_names))
        if used.startswith("obsm") or not adata.var_names.is_unique:
            key = used.partition("'")[2].strip("']") or used  # obsm['X_pca'] -> X_pca
            names = [f"{key}[{k}]" for k in range(points.shape[1])]
        used = f"features: {used}" + ", too large to be written out: as sparse ones" * sparse
    else:
        names = []
        own = options.neighbors or "neighbors"
        others = [key for key in neighbour_keys(adata) if key != own]
        which = f"uns[{own!r}]" if options.neighbors or others else "obsp connectivities"
        if others:
            which += f"; there are others: --neighbors {' or '.join(others)}"
        points, used = None, f"graph: scanpy's neighbours ({which})"
    return Dataset(
        source=path,
        ids=ids,
        columns=Table(path=path, cells={str(c): adata.obs[c] for c in adata.obs}),
        labels=labels,
        points=points,
        graph=graph,
        feature_names=names,
        layout=_map_of(adata),
        notes=(*notes, used),
        cells={str(c): adata.obs[c].tolist() for c in adata.obs} if options.for_labelling else {},
        numbers=_gene_readers(adata) if options.for_labelling else {},
    )


def _check_hdf5_ends(path: Path) -> None:
    """Refuse a file in which HDF5 loses itself, or finds an error."""
    seconds = MOST_SECONDS + path.stat().st_size // BYTES_PER_SECOND
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROBE, str(path), str(seconds)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=SLOWEST * seconds,
        )
        code, lines = done.returncode, done.stderr.decode("utf-8", errors="replace").splitlines()
    except subprocess.TimeoutExpired:
        code, lines = -signal.SIGXCPU, []
    said = lines[-1] if code == 1 and lines else f"exit code {code}"
    if code == 0 or said.startswith("ModuleNotFoundError"):  # a system without such bounds
        return
    if code == -signal.SIGXCPU:
        said = "it does not finish reading its text"
    raise InvalidInputError(f"{path} is damaged: HDF5 cannot read it ({said}); get it again")
