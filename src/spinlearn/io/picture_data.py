"""Datasets from pictures: their pixels, joined by how alike they are.

A picture of two values is a mask: its brighter pixels are the points, joined alike. Transparent
pixels are left out. Pixels are called by row and column, r3c7.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError, MissingDependencyError
from spinlearn.graphs import PixelGrid
from spinlearn.io.chosen_columns import refuse_features
from spinlearn.io.dataset import Dataset, ReadOptions
from spinlearn.io.table import Table

KINDS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")
MOST_PIXELS = 1_000_000


def read_picture_data(path: Path, options: ReadOptions, label_table: Table | None) -> Dataset:
    """The pixels of a picture, or of a mask."""
    refuse_features(path, options)
    if options.labels_file is None and not options.for_labelling:
        raise InvalidInputError(
            f"{path} is a picture, which holds no labels: give them in a second file with "
            "--labels-file, or paint them with `spinlearn label`"
        )
    values, inside = _pixels(path)
    masked = values.shape[2] == 1 and len(np.unique(values)) == 2
    if masked:
        inside = inside & (values[:, :, 0] == values.max())
    if inside.sum() < 2:
        raise InvalidInputError(f"{path} shows fewer than 2 pixels: give a larger picture")
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
        colours=np.broadcast_to(values, (*inside.shape, 3))[inside].astype(np.uint8),
        notes=(f"graph: {len(pixels)} pixels of a {what}",),
    )


def _pixels(path: Path) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Values (height, width, channels) and which pixels can be seen."""
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingDependencyError(
            "pictures need Pillow, which is not installed: pip install 'spinlearn[app]'"
        ) from error
    try:
        with Image.open(path) as image:
            if image.width * image.height > MOST_PIXELS:
                raise InvalidInputError(
                    f"{path} has {image.width * image.height} pixels, and at most {MOST_PIXELS} "
                    "are read: make it smaller"
                )
            plain: Any = image.convert("RGBA")
            rgba = np.asarray(plain, dtype=np.float64)
    except InvalidInputError:
        raise
    except Exception as error:  # Pillow raises all kinds
        raise InvalidInputError(f"{path} cannot be read as a picture: {error}") from error
    colours = rgba[:, :, :3]
    if np.all(colours == colours[:, :, :1]):
        colours = colours[:, :, :1]
    return colours, rgba[:, :, 3] > 127
