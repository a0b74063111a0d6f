"""The multicanonical engine samples every energy of the package: its law is that of enumeration."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from spinlearn.engines import Enumeration, Multicanonical
from spinlearn.errors import ConvergenceWarning
from tests.energy_models import ENERGY_NAMES, random_model
from tests.oracles import z_scores

TEMPERATURES = np.array([0.4, 0.8, 1.5, np.inf])


@pytest.mark.slow
@pytest.mark.parametrize("name", ENERGY_NAMES)
def test_sampled_law_is_that_of_enumeration(name):
    model = random_model(name, np.random.default_rng([0, len(name)]), n=7, q=3)
    exact = Enumeration().run(model, TEMPERATURES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        run = Multicanonical(tol=0.025, max_sweeps=2000).run(model, TEMPERATURES, seed=0)
    assert run.std_error.max() < 0.05
    np.testing.assert_allclose(run.log_partition, exact.log_partition, atol=0.15)
    values = np.concatenate([z.ravel() for z in z_scores(run, exact)])
    assert values.max() < 6
    assert np.mean(values < 2) > 0.85
