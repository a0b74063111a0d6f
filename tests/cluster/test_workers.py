"""Two worker processes: the answers of one, also where one of them is killed on the way."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.datasets import make_blobs
from typer.testing import CliRunner

from spinlearn import compare
from spinlearn.cli import cluster
from spinlearn.cli.main import app
from spinlearn.core.parallel import each
from spinlearn.engines import BeliefPropagation
from spinlearn.errors import ClusterError, InvalidInputError
from spinlearn.io.message_parts import MessageParts, whole_marginals, write_message_parts
from spinlearn.methods.evidence import left_out_evidence
from spinlearn.workflows.distributed import propagate_parts
from tests.cluster.models import clouds

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of a cluster that is shut down

TEMPERATURES = [2.0, 1.0]


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


def kill_a_worker_after(client, seconds: float) -> threading.Timer:
    process = next(iter(client.run(os.getpid).values()))
    timer = threading.Timer(seconds, os.kill, (process, signal.SIGKILL))
    timer.start()
    return timer


def slow_square(shared: int, item: int) -> tuple[int, int]:
    time.sleep(0.4)
    return shared * item * item, os.getpid()


def test_independent_work_runs_on_both_workers_and_in_order(client):
    with parallel_config("dask", client=client):
        found = each(slow_square, 3, [1, 2, 3, 4])
    assert [value for value, _ in found] == [3, 12, 27, 48]
    assert len({process for _, process in found}) == 2
    assert os.getpid() not in {process for _, process in found}


def test_a_task_whose_worker_is_killed_is_computed_again(client):
    timer = kill_a_worker_after(client, 0.3)
    with parallel_config("dask", client=client):
        found = each(slow_square, 3, [1, 2, 3, 4])
    timer.join()
    assert [value for value, _ in found] == [3, 12, 27, 48]


def test_left_out_labels_say_the_same_bit_for_bit(client):
    model = clouds()
    labels = np.array(model.clamped, dtype=np.int64)

    def model_of(kept):
        return model.replace(clamped=kept)

    alone = left_out_evidence(labels, model_of, [1.5, 1.0])
    with parallel_config("dask", client=client):
        shared = left_out_evidence(labels, model_of, [1.5, 1.0])
    assert np.array_equal(alone.log_likelihood, shared.log_likelihood)
    assert np.array_equal(alone.shares, shared.shares)


def test_compare_finds_the_same_rows(client):
    model = clouds()
    y = np.array(model.clamped)
    asked = {"methods": ["lgc", "harmonic"], "engine": "belief_propagation"}
    alone = compare(model.graph, y, **asked)
    with parallel_config("dask", client=client):
        shared = compare(model.graph, y, **asked)
    assert alone.drop(columns="seconds").equals(shared.drop(columns="seconds"))


@pytest.fixture
def parts(tmp_path):
    return write_message_parts(clouds(), tmp_path / "parts", 2)


def test_blocks_on_two_workers_agree_with_one_process(client, parts):
    model = clouds()
    alone = BeliefPropagation(n_starts=1, tol=1e-10).run(model, TEMPERATURES, seed=0)
    shared = propagate_parts(parts, TEMPERATURES, client, tol=1e-10)
    assert shared.settled.all()
    assert np.abs(whole_marginals(model, shared.marginals) - alone.marginals).max() < 1e-6
    held = list(shared.worker_bytes.values())
    assert len(held) == 2
    assert max(held) <= 0.65 * sum(held)


def test_a_lost_block_is_computed_again(client, parts):
    whole = propagate_parts(parts, TEMPERATURES, client, tol=1e-10)
    timer = kill_a_worker_after(client, 0.4)
    again = propagate_parts(parts, TEMPERATURES, client, tol=1e-10, max_sweeps=2000)
    timer.join()
    assert again.losses >= 1
    assert np.abs(again.marginals - whole.marginals).max() < 1e-8


def test_workers_are_not_lost_when_the_client_forgets_to_list_them(client, parts, monkeypatch):
    # The client refreshes its picture of the scheduler with a list of no workers, at any moment.
    monkeypatch.setattr(client, "scheduler_info", lambda n_workers=5: {"workers": {}})
    found = propagate_parts(parts, TEMPERATURES[:1], client)
    assert found.losses == 0
    assert len(found.worker_bytes) == 2


def test_parts_without_a_header_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="write_message_parts"):
        MessageParts.open(Path(tmp_path))


def test_the_command_gives_the_same_answer_on_a_cluster(client, tmp_path):
    X, truth = make_blobs(200, centers=3, n_features=4, random_state=1)
    np.save(tmp_path / "points.npy", X)
    rows = "".join(f"{i + 1},{'ABC'[truth[i]]}\n" for i in range(12))
    (tmp_path / "labels.csv").write_text("id,label\n" + rows)
    files = [str(tmp_path / "points.npy"), "--labels-file", str(tmp_path / "labels.csv")]
    texts = []
    for name, where in (("alone", []), ("shared", ["--scheduler", client.scheduler.address])):
        out = tmp_path / name
        run = CliRunner().invoke(app, ["fit", *files, "--quiet", "--out", str(out), *where])
        assert run.exit_code == 0, run.output
        texts.append((out / "labels.csv").read_text())
    assert texts[0] == texts[1]


def test_a_scheduler_that_does_not_answer_is_one_clear_line(monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    with (
        pytest.raises(ClusterError, match="dask scheduler"),
        cluster.on_cluster("tcp://127.0.0.1:9"),
    ):
        pass
