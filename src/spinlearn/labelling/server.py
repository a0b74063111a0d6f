"""The web server of the labelling page, and who may ask it.

    GET  /            the page
    GET  /worker.js   what unpacks answers beside it
    GET  /answer      the answer on it, as the explorer's data
    GET  /look        what some points look like: ?points=3,17
    GET  /image       the picture of a point: ?point=3
    GET  /find        points by their ids, on display or not: ?text=PART
    GET  /colour      a column of numbers for the points on display: ?column=NAME
    WS   /live        actions of people, each answered once it is in the log; news for everybody

Of what comes in only JSON of the kinds below is read, never run. All of it is behind
`RequestFilter`: only this machine's own page, with the token in its address, may ask for anything.

- Only the loopback address is listened on; the Host asked for must be it, so that no other name
  can be made to point here (DNS rebinding).
- An Origin, which browsers send with everything a page of another address asks for, must be ours.
- Every path begins with a random token; without it there is nothing to be found.
- Requests have no body: any other method than GET is refused before a byte of it is read.
- Answers may be read by this page alone, kept nowhere, framed by a notebook on this machine only.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from uvicorn.protocols.http.h11_impl import H11Protocol

from spinlearn.errors import InvalidInputError, SpinlearnError
from spinlearn.labelling.session import WHO_LONGEST, Session
from spinlearn.viz.explorer import labelling_html, packed, worker_script

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOCAL = ("127.0.0.1", "localhost")
NOTEBOOKS = "'self' http://127.0.0.1:* http://localhost:* vscode-webview:"
HEADERS = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", f"frame-ancestors {NOTEBOOKS}".encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]
POLICY_VIOLATION = 1008  # code with which a WebSocket is closed


class RequestFilter:
    """An ASGI application that passes on what it lets through, with the token off the path."""

    def __init__(self, app: App, token: str, port: int) -> None:
        self._app, self._token = app, token.encode()
        self._hosts = {f"{name}:{port}".encode() for name in LOCAL}
        self._origins = {b"http://" + host for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        status, path = self._judged(scope)
        if status != 200:
            await _refuse(scope, receive, send, status)
            return
        inner = dict(scope, path=path, raw_path=path.encode(), root_path="")

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        await self._app(inner, receive, with_headers)

    def _judged(self, scope: Scope) -> tuple[int, str]:
        """HTTP's code for a request, and the path behind the token."""
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, ""
        if any(origin not in self._origins for origin in headers.get(b"origin", [])):
            return 403, ""
        _, first, *rest = [*scope["path"].split("/", 2), ""][:3]
        if not secrets.compare_digest(first.encode("utf-8", "replace"), self._token):
            return 404, ""
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
            return 405, ""
        return 200, "/" + (rest[0] if rest else "")


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int) -> None:
    if scope["type"] == "websocket":
        await receive()  # its wish to be connected
        await send({"type": "websocket.close", "code": POLICY_VIOLATION})
        return
    headers = [*HEADERS, (b"connection", b"close"), (b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"refused\n"})


MOST_TABS = 50
MOST_LOOKS = 64  # points at a time
MOST_NEWS = 1000  # that a tab may be behind before it is let go
AWAY = 1013  # code with which a socket is closed that is one too many
ADDRESS = "127.0.0.1"
MOST_HEAD = 16_384  # bytes of a request line with its headers
MOST_MESSAGE = 4_000_000  # bytes of one action: a lasso around 500,000 points
MOST_CONNECTIONS = 200  # one beyond is closed at once; tabs that are open stay
SILENT = 5.0  # seconds, after which a connection is closed that has not asked for anything


