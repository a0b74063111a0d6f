"""What a point looks like: its picture, its pixels, its values; and values that can be colours.

Nothing here is asked for by a path: pictures are found once, by the names of the files in the
folder that the user named, and served by row number.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spinlearn.errors import InvalidInputError
from spinlearn.io.dataset import Dataset
from spinlearn.model.arrays import FloatArray

IMAGE_KINDS = {  # no SVG: it may hold scripts
    f".{ending}": f"image/{ending.replace('jpg', 'jpeg')}"
    for ending in ("png", "jpg", "jpeg", "gif", "webp", "bmp")
}
MOST_BYTES = 20_000_000  # of one picture
MOST_VALUES = 16  # of a row that are shown, the most unusual ones
MOST_LETTERS = 300  # of one cell
FEWEST_PIXELS = 16
PIXEL_NAME = re.compile(r"(pixel|px|pix|p|x|X)?[_ \[]?\d+([_, x]+\d+)?\]?")
SHAPE = re.compile(r"(\d{1,5})x(\d{1,5})(x[34])?")


class Thumbnails:
    """How the points of `data` are shown: as a picture, as pixels, or by their values.

    `images` is the folder of their pictures; `pixels` says whether the features are pixels, see
    `pixel_shape`.
    """

    def __init__(
        self, data: Dataset, *, images: Path | None = None, pixels: str | None = None
    ) -> None:
        self.names, self.values, self.cells = data.feature_names, data.points, data.cells
        if hasattr(self.values, "tocoo"):
            raise InvalidInputError(
                f"{data.source} holds sparse features, which the page cannot show: give a table"
            )
        self.columns = dict(data.numbers)  # further columns, each with what reads it, (n,)
        self.shape = None if self.values is None else pixel_shape(pixels, self.names)
        self.pictures = pictures_in(images, data.ids)

    def look(self, row: int) -> dict[str, Any]:
        """What the page shows of one point."""
        seen: dict[str, Any] = {"point": row, "image": row in self.pictures}
        if self.shape is not None:
            assert self.values is not None
            low, high = float(np.min(self.values)), float(np.max(self.values))
            share = (self.values[row] - low) / (high - low if high > low else 1.0)
            pixels = np.rint(255 * share).astype(np.uint8)
            seen["pixels"] = base64.b64encode(pixels.tobytes()).decode()
        cells = [[name, str(values[row])[:MOST_LETTERS]] for name, values in self.cells.items()]
        if self.values is not None and self.shape is None:
            # In which it differs most from the others, in their own order.
            middle, spread = self.values.mean(axis=0), self.values.std(axis=0)
            apart = np.abs(self.values[row] - middle) / np.where(spread > 0, spread, np.inf)
            unusual = sorted(np.argsort(-apart, kind="stable")[:MOST_VALUES].tolist())
            cells += [[self.names[k], f"{self.values[row, k]:.6g}"] for k in unusual]
            seen["more"] = self.values.shape[1] - len(unusual)
        seen["values"] = cells
        return seen

    def colour(self, name: str) -> FloatArray:
        """Numbers of a column, for all points."""
        if name in self.columns:
            return self.columns[name]()
        if self.values is not None and name in self.names:
            return np.asarray(self.values[:, list(self.names).index(name)])
        raise InvalidInputError(f"there is no column {name!r} of numbers: pick one of the list")

    def colours(self) -> list[str]:
        """Names that `colour` takes."""
        features = [] if self.values is None or self.shape is not None else list(self.names)
        return list(dict.fromkeys((*self.columns, *features)))


def pixel_shape(size: str | None, names: Sequence[str]) -> tuple[int, int, int] | None:
    """Height, width, channels of the pictures in the features; None if they are none.

    `size` is as "28x28", "32x32x3" or "none"; without it square pictures are recognised by names
    such as pixel17.
    """
    d = len(names)
    if size == "none":
        return None
    if size is not None:
        match = SHAPE.fullmatch(size)
        if match is None:
            raise InvalidInputError(
                f"--pixels {size!r} is not a size of a picture: write HEIGHTxWIDTH, as 28x28, or "
                "32x32x3 for colours, or none"
            )
        shape = (int(match[1]), int(match[2]), int(match[3][1]) if match[3] else 1)
        if int(np.prod(shape)) != d:
            raise InvalidInputError(
                f"--pixels {size} means {int(np.prod(shape))} values a point, but there are {d} "
                "features: correct it, or name the pixels with --features"
            )
        return shape
    side = round(d**0.5)
    numbered = all(PIXEL_NAME.fullmatch(name) for name in names)
    return (side, side, 1) if d >= FEWEST_PIXELS and side * side == d and numbered else None


def pictures_in(folder: Path | None, ids: Sequence[str]) -> dict[int, tuple[Path, str]]:
    """Files of a folder that are named by ids, and of what kind they are, by row number."""
    if folder is None:
        return {}
    if not folder.is_dir():
        raise InvalidInputError(f"--images {folder} is not a folder: name that of the pictures")
    place = {name: row for row, name in enumerate(ids)}
    pictures: dict[int, tuple[Path, str]] = {}
    for path in sorted(folder.iterdir()):
        kind = IMAGE_KINDS.get(path.suffix.lower())
        row = place.get(path.name, place.get(path.stem))  # an id may have the ending in it
        if kind is None or row is None or not path.is_file():
            continue
        if path.stat().st_size <= MOST_BYTES:
            pictures.setdefault(row, (path.resolve(), kind))
    if not pictures:
        raise InvalidInputError(
            f"--images {folder} holds no picture ({', '.join(IMAGE_KINDS)}) that is named by an id "
            f"such as {ids[0]!r}: rename them, or name the column of ids with --id"
        )
    return pictures
