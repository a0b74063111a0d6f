"""Error bars against exact answers of 10,000 and 100,000 nodes, as for small models."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest

from spinlearn.engines import JunctionTree, Tempering
from spinlearn.errors import ConvergenceWarning
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


@pytest.mark.parametrize("name", MODELS)
def test_error_bars_cover_the_truth_at_size_and_a_wrong_temperature_is_noticed(name):
    """Work is bounded by sweeps, so that the run is the same on a busy machine."""
    model = MODELS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        run = Tempering(tol=TOL, max_sweeps=MAX_SWEEPS).run(model, TEMPERATURES, seed=0)
    both = JunctionTree().run(model, np.concatenate([TEMPERATURES, BUG * TEMPERATURES]))
    exact, off = both.take([0, 1, 2]), both.take([3, 4, 5])
    assert exact.diagnostics["width"] <= 7  # the oracle is narrow,
    free = exact.marginals[0, model.clamped < 0]
    assert np.median(np.abs(free - 1 / model.n_states)) > 0.01  # and labels reach its nodes
    found = scores(run, exact)
    assert not broken_laws(found, TOL), f"\n{found}"
    assert broken_laws(scores(run, off), TOL)
