"""Which minimiser treats which model: conditions on its pair terms, as reasons why not.

For couplings J and costs V(a, b), with all states a, b, c:

    cut, swap   J (2 V(a, b) - V(a, a) - V(b, b)) >= 0            Potts and any semi-metric, J >= 0
    expansion   J (V(a, c) + V(c, b) - V(a, b) - V(c, c)) >= 0    Potts and any metric, J >= 0

(Boykov, Veksler & Zabih, IEEE PAMI 23, 1222 (2001); Kolmogorov & Zabih 2004.)
"""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.core.model import PottsModel

SLACK = 1e-12  # of the largest cost: rounding errors in a table of real numbers


def class_level_reason(model: PottsModel) -> str | None:
    """Why cuts and single-node kernels do not see the whole energy, or None."""
    if model.class_penalty is None:
        return None
    return (
        "the model has a class-level term, which is not a sum over edges and points: use "
        "method='class_annealing', or 'multilevel' if the term is quadratic"
    )


def contraction_reason(model: PottsModel) -> str | None:
    """Why a model of modules in place of nodes would have another energy, or None."""
    penalty = model.class_penalty
    if penalty is None or penalty.kind == "quadratic":
        return None
    return (
        f"the model has a class-level term of the form {penalty.kind!r}, for which modules cannot "
        "stand for nodes: use method='class_annealing'"
    )


def cut_reason(model: PottsModel) -> str | None:
    """Why no minimum cut gives the ground state, or None."""
    if model.n_states != 2:
        return (
            f"the model has {model.n_states} states, but a cut has two sides: use "
            "method='expansion', or one class against the rest"
        )
    return class_level_reason(model) or _pair_reason(model, _swap_gain(model.pair_cost), "cut")


def swap_reason(model: PottsModel) -> str | None:
    """Why alpha-beta swaps are no cuts, or None."""
    return class_level_reason(model) or _pair_reason(model, _swap_gain(model.pair_cost), "swap")


def expansion_reason(model: PottsModel) -> str | None:
    """Why alpha-expansions are no cuts, or None."""
    cost = model.pair_cost
    # gain[a, b, c] = V(a, c) + V(c, b) - V(a, b) - V(c, c)
    gain = cost[:, None, :] + cost[None, :, :] - cost[:, :, None] - np.diag(cost)[None, None, :]
    return class_level_reason(model) or _pair_reason(model, gain, "expansion")


def _swap_gain(cost: FloatArray) -> FloatArray:
    own = np.diag(cost)
    return 2 * cost - own[:, None] - own[None, :]


def _pair_reason(model: PottsModel, gain: FloatArray, move: str) -> str | None:
    slack = SLACK * np.abs(model.pair_cost).max()
    if np.all(np.abs(gain) <= slack):
        return None
    n_negative = int(np.sum(model.couplings < 0))
    if n_negative and np.any(gain > slack):
        return (
            f"{n_negative} couplings are negative, so that neighbours repel and the {move} is no "
            "minimum cut: use method='annealing'"
        )
    if np.any(gain < -slack) and np.any(model.couplings > 0):
        law = "the triangle inequality" if move == "expansion" else "2V(a,b) >= V(a,a) + V(b,b)"
        other = "'swap' or 'annealing'" if move == "expansion" else "'annealing'"
        return f"pair_cost violates {law}, so the {move} is not a minimum cut: use method={other}"
    return None
