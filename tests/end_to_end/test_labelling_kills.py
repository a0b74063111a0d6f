"""A server that is killed at any moment: no label that it acknowledged is missing afterwards."""

import itertools
import multiprocessing
import random
import signal
import threading

import pytest
from websockets.exceptions import WebSocketException

from spinlearn.errors import InvalidInputError
from spinlearn.labelling.log import read_log
from spinlearn.labelling.notebook import label
from tests.end_to_end.labelling_client import Client, blobs

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
KILLS = 10


def serve(folder, told):
    """What the killed process does."""
    under_way = label(blobs()[0], out=folder)
    told.send(under_way.address)
    threading.Event().wait()


def started(folder):
    """A process that serves, and its address; it is killed in the end."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["spinlearn.labelling.notebook", "spinlearn.labelling.server"])
    told, tell = context.Pipe(duplex=False)
    process = context.Process(target=serve, args=(folder, tell), daemon=True)
    process.start()
    tell.close()
    assert told.poll(600), "the server did not start"
    return process, told.recv()


def test_no_acknowledged_label_is_missing_after_kills(tmp_path):
    rng = random.Random(5)
    lives = [rng.randrange(12) for _ in range(KILLS)]  # labels that each acknowledges at the least
    kept: dict[int, dict] = {}  # what was acknowledged, by number
    tried = 0
    for before in lives:
        process, address = started(tmp_path / "out")
        killer = threading.Timer(rng.uniform(0.0, 0.05), process.kill)
        with Client(address) as client:
            labels = client.until(lambda m: m["kind"] == "labels")
            assert labels["version"] >= max(kept, default=0)
            try:
                for number in itertools.count():
                    if number == before:
                        killer.start()
                    tried += 1
                    points, name = [rng.randrange(60)], rng.choice("xyz")
                    done = client.act(do="label", points=points, **{"class": name})
                    assert done["kind"] == "done"
                    kept[done["n"]] = {"points": [str(p) for p in points], "class": name}
            except (WebSocketException, OSError):
                pass  # killed
        process.join(600)
        assert process.exitcode == -signal.SIGKILL
        entries = {e["n"]: e for e in read_log(tmp_path / "out" / "log.jsonl")[1]}
        lost = {n for n, action in kept.items() if not action.items() <= entries[n].items()}
        assert not lost
    assert len(kept) >= 3 * KILLS  # the kills fell among labels, not before them
    assert tried > len(kept)  # and some cut one off


def test_two_servers_do_not_share_a_log(tmp_path):
    process, _ = started(tmp_path / "out")
    try:
        with pytest.raises(InvalidInputError, match="another run"):
            label(blobs()[0], out=tmp_path / "out")
    finally:
        process.kill()
        process.join()
