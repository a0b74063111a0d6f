"""read_dataset: what any kind of file that is understood holds.

    .csv .tsv (.gz)    a table: one column of labels, optionally one of ids, numeric features
    .parquet .xlsx     the same; of Excel the first sheet
    .npz               arrays: features X, labels by name; or a sparse matrix: a graph, or
                       features if it is not square
    .npy               features alone; labels come from a second file
    .h5ad              an AnnData object: labels in obs, scanpy's neighbour graph or X_pca or X
    .mtx               a graph (Matrix Market); labels come from a second file
    .edges             a graph, as a list of edges with ids; labels come from a second file. A .csv,
                       a .parquet or a folder of .parquet parts is one where the user says so
    .graphml .gml      a graph; labels are an attribute of its nodes, or come from a second file
    .png .jpg ...      a picture: its pixels; labels come from a second file

A second file with labels is a table, Excel or not, or a .npy array with one label per point.

An empty cell, NA, NaN or -1 marks an unlabelled point. CONTRIBUTING.md says how a kind is added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from spinlearn.errors import InvalidInputError, needing
from spinlearn.files.arrays import Arrays, read_npy, read_npz
from spinlearn.graphs import PixelGrid
from spinlearn.io.anndata_file import read_h5ad_data
from spinlearn.io.dataset import TEXT_KINDS, Dataset, ReadOptions, row_numbers
from spinlearn.io.features import named, read_features
from spinlearn.io.graph_file import (
    is_edge_heading,
    is_sparse,
    read_graph_data,
    sparse_graph,
    sparse_points,
)
from spinlearn.io.names import (
    GRAPH_ALONE,
    array_of_points,
    chosen_columns,
    id_column,
    ids_of,
    join_labels,
    one_array,
    own_labels,
    read_label_table,
    refuse_features,
    rows_are_features,
)
from spinlearn.io.networkx_file import NETWORKX, read_networkx_data
from spinlearn.io.table import (
    EXCEL_FILE,
    MissingColumnError,
    Table,
    check_names,
    listed,
    read_table,
    table_with_points,
)
from spinlearn.model.arrays import BoolArray, FloatArray
from spinlearn.model.graph import Graph

PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")
MOST_PIXELS = 1_000_000
DEEP = ("I", "F")  # how Pillow's modes begin whose pixels have more than 8 bits


def read_table_data(path: Path, options: ReadOptions, label_table: Table | None) -> Dataset:
    """Points in the columns of a table."""
    if options.labels is None and options.labels_file is None and not options.for_labelling:
        raise InvalidInputError(f"{path}: which column holds the labels? Name it with --labels")
    labels = [options.labels] if options.labels is not None and options.labels_file is None else []
    elsewhere = label_table is not None and options.id in label_table.cells
    ids = [] if options.id is None or elsewhere else [options.id]
    read = partial(read_table, path, delimiter=options.delimiter, encoding=options.encoding)
    try:
        table = read(lambda columns: [*labels, *chosen_columns(columns, options), *ids])
    except MissingColumnError as error:
        turned = read(lambda columns: ())
        if error.column in next(iter(turned.cells.values()), ()):
            raise rows_are_features(path, f"a row is named {error.column!r}", options) from error
        raise
    alone = options.labels_file is not None and not options.features
    names = list(table.cells)
    if alone and is_edge_heading(names):
        raise InvalidInputError(
            f"{path} has the columns {listed(names)}, as a list of edges has: read "
            "it as one with --edges, or name the features with --features"
        )
    n_rows = len(next(iter(table.cells.values()), ()))
    if n_rows == 0:
        raise InvalidInputError(f"{path} has a heading but no rows: give at least 2 points")
    key, joined = id_column(table, options, label_table)
    others = {options.labels, options.id, key, *options.exclude}
    columns = chosen_columns(names, options)
    if not options.features:
        columns = [name for name in names if name not in others]
    if options.labels in columns and options.labels_file is None:
        raise InvalidInputError(
            f"{path}: {options.labels!r} holds the labels: leave it out of --features"
        )
    given = own_labels(table, options, n_rows)
    points, used, notes, shared = read_features(
        table if options.decimal == "." else table_with_points(table, columns),
        columns,
        replace(options, id=key or options.id),
        np.array([label is not None for label in given], dtype=bool),
    )
    others = {*used, options.labels, key or options.id}
    # What else a row says.
    beside = [name for name in names if name not in others] if options.for_labelling else []
    return Dataset(
        source=path,
        ids=row_numbers(n_rows) if key is None else ids_of(table, key),
        id_column=key if joined else None,
        columns=table,
        labels=given,
        points=points,
        feature_names=used,
        shared=shared,
        table=True,
        notes=(*table.notes, *joined, *notes),
        cells={name: table.cells[name] for name in beside},
    )


def read_array_data(path: Path, options: ReadOptions, label_table: Table | None) -> Dataset:
    """Points or a sparse matrix among arrays."""
    arrays: Arrays = {"X": read_npy(path)} if path.suffix.lower() == ".npy" else read_npz(path)
    alone = options.labels_file is None and not options.for_labelling
    if path.suffix.lower() == ".npy" and alone:
        raise InvalidInputError(
            f"{path} holds features alone: give the labels in a second file with --labels-file"
        )
    points, graph, names, notes = None, None, list[str](), tuple[str, ...]()
    if is_sparse(arrays):
        refuse_features(path, options)
        held, notes = sparse_graph(path, arrays)
        if alone and (options.labels or "y") not in arrays:
            raise InvalidInputError(GRAPH_ALONE.format(path))
        if isinstance(held, Graph):
            graph, n_points = held, held.n_nodes
        else:
            data = sparse_points(path, held, notes)
            points, names, notes = data.points, data.feature_names, data.notes
            n_points = len(data.ids)
    else:
        used = one_array(path, tuple(arrays), options) or "X"
        if used not in arrays:
            raise InvalidInputError(
                f"{path} has no array {used!r}: it has {listed(sorted(arrays))}; name the features "
                "with --features"
                if arrays
                else f"{path} holds no array: give features as X and labels as y"
            )
        points = array_of_points(path, used, arrays[used], options)
        n_points, n_features = points.shape
        names = [f"{used}[{k}]" for k in range(n_features)]
        own = arrays.get(options.labels or "y") if options.labels_file is None else None
        if own is not None and n_points != n_features and own.shape == (n_features,):
            raise rows_are_features(path, f"there is a label for each column of {used!r}", options)
    if options.labels is None and not (options.for_labelling and "y" not in arrays):
        options = replace(options, labels="y")
    columns = {name: values for name, values in arrays.items() if values.shape == (n_points,)}
    table = Table(path=path, cells=columns if options.id is None else arrays)
    key, joined = id_column(table, options, label_table)
    label = options.labels if options.labels_file is None else None
    for name, what in ((label, "label"), (key, "id")):
        if name in arrays and arrays[name].shape != (n_points,):
            raise InvalidInputError(
                f"{path}: the array {name!r} has shape {arrays[name].shape}, but there are "
                f"{n_points} points: give one {what} per point"
            )
    return Dataset(
        source=path,
        ids=row_numbers(n_points) if key is None else ids_of(table, key),
        id_column=key if joined else None,
        columns=replace(table, cells=columns),
        labels=own_labels(Table(path=path, cells=arrays), options, n_points),
        points=points,
        graph=graph,
        feature_names=names,
        notes=(*notes, *joined),
    )


def read_picture_data(path: Path, options: ReadOptions, label_table: Table | None) -> Dataset:
    """The pixels of a picture, joined by how alike they are, called by row and column: r3c7.

    A picture of two values is a mask: its brighter pixels are the points, joined alike. Transparent
    pixels are left out. Values of 16 or 32 bits, and floats, are read as they are.
    """
    refuse_features(path, options)
    if options.labels_file is None and not options.for_labelling:
        raise InvalidInputError(
            f"{path} is a picture, which holds no labels: give them in a second file with "
            "--labels-file, or paint them with `spinlearn label`"
        )
    values, shown, inside = _pixels(path)
    masked = values.shape[2] == 1 and len(np.unique(values)) == 2
    if masked:
        inside = inside & (values[:, :, 0] == values.max())
    if inside.sum() < 2:
        which = "brighter (with two values it is a mask)" if masked else "not transparent"
        raise InvalidInputError(
            f"{path} shows too few pixels: at least 2 that are {which} are needed, and "
            f"{'there is one' if inside.any() else 'there is none'}; give a larger picture"
        )
    builder = PixelGrid(connectivity=8, values=None if masked else values)
    pixels = builder.coordinates(inside)
    what = "mask" if masked else "picture, joined by how alike pixels are"
    return Dataset(
        source=path,
        ids=[f"r{row}c{column}" for row, column in pixels.tolist()],
        labels=np.full(len(pixels), None, dtype=object),
        graph=builder.build(inside),
        layout=np.column_stack([pixels[:, 1], -pixels[:, 0]]).astype(np.float64),
        pixels=pixels,
        colours=np.broadcast_to(shown, (*inside.shape, 3))[inside].astype(np.uint8),
        notes=(f"graph: {len(pixels)} pixels of a {what}",),
    )


def _pixels(path: Path) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Values (height, width, channels), the same from 0 to 255, and which pixels can be seen."""
    with needing("pictures need Pillow, which is not installed: pip install 'spinlearn[app]'"):
        from PIL import Image
    try:
        with Image.open(path) as image:
            n_pixels = image.width * image.height
            if n_pixels > MOST_PIXELS:
                raise InvalidInputError(
                    f"{path} has {n_pixels} pixels: make it smaller, of {MOST_PIXELS} at most"
                )
            deep = image.mode.startswith(DEEP)  # conversion would cut these off at 255
            values = np.asarray(image if deep else image.convert("RGBA"), dtype=np.float64)
            transparent = image.info.get("transparency")
    except InvalidInputError:
        raise
    except Exception as error:  # Pillow raises all kinds
        raise InvalidInputError(f"{path} cannot be read as a picture: {error}") from error
    if not deep:
        colours = values[:, :, :3]
        if np.all(colours == colours[:, :, :1]):
            colours = colours[:, :, :1]
        return colours, colours, values[:, :, 3] > 127
    odd = np.argwhere(~np.isfinite(values))
    if len(odd):
        row, column = odd[0].tolist()
        raise InvalidInputError(
            f"{path} holds {len(odd)} NaN or infinite values, the first at pixel r{row}c{column}, "
            "and nothing can be said of how alike such pixels are: fill them in, and save it again"
        )
    # PNG names one value that is not shown.
    inside = values != (transparent if isinstance(transparent, int) else np.nan)
    low, high = values.min(), values.max()
    shown = (values - low) * (255 / (high - low) if high > low else 0.0)
    return values[:, :, None], np.rint(shown)[:, :, None], inside


