"""A temperature at which messages are known to have one fixed point only.

A message changes by at most tanh(|J| spread / 2T) times what the messages before it change, in the
logarithms of ratios, spread the largest difference of pair costs. If the matrix A of these factors
over all pairs of successive messages has a spectral radius below one, the fixed point is unique:
every start leads to it (Mooij & Kappen, IEEE Trans. Inf. Theory 53, 4422 (2007)). For a positive
vector x the radius is at most max (A x)/x (Collatz-Wielandt), which power iteration makes sharp.
"""

from __future__ import annotations

import numpy as np

from spinlearn.messages.layout import MessageLayout

STEPS = 30
LEAST = 1e-12  # keeps the vector positive where messages end in a leaf


def has_one_fixed_point(layout: MessageLayout, temperature: float) -> bool:
    """Whether it is certain that there is one fixed point; false where it is not known."""
    if layout.coefficient != 0.0 or temperature <= 0:
        return False  # the class field ties all messages to each other
    spread = float(np.ptp(layout.model.pair_cost))
    factors = np.tanh(np.abs(layout.couplings) * spread / (2 * temperature))
    ends = np.repeat(np.arange(layout.n_nodes), np.diff(layout.indptr))
    x = np.ones(layout.n_slots)
    for _ in range(STEPS):
        passed = factors * x
        sums = np.bincount(ends, weights=passed, minlength=layout.n_nodes)
        image = (sums[ends] - passed)[layout.reverse]
        if np.max(image / x, initial=0.0) < 1:
            return True
        x = image + LEAST * image.max()
        x /= x.max()
    return False
