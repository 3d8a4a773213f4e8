"""Request bodies: bounded in size and time before anything reads them, parsed by our own readers only."""

import asyncio
from asyncio import timeout_at
from collections.abc import Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muster.api.problems import Code, Refused

DRAIN_LIMIT = 32 * 1_048_576
_CLOSE = {"Connection": "close"}
# In the request's state: by this the server tells, when it is called, whether all of the request is there.
ARRIVED = "muster.arrived"


class BodyLimits:
    """Counts and times what arrives. Whatever the answer is, what is left of the body is read and thrown away
    first, up to 32 MiB, so that a caller who writes before reading gets it; past that the connection ends."""

    def __init__(self, app: ASGIApp, limit: int, seconds: float) -> None:
        self._app, self._limit, self._seconds = app, limit, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        headers = dict(scope["headers"])
        if not _announces_body(headers) or self._is_there(scope, headers):
            return await self._app(scope, receive, send)
        body = _Arriving(receive, headers, self._limit, self._seconds)
        return await self._app(scope, body.receive, _draining(body, send))

    def _is_there(self, scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
        """Whether all of the body came with its head, as that of most requests does, and is no larger than
        allowed: then there is nothing left to count, to time or to drain."""
        arrived = scope.get("state", {}).get(ARRIVED)
        if arrived is None or b"transfer-encoding" in headers:
            return False
        return _length(headers) <= self._limit and arrived()


def _announces_body(headers: Mapping[bytes, bytes]) -> bool:
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers


def _draining(body: "_Arriving", send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start" and not await body.drain():
            message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
        await send(message)

    return sending


class _Arriving:
    """One request's body on its way in."""

    def __init__(self, receive: Receive, headers: Mapping[bytes, bytes], limit: int, seconds: float) -> None:
        self._receive, self._limit = receive, limit
        self._declared = _length(headers)
        self._waits_for_go = headers.get(b"expect", b"").lower() == b"100-continue"
        self._deadline = asyncio.get_running_loop().time() + seconds
        self._seen = 0
        self._over = False

    async def receive(self) -> Message:
        """The next part. Raises `Refused` past the size or the time that a body may take."""
        if self._over:
            return await self._receive()
        if self._declared > self._limit:
            raise self._too_large()
        message = await self._next()
        if self._seen > self._limit:
            raise self._too_large()
        return message

    async def drain(self) -> bool:
        """Read the rest. False: it is too much or too slow, or the caller still waits to be told to send."""
        if not self._over and (self._declared > DRAIN_LIMIT or self._waits_for_go):
            return False
        try:
            while not self._over:
                await self._next()
                if self._seen > DRAIN_LIMIT:
                    return False
        except Refused:
            return False
        return True

    async def _next(self) -> Message:
        self._waits_for_go = False
        try:
            async with timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise Refused(Code.BODY_TOO_SLOW, "The body did not arrive in time.", headers=_CLOSE) from None
        self._seen += len(message.get("body", b""))
        self._over = message["type"] == "http.disconnect" or not message.get("more_body", False)
        return message

    def _too_large(self) -> Refused:
        return Refused(Code.BODY_TOO_LARGE, f"The body is larger than {self._limit} bytes.")


def _length(headers: Mapping[bytes, bytes]) -> int:
    """What was declared; the server has refused lengths that are not numbers."""
    text = headers.get(b"content-length", b"0")
    return int(text) if text.isdigit() else 0
