"""The two toy sets of the paper (figures 1 and 3), drawn from scratch.

Every pixel of a mask is a point, adjacent pixels have similarity 1. The paper prints pictures, not
coordinates; these shapes have its pixel counts (1360 and 1306) and are made so that what it reports
happens: see the docstrings of the two functions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import BoolArray, IntArray, frozen
from spinlearn.core.graph import Graph
from spinlearn.errors import InvalidInputError

EMPTY = -1  # no pixel here
# Of two_bands: row and column on the canvas, the upper class first. Found by search.
TEN_LABELS = [
    *[(10, 24), (20, 31), (15, 64)],
    *[(20, 9), (25, 6), (23, 40), (30, 50), (30, 63), (25, 64), (27, 69)],
]


@dataclass(frozen=True, slots=True, eq=False)
class ToySet:
    """Pixels with a true class each, in row-major order.

    Attributes
    ----------
    mask : bool array (height, width)
    truth : int array (n,)
        True class of every pixel.
    labels : int array (n,)
        The fixed labels, -1 where there is none.
    label_region : bool array (n,)
        Where `draw_labels` may put a label.
    """

    mask: BoolArray
    truth: IntArray
    labels: IntArray
    label_region: BoolArray

    @property
    def n_points(self) -> int:
        """Number of pixels."""
        return len(self.truth)

    @property
    def coordinates(self) -> npt.NDArray[np.int64]:
        """(row, column) of every point."""
        return np.argwhere(self.mask)

    def graph(self) -> Graph:
        """The 4-neighbour graph with unit weights."""
        number = np.full(self.mask.shape, EMPTY)
        number[self.mask] = np.arange(self.n_points)
        pairs = [
            np.column_stack([a.ravel(), b.ravel()])
            for a, b in ((number[:, :-1], number[:, 1:]), (number[:-1], number[1:]))
        ]
        edges = np.concatenate(pairs)
        return Graph(self.n_points, edges[np.all(edges != EMPTY, axis=1)])

    def draw_labels(
        self, n_labels: int, *, classes: npt.ArrayLike, seed: int | np.random.Generator
    ) -> IntArray:
        """Labels of `n_labels` points drawn uniformly from the region, at least one per class."""
        generator = np.random.default_rng(seed)
        wanted = np.unique(np.asarray(classes))
        pool = np.flatnonzero(self.label_region & np.isin(self.truth, wanted))
        if not len(wanted) <= n_labels <= len(pool):
            raise InvalidInputError(
                f"cannot draw {n_labels} labels of {len(wanted)} classes from {len(pool)} points"
            )
        while True:
            chosen = generator.choice(pool, n_labels, replace=False)
            if len(np.unique(self.truth[chosen])) == len(wanted):
                break
        labels = np.full(self.n_points, -1, dtype=np.int32)
        labels[chosen] = self.truth[chosen]
        return frozen(labels, np.int32)


def two_bands(n_labels: int = 7) -> ToySet:
    """The two-class set of figure 1: 1360 pixels, 7 or 10 labelled.

    Two wavy bands joined by a flat bridge, 14 pixels wide and 2 high. The upper class has three
    labels, so that isolating them costs 12 while the bridge costs 14: the minimum cut gives
    everything to the lower class. The lower class has four labels (16). From T of about 0.55 up to
    the ordering temperature entropy moves the border to the bridge, where it belongs. The frontier
    of a column-wise elimination is 16 pixels at the bridge.

    Seven labels are spread evenly, and methods that look at the distance to the labels, such as LGC
    and the spectral graph transducer, do well. With ten, again three of the upper class but seven
    of the lower, some close to the upper band, those fail as well, by more than a hundred pixels
    each, while the marginals are right from T = 0.6 to 0.85.
    """
    if n_labels not in (7, 10):
        raise InvalidInputError(f"n_labels={n_labels!r}: this set has 7 or 10 labels")
    bridge, gap, height_at_bridge = 14, 2, 7
    arm = [8, 9] + 26 * [10] + [7]  # column heights, from the bridge outwards
    heights = np.array(arm[::-1] + bridge * [height_at_bridge] + arm)
    columns = np.arange(len(heights))
    centre = (len(heights) - 1) / 2
    outside = np.maximum(np.abs(columns - centre) - (bridge - 1) / 2, 0)
    wave = np.rint(4 * np.sign(columns - centre) * np.sin(2 * np.pi * outside / 56)).astype(int)

    middle = wave + 20  # row of the bridge's upper half, generous margin; cropped below
    canvas = np.full((44, len(heights)), EMPTY)
    for x, (row, height) in enumerate(zip(middle, heights, strict=True)):
        canvas[row - height : row, x] = 0
        canvas[row + gap : row + gap + height, x] = 1
        if outside[x] == 0:
            canvas[row, x], canvas[row + 1, x] = 0, 1
    labelled = [(middle[x] - 1 - heights[x] // 2, x) for x in (12, 35, 59)]
    labelled += [(middle[x] + gap + heights[x] // 2, x) for x in (12, 36, 49, 59)]
    if n_labels == 10:
        labelled = TEN_LABELS
    return _toy_set(canvas, labelled, np.ones_like(canvas, dtype=bool))


def three_waves() -> ToySet:
    """The three-class set of figure 3: 1306 pixels, labels drawn at random (`draw_labels`).

    Classes 0 and 1 are the lower bands, left and right, joined by three single pixels; class 2 is a
    wave above both, standing on three one-pixel pillars on each. Labels of the lower classes come
    from a rectangle around the junction, those of class 2 from anywhere in it. With labels of the
    lower classes only, class 2 is drawn equally to both: its marginals are near 1/2 and the pillars
    disagree half the time, which is what makes it a new class.
    """
    columns, centre = np.arange(77), 38
    distance = np.abs(columns - centre)
    pillars, flat = (4, 8, 12), 14
    lower_height, upper_height, upper_reach = 11, 11, 21
    wave = np.rint(3 * np.sin(2 * np.pi * np.maximum(distance - flat, 0) / 56)).astype(int)

    base = 20  # top row of the lower bands at the junction; cropped below
    canvas = np.full((44, len(columns)), EMPTY)
    for x, d in enumerate(distance):
        top = base + wave[x]
        if d == 0:
            canvas[[top + 2, top + 4, top + 6], x] = 0
        else:
            canvas[top : top + lower_height, x] = 0 if x < centre else 1
        if d <= upper_reach:
            bottom = base - 1 if d <= flat else base - 2 - (d - flat) // 3
            height = upper_height if d < upper_reach else 5  # rounded ends
            canvas[bottom - height : bottom, x] = 2
        if d in pillars:
            canvas[base - 1, x] = 2
    region = (canvas == 2) | (distance <= 18)[None, :]
    return _toy_set(canvas, [], region)


def _toy_set(
    canvas: npt.NDArray[np.int64], labelled: list[tuple[int, int]], region: BoolArray
) -> ToySet:
    """Crop the canvas and number its pixels."""
    labels = np.full(canvas.shape, -1)
    for row, column in labelled:
        labels[row, column] = canvas[row, column]
    used = np.flatnonzero(np.any(canvas != EMPTY, axis=1))
    rows = slice(used[0], used[-1] + 1)
    mask = canvas[rows] != EMPTY
    return ToySet(
        mask=frozen(mask, np.bool_),
        truth=frozen(canvas[rows][mask], np.int32),
        labels=frozen(labels[rows][mask], np.int32),
        label_region=frozen(region[rows][mask], np.bool_),
    )
