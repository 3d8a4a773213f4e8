"""HTTP as uvicorn speaks it, with the bounds that it lacks: how large headers may be, and how slow."""

import asyncio
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_BYTES = 65_536
HEADER_SECONDS = 15.0


class _HeadersTooLarge(Exception):
    """Raised inside the parser, which then refuses the request."""


class BoundedProtocol(HttpToolsProtocol):
    """Closes a connection whose next request's header does not come in time, or does not end."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # uvicorn's own arguments, handed on
        super().__init__(*args, **kwargs)
        self._parsed = 0
        self._received = 0
        self._too_large = False
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self._await_header()

    def connection_lost(self, exc: Exception | None) -> None:
        self._header_came()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_header()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._count(len(name) + len(value))

    def on_headers_complete(self) -> None:
        self._header_came()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # A single field that never ends reaches no callback: the parser keeps it, so it is counted here.
        if self._deadline is not None and not self.transport.is_closing():
            self._received += len(data)
            if self._received > 2 * HEADER_BYTES:
                self._too_large = True
                self.send_400_response("")

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read as a request, as a problem like every other."""
        if self._too_large:
            self._refuse(
                431, "Request Header Fields Too Large", "HEADERS_TOO_LARGE", "The headers are too large."
            )
        else:
            self._refuse(400, "Bad Request", "MALFORMED_REQUEST", "This is not HTTP that can be read.")

    def _count(self, size: int) -> None:
        self._parsed += size
        if self._parsed > HEADER_BYTES:
            self._too_large = True
            raise _HeadersTooLarge

    def _await_header(self) -> None:
        self._header_came()
        self._parsed = self._received = 0
        self._deadline = self.loop.call_later(HEADER_SECONDS, self._too_slow)

    def _header_came(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()

    def _refuse(self, status: int, title: str, code: str, detail: str) -> None:
        body = orjson.dumps(
            {"type": "about:blank", "title": title, "status": status, "code": code, "detail": detail}
        )
        self.transport.write(
            f"HTTP/1.1 {status} {title}\r\nContent-Type: application/problem+json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
            + body
        )
        self.transport.close()
