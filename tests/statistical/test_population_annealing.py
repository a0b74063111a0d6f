"""Population annealing against exact answers; what it refuses and how it stops."""

from itertools import count

import numpy as np
import pytest
from sklearn.datasets import load_digits

from spinlearn import PottsClassifier, TemperatureRule
from spinlearn.answers.law import trusted_rows, usable_rows, warning_at
from spinlearn.datasets import two_bands
from spinlearn.energies import MinCut
from spinlearn.engines import Enumeration, PopulationAnnealing
from spinlearn.engines.sampling.population import _jackknife
from spinlearn.errors import InvalidInputError, StoppedError
from spinlearn.minimizers import minimum_cut
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from tests.conftest import few_labels
from tests.energy_models import random_model
from tests.oracles import z_scores

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::spinlearn.errors.ConvergenceWarning"),  # of short runs
]

TEMPERATURES = np.array([0.0, 0.4, 0.8, 1.5, np.inf])


@pytest.mark.parametrize("name", ["balanced_cut", "normalized_cut", "custom_table"])
def test_error_bars_cover_the_truth(name):
    scores = []
    for seed in range(3):
        model = random_model(name, np.random.default_rng([seed, 9]), n=6, q=3)
        exact = Enumeration().run(model, TEMPERATURES)
        run = PopulationAnnealing(n_walkers=256, n_sweeps=2).run(model, TEMPERATURES, seed=seed)
        between = run.at([0.6, 1.1])
        for found in (run, between):
            scores.append(z_scores(found, exact.at(found.temperatures))[0].ravel())
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


def test_one_label_a_class_is_answered_by_a_cooled_population():
    """Four digits, one label each: a population follows them, every error bar stays sane."""
    images, digits = (array[:260] for array in load_digits(n_class=4, return_X_y=True))
    labels = few_labels(digits, 1)
    fitted = PottsClassifier(
        graph="knn",
        energy="diffused_cut",
        random_state=0,
        engine=PopulationAnnealing(n_walkers=256, n_sweeps=8, memory=0.8, n_reads=4),
        temperature=TemperatureRule(grid=[0.3, 0.6, 1.2]),
    ).fit(images, labels)
    assert fitted.equilibrium_.std_error.max() <= 0.5
    free = labels < 0
    assert np.mean(fitted.forced_labels_[free] == digits[free]) > 0.97


def test_the_ground_state_is_never_above_the_minimisers():
    """A hurried population ends above the minimum cut of the toy set, T = 0 does not."""
    toy = two_bands()
    model = MinCut()(toy.graph(), toy.labels, n_states=2)
    hurried = PopulationAnnealing(n_walkers=64, n_sweeps=1, step=10.0, n_reads=1)
    run = hurried.run(model, [0.0, 1.0], seed=0)
    least = minimum_cut(model)
    assert run.diagnostics["best_energy"] > least.energy  # else this shows nothing
    assert run.mean_energy[0] == pytest.approx(least.energy)
    assert np.all(run.std_error[0][model.clamped < 0] == 0.5)
    assert not trusted_rows(run)[0]  # one deep valley, not weighed against others
    assert np.all(usable_rows(run))
    assert "one labelling of low energy" in warning_at(run, 0)


def small_run(path=None, *, stop_after=None, **settings):
    """A model with a class-level term, cooled; stopped at some call of the callback."""
    model = random_model("balanced_cut", np.random.default_rng(5), n=40, q=3)
    calls = count(1)

    def callback(progress):
        return stop_after is not None and next(calls) > stop_after

    engine = PopulationAnnealing(n_walkers=192, n_sweeps=1, n_reads=2, checkpoint=path, **settings)
    return engine.run(model, [0.0, 2.0, 4.0, 8.0, 30.0], seed=3, callback=callback)


def assert_same(one, two):
    for name in ("temperatures", "marginals", "std_error", "edge_agreement", "log_partition"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_a_run_goes_on_from_its_checkpoint_bit_for_bit(tmp_path):
    path = tmp_path / "run.npz"
    whole = small_run(n_jobs=3)  # threads change nothing
    steps = whole.diagnostics["steps"]
    assert steps > 12
    for stop in (2, steps // 2, steps - 2):  # each goes on where the one before was stopped
        try:
            part = small_run(path, stop_after=stop)
        except StoppedError:
            continue
        assert len(part.temperatures) <= len(whole.temperatures)
    assert path.exists()
    resumed = small_run(path)
    assert_same(whole, resumed)
    assert_same(whole.at([3.0, 12.0]), resumed.at([3.0, 12.0]))
    assert_same(whole.at([3.0]), whole.at([3.0, 12.0]).take([0]))


def test_a_thinned_trail_answers_like_a_whole_one(monkeypatch):
    whole = small_run()
    monkeypatch.setattr("spinlearn.engines.sampling.population_annealing.TRAIL_BYTES", 1e5)
    thinned = small_run()
    assert_same(whole, thinned)
    one, two = whole.at([6.0]), thinned.at([6.0])
    spread = np.hypot(one.std_error, two.std_error)
    assert np.all(np.abs(one.marginals - two.marginals) <= 6 * spread)
    assert np.any(one.marginals != two.marginals)  # else nothing was thinned


def test_a_stopped_run_knows_what_it_did_not_reach():
    run = small_run(stop_after=12)
    assert 0 < len(run.temperatures) < 5
    assert run.diagnostics["cut_short"]
    with pytest.raises(InvalidInputError, match="not reached"):
        run.at([0.01])
    model = PottsModel(Graph(40, [(i, i + 1) for i in range(39)]), 3, clamped=[0] + [-1] * 39)
    late = PopulationAnnealing(max_seconds=1e-6).run(model, [0.1, 1.0, np.inf], seed=0)
    assert late.temperatures.tolist() == [np.inf]


def test_a_fit_that_is_stopped_answers_with_what_it_has():
    """Neither the second grid nor anything else is computed after a stop."""
    toy = two_bands()
    for stop_at, least in (("cooling", 1), ("refining", 16)):
        phases = []

        def callback(progress, stop_at=stop_at, phases=phases):
            phases.append(progress.phase)
            return progress.phase == stop_at and progress.fraction > 0.5

        fitted = PottsClassifier(
            energy="balanced_cut",
            engine=PopulationAnnealing(n_walkers=64, n_sweeps=1, n_reads=1),
            random_state=0,
        ).fit(toy.graph(), toy.labels, callback=callback)
        assert phases[-1] == stop_at
        assert least <= len(fitted.equilibrium_.temperatures) <= 16
