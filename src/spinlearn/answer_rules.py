"""The temperature of the answer, by one of three rules that do not look at the truth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spinlearn.decision import Profile, best_temperature, information
from spinlearn.hints import LEAST_SHARE, WHOLE, large_new_classes

ANSWER_RULES = ("auto", "discovery", "paper")
NEARLY = 0.95  # of the information of the best answer, that discovery may not fall below


def answer_temperature(
    found: Profile,
    rule: str,
    *,
    trusted: npt.NDArray[np.bool_] | None = None,
    eta_min: float | None = None,
) -> float:
    """The temperature of the answer by one of `ANSWER_RULES`.

    "auto" and "paper" are the rules "information" and "stability" of `best_temperature`.
    "discovery" starts from "auto". Of all temperatures at which the information, with small new
    classes counted, is `NEARLY` as large, it takes the one at which most points are in new classes
    that would be a hint or are in that answer already; of equals, the coldest.
    """
    if rule == "paper":
        return best_temperature(found, rule="stability", eta_min=eta_min, trusted=trusted)
    best = best_temperature(found, trusted=trusted)
    if rule == "auto":
        return best
    row = found.nearest_row(best)
    scores = information(found, least_share=LEAST_SHARE)
    allowed = np.isfinite(found.temperatures) & (scores >= NEARLY * scores[row])
    if trusted is not None:
        allowed &= trusted
    allowed[row] = True
    answer = found.outcomes[row]
    points = np.zeros(len(scores))
    for code, sizes, standing in large_new_classes(found, answer):
        shown = bool(np.any(answer == code))
        points += np.where(shown | standing, sizes, 0)
    points[~allowed] = -1
    chosen = int(np.argmax(points >= WHOLE * points.max()))
    return float(found.temperatures[chosen])
