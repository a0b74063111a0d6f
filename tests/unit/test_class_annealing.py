"""Annealing reaches the least energy that enumeration finds, for every energy."""

from __future__ import annotations

import numpy as np
import pytest

from spinlearn.engines import Enumeration
from spinlearn.errors import InvalidInputError
from spinlearn.minimizers.annealing import class_annealing
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from tests.energy_models import ENERGY_NAMES, random_model


@pytest.mark.parametrize("name", ENERGY_NAMES)
def test_it_finds_the_least_energy_of_small_models(name):
    for seed in range(4):
        model = random_model(name, np.random.default_rng([seed, 1]), n=8, q=3)
        found = class_annealing(model, n_sweeps=60, n_runs=8, seed=seed)
        exact = Enumeration().run(model, [1.0]).diagnostics["ground_energy"]
        assert found.energy == pytest.approx(model.energy(found.labels), abs=1e-12)
        assert found.energy == pytest.approx(exact, abs=1e-9 * max(1, model.energy_scale))
        held = model.clamped >= 0
        np.testing.assert_array_equal(found.labels[held], model.clamped[held])


def test_same_seed_same_labelling():
    model = random_model("balanced_cut", np.random.default_rng(3), n=12, q=4)
    a, b = (class_annealing(model, n_sweeps=20, seed=5) for _ in range(2))
    np.testing.assert_array_equal(a.labels, b.labels)


def test_nothing_free_and_nothing_coupled():
    held = PottsModel(Graph(2, [(0, 1)]), 2, clamped=[0, 1])
    assert class_annealing(held).exact
    assert class_annealing(held).energy == 1.0
    alone = PottsModel(Graph(3, []), 3, fields=[[1, 0, 2], [0, 3, 3], [5, 5, 1]])
    found = class_annealing(alone, n_sweeps=5)
    assert found.labels.tolist() == [1, 0, 2]
    assert not found.undecided.any()
    assert class_annealing(PottsModel(Graph(3, []), 2), n_sweeps=2).undecided.all()


@pytest.mark.parametrize("bad", [{"n_sweeps": 0}, {"n_runs": 0}])
def test_no_run_at_all_is_refused(bad):
    model = PottsModel(Graph(2, [(0, 1)]), 2)
    with pytest.raises(InvalidInputError, match="at least 1"):
        class_annealing(model, **bad)
