"""HTTP as uvicorn speaks it, with the bounds that it lacks: how large headers may be, and how slow."""

import asyncio
from http import HTTPStatus
from typing import Any

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from muster.api.bodies import ARRIVED
from muster.api.problems import MEDIA_TYPE, Code, Refused, rendered
from muster.api.tracing import ids_of

_log = structlog.get_logger("muster.access")

HEADER_BYTES = 65_536
HEADER_SECONDS = 15.0
READ_SECONDS = 30.0


class _Unacceptable(Exception):
    """Raised inside the parser, which then refuses the request."""


class BoundedProtocol(HttpToolsProtocol):
    """Closes a connection whose next request's header does not come in time, or does not end, and one whose
    answer is not read."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # uvicorn's own arguments, handed on
        super().__init__(*args, **kwargs)
        self._in_header = False
        self._parsed = 0
        self._received = 0
        self._too_large = False
        self._hosts = 0
        self._wrong = "This is not HTTP that can be read."
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self._await_header()
        self._give_it_time()

    def connection_lost(self, exc: Exception | None) -> None:
        self._header_came()
        self._is_read()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """As much is under way as may be: whoever does not read on is not waited for."""
        super().pause_writing()
        self._unread = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._is_read()

    def _is_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_header()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._hosts += name.lower() == b"host"
        self._count(len(name) + len(value))

    def on_headers_complete(self) -> None:
        self._header_came()
        self._check_host()
        super().on_headers_complete()
        cycle = self.cycle
        self.scope["state"][ARRIVED] = lambda: not cycle.more_body

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # A single field that never ends reaches no callback: the parser keeps it, so it is counted here.
        if self._in_header and not self.transport.is_closing():
            self._give_it_time()
            self._received += len(data)
            if self._received > 2 * HEADER_BYTES:
                self._too_large = True
                self.send_400_response("")

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read as a request, as a problem like every other."""
        if self._too_large:
            self._refuse(
                Refused(Code.HEADERS_TOO_LARGE, f"The headers are larger than {HEADER_BYTES} bytes.")
            )
        else:
            self._refuse(Refused(Code.MALFORMED_REQUEST, self._wrong))

    def _check_host(self) -> None:
        """Whoever stands in front may go by one `Host` and we by another, so there is one (RFC 9112, 3.2)."""
        if self._hosts > 1:
            self._wrong = "The header `Host` is there more than once."
            raise _Unacceptable
        if self._hosts == 0 and self.parser.get_http_version() == "1.1":
            self._wrong = "The header `Host` is missing."
            raise _Unacceptable

    def _count(self, size: int) -> None:
        self._parsed += size
        if self._parsed > HEADER_BYTES:
            self._too_large = True
            raise _Unacceptable

    def _await_header(self) -> None:
        self._header_came()
        self._in_header = True
        self._parsed = self._received = self._hosts = 0

    def _give_it_time(self) -> None:
        """Most headers come whole, and need none."""
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEADER_SECONDS, self._too_slow)

    def _header_came(self) -> None:
        self._in_header = False
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()

    def _refuse(self, refused: Refused) -> None:
        ids = ids_of(None, None)  # what the caller sent is not to be read
        body = rendered(refused, ids.request_id)
        headers = {
            "Content-Type": MEDIA_TYPE,
            "Content-Length": str(len(body)),
            "X-Content-Type-Options": "nosniff",
            "X-Request-Id": ids.request_id,
            "X-Trace-Id": ids.trace_id,
            "Connection": "close",
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        title = HTTPStatus(refused.status).phrase
        self.transport.write(f"HTTP/1.1 {refused.status} {title}\r\n{lines}\r\n".encode() + body)
        self.transport.close()
        _log.info("request refused", code=refused.code, request_id=ids.request_id, trace_id=ids.trace_id)
