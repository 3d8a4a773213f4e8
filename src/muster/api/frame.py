"""The outermost layer: every answer has ids and security headers, is counted, and gets a line in the log."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeAlias

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muster.api.metrics import HttpMetrics
from muster.api.problems import MEDIA_TYPE, Refused, cut_short, our_fault, rendered
from muster.api.tracing import RequestIds, current, ids_of

_log = structlog.get_logger("muster.access")

# Ids, method, path, status and milliseconds of a request that is over.
Access: TypeAlias = Callable[[RequestIds, str, str, int, float], None]

_SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
_CONTENT_POLICY = (
    b"content-security-policy",
    b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
)
_CACHE_CONTROL = (b"cache-control", b"no-store")
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
# Asked for every few seconds by those who watch over us: not worth a line each.
_QUIET = frozenset({"/actuator/health", "/health/live", "/health/ready", "/metrics"})


def logged(ids: RequestIds, method: str, path: str, status: int, ms: float) -> None:
    """An `Access` that writes a line as everybody does."""
    known = {"request_id": ids.request_id, "trace_id": ids.trace_id}
    _log.info("request", method=method, path=path, status=status, ms=ms, **known)


class Frame:
    def __init__(self, app: ASGIApp, metrics: HttpMetrics, access: Access = logged) -> None:
        self._app, self._metrics, self._access = app, metrics, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        method = scope["method"]
        if method == "HEAD":
            scope = {**scope, "method": "GET"}
        headers = dict(scope["headers"])
        ids = ids_of(_text(headers.get(b"x-request-id")), _text(headers.get(b"traceparent")))
        answer = _Answer(send, ids, bodiless=method == "HEAD")
        reset = current.set(ids)
        started = time.perf_counter()
        self._metrics.began()
        try:
            await self._app(scope, receive, answer.send)
        except Exception:
            # The boundary of one request: a fault in it becomes its answer, and no other request's.
            _log.exception("request failed", path=_path(scope))
            await answer.refuse(our_fault())
        except asyncio.CancelledError:
            # Nobody but the server cancels a request: one that outlives the time that it gets at the end.
            _log.warning("request cut short by the end of this instance", path=_path(scope))
            await answer.refuse(cut_short(changes=method not in _READING))
        finally:
            self._ended(ids, scope, method, answer.status, time.perf_counter() - started)
            current.reset(reset)
        return None

    def _ended(self, ids: RequestIds, scope: Scope, method: str, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path_format", None)
        self._metrics.ended(method, route, status, seconds)
        path, ms = _path(scope), round(seconds * 1000, 1)
        if route in _QUIET:
            _log.debug("request", method=method, path=path, status=status, ms=ms)
        else:
            self._access(ids, method, path, status, ms)


class _Answer:
    """Adds our headers to the answer's start, and remembers its status. 499: the caller left first.

    To a HEAD it is the answer to a GET without its body.
    """

    __slots__ = ("_bodiless", "_ids", "_send", "_started", "status")

    def __init__(self, send: Send, ids: RequestIds, bodiless: bool) -> None:
        self._send, self._ids, self._bodiless = send, ids, bodiless
        self.status = 499
        self._started = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = True
            self.status = message["status"]
            message["headers"] = self._with_ours(list(message.get("headers", ())))
        elif self._bodiless:
            message = {**message, "body": b""}
        await self._send(message)

    async def refuse(self, refused: Refused) -> None:
        """Unless something has answered already: what has begun can only be cut off."""
        if self._started:
            return
        body = rendered(refused, self._ids.request_id)
        headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode())]
        headers += [(name.lower().encode(), value.encode()) for name, value in refused.headers.items()]
        await self.send({"type": "http.response.start", "status": refused.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    def _with_ours(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        present = {name.lower() for name, _ in headers}
        headers += _SECURITY_HEADERS
        headers += [header for header in (_CONTENT_POLICY, _CACHE_CONTROL) if header[0] not in present]
        headers.append((b"x-request-id", self._ids.request_id.encode()))
        headers.append((b"x-trace-id", self._ids.trace_id.encode()))
        return headers


def _text(header: bytes | None) -> str | None:
    return None if header is None else header.decode("latin-1")


def _path(scope: Scope) -> str:
    """The path as it was sent, still encoded: no line break can reach the log, and no query."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw[:300].decode("ascii", "replace").partition("?")[0]
