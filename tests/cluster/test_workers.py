"""Two worker processes: the answers of one, also where one of them is killed on the way."""

import io
import itertools
import os
import signal
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.datasets import make_blobs
from typer.testing import CliRunner

from spinlearn import Graph, compare
from spinlearn.cli import fit as fit_command
from spinlearn.cli.main import app
from spinlearn.default.average import PhaseModels, learnt
from spinlearn.engines import BeliefPropagation, Multicanonical, Tempering
from spinlearn.engines.sampling.rounds import DaskRounds
from spinlearn.errors import ClusterError, InvalidInputError
from spinlearn.graphs import KNN
from spinlearn.io.message_parts import MessageParts, whole_marginals, write_message_parts
from spinlearn.model.parallel import SentOnce, each
from spinlearn.model.potts import PottsModel
from spinlearn.workflows.cluster import BlockPropagation, propagate_parts
from tests.cluster.models import clouds

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # of a cluster that is shut down
]

TEMPERATURES = [2.0, 1.0]


@contextmanager
def two_workers():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def cluster_of_two():
    """Shared by the tests that leave both workers alive."""
    with two_workers() as client:
        yield client


@pytest.fixture
def client(cluster_of_two):
    """Who talks to the shared workers; one that is missing ends the test at once."""
    # Asked themselves: the scheduler may still list a worker that is no more.
    assert len(cluster_of_two.run(os.getpid, on_error="ignore")) == 2
    return cluster_of_two


@pytest.fixture
def mortal():
    """Who talks to two workers of this test's own, of which it kills one."""
    with two_workers() as client:
        yield client


def kill_a_worker(client) -> int:
    process = next(iter(client.run(os.getpid).values()))
    os.kill(process, signal.SIGKILL)
    return process


def kill_a_worker_at(monkeypatch, client, owner, name: str, call: int) -> list[int]:
    """A worker is killed just before this call of a function; the processes that were."""
    whole, calls, killed = getattr(owner, name), itertools.count(1), []

    def after_a_kill(*arguments, **options):
        if next(calls) == call:
            killed.append(kill_a_worker(client))
        return whole(*arguments, **options)

    monkeypatch.setattr(owner, name, after_a_kill)
    return killed


def slow_square(shared: int, item: int) -> tuple[int, int]:
    time.sleep(0.4)
    return shared * item * item, os.getpid()


def fatal_square(once: Path, item: int) -> int:
    """The first worker that takes the third item dies of it."""
    if item == 3 and not once.exists():
        once.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item * item


def test_independent_work_runs_on_both_workers_and_in_order(client):
    with parallel_config("dask", client=client):
        values, processes = zip(*each(slow_square, 3, [1, 2, 3, 4]), strict=True)
    assert values == (3, 12, 27, 48)
    assert len(set(processes)) == 2
    assert os.getpid() not in processes


def test_a_task_whose_worker_is_killed_is_computed_again(mortal, tmp_path):
    with parallel_config("dask", client=mortal):
        found = each(fatal_square, tmp_path / "once", [1, 2, 3, 4])
    assert (tmp_path / "once").exists()
    assert found == [1, 4, 9, 16]


def test_left_out_labels_and_compare_say_the_same_bit_for_bit(client):
    model = clouds()
    labels = np.array(model.clamped, dtype=np.int64)

    def work():
        asked = {"methods": ["lgc", "harmonic"], "engine": "belief_propagation"}
        rows = compare(model.graph, labels, **asked).drop(columns="seconds")
        return learnt(PhaseModels(model.graph, 4, 2.0), labels), rows

    alone, its_rows = work()
    with parallel_config("dask", client=client):
        shared, rows = work()
    assert np.array_equal(alone.phase, shared.phase)
    assert np.array_equal(alone.class_errors, shared.class_errors)
    assert its_rows.equals(rows)


class Counted:
    """Counts how often it is sent."""

    def __init__(self) -> None:
        self.sent = 0

    def __reduce__(self):
        self.sent += 1
        return Counted, ()


def kind_of(shared: dict, item: int) -> tuple[str, int]:
    return type(shared["thing"]).__name__, shared["number"] * item


