"""What a sampler may be asked, what it says of itself, and where its limits hold."""

import time

import numpy as np
import pytest

from spinlearn import KNN, PottsClassifier
from spinlearn.energies import MinCut, Modularity
from spinlearn.engines import Auto, JunctionTree, Multicanonical, Tempering
from spinlearn.engines.messages.approximation import Approximation
from spinlearn.errors import ConvergenceWarning, InvalidInputError, UnsupportedModelError
from tests.conftest import few_labels
from tests.oracles import blob_tree, strip
from tests.slowness import slowness

pytestmark = pytest.mark.slow


def blobs(n_points: int, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping classes with five labels each."""
    rng = np.random.default_rng(0)
    centres = 1.4 * rng.normal(size=(n_classes, 6))
    truth = rng.integers(n_classes, size=n_points)
    return centres[truth] + rng.normal(size=(n_points, 6)), few_labels(truth, 5)


@pytest.mark.filterwarnings("ignore::spinlearn.errors.ConvergenceWarning")  # tol is just missed
def test_temperatures_out_of_reach_are_refused_and_near_ones_move_little():
    X, labels = blobs(1500)
    model = MinCut()(KNN().build(X), labels, 3)
    run = Tempering(tol=0.05, max_sweeps=80).run(model, [0.4, 0.8, 1.6], seed=0)
    near = run.at(1.002 * run.temperatures)
    with pytest.raises(InvalidInputError, match="do not overlap"):
        run.at([0.6])
    moved = np.abs(near.marginals - run.marginals)
    assert np.all(moved <= 3 * near.std_error)


def test_log_z_has_an_error_bar_that_covers_the_truth():
    model = strip(60, 4, 2)
    exact = JunctionTree().run(model, [0.6, 1.0, 2.0])
    for engine in (Tempering(tol=0.03), Multicanonical(tol=0.03)):
        runs = [engine.run(model, [0.6, 1.0, 2.0], seed=s) for s in range(4)]
        z = [(r.log_partition - exact.log_partition) / r.log_partition_std_error for r in runs]
        assert np.abs(z).max() < 5
        assert np.sqrt(np.mean(np.square(z))) > 0.1  # no idle bound either


@pytest.mark.parametrize("family", [strip, blob_tree])
def test_cold_temperatures_alone_are_sampled_in_all_their_valleys(family):
    """A wall between two labels may lie anywhere, at the same energy; no start knows where."""
    model = family(60, 4, 3)
    free = model.clamped < 0
    exact = JunctionTree().run(model, [0.12, 0.2])
    run = Tempering(tol=0.05).run(model, [0.12, 0.2], seed=0)
    off = np.abs(run.marginals - exact.marginals)[:, free]
    sure = np.asarray(run.equilibrated)
    assert np.all(off[sure] <= 5 * run.std_error[:, free][sure] + 1e-9)
    assert np.any(sure)


def test_a_start_that_is_not_forgotten_is_not_called_equilibrium(monkeypatch):
    """All points in one class where there are three, and too few sweeps to leave it."""

    def draw(self, betas, random):
        return np.zeros((len(betas), self.marginals.shape[1]), dtype=np.int8)

    monkeypatch.setattr(Approximation, "draw", draw)
    X, labels = blobs(600)
    model = Modularity()(KNN().build(X), labels, 3)
    with pytest.warns(ConvergenceWarning, match="not equilibrated"):
        run = Tempering(tol=0.5, max_sweeps=2).run(model, [0.1, 0.2, 4.0], seed=0)
    assert not run.equilibrated[:2].any()
    assert not run.converged[~run.equilibrated].any()


@pytest.mark.filterwarnings("ignore::spinlearn.errors.ConvergenceWarning")  # where it is hot
@pytest.mark.parametrize("energy", ["min_cut", "modularity"])
def test_a_run_without_limits_ends_when_its_calls_are_settled(energy):
    X, labels = blobs(300)
    runs = [
        PottsClassifier(engine="tempering", energy=energy, random_state=s).fit(X, labels)
        for s in (0, 1)
    ]
    for clf in runs:
        assert clf.equilibrium_.diagnostics["settled"]
        assert clf.equilibrium_.diagnostics["changing"] <= 0.005
        assert any("settled" in line for line in clf.answer_.remarks())
    assert np.mean(runs[0].names_ == runs[1].names_) >= 0.98


@pytest.mark.filterwarnings("ignore::spinlearn.errors.ConvergenceWarning")
def test_a_limit_of_time_holds_for_everything():
    X, labels = blobs(4000)
    model = MinCut()(KNN().build(X), labels, 3)
    Tempering(max_sweeps=1, tol=0.5).run(model, [4.0], seed=0)  # compiles
    began = time.process_time()
    Auto(max_seconds=2.0, tol=1e-6).run(model, np.geomspace(0.2, 4.0, 12), seed=0)
    # Of work: a busy machine takes longer by the clock, and does no more.
    assert time.process_time() - began < 2.0 + 4.0 * slowness()


def test_sums_that_do_not_fit_are_refused_before_any_work():
    model, heard = strip(50_000, 4, 2), []
    with pytest.raises(UnsupportedModelError, match="GB"):
        Tempering().run(model, np.linspace(0.5, 2.0, 400), callback=heard.append)
    assert heard == []  # the first phase says that it begins
