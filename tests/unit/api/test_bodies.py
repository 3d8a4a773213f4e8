"""Bodies: bounded in size and time, and drained so that the caller reads the answer."""

import asyncio
from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from muster.api.bodies import DRAIN_LIMIT, BodyLimits
from muster.api.problems import Refused

LIMIT = 1_000


class Line:
    """A connection: parts of a body on the way in, and what was answered."""

    def __init__(self, parts: Iterable[bytes], headers: dict[str, str] | None = None, stalls: bool = False):
        self.parts = list(parts)
        self.headers = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
        self.stalls = stalls
        self.read = 0
        self.answer: Message = {}

    async def receive(self) -> Message:
        if not self.parts:
            if self.stalls:
                await asyncio.sleep(3600)
            return {"type": "http.disconnect"}
        part = self.parts.pop(0)
        self.read += len(part)
        return {"type": "http.request", "body": part, "more_body": bool(self.parts) or self.stalls}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.answer = message

    def closes(self) -> bool:
        return (b"connection", b"close") in self.answer["headers"]


async def reads(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads the body, and answers as the real application does when that is refused."""
    try:
        await Request(scope, receive).body()
        answer = Response(status_code=200)
    except Refused as refused:
        answer = Response(status_code=refused.status, headers=refused.headers)
    await answer(scope, receive, send)


async def reads_nothing(scope: Scope, receive: Receive, send: Send) -> None:
    await Response(status_code=401)(scope, receive, send)


async def sent(line: Line, app: object = reads, seconds: float = 5.0) -> Message:
    scope: Scope = {"type": "http", "method": "POST", "path": "/", "headers": line.headers}
    await BodyLimits(app, LIMIT, seconds)(scope, line.receive, line.send)  # type: ignore[arg-type]  # an ASGI app
    return line.answer


async def test_a_body_of_the_largest_size_is_read() -> None:
    assert (await sent(Line([b"x" * LIMIT], {"content-length": str(LIMIT)})))["status"] == 200


async def test_a_declared_length_over_the_limit_is_refused_and_drained() -> None:
    line = Line([b"x" * 600] * 3, {"content-length": "1800"})
    assert (await sent(line))["status"] == 413
    assert line.read == 1800
    assert not line.closes()


async def test_chunks_over_the_limit_are_refused_and_drained() -> None:
    line = Line([b"x" * 600] * 10, {"transfer-encoding": "chunked"})
    assert (await sent(line))["status"] == 413
    assert line.read == 6000


async def test_past_what_is_drained_the_connection_ends() -> None:
    line = Line([b"x" * (DRAIN_LIMIT // 2)] * 3, {"transfer-encoding": "chunked"})
    assert (await sent(line))["status"] == 413
    assert line.closes()


async def test_a_declared_length_past_what_is_drained_is_refused_at_once() -> None:
    line = Line([b"x"], {"content-length": str(DRAIN_LIMIT + 1)})
    assert (await sent(line))["status"] == 413
    assert line.read == 0
    assert line.closes()


async def test_a_body_that_nobody_reads_is_drained_before_the_answer() -> None:
    line = Line([b"x" * 600] * 3, {"content-length": "1800"})
    assert (await sent(line, reads_nothing))["status"] == 401
    assert line.read == 1800


async def test_a_caller_who_waits_to_be_told_is_not_asked_for_a_body_that_nobody_reads() -> None:
    line = Line([b"x" * 600], {"content-length": "600", "expect": "100-continue"})
    assert (await sent(line, reads_nothing))["status"] == 401
    assert line.read == 0
    assert line.closes()


async def test_a_body_that_stalls_is_given_up() -> None:
    line = Line([b"x"], {"content-length": "10"}, stalls=True)
    assert (await sent(line, seconds=0.05))["status"] == 408
    assert line.closes()


async def test_a_stalling_body_that_nobody_reads_holds_the_answer_no_longer_than_the_timeout() -> None:
    line = Line([b"x"], {"content-length": "10"}, stalls=True)
    assert (await sent(line, reads_nothing, seconds=0.05))["status"] == 401
    assert line.closes()
