"""Randomized min-cut: many minimum cuts of the graph with noise on its weights, put to the vote.

A single minimum cut is one of possibly many, chosen by accident, and often lopsided. Blum,
Lafferty, Rwebangira & Reddy (ICML 2004) add noise of small magnitude to the weights, cut again and
again, drop the cuts that give almost all points to one class, and let the rest vote; the margin of
the vote is the confidence. Here the noise is uniform on [0, noise] in units of the mean coupling.
More than two classes are cut by alpha-expansion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.core.model import PottsModel
from spinlearn.core.seeds import seed_sequence
from spinlearn.errors import InvalidInputError, UnsupportedModelError
from spinlearn.minimizers.cut import minimum_cut
from spinlearn.minimizers.expansion import alpha_expansion
from spinlearn.minimizers.minimum import Minimum
from spinlearn.minimizers.support import class_level_reason


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Vote:
    """The vote of noisy minimum cuts; `randomized_cut` makes one.

    Attributes
    ----------
    shares : float array (n, q)
        Share of the cuts in which a node has a state; zero for nodes that no label reaches.
    n_balanced : int
        Cuts that passed the balance filter. If none did, all were counted.
    balances : float array (n_cuts,)
        Size of the smallest class of every cut in units of the fair share n / q.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import MinCut
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], weights=[1.0, 0.5, 1.0])
    >>> from spinlearn.minimizers import randomized_cut
    >>> vote = randomized_cut(MinCut()(chain, [0, -1, -1, 1], n_states=2), n_cuts=20, seed=0)
    >>> vote.shares.shape, vote.n_balanced
    ((4, 2), 20)
    """

    shares: FloatArray
    n_balanced: int
    balances: FloatArray


def randomized_cut(
    model: PottsModel,
    *,
    n_cuts: int = 100,
    noise: float = 0.2,
    min_balance: float = 0.1,
    seed: int | None = None,
) -> Vote:
    """Soft labels by the vote of minimum cuts with noisy weights.

    Parameters
    ----------
    model : PottsModel
        Couplings >= 0; two states are cut by `minimum_cut`, more by `alpha_expansion`.
    n_cuts : int, default 100
        Cuts to be made.
    noise : float, default 0.2
        Largest noise, in units of the mean coupling.
    min_balance : float, default 0.1
        A cut counts only if its smallest class has at least this share of n / q nodes; 0.1 asks for
        5 % of the points on either side of a cut in two, as the authors do.
    seed : int, optional
        Of random numbers; the same seed gives the same labelling.

    Returns
    -------
    Vote

    References
    ----------
    A. Blum, J. Lafferty, M. R. Rwebangira and R. Reddy, Semi-supervised learning using randomized
    mincuts, ICML 2004.

    Examples
    --------
    Equal weights: no edge of the chain is better than another, and the noise decides.

    >>> from spinlearn import Graph
    >>> from spinlearn.energies import MinCut
    >>> from spinlearn.minimizers import randomized_cut
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)])
    >>> vote = randomized_cut(MinCut()(chain, [0, -1, -1, 1], n_states=2), seed=0)
    >>> bool(vote.shares[1, 0] > vote.shares[2, 0] > 0)  # the nearer label gets more votes
    True
    """
    if isinstance(n_cuts, bool) or not isinstance(n_cuts, (int, np.integer)) or n_cuts < 1:
        raise InvalidInputError(f"n_cuts={n_cuts!r} must be a whole number, at least 1")
    if not (np.isfinite(noise) and noise >= 0):
        raise InvalidInputError(f"noise={noise!r} must be finite and >= 0 (0: no noise)")
    if not 0 <= min_balance <= 1:
        raise InvalidInputError(
            f"min_balance={min_balance!r} must lie between 0 (count all cuts) and 1"
        )
    reason = class_level_reason(model)
    if reason is not None:
        raise UnsupportedModelError(reason)
    rng = np.random.default_rng(seed_sequence(seed))
    n, q = model.n_nodes, model.n_states
    amplitude = noise * float(np.mean(np.abs(model.couplings))) if len(model.couplings) else 0.0
    everyone, balanced = np.zeros((n, q)), np.zeros((n, q))
    balances = np.empty(n_cuts)
    for k in range(n_cuts):
        found = _cut(_noisy(model, amplitude, rng))
        decided = np.flatnonzero(~found.undecided)
        states = found.labels[decided]
        sizes = np.bincount(states, minlength=q)
        balances[k] = q * sizes.min() / max(len(decided), 1)
        everyone[decided, states] += 1
        if balances[k] >= min_balance:
            balanced[decided, states] += 1
    n_balanced = int(np.sum(balances >= min_balance))
    votes = balanced if n_balanced else everyone
    return Vote(shares=votes / (n_balanced or n_cuts), n_balanced=n_balanced, balances=balances)


def _noisy(model: PottsModel, amplitude: float, rng: np.random.Generator) -> PottsModel:
    return PottsModel(
        model.graph,
        model.n_states,
        couplings=model.couplings + amplitude * rng.random(len(model.couplings)),
        pair_cost=model.pair_cost,
        fields=model.fields,
        clamped=model.clamped,
    )


def _cut(model: PottsModel) -> Minimum:
    return minimum_cut(model) if model.n_states == 2 else alpha_expansion(model)
