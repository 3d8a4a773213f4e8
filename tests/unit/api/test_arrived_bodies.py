"""Bodies that came with the head of their request: taken as they are, and within the same bounds."""

import pytest
from starlette.types import Message, Receive, Scope, Send

from muster.api.bodies import ARRIVED, BodyLimits
from muster.api.problems import Code, Refused

LIMIT = 100
LENGTH, CHUNKED = (b"content-length", b"101"), (b"transfer-encoding", b"chunked")


async def receive() -> Message:
    return {"type": "http.request", "body": b"x" * 101, "more_body": False}


async def send(message: Message) -> None:
    pass


class Reader:
    """Remembers by which way it was to read."""

    receive: Receive | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.receive = receive
        await receive()


async def read(header: tuple[bytes, bytes], arrived: bool, limit: int) -> Reader:
    reader = Reader()
    scope: Scope = {"type": "http", "headers": [header], "state": {ARRIVED: lambda: arrived}}
    await BodyLimits(reader, limit, seconds=5.0)(scope, receive, send)
    return reader


async def test_a_body_that_is_there_is_neither_counted_nor_timed() -> None:
    assert (await read(LENGTH, arrived=True, limit=101)).receive is receive


async def test_one_that_is_still_coming_is() -> None:
    assert (await read(LENGTH, arrived=False, limit=101)).receive is not receive


@pytest.mark.parametrize("header", [LENGTH, CHUNKED])
async def test_one_that_is_there_and_too_large_is_refused(header: tuple[bytes, bytes]) -> None:
    with pytest.raises(Refused) as refused:
        await read(header, arrived=True, limit=100)
    assert refused.value.code == Code.BODY_TOO_LARGE
