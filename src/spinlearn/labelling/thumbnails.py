"""What a point looks like: its picture, its pixels, its values; and values that can be colours.

Nothing here is asked for by a path: pictures are found once, by the names of the files in the
folder that the user named, and served by row number.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

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


class Picture(NamedTuple):
    """A file to send."""

    path: Path
    kind: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Thumbnails:
    """How points are shown.

    `columns` are further numbers that can be colours, each with what reads them, (n,).
    """

    values: FloatArray | None = None  # features as they were given, (n, d)
    names: Sequence[str] = ()  # of the features
    shape: tuple[int, int, int] | None = None  # height, width, channels, if they are pixels
    pictures: Mapping[int, Picture] = field(default_factory=dict)  # by row number
    cells: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # columns of text, (n,) each
    columns: Mapping[str, Callable[[], FloatArray]] = field(default_factory=dict)

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
        own = [] if self.values is None or self.shape is not None else list(self.names)
        return list(dict.fromkeys((*self.columns, *own)))


def pixel_shape(said: str | None, names: Sequence[str]) -> tuple[int, int, int] | None:
    """Height, width, channels of the pictures in the features; None if they are none.

    `said` is as "28x28", "32x32x3" or "none"; without it square pictures are recognised by names
    such as pixel17.
    """
    d = len(names)
    if said == "none":
        return None
    if said is not None:
        match = SHAPE.fullmatch(said)
        if match is None:
            raise InvalidInputError(
                f"--pixels {said!r} is not a size of a picture: write HEIGHTxWIDTH, as 28x28, or "
                "32x32x3 for colours, or none"
            )
        shape = (int(match[1]), int(match[2]), int(match[3][1]) if match[3] else 1)
        if int(np.prod(shape)) != d:
            raise InvalidInputError(
                f"--pixels {said} means {int(np.prod(shape))} values a point, but there are {d} "
                "features: correct it, or name the pixels with --features"
            )
        return shape
    side = round(d**0.5)
    numbered = all(PIXEL_NAME.fullmatch(name) for name in names)
    return (side, side, 1) if d >= FEWEST_PIXELS and side * side == d and numbered else None


def pictures_in(folder: Path | None, ids: Sequence[str]) -> dict[int, Picture]:
    """Files of a folder that are named by ids, by row number."""
    if folder is None:
        return {}
    if not folder.is_dir():
        raise InvalidInputError(f"--images {folder} is not a folder: name that of the pictures")
    place = {name: row for row, name in enumerate(ids)}
    found: dict[int, Picture] = {}
    for path in sorted(folder.iterdir()):
        kind = IMAGE_KINDS.get(path.suffix.lower())
        row = place.get(path.name, place.get(path.stem))  # an id may have the ending in it
        if kind is None or row is None or not path.is_file():
            continue
        if path.stat().st_size <= MOST_BYTES:
            found.setdefault(row, Picture(path.resolve(), kind))
    if not found:
        raise InvalidInputError(
            f"--images {folder} holds no picture ({', '.join(IMAGE_KINDS)}) that is named by an id "
            f"such as {ids[0]!r}: rename them, or name the column of ids with --id"
        )
    return found


def thumbnails_of(
    data: Dataset, *, images: Path | None = None, pixels: str | None = None
) -> Thumbnails:
    """How the points of a dataset are shown."""
    names = data.feature_names
    shape = pixel_shape(pixels, names) if data.points is not None else None
    return Thumbnails(
        values=data.points,
        names=names,
        shape=shape,
        pictures=pictures_in(images, data.ids),
        cells=data.cells,
        columns=dict(data.numbers),
    )
