"""Does a move keep a law? Exact draws, one application, chi-square against the same law.

Draws are independent, so there is no burn-in: the statistic of a right move follows chi-square with
(configurations - 1) degrees of freedom. Seeds are fixed: what passes once passes always; every test
has a twin with a planted error, which must fail.
"""

import itertools

import numpy as np
from scipy.stats import chi2

from spinlearn.model.potts import FREE, PottsModel

PASS = 1e-4  # p-value a right kernel must exceed
FAIL = 1e-6  # p-value a planted error must stay below


class Configurations:
    """All labellings of a small model, its clamps respected, and their energies."""

    def __init__(self, model: PottsModel) -> None:
        q, free = model.n_states, model.free_nodes
        self.states = np.tile(model.clamped, (q ** len(free), 1)).astype(np.int8)
        self.states[:, free] = list(itertools.product(range(q), repeat=len(free)))
        self.energies = np.asarray(model.energy(self.states))
        self._free, self._held = free, np.flatnonzero(model.clamped != FREE)
        self._places = q ** np.arange(len(free))[::-1]
        self._q = q

    def __len__(self) -> int:
        return len(self.states)

    def boltzmann(self, beta: float) -> np.ndarray:
        """exp(-beta E) / Z."""
        return normalized(np.exp(-beta * (self.energies - self.energies.min())))

    def index(self, states: np.ndarray) -> np.ndarray:
        """Rows of `states` (S, n) as numbers of configurations; fails on anything that is none."""
        assert states.min() >= 0
        assert states.max() < self._q
        number = states[:, self._free].astype(np.int64) @ self._places
        np.testing.assert_array_equal(
            states[:, self._held],
            self.states[number][:, self._held],
            err_msg="a clamped node has moved",
        )
        return number


class Draws:
    """Labellings of a model drawn from its exact law, and a test of what became of them."""

    def __init__(self, model: PottsModel, beta: float, count: int, seed: int) -> None:
        self.table = Configurations(model)  # clamps and all
        self.law = self.table.boltzmann(beta)
        numbers = np.random.default_rng(seed).choice(len(self.table), count, p=self.law)
        self.states = self.table.states[numbers]

    def p_value(self) -> float:
        """That of the labellings as they are now, against the law."""
        counts = np.bincount(self.table.index(self.states), minlength=len(self.table))
        return pooled_p_value(counts, self.law)


def normalized(weights: np.ndarray) -> np.ndarray:
    """Weights as probabilities."""
    return weights / weights.sum()


def p_value(counts: np.ndarray, law: np.ndarray) -> float:
    """Probability of a larger chi-square statistic if the counts were drawn from the law."""
    expected = counts.sum() * law
    if counts[law == 0].sum():
        return 0.0
    seen = law > 0
    assert expected[seen].min() > 5, "too few draws for chi-square"
    statistic = ((counts[seen] - expected[seen]) ** 2 / expected[seen]).sum()
    return float(chi2.sf(statistic, seen.sum() - 1))


def pooled_p_value(counts: np.ndarray, law: np.ndarray, least: float = 8) -> float:
    """The same, with configurations counted together of which fewer than `least` are expected."""
    rare = counts.sum() * law < least
    return p_value(
        np.append(counts[~rare], counts[rare].sum()), np.append(law[~rare], law[rare].sum())
    )


def assert_verdict(p: float, right: bool) -> None:
    """A right kernel keeps the law, its twin with a planted error visibly does not."""
    if right:
        assert p > PASS
    else:
        assert p < FAIL