# From a path, what the user says of it, and the second file with labels, if that is a table.
Reader = Callable[[Path, ReadOptions, Table | None], Dataset]

READERS: dict[str, Reader] = {
    **dict.fromkeys(TEXT_KINDS, read_table_data),
    ".parquet": read_table_data,
    EXCEL_FILE: read_table_data,
    ".npz": read_array_data,
    ".npy": read_array_data,
    ".h5ad": read_h5ad_data,
    ".mtx": read_graph_data,
    ".edges": read_graph_data,
    **dict.fromkeys(NETWORKX, read_networkx_data),
    **dict.fromkeys(PICTURES, read_picture_data),
}
CHOICES = {"missing": ("error", "median", "drop"), "decimal": (".", ",")}


def read_dataset(path: Path, options: ReadOptions) -> Dataset:
    """Read a file of any kind that is understood, by its ending."""
    if not path.exists():
        raise InvalidInputError(f"{path} does not exist: check the path")
    parts = options.edges and path.is_dir() and any(path.glob("*.parquet"))
    if path.is_dir() and not parts:
        raise InvalidInputError(
            f"{path} is a folder: give a data file, or a folder of .parquet parts with --edges"
        )
    if not path.is_file() and not parts:
        raise InvalidInputError(
            f"{path} is a pipe or a device, and readers go back and forth: save it as a file first"
        )
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    kind = ".parquet" if parts else plain.suffix.lower()
    if kind not in READERS:
        raise InvalidInputError(
            f"{path} ends in {kind or 'nothing'}: give one of {', '.join(READERS)}"
        )
    if plain is not path and kind not in (*TEXT_KINDS, ".edges"):
        raise InvalidInputError(f"{path} is gzipped, which is read for text tables only: unpack it")
    for name, known in CHOICES.items():
        if getattr(options, name) not in known:
            raise InvalidInputError(
                f"--{name} {getattr(options, name)!r} is unknown: use {' or '.join(known)}"
            )
    if options.neighbors is not None and kind != ".h5ad":
        raise InvalidInputError(
            f"{path} is not an .h5ad file: leave --neighbors {options.neighbors!r} out"
        )
    labels_file = options.labels_file
    label_table = None if labels_file is None else read_label_table(labels_file, options)
    as_edges = options.edges and kind in (*TEXT_KINDS, ".parquet")
    data = READERS[".edges" if as_edges else kind](path, options, label_table)
    check_names(path, "the id", data.ids)
    seen: set[str] = set()
    for name in data.ids:
        if name in seen:
            raise InvalidInputError(
                f"{path} has the id {name!r} more than once, and answers could not be told apart: "
                "make ids unique, or leave --id out to use row numbers"
            )
        seen.add(name)
    if labels_file is not None:
        labels, joined = join_labels(labels_file, label_table, data, options)
        data = replace(data, labels=labels, joined=joined)
    data = replace(data, columns=None)
    check_names(labels_file or path, "the label", data.labels)
    if data.points is None or hasattr(data.points, "tocoo"):
        return data
    # Readers refuse gaps themselves where they are an error: they know the line.
    gaps: BoolArray = np.isnan(data.points)
    if not np.any(gaps):
        return data
    return _filled(data, gaps) if options.missing == "median" else _dropped(data, gaps)


