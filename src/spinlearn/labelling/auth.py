"""Who may ask the server for anything: this machine's own page, with the token in its address.

- Only the loopback address is listened on; the Host asked for must be it, so that no other name
  can be made to point here (DNS rebinding).
- An Origin, which browsers send with everything a page of another address asks for, must be ours.
- Every path begins with a random token; without it there is nothing to be found.
- Requests have no body: any other method than GET is refused before a byte of it is read.
- Answers may be read by this page alone, kept nowhere, framed by a notebook on this machine only.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOCAL = ("127.0.0.1", "localhost")
NOTEBOOKS = "'self' http://127.0.0.1:* http://localhost:* vscode-webview:"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": f"frame-ancestors {NOTEBOOKS}",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
POLICY_VIOLATION = 1008  # code with which a WebSocket is closed


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(24)


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
                message["headers"] = [*message.get("headers", ()), *_headers()]
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
    headers = [*_headers(), (b"connection", b"close"), (b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"refused\n"})


def _headers() -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
