"""Population annealing against exact answers; what it refuses and how it stops."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits

from spinlearn import PottsClassifier, min_cut
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.datasets import two_bands
from spinlearn.decision import trusted_rows
from spinlearn.engines import Enumeration, PopulationAnnealing
from spinlearn.engines.population_annealing import _jackknife
from spinlearn.errors import ConvergenceWarning, InvalidInputError
from spinlearn.minimizers import minimum_cut
from tests.energy_models import random_model

TEMPERATURES = np.array([0.0, 0.4, 0.8, 1.5, np.inf])


@pytest.mark.parametrize("name", ["balanced_cut", "min_cut", "normalized_cut", "custom_table"])
def test_error_bars_cover_the_truth(name):
    scores = []
    for seed in range(3):
        model = random_model(name, np.random.default_rng([seed, 9]), n=6, q=3)
        exact = Enumeration().run(model, TEMPERATURES)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            run = PopulationAnnealing(n_walkers=256, n_sweeps=2).run(model, TEMPERATURES, seed=seed)
        free = model.clamped < 0
        off = np.abs(run.marginals - exact.marginals)[:, free]
        scores.append((off / run.std_error[:, free]).ravel())
        np.testing.assert_allclose(run.log_partition[1:], exact.log_partition[1:], atol=0.3)
        np.testing.assert_allclose(run.mean_energy[0], exact.mean_energy[0], atol=1e-9)
        np.testing.assert_allclose(run.mean_energy[1:], exact.mean_energy[1:], atol=0.4)
    values = np.concatenate(scores)
    assert values.max() < 6
    assert np.mean(values < 2) > 0.85


def test_the_jackknife_of_equal_blocks_is_the_error_of_the_mean():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(32, 5))
    mean, error = _jackknife(10 * values, np.full(32, 10.0))
    np.testing.assert_allclose(mean, values.mean(axis=0))
    np.testing.assert_allclose(error, values.std(axis=0, ddof=1) / np.sqrt(32))


def test_time_that_is_up_leaves_the_hotter_temperatures():
    model = PottsModel(Graph(40, [(i, i + 1) for i in range(39)]), 3, clamped=[0] + [-1] * 39)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        run = PopulationAnnealing(max_seconds=1e-6).run(model, [0.1, 1.0, np.inf], seed=0)
    assert run.temperatures.tolist() == [np.inf]


@pytest.mark.parametrize(
    "bad",
    [{"n_walkers": 0}, {"n_sweeps": -1}, {"step": 0.0}, {"n_reads": 0}, {"tol": "x"},
     {"max_seconds": 0}],
)  # fmt: skip
def test_bad_settings_are_refused(bad):
    model = PottsModel(Graph(2, [(0, 1)]), 2)
    with pytest.raises(InvalidInputError, match=next(iter(bad))):
        PopulationAnnealing(**bad).run(model, [1.0])


def test_one_label_a_class_is_answered_by_a_cooled_population():
    """Four digits, one label each: the default engine follows them, every error bar stays sane."""
    images, digits = load_digits(n_class=4, return_X_y=True)
    images, digits = images[:260], digits[:260]
    labels = np.full(len(digits), -1)
    for c in range(4):
        labels[np.flatnonzero(digits == c)[3]] = c
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = PottsClassifier(
            graph="knn", energy="diffused_cut", temperatures=[0.3, 0.6, 1.2], random_state=0
        ).fit(images, labels)
    assert fitted.equilibrium_.engine == "population_annealing"
    assert fitted.equilibrium_.std_error.max() <= 0.5
    free = labels < 0
    assert np.mean(fitted.forced_labels_[free] == digits[free]) > 0.97


def test_the_ground_state_is_never_above_the_minimisers():
    """A hurried population ends above the minimum cut of the toy set, T = 0 does not."""
    toy = two_bands()
    model = min_cut(toy.graph(), toy.labels, n_states=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        run = PopulationAnnealing(n_walkers=64, n_sweeps=1, step=10.0, n_reads=1).run(
            model, [0.0, 1.0], seed=0
        )
    least = minimum_cut(model)
    assert run.diagnostics["best_energy"] > least.energy  # else this shows nothing
    assert run.mean_energy[0] == pytest.approx(least.energy)
    assert np.all(run.std_error[0][model.clamped < 0] == 0.5)
    assert np.all(trusted_rows(run))