def _filled(data: Dataset, gaps: BoolArray) -> Dataset:
    """The data with medians, of words the most frequent one, where values are missing."""
    assert data.points is not None
    names = data.feature_names
    empty = np.flatnonzero(gaps.all(axis=0))
    if len(empty):
        raise InvalidInputError(
            f"{data.source} has no value in {names[empty[0]]!r}: leave it out with --features"
        )
    middle = np.nanmedian(data.points, axis=0)
    start = n_filled = 0
    while start < len(middle):  # features that stem from one column at a time
        group = slice(start, start + data.shared.get(names[start], 1))
        n_filled += int(gaps[:, group].any(axis=1).sum())  # cells of the file
        if group.stop > start + 1:
            shares = np.nanmean(data.points[:, group], axis=0)
            middle[group] = np.arange(len(shares)) == np.argmax(shares)
        start = group.stop
    note = (
        f"filled {n_filled} missing values with the median of their feature"
        + (", or its most frequent word: " if data.shared else ": ")
        + named([names[k] for k in np.flatnonzero(gaps.any(axis=0))], names)
    )
    return replace(data, points=np.where(gaps, middle, data.points), notes=(*data.notes, note))


def _dropped(data: Dataset, gaps: BoolArray) -> Dataset:
    """The data without rows that lack values; an error if none with, or without, label stay."""
    assert data.points is not None
    kept: BoolArray = np.asarray(~gaps.any(axis=1))
    labelled = np.array([label is not None for label in data.labels], dtype=bool)
    for rows, which in ((labelled, " with a label"), (~labelled, " without a label")):
        few = kept.sum() < 2
        if few or (np.any(rows) and not np.any(rows & kept)):
            raise InvalidInputError(
                f"{data.source} lacks a value in all rows"
                f"{f' but {kept.sum()}' if few else which}, and --missing drop would leave nothing "
                "to learn from: say --missing median, or leave columns out with --features"
            )
    left, gone = np.flatnonzero(kept).tolist(), np.flatnonzero(~kept).tolist()
    columns = [data.feature_names[k] for k in np.flatnonzero(gaps.any(axis=0))]
    note = (
        f"dropped {len(gone)} of {len(data.ids)} rows, which lack a value in "
        f"{named(columns, data.feature_names)}: {listed([data.ids[row] for row in gone], most=20)}"
    )
    given = [data.labels[row] for row in gone if data.labels[row] is not None]
    if given:
        note += f"; {len(given)} of them labelled"
        lost = sorted({str(c) for c in given} - {str(c) for c in data.labels[kept]})
        if lost:
            note += f", so that no label is left of {listed(lost)}"

    def kept_values(read: Callable[[], FloatArray]) -> FloatArray:
        return read()[kept]

    return replace(
        data,
        ids=[data.ids[row] for row in left],
        labels=data.labels[kept],
        points=data.points[kept],
        layout=None if data.layout is None else data.layout[kept],
        cells={name: [cells[row] for row in left] for name, cells in data.cells.items()},
        numbers={name: partial(kept_values, read) for name, read in data.numbers.items()},
        notes=(*data.notes, note),
    )
