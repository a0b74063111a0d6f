"""Error bars against exact answers of 10,000 and 100,000 nodes, as for small models."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from spinlearn.engines import JunctionTree, Tempering
from spinlearn.errors import ConvergenceWarning
from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.potts import PottsModel
from tests.oracles import blob_tree, broken_laws, clique_chain, ribbon, scores, strip

pytestmark = pytest.mark.slow

TEMPERATURES = np.array([0.7, 1.0, 1.5])
TOL = 0.05
MAX_SWEEPS = 200
BUG = 1.03  # of the temperature

MODELS: dict[str, Callable[[], PottsModel]] = {
    "ribbon": lambda: ribbon(2500, 4, 3),
    "blob tree": lambda: blob_tree(1667, 6, 3),
    "clique chain": lambda: clique_chain(1667, 6, 3),
    "long strip": lambda: strip(25_000, 4, 2),
}


@dataclass(frozen=True)
class Case:
    """A run, and the exact answers at its temperatures and at those that are a little off."""

    model: PottsModel
    sampled: Equilibrium
    exact: Equilibrium
    off: Equilibrium


@pytest.fixture(scope="module", params=MODELS)
def case(request: pytest.FixtureRequest) -> Case:
    """Work is bounded by sweeps, so that the run is the same on a busy machine."""
    model = MODELS[request.param]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        run = Tempering(tol=TOL, max_sweeps=MAX_SWEEPS).run(model, TEMPERATURES, seed=0)
    both = JunctionTree().run(model, np.concatenate([TEMPERATURES, BUG * TEMPERATURES]))
    return Case(model, run, both.take([0, 1, 2]), both.take([3, 4, 5]))


def test_error_bars_cover_the_truth_at_size(case):
    found = scores(case.sampled, case.exact)
    broken = broken_laws(found, TOL)
    assert not broken, f"\n{found}"


def test_a_temperature_three_percent_off_is_noticed(case):
    """The twin of the test above."""
    assert broken_laws(scores(case.sampled, case.off), TOL)


def test_the_oracle_is_narrow_and_its_labels_reach_its_nodes(case):
    assert case.exact.diagnostics["width"] <= 7
    free = case.exact.marginals[0, case.model.clamped < 0]
    typical = np.median(np.abs(free - 1 / case.model.n_states))
    assert typical > 0.01