def test_what_calls_have_in_common_is_sent_once(client):
    thing = Counted()
    beside = SentOnce(thing)
    with parallel_config("dask", client=client):
        for number in (1, 2, 3):
            found = each(kind_of, {"thing": thing, "number": number}, [1, 2], beside=beside)
            assert found == [("Counted", number), ("Counted", 2 * number)]
        assert thing.sent == 1
        each(kind_of, {"thing": thing, "number": 1}, [1, 2])
        assert thing.sent == 2


def ladder_model():
    """A part of the clouds, without their null model."""
    whole = clouds()
    inside = np.all(whole.graph.edges < 60, axis=1)
    graph = Graph(60, whole.graph.edges[inside], whole.graph.weights[inside])
    return PottsModel(graph, whole.n_states, clamped=np.array(whole.clamped[:60]))


@pytest.mark.parametrize(
    "engine",
    [Tempering(max_sweeps=200, tol=1e-6), Multicanonical(max_sweeps=200, tol=1e-6, n_groups=2)],
    ids=["tempering", "multicanonical"],
)
def test_ladders_on_workers_find_the_same_bit_for_bit(client, engine, monkeypatch):
    model = ladder_model()
    alone = engine.run(model, [0.4, 1.0, 2.0], seed=3)
    rounds, run = [], DaskRounds.run
    monkeypatch.setattr(DaskRounds, "run", lambda *a: rounds.append(1) or run(*a))
    with parallel_config("dask", client=client):
        shared = engine.run(model, [0.4, 1.0, 2.0], seed=3)
    assert rounds
    for name in ("marginals", "edge_agreement", "std_error", "mean_energy"):
        assert np.array_equal(getattr(alone, name), getattr(shared, name))


def test_a_ladder_whose_worker_is_killed_is_swept_again(mortal, monkeypatch):
    model, engine = ladder_model(), Tempering(max_sweeps=300, tol=1e-6)
    alone = engine.run(model, [0.5, 1.0], seed=1)
    killed = kill_a_worker_at(monkeypatch, mortal, DaskRounds, "run", 3)
    with parallel_config("dask", client=mortal):
        shared = engine.run(model, [0.5, 1.0], seed=1)
    assert killed
    assert np.array_equal(alone.marginals, shared.marginals)


@pytest.fixture(scope="module")
def alone():
    return BeliefPropagation(n_starts=1, tol=1e-10).run(clouds(), TEMPERATURES, seed=0)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    return write_message_parts(clouds(), tmp_path_factory.mktemp("blocks") / "parts", 2)


@pytest.fixture(scope="module")
def whole(cluster_of_two, parts):
    """What two workers find whom nobody disturbs."""
    return propagate_parts(parts, TEMPERATURES, cluster_of_two, tol=1e-10)


def test_blocks_on_two_workers_agree_with_one_process(whole, alone):
    assert whole.settled.all()
    assert np.abs(whole_marginals(clouds(), whole.marginals) - alone.marginals).max() < 1e-6
    held = list(whole.worker_bytes.values())
    assert len(held) == 2
    assert max(held) <= 0.65 * sum(held)


@pytest.mark.parametrize("done", [False, True])
def test_a_block_that_is_lost_with_its_worker_is_computed_again(
    mortal, parts, whole, monkeypatch, done
):
    """While it is computed, or its result before it was fetched."""
    gather, calls = mortal.gather, itertools.count(1)

    def gather_after_a_kill(futures):
        if next(calls) == 5:
            distributed.wait(futures if done else [])
            process = kill_a_worker(mortal)
            while done and process in mortal.run(os.getpid, on_error="ignore").values():
                time.sleep(0.05)
        return gather(futures)

    monkeypatch.setattr(mortal, "gather", gather_after_a_kill)
    again = propagate_parts(parts, TEMPERATURES, mortal, tol=1e-10, max_sweeps=2000)
    assert again.losses == 1 if done else again.losses >= 1
    assert np.abs(again.marginals - whole.marginals).max() < 1e-8


def test_blocks_as_an_engine_give_all_averages(client, alone):
    with parallel_config("dask", client=client):
        shared = BlockPropagation(n_blocks=3, tol=1e-10).run(clouds(), TEMPERATURES)
    assert shared.converged.all()
    assert np.abs(shared.marginals - alone.marginals).max() < 1e-6
    assert np.abs(shared.edge_agreement - alone.edge_agreement).max() < 1e-6
    assert np.allclose(shared.mean_energy, alone.mean_energy, rtol=1e-6)


