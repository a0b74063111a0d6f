"""Connections of the server: so many at a time, and none that says nothing.

A connection that has not asked for anything after SILENT seconds is closed, and so is one beyond
MOST_CONNECTIONS, at once. Tabs that are open stay.
"""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 200
SILENT = 5.0  # seconds


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
