"""Datasets from pictures: their pixels, joined by how alike they are.

A picture of two values is a mask: its brighter pixels are the points, joined alike. Transparent
pixels are left out. Values of 16 or 32 bits, and floats, are read as they are. Pixels are called by
row and column, r3c7.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError, MissingDependencyError
from spinlearn.graphs import PixelGrid
from spinlearn.io.dataset import Dataset, ReadOptions
from spinlearn.io.names import refuse_features
from spinlearn.io.table import Table
from spinlearn.model.arrays import BoolArray, FloatArray

KINDS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")
MOST_PIXELS = 1_000_000
DEEP = ("I", "F")  # how Pillow's modes begin whose pixels have more than 8 bits


def read_picture_data(path: Path, options: ReadOptions, label_table: Table | None) -> Dataset:
    """The pixels of a picture, or of a mask."""
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
            if image.mode.startswith(DEEP):  # Pillow would cut these off at 255
                return _deep_pixels(path, np.asarray(image), image.info.get("transparency"))
            plain: Any = image.convert("RGBA")
            rgba = np.asarray(plain, dtype=np.float64)
    except InvalidInputError:
        raise
    except Exception as error:  # Pillow raises all kinds
        raise InvalidInputError(f"{path} cannot be read as a picture: {error}") from error
    colours = rgba[:, :, :3]
    if np.all(colours == colours[:, :, :1]):
        colours = colours[:, :, :1]
    return colours, colours, rgba[:, :, 3] > 127


def _deep_pixels(
    path: Path, grey: npt.NDArray[Any], transparent: Any
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """What `_pixels` gives, of a picture of one channel with more than 8 bits."""
    values = grey.astype(np.float64)[:, :, None]
    odd = np.argwhere(~np.isfinite(values[:, :, 0]))
    if len(odd):
        row, column = odd[0].tolist()
        raise InvalidInputError(
            f"{path} holds {len(odd)} NaN or infinite values, the first at pixel r{row}c{column}, "
            "and nothing can be said of how alike such pixels are: fill them in, and save it again"
        )
    inside = np.ones(grey.shape, dtype=bool)
    if isinstance(transparent, int):  # PNG names one value that is not shown
        inside = values[:, :, 0] != transparent
    low, high = values.min(), values.max()
    shown = (values - low) * (255 / (high - low) if high > low else 0.0)
    return values, np.rint(shown), inside