def test_workers_are_not_lost_when_the_client_forgets_to_list_them(client, parts, monkeypatch):
    # The client refreshes its picture of the scheduler with a list of no workers, at any moment.
    monkeypatch.setattr(client, "scheduler_info", lambda n_workers=5: {"workers": {}})
    found = propagate_parts(parts, TEMPERATURES[:1], client)
    assert found.losses == 0
    assert len(found.worker_bytes) == 2


def fitted_labels(out: Path, *arguments: str) -> str:
    """What `spinlearn fit` writes into labels.csv."""
    run = CliRunner().invoke(app, ["fit", *arguments, "--quiet", "--out", str(out)])
    assert run.exit_code == 0, run.output
    return (out / "labels.csv").read_text()


def test_the_command_gives_the_same_answer_on_a_cluster(client, tmp_path):
    X, truth = make_blobs(200, centers=3, n_features=4, random_state=1)
    np.save(tmp_path / "points.npy", X)
    rows = "".join(f"{i},{'ABC'[truth[i]]}\n" for i in range(12))
    (tmp_path / "labels.csv").write_text("id,label\n" + rows)
    files = [str(tmp_path / "points.npy"), "--labels-file", str(tmp_path / "labels.csv")]
    alone = fitted_labels(tmp_path / "alone", *files)
    where = ("--scheduler", client.scheduler.address)
    assert fitted_labels(tmp_path / "shared", *files, *where) == alone


def edge_files(folder: Path) -> list[str]:
    """A graph of three clouds as two Parquet parts, and its labels; the options for them."""
    X, truth = make_blobs(240, centers=3, n_features=4, random_state=1)
    graph = KNN().build(X)
    (folder / "edges").mkdir()
    for k, part in enumerate(np.array_split(np.arange(graph.n_edges), 2)):
        u, v = graph.edges[part].T + 1000
        table = pd.DataFrame({"source": u, "target": v, "weight": graph.weights[part]})
        table.to_parquet(folder / "edges" / f"part-{k}.parquet", index=False)
    rows = "".join(f"{i + 1000},{'ABC'[truth[i]]}\n" for i in range(15))
    (folder / "labels.csv").write_text("id,label\n" + rows)
    return [str(folder / "edges"), "--edges", "--labels-file", str(folder / "labels.csv")]


def test_the_command_passes_messages_in_blocks_also_if_a_worker_is_killed(
    mortal, tmp_path, monkeypatch
):
    files = edge_files(tmp_path)
    where = [*files, "--scheduler", mortal.scheduler.address, "--blocks", "2"]
    alone = fitted_labels(tmp_path / "alone", *files)
    whole = fitted_labels(tmp_path / "whole", *where, "--parts", str(tmp_path / "parts"))
    called = [pd.read_csv(io.StringIO(text)).set_index("id")["call"] for text in (alone, whole)]
    assert called[0].to_dict() == called[1].to_dict()
    assert (tmp_path / "parts" / "edges-1.parquet").exists()
    killed = kill_a_worker_at(monkeypatch, mortal, distributed.Client, "gather", 10)
    assert fitted_labels(tmp_path / "wounded", *where) == whole
    assert killed


def test_what_is_missing_is_said_in_one_clear_line(tmp_path, monkeypatch):
    run = CliRunner().invoke(app, ["fit", *edge_files(tmp_path), "--blocks", "2"])
    assert run.exit_code != 0
    assert "--scheduler" in str(run.exception)
    with pytest.raises(ClusterError, match="--scheduler"):
        BlockPropagation(n_blocks=2).run(clouds(), [1.0])
    with pytest.raises(InvalidInputError, match="write_message_parts"):
        MessageParts.open(tmp_path)
    monkeypatch.setattr(fit_command, "CONNECT_SECONDS", 1)
    with (
        pytest.raises(ClusterError, match="dask scheduler"),
        fit_command.on_cluster("tcp://127.0.0.1:9"),
    ):
        pass
