"""HTTP as uvicorn speaks it, with the bounds that it lacks: how large headers may be, and how slow.

And with none of the requests that two readers could take for different ones: they are refused."""

import asyncio
from http import HTTPStatus
from typing import Any

import httptools
import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from muster.api.bodies import ARRIVED
from muster.api.problems import MEDIA_TYPE, Code, Refused, rendered
from muster.api.tracing import ids_of
from muster.app.corked import Corked

_log = structlog.get_logger("muster.access")

HEADER_BYTES = 65_536
HEADER_SECONDS = 15.0
READ_SECONDS = 30.0
# What asks for another protocol on this connection: it is passed over, as a server may.
_UPGRADING = {b"upgrade", b"connection", b"http2-settings"}


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
        self._hosts: list[bytes] = []
        self._wrong = "This is not HTTP that can be read."
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(Corked(transport, self.loop))  # type: ignore[arg-type]  # stands in for it
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
        if name.lower() == b"host":
            self._hosts.append(value)
        self._check_coding(name, value)
        self._count(len(name) + len(value))

    def on_headers_complete(self) -> None:
        self._header_came()
        self._check_version()
        self._check_host()
        if self.parser.should_upgrade():
            return
        super().on_headers_complete()
        cycle = self.cycle
        self.scope["state"][ARRIVED] = lambda: not cycle.more_body

    def on_message_complete(self) -> None:
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        self._feed(data)
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

    def _feed(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as asked:
            # The parser takes a body that follows such a head for the next request, and so whoever wrote the
            # body for whoever wrote the head. So the head is read again, as that of a plain request.
            head = self._without_upgrade()
            self.parser = httptools.HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's own
            self._feed(head + data[asked.args[0] :])
        except httptools.HttpParserError:
            self.send_400_response("")

    def _without_upgrade(self) -> bytes:
        lines = [b"%s: %s" % header for header in self.headers if header[0] not in _UPGRADING]
        if not self.parser.should_keep_alive():
            lines.append(b"connection: close")
        version = self.parser.get_http_version().encode()
        start = b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, version)
        return b"\r\n".join([start, *lines, b"", b""])

    def _check_coding(self, name: bytes, value: bytes) -> None:
        """Of all codings of a transfer only the one is read that says where the body ends."""
        if name.lower() == b"transfer-encoding" and value.strip().lower() != b"chunked":
            self._wrong = "A body may be `chunked`, and in no other coding of a transfer."
            raise _Unacceptable

    def _check_version(self) -> None:
        if self.parser.get_http_version() not in ("1.0", "1.1") or self.parser.get_method() == b"CONNECT":
            self._wrong = "This is HTTP/1.0 and HTTP/1.1, and no way to elsewhere."
            raise _Unacceptable

    def _check_host(self) -> None:
        """Whoever stands in front may go by one `Host` and we by another, so there is one (RFC 9112, 3.2)."""
        if len(self._hosts) > 1:
            self._wrong = "The header `Host` is there more than once."
            raise _Unacceptable
        if not self._hosts and self.parser.get_http_version() == "1.1":
            self._wrong = "The header `Host` is missing."
            raise _Unacceptable
        if self._hosts and (named := _authority(self.url)) is not None and named != self._hosts[0].lower():
            self._wrong = "The address names another host than the header `Host` does."
            raise _Unacceptable

    def _count(self, size: int) -> None:
        self._parsed += size
        if self._parsed > HEADER_BYTES:
            self._too_large = True
            raise _Unacceptable

    def _await_header(self) -> None:
        self._header_came()
        self._in_header = True
        self._parsed = self._received = 0
        self._hosts = []

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


def _authority(url: bytes) -> bytes | None:
    """Whom an address names, if it says so itself: those that begin with a path do not."""
    if not url.lower().startswith((b"http://", b"https://")):
        return None
    return url.split(b"/", 3)[2].partition(b"?")[0].lower()