class ServerThread:
    """A server of a session, in a thread of its own, on the loopback address.

    `who` is what people are called who give no name; `port` 0 is any that is free.
    """

    def __init__(self, session: Session, who: str, port: int = 0) -> None:
        self.session = session
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            if port:  # so that it can be had again at once
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind((ADDRESS, port))
        except OSError as error:
            self._socket.close()
            raise InvalidInputError(
                f"port {port} cannot be had ({error.strerror}): leave --port out for any that is "
                "free"
            ) from error
        self.port = int(self._socket.getsockname()[1])
        token = secrets.token_urlsafe(24)
        self.address = f"http://{ADDRESS}:{self.port}/{token}/"
        config = uvicorn.Config(
            RequestFilter(_Pages(session, who).application, token, self.port),
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
        """Open the doors; `address` is where."""
        self.session.open()
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
        self.session.close()


class FewConnections(H11Protocol):
    """HTTP as uvicorn speaks it, with these limits."""

    def connection_made(self, transport: Any) -> None:
        """Take a connection, or drop it."""
        if len(self.connections) >= MOST_CONNECTIONS:
            self.transport = transport
            transport.abort()
            return
        super().connection_made(transport)
        self.loop.call_later(SILENT, self._drop_if_silent)

    def _drop_if_silent(self) -> None:
        if self.headers is None:  # not even one request
            self.transport.abort()


class _Pages:
    """What answers the requests about a session, each as the head of this file says."""

    def __init__(self, session: Session, who: str) -> None:
        self._session, self._who, self._tabs = session, who, 0
        self.application = Starlette(
            routes=[
                Route("/", self.page),
                Route("/worker.js", self.worker),
                Route("/answer", self.answer),
                Route("/look", self.look),
                Route("/image", self.image),
                Route("/find", self.find),
                Route("/colour", self.colour),
                WebSocketRoute("/live", self.live),
            ]
        )

    async def page(self, request: Request) -> Response:
        session = self._session
        settings = {
            "who": self._who,
            "shape": session.thumbnails.shape,
            "images": bool(session.thumbnails.pictures),
            "columns": session.thumbnails.colours(),
            "strokes": session.data.pixels is not None,
            "folder": str(session.folder),
        }
        title = session.data.source.name
        socket = f"ws://{request.headers['host'].lower()}"  # one of ours: the filter has seen to it
        return Response(labelling_html(title, settings, socket), media_type="text/html")

    async def worker(self, request: Request) -> Response:
        """The thread that unpacks answers: it may ask this server, and no one else."""
        policy = {"Content-Security-Policy": "default-src 'none'; connect-src 'self'"}
        return Response(worker_script(), media_type="text/javascript", headers=policy)

    async def answer(self, request: Request) -> Response:
        payload = self._session.payload
        if payload is None:
            return Response("there is no answer yet\n", 404, media_type="text/plain")
        return Response(payload, media_type="application/json")

    async def look(self, request: Request) -> Response:
        try:
            rows = [int(text) for text in request.query_params.get("points", "").split(",")]
        except ValueError:
            return _bad("points are row numbers between commas")
        if len(rows) > MOST_LOOKS or not all(0 <= r < len(self._session.data.ids) for r in rows):
            return _bad(f"at most {MOST_LOOKS} points that are there")
        look = self._session.thumbnails.look
        return JSONResponse(await run_in_threadpool(lambda: [look(row) for row in rows]))

    async def image(self, request: Request) -> Response:
        """A picture from the folder that the user named."""
        text = request.query_params.get("point", "")
        picture = self._session.thumbnails.pictures.get(int(text) if text.isdecimal() else -1)
        if picture is None or not picture[0].is_file():
            return Response("there is no picture of this point\n", 404, media_type="text/plain")
        return FileResponse(picture[0], media_type=picture[1])

    async def find(self, request: Request) -> Response:
        text = request.query_params.get("text", "")
        return JSONResponse(await run_in_threadpool(self._session.find, text))

    async def colour(self, request: Request) -> Response:
        name = request.query_params.get("column", "")
        try:
            values = await run_in_threadpool(self._session.thumbnails.colour, name)
        except SpinlearnError as error:
            return _bad(str(error))
        shown = self._session.display.rows
        numbers = np.asarray(values, dtype=np.float64)[shown]
        finite = numbers[np.isfinite(numbers)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
        share = np.nan_to_num((numbers - low) / (high - low if high > low else 1.0))
        return JSONResponse({
            "column": name, "low": low, "high": high, "points": packed(shown.astype(np.int32)),
            "shares": packed(np.rint(65535 * np.clip(share, 0, 1)).astype(np.uint16)),
        })  # fmt: skip

    async def live(self, socket: WebSocket) -> None:
        await socket.accept()
        if self._tabs >= MOST_TABS:
            await socket.close(AWAY, f"{MOST_TABS} tabs are open: close some")
            return
        news: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def listener(message: dict[str, Any]) -> None:
            with suppress(RuntimeError):  # the server has just ended
                loop.call_soon_threadsafe(news.put_nowait, message)

        self._tabs += 1
        sender: asyncio.Task[None] | None = None
        try:
            for message in await run_in_threadpool(self._session.listen, listener):
                news.put_nowait(message)
            sender = asyncio.create_task(_send_all(socket, news))
            while True:
                await self._take(await socket.receive_text(), news)
        except (WebSocketDisconnect, RuntimeError, KeyError):
            pass  # the tab is gone
        finally:
            self._tabs -= 1
            if sender is not None:
                sender.cancel()
            await run_in_threadpool(self._session.leave, listener)

    async def _take(self, text: str, news: asyncio.Queue[dict[str, Any]]) -> None:
        """Do what a tab asks for, and tell it that it is done, or why not."""
        ref: Any = None
        try:
            request = json.loads(text)
            if not isinstance(request, dict):
                raise ValueError("no action")
            ref = request.get("ref") if isinstance(request.get("ref"), int) else None
            who = request.get("who")
            if not isinstance(who, str) or not who.strip() or not who.isprintable():
                who = self._who
            entry = await run_in_threadpool(self._session.act, request, who.strip()[:WHO_LONGEST])
            reply = {key: entry[key] for key in ("n", "do", "point", "folder") if key in entry}
            news.put_nowait({"kind": "done", "ref": ref} | reply)
        except (ValueError, RecursionError, SpinlearnError, OSError) as error:
            why = str(error) if isinstance(error, (SpinlearnError, OSError)) else "not understood"
            news.put_nowait({"kind": "refused", "ref": ref, "why": why})


async def _send_all(socket: WebSocket, news: asyncio.Queue[dict[str, Any]]) -> None:
    while True:
        message = await news.get()
        if news.qsize() > MOST_NEWS:
            await socket.close(AWAY, "too far behind")
            return
        await socket.send_text(json.dumps(message, allow_nan=False))


def _bad(why: str) -> Response:
    return Response(why + "\n", 400, media_type="text/plain")
