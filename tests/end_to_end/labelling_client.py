"""A labelling server in this process, and someone who talks to it without a browser."""

import json
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from websockets.sync.client import connect

from spinlearn.labelling.notebook import label


@contextmanager
def served(folder: Path, X=None, y=None, **settings):
    """A labelling of three blobs, or of what is given."""
    if X is None:
        X = blobs()[0]
    under_way = label(X, y, out=folder / "labels", **settings)
    try:
        yield under_way
    finally:
        under_way.stop()


def blobs(n: int = 60, classes: int = 3):
    """Points in a plane, class after class, far apart."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(classes), n // classes)
    centres = np.column_stack([10.0 * np.arange(classes), np.zeros(classes)])
    return centres[truth] + rng.normal(size=(len(truth), 2)), truth


class Client:
    """One tab."""

    def __init__(self, address: str, who: str = "ada", **options) -> None:
        self.who, self.ref, self.news = who, 0, []
        live = address.replace("http", "ws") + "live"
        # A server that waits for its processor is not gone.
        patient = {"open_timeout": 600, "ping_interval": None, "max_size": None}
        self.socket = connect(live, **patient, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def hear(self, timeout: float = 600.0) -> dict:
        """The next message."""
        message = json.loads(self.socket.recv(timeout=timeout))
        self.news.append(message)
        return message

    def until(self, wanted, timeout: float = 600.0) -> dict:
        """The next message that is wanted."""
        while not wanted(message := self.hear(timeout)):
            pass
        return message

    def act(self, **action) -> dict:
        """Do something; what the server says to it."""
        self.ref += 1
        self.socket.send(json.dumps({**action, "who": self.who, "ref": self.ref}))
        return self.until(lambda m: m.get("ref") == self.ref)
