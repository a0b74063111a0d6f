"""A server that runs in a thread of its own, on the loopback address."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress

from spinlearn.errors import InvalidInputError, MissingDependencyError
from spinlearn.labelling.guard import Guard, new_token
from spinlearn.labelling.room import Room

ADDRESS = "127.0.0.1"
MOST_HEAD = 16_384  # bytes of a request line with its headers
MOST_MESSAGE = 4_000_000  # bytes of one action: a lasso around 500,000 points


class Running:
    """A room with its doors open; `address` is where.

    Parameters
    ----------
    room : Room
    who : str
        What people are called who give no name.
    port : int
        0 is any that is free.
    """

    def __init__(self, room: Room, who: str, port: int = 0) -> None:
        try:
            import uvicorn

            from spinlearn.labelling.connections import FewConnections
            from spinlearn.labelling.server import application
        except ImportError as error:
            raise MissingDependencyError(
                f"labelling in the browser needs {error.name}, which is not installed: pip install "
                "'spinlearn[label]'"
            ) from error
        self.room = room
        self._socket = _bound(port)
        self.port = int(self._socket.getsockname()[1])
        self.token = new_token()
        self.address = f"http://{ADDRESS}:{self.port}/{self.token}/"
        config = uvicorn.Config(
            Guard(application(room, who), self.token, self.port),
            http=FewConnections,
            ws="websockets-sansio",
            ws_max_size=MOST_MESSAGE,
            ws_ping_interval=20.0,
            h11_max_incomplete_event_size=MOST_HEAD,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=2,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="spinlearn-server", daemon=True
        )

    def start(self) -> None:
        """Open the doors."""
        self.room.open()
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():  # however busy the machine is
                raise InvalidInputError("the server did not start: try another --port")
            time.sleep(0.005)

    def stop(self) -> None:
        """Close them; labels and log are whole."""
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join(timeout=10)
        with suppress(OSError):
            self._socket.close()
        self.room.close()


def _bound(port: int) -> socket.socket:
    """A socket on the loopback address."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if port:
            found.setsockopt(socket.SOL_SOCKET, _reuse(), 1)
        found.bind((ADDRESS, port))
    except OSError as error:
        found.close()
        raise InvalidInputError(
            f"port {port} cannot be had ({error.strerror}): leave --port out for any that is free"
        ) from error
    return found


def _reuse() -> int:
    """The option by which a port can be had again at once, and by nobody else at the same time.

    Windows has a port to itself by another one: SO_REUSEADDR would share it with any program there.
    """
    exclusive = getattr(socket, "SO_EXCLUSIVEADDRUSE", None)  # Windows only
    return socket.SO_REUSEADDR if exclusive is None else int(exclusive)
