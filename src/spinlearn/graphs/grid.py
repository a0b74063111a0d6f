"""Pixels of an image mask as a graph of adjacent ones (weights: Boykov & Jolly, ICCV 2001)."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import BoolArray, FloatArray, IntArray, float_array, frozen
from spinlearn.model.graph import Graph
from spinlearn.model.settings import Settings

WEAKEST = 1e-6  # weight, so that no pixel falls out of the image
# Steps (down, right) to half of the neighbours; the other half takes them backwards.
_STEPS = {4: ((0, 1), (1, 0)), 8: ((0, 1), (1, 0), (1, 1), (1, -1))}


@dataclass(kw_only=True)
class PixelGrid(Settings):
    """Join adjacent pixels of a mask, all alike or by how alike they look.

    As ``graph=PixelGrid()`` of a classifier it takes the mask as X and, as y, an image of labels of
    the same shape or one label per True pixel. With the image itself, of one channel or several,
    pixels whose values are d apart have the weight exp(-d^2 / (2 contrast^2)).

    Parameters
    ----------
    connectivity : {4, 8}, default 4
        4 joins pixels that share a side, 8 also those that share a corner.
    values : array of shape (height, width) or (height, width, channels), optional
        The image itself: borders follow its edges. None joins all alike.
    contrast : float, optional
        The difference of values that counts as one. Default: the root of the mean square over all
        pairs of adjacent pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from spinlearn.graphs import PixelGrid
    >>> mask, image = np.array([[1, 1], [1, 0]]), np.array([[0.0, 0.1], [0.9, 0.0]])
    >>> graph = PixelGrid(values=image, contrast=0.5).build(mask)
    >>> graph.edges.tolist(), graph.weights.round(2).tolist()
    ([[0, 1], [0, 2]], [0.98, 0.2])
    """

    connectivity: int = 4
    values: Any = None
    contrast: float | None = None

    def build(self, mask: Any) -> Graph:
        """The graph of the True pixels of `mask` (height, width), numbered row by row."""
        if self.connectivity not in _STEPS:
            raise InvalidInputError(
                f"connectivity={self.connectivity!r} is unknown: use 4 (pixels that share a side) "
                "or 8 (a side or a corner)"
            )
        number = isinstance(self.contrast, Real) and not isinstance(self.contrast, bool)
        if self.contrast is not None and not (number and 0 < self.contrast < np.inf):
            raise InvalidInputError(
                f"contrast={self.contrast!r} is not a positive number: give the difference of "
                "values that counts as one"
            )
        pixels = _checked_mask(mask)
        height, width = pixels.shape
        nodes = np.cumsum(pixels).reshape(pixels.shape) - 1
        edges = []
        for down, right in _STEPS[self.connectivity]:
            here = np.s_[: height - down, max(0, -right) : width - max(0, right)]
            there = np.s_[down:, max(0, right) : width + min(0, right)]
            both = pixels[here] & pixels[there]
            edges.append(np.column_stack([nodes[here][both], nodes[there][both]]))
        pairs = np.concatenate(edges)
        return Graph(int(pixels.sum()), pairs, self._weights(pixels, pairs))

    def _weights(self, pixels: BoolArray, pairs: npt.NDArray[np.int64]) -> FloatArray | None:
        if self.values is None:
            return None
        image = float_array(self.values, "values")
        if image.ndim not in (2, 3) or image.shape[:2] != pixels.shape:
            raise InvalidInputError(
                f"values have shape {image.shape}, but the mask {pixels.shape}: give the image "
                "that the mask is of, (height, width) or (height, width, channels)"
            )
        inside = image.reshape(*pixels.shape, -1)[pixels]
        if not np.all(np.isfinite(inside)):
            raise InvalidInputError(
                "values hold NaN or infinite numbers inside the mask: leave such pixels out of it"
            )
        apart = np.sum((inside[pairs[:, 0]] - inside[pairs[:, 1]]) ** 2, axis=1)
        if self.contrast is None:
            scale = float(apart.mean()) if len(apart) else 0.0
        else:
            scale = float(self.contrast) ** 2
        if scale == 0:  # the image is the same everywhere
            return np.ones(len(pairs))
        return np.asarray(np.maximum(np.exp(-apart / (2 * scale)), WEAKEST))

    def attach(self, X_new: Any, X: Any) -> Any:
        """Refused, whatever `X_new` and `X`: pixels outside the image have no neighbours in it."""
        raise InvalidInputError(
            "pixels outside the image it was made from cannot be attached to a pixel grid: fit the "
            "larger image"
        )

    def coordinates(self, mask: Any) -> IntArray:
        """Row and column of every node of `mask`, in the order of `build`, int32 (n, 2)."""
        return frozen(np.argwhere(_checked_mask(mask)), np.int32)


def _checked_mask(mask: Any) -> BoolArray:
    array = np.asarray(mask)
    if array.ndim != 2:
        raise InvalidInputError(
            f"mask must be a 2-D image, got shape {array.shape}: pass one slice or channel"
        )
    if array.dtype != np.bool_:
        if array.dtype.kind not in "ui" or not np.isin(array, (0, 1)).all():
            raise InvalidInputError(
                f"mask must be True or False at every pixel, got dtype {array.dtype}: pass a "
                "comparison such as image > threshold"
            )
        array = array.astype(np.bool_)
    if not array.any():
        raise InvalidInputError(
            f"mask has no True pixel (shape {array.shape}), so the graph would have no nodes"
        )
    return array
