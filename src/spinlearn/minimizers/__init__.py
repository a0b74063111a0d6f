"""Minimisers: labellings of least energy, the limit T = 0; a new one is a file, entered here.

`minimize` takes the best that the model allows: a minimum cut (exact) for two states,
alpha-expansion or swaps for more, annealing where neighbours repel; for energies with a class-level
term `multilevel` if that is quadratic, else `class_annealing`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spinlearn.errors import InvalidInputError
from spinlearn.minimizers.annealing import annealing, class_annealing
from spinlearn.minimizers.cuts import (
    Vote,
    alpha_beta_swap,
    alpha_expansion,
    isolation_bound,
    minimum_cut,
    randomized_cut,
)
from spinlearn.minimizers.minimum import (
    Minimum,
    MinimumCut,
    class_level_reason,
    contraction_reason,
    cut_reason,
    expansion_reason,
    swap_reason,
)
from spinlearn.minimizers.multilevel import multilevel
from spinlearn.model.potts import PottsModel

__all__ = [
    "MINIMIZERS",
    "Minimum",
    "MinimumCut",
    "Vote",
    "alpha_beta_swap",
    "alpha_expansion",
    "annealing",
    "class_annealing",
    "isolation_bound",
    "minimize",
    "minimum_cut",
    "multilevel",
    "randomized_cut",
]

Minimizer = Callable[[PottsModel, int | None], Minimum]
Reason = Callable[[PottsModel], str | None]

IN_HASTE: dict[str, Any] = {"resolutions": (4.0,), "n_sweeps": 60, "n_runs": 6}

# In order of preference: name -> (minimiser of a model and a seed, why it cannot treat a model).
MINIMIZERS: dict[str, tuple[Minimizer, Reason]] = {
    "min_cut": (lambda model, seed: minimum_cut(model), cut_reason),
    "expansion": (lambda model, seed: alpha_expansion(model), expansion_reason),
    "swap": (lambda model, seed: alpha_beta_swap(model), swap_reason),
    "annealing": (lambda model, seed: annealing(model, seed=seed), class_level_reason),
    "multilevel": (lambda model, seed: multilevel(model, seed=seed), contraction_reason),
    "hasty": (lambda model, seed: multilevel(model, seed=seed, **IN_HASTE), contraction_reason),
    "class_annealing": (lambda model, seed: class_annealing(model, seed=seed), lambda model: None),
}
"""The minimisers by name, in the order in which ``minimize(model)`` tries them.

Each is a pair: a function of a model and a seed, and one that says why it cannot treat a model.

Examples
--------
>>> from spinlearn.minimizers import MINIMIZERS
>>> list(MINIMIZERS)[:4]
['min_cut', 'expansion', 'swap', 'annealing']
"""


def minimize(model: PottsModel, method: str = "auto", seed: int | None = None) -> Minimum:
    """A labelling of least energy, exact where the method is: the limit T = 0.

    Parameters
    ----------
    model : PottsModel
    method : str, default "auto"
        "min_cut", "expansion", "swap", "annealing", "multilevel", "hasty" (the same with a sixth of
        the effort), "class_annealing", or "auto": the first of them that the model allows.
    seed : int, optional
        Of the last four; the others are deterministic.

    Returns
    -------
    Minimum

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel, minimize
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], weights=[1.0, 0.5, 1.0])
    >>> best = minimize(PottsModel(chain, 2, clamped=[0, -1, -1, 1]))
    >>> best.labels.tolist(), best.energy, best.exact
    ([0, 0, 1, 1], 0.5, True)
    """
    if method == "auto":  # the last one takes any model
        method = next(name for name, (_, why_not) in MINIMIZERS.items() if why_not(model) is None)
    if method not in MINIMIZERS:
        raise InvalidInputError(
            f"method {method!r} is unknown: use 'auto' or one of {', '.join(map(repr, MINIMIZERS))}"
        )
    return MINIMIZERS[method][0](model, seed)
