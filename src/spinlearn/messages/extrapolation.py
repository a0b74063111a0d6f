"""Extrapolation of a slowly converging iteration from its last steps (Anderson 1965).

With g(x) the iteration, f = g(x) - x, and differences between successive steps as the rows of
dF, dG, the next point is g - c dG, where c minimises the weighted norm of f - c dF. A linear
iteration with few slow modes is solved once the window holds as many steps.
"""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import FloatArray

RIDGE = 1e-8  # of the mean square of dF: keeps nearly equal steps from cancelling at random
WINDOW = 10  # steps remembered; 5 needs a half more sweeps at low T, 20 no fewer (7 x 20 grid)
MAX_BYTES = 4e8


class Extrapolation:
    """Remembers steps of one iteration and looks ahead."""

    def __init__(self, weight: FloatArray) -> None:
        size = len(weight)
        window = int(min(WINDOW, max(1.0, MAX_BYTES / (16.0 * max(size, 1)))))
        self.root = np.sqrt(weight)
        self.steps = np.zeros((window, size))
        self.moves = np.zeros((window, size))
        self.gram = np.zeros((window, window))
        self.last_image: FloatArray | None = None
        self.last_step: FloatArray | None = None
        self.count = 0

    def forget(self) -> None:
        """Begin anew, after steps that led nowhere."""
        self.last_image = self.last_step = None
        self.count = 0
        self.gram[:] = 0.0

    def ahead(self, point: FloatArray, image: FloatArray) -> FloatArray:
        """Where to go on from, given that the iteration maps `point` to `image`."""
        step = (image - point) * self.root
        window = len(self.steps)
        if self.last_image is not None and self.last_step is not None:
            row = self.count % window
            np.subtract(step, self.last_step, out=self.steps[row])
            np.subtract(image, self.last_image, out=self.moves[row])
            self.count += 1
            used = min(self.count, window)
            self.gram[row, :used] = self.gram[:used, row] = self.steps[:used] @ self.steps[row]
        self.last_image, self.last_step = image.copy(), step
        used = min(self.count, window)
        if used == 0:
            return image
        gram = self.gram[:used, :used].copy()
        gram[np.diag_indices(used)] += RIDGE * np.trace(gram) / used + 1e-300
        parts = np.linalg.solve(gram, self.steps[:used] @ step)
        return np.asarray(image - parts @ self.moves[:used])
