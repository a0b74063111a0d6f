"""The multicanonical engine against exact answers, and its promises about runs."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from spinlearn.datasets import two_bands
from spinlearn.energies import MinCut
from spinlearn.engines import Enumeration, JunctionTree, PopulationAnnealing
from spinlearn.engines.sampling.ladder import cool
from spinlearn.engines.sampling.samplers import Multicanonical, Tempering
from spinlearn.engines.sampling.walkers import (
    BitWalkers,
    ClusterWalkers,
    LockstepWalkers,
    walkers_for,
)
from spinlearn.errors import ConvergenceWarning, InvalidInputError, UnsupportedModelError
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from tests.conftest import grid_graph, labels_at
from tests.energy_models import ENERGY_NAMES
from tests.energy_models import random_model as energy_model
from tests.oracles import torus, z_scores

pytestmark = pytest.mark.slow

TEMPERATURES = np.array([0.0, 0.3, 0.6, 1.0, 2.0, np.inf])
KINDS = {"bits": BitWalkers, "clusters": ClusterWalkers, "lockstep": LockstepWalkers}


def random_model(kind: str, rng: np.random.Generator) -> PottsModel:
    """A model that goes to the given kind of walkers, with clamps, and fields but for bits."""
    q = 2 if kind == "bits" else int(rng.integers(2, 5))
    n = int(np.log(5000) / np.log(q))
    pairs = np.array([(i, j) for i in range(n) for j in range(i + 1, n)])
    edges = pairs[rng.random(len(pairs)) < 0.4]
    weights = {
        "bits": np.full(len(edges), 0.8),
        "clusters": rng.uniform(0.2, 1.5, len(edges)),
        "lockstep": rng.normal(size=len(edges)),
    }[kind]
    fields = None if kind == "bits" else 0.3 * rng.normal(size=(n, q))
    clamped = np.where(rng.random(n) < 0.2, rng.integers(0, q, n), -1)
    model = PottsModel(Graph(n, edges, weights), q, fields=fields, clamped=clamped)
    assert walkers_for(model) is KINDS[kind]
    return model


def quick_run(model, temperatures, seed, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        settings = {"tol": 0.02, "max_sweeps": 20_000, **settings}
        return Multicanonical(**settings).run(model, temperatures, seed=seed)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_error_bars_cover_the_truth(kind):
    scores, agreement_scores = [], []
    for seed in range(10):
        model = random_model(kind, np.random.default_rng(seed))
        exact = Enumeration().run(model, TEMPERATURES)
        run = quick_run(model, TEMPERATURES, seed)
        nodes, edges = z_scores(run, exact)
        scores.append(nodes[run.converged].ravel())
        agreement_scores.append(edges[run.converged].ravel())
        assert run.converged[1:].all()
    for values in (np.concatenate(scores), np.concatenate(agreement_scores)):
        assert np.mean(values < 2) >= 0.9
        assert values.max() < 6
        # Error bars that are far too wide would pass the above. (Averages that are exact, such as
        # those of free clusters, say nothing about them.)
        assert np.mean(values[values > 1e-6] < 0.5) < 0.75
    density = run.diagnostics["log_density_of_states"]
    n_labellings = len(model.free_nodes) * np.log(model.n_states)
    assert np.logaddexp.reduce(density) == pytest.approx(n_labellings, abs=0.05)
    np.testing.assert_allclose(run.log_partition[1:], exact.log_partition[1:], atol=0.1)
    np.testing.assert_allclose(run.mean_energy[1:], exact.mean_energy[1:], atol=0.15)


@pytest.mark.parametrize("name", ENERGY_NAMES)
def test_sampled_law_of_every_energy_is_that_of_enumeration(name):
    model = energy_model(name, np.random.default_rng([0, len(name)]), n=7, q=3)
    temperatures = [0.4, 0.8, 1.5, np.inf]
    exact = Enumeration().run(model, temperatures)
    run = quick_run(model, temperatures, 0, tol=0.025, max_sweeps=2000)
    assert run.std_error.max() < 0.05
    np.testing.assert_allclose(run.log_partition, exact.log_partition, atol=0.15)
    values = np.concatenate([z.ravel() for z in z_scores(run, exact)])
    assert values.max() < 6
    assert np.mean(values < 2) > 0.85


def test_periodic_ising_lattice_has_kaufmans_partition_function():
    size = 16
    model = PottsModel(torus(size), 2)
    temperatures = np.array([0.5, 0.8, 1.0, 1.135, 1.3, 2.0, 3.0, 5.0])
    run = quick_run(model, temperatures, 0)
    reference = size * size * np.log(2)
    expected = np.array([kaufman(size, t) for t in temperatures]) - reference
    np.testing.assert_allclose(run.log_partition - reference, expected, rtol=1e-3)


def kaufman(size: int, temperature: float) -> float:
    """ln Z of the L x L torus, E = sum (1 - delta) (Kaufman 1949; K = 1 / 2T)."""
    k = 0.5 / temperature
    n = size * size
    index = np.arange(2 * size)
    cosh_gamma = np.cosh(2 * k) / np.tanh(2 * k) - np.cos(np.pi * index / size)
    gamma = np.arccosh(np.maximum(cosh_gamma, 1.0))
    gamma[0] = 2 * k + np.log(np.tanh(k))
    half = size * gamma / 2
    log_cosh = np.logaddexp(half, -half)
    log_sinh = np.abs(half) + np.log1p(-np.exp(-2 * np.abs(half)))
    terms = [part[first::2].sum() for first in (1, 0) for part in (log_cosh, log_sinh)]
    signs = [1.0, 1.0, 1.0, np.sign(half[0])]
    top = max(terms)
    total = sum(s * np.exp(t - top) for s, t in zip(signs, terms, strict=True))
    log_ising = -np.log(2) + n / 2 * np.log(2 * np.sinh(2 * k)) + top + np.log(total)
    return float(log_ising - 2 * n * k)


def test_toy_set_lies_on_the_exact_curve():
    toy = two_bands()
    model = MinCut()(toy.graph(), toy.labels, 2)
    temperatures = np.round(np.arange(0.3, 2.01, 0.1), 3)
    exact = JunctionTree().run(model, temperatures)
    run = Multicanonical().run(model, temperatures, seed=5)  # default settings
    assert run.converged.all()
    assert np.abs(run.marginals - exact.marginals).max() <= 0.03
    assert np.abs(run.edge_agreement - exact.edge_agreement).max() <= 0.03
    np.testing.assert_allclose(run.log_partition, exact.log_partition, atol=0.7)
    # The ground state is unique: ln D(12) = 0.
    assert run.diagnostics["energies"][0] == 12.0
    assert run.diagnostics["log_density_of_states"][0] == pytest.approx(0.0, abs=0.8)
    between = run.at([0.55, 0.95])
    expected = exact.at([0.55, 0.95])
    assert np.abs(between.marginals - expected.marginals).max() <= 0.05


def small_model() -> PottsModel:
    return PottsModel(grid_graph(5, 6), 2, clamped=labels_at({0: 0, 29: 1}, 30))


def assert_same_run(a, b):
    for name in ("marginals", "edge_agreement", "std_error", "log_partition"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@pytest.mark.parametrize("engine", [Multicanonical(tol=0.02, n_groups=2), Tempering(tol=0.03)])
def test_result_does_not_depend_on_threads(engine):
    model, root = small_model(), np.random.SeedSequence(3)
    one = engine.run(model, [0.5, 1.0], seed=root)
    engine = clone(engine)
    assert_same_run(one, engine.set_params(n_jobs=2).run(model, [0.5, 1.0], seed=root))
    other = engine.run(model, [0.5, 1.0], seed=4)
    assert np.any(other.marginals != one.marginals)


@pytest.mark.parametrize("engine", [Multicanonical, Tempering])
def test_limits_stop_a_run_and_missed_tolerances_are_named(engine):
    model = small_model()
    loose = engine(tol=0.05).run(model, [0.5, 1.0], seed=0)
    tight = engine(tol=0.002).run(model, [0.5, 1.0], seed=0)
    assert tight.diagnostics["sweeps"] > loose.diagnostics["sweeps"]
    assert tight.std_error.max() <= 0.002
    with pytest.warns(ConvergenceWarning, match=r"T = 0\.5, 1 .*max_seconds or max_sweeps"):
        short = engine(tol=1e-5, max_sweeps=1000).run(model, [1.0, 0.5], seed=0)
    assert short.diagnostics["sweeps"] <= 1000
    assert not short.converged.any()
    with pytest.warns(ConvergenceWarning):
        short = engine(tol=1e-5, max_seconds=0.5).run(model, [1.0, 0.5], seed=0)
    assert short.diagnostics["sweeps"] < 1e6  # it was time that ended it, not the work


@pytest.mark.parametrize("engine", [Multicanonical, Tempering])
def test_callback_and_ctrl_c_return_what_is_there(engine):
    model = small_model()
    phases = []

    def stop(progress):
        phases.append(progress.phase)
        return phases.count("production") == 20

    def interrupt(progress):
        if stop(progress):
            raise KeyboardInterrupt

    runs = []
    for callback in (stop, interrupt):
        phases.clear()
        with pytest.warns(ConvergenceWarning):
            runs.append(engine(tol=1e-6).run(model, [0.5, 1.0], seed=0, callback=callback))
        assert phases.count("production") == 20
        assert {"ladder", "production"} <= set(phases)
        if engine is Multicanonical:
            assert set(phases) == {"ladder", "weights", "production"}
    assert_same_run(*runs)
    assert runs[0].std_error.max() < 0.2
    assert not runs[0].converged.any()
    np.testing.assert_allclose(runs[0].marginals.sum(axis=2), 1)


@pytest.mark.parametrize(
    ("engine", "bad"),
    [
        (Multicanonical, {"tol": (0, "a", np.nan), "n_groups": (3,), "max_seconds": (-1,)}),
        (Tempering, {"moves": ("global",), "max_sweeps": (0,)}),
        (PopulationAnnealing, {"n_walkers": (0,), "n_sweeps": (-1,), "step": (0.0,),
                               "n_reads": (0,), "tol": ("x",), "max_seconds": (0,)}),
    ],
)  # fmt: skip
def test_bad_settings_are_refused(engine, bad):
    for name, values in bad.items():
        for value in values:
            with pytest.raises(InvalidInputError, match=name):
                engine(**{name: value}).run(small_model(), [1.0])


def test_too_many_sums_are_refused():
    with pytest.raises(UnsupportedModelError, match="use engine='tempering'"):
        Multicanonical().run(PottsModel(Graph(80_000, [(0, 1)]), 3), [1.0])


def test_a_late_pilot_hurries_and_still_makes_a_ladder(monkeypatch):
    model = random_model("clusters", np.random.default_rng(3))
    swept: list[int] = []
    plain = ClusterWalkers.sweep

    def counted(self, n_sweeps):
        swept.append(n_sweeps)
        plain(self, n_sweeps)

    monkeypatch.setattr(ClusterWalkers, "sweep", counted)
    wanted = np.array([0.5, 4.0])
    totals, ladders = [], []
    for late in (False, True):
        swept.clear()
        pilot = [ClusterWalkers(model, np.random.SeedSequence(1), 16)]
        ladders.append(
            cool(pilot, model, wanted, 20, lambda _: False, by_parts=True, late=lambda x=late: x)
        )
        totals.append(sum(swept))
    assert totals[1] < totals[0] / 4
    for ladder in ladders:
        assert set(wanted) <= set(ladder.betas)
        assert ladder.means[-1] < ladder.means[0] - 1
    assert ladders[1].log_z_first == pytest.approx(ladders[0].log_z_first, abs=0.3)
