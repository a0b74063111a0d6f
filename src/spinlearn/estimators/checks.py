"""Checks of settings that would else come to light only after a long run."""

from __future__ import annotations

from typing import Any

import numpy as np

from spinlearn.answers.answer import one_temperature
from spinlearn.answers.rule import check_rule
from spinlearn.answers.temperature import TEMPERATURE_RULES
from spinlearn.core.arrays import temperature_array
from spinlearn.errors import InvalidInputError


def check_answer_settings(estimator: Any) -> None:
    """Refuse what says how an answer is read off: temperatures, tau, small_groups and so on."""
    temperature, eta_min = estimator.temperature, estimator.eta_min
    if not isinstance(temperature, str):
        one_temperature(temperature)
    elif temperature not in TEMPERATURE_RULES:
        raise InvalidInputError(
            f"temperature={temperature!r} is unknown: use "
            f"{', '.join(map(repr, TEMPERATURE_RULES))} or a number >= 0"
        )
    _check_grid(estimator.temperatures)
    check_rule(estimator.tau, estimator.small_groups)
    number = isinstance(eta_min, (int, float, np.number))
    if eta_min is not None and not (number and eta_min >= 0):
        raise InvalidInputError(
            f"eta_min={eta_min!r} is not a stability: use None or a number >= 0, in points times "
            "temperature"
        )
    if estimator.callback is not None and not callable(estimator.callback):
        raise InvalidInputError(
            f"callback={estimator.callback!r} cannot be called: pass a function of one argument, "
            "the progress, or None"
        )


def _check_grid(temperatures: Any) -> None:
    if not isinstance(temperatures, str):
        temperature_array(temperatures)
    elif temperatures != "auto":
        raise InvalidInputError(f"temperatures={temperatures!r} is unknown: use 'auto' or numbers")
