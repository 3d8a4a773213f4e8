"""Answers that nobody reads, on a real socket."""

import asyncio

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from muster.app import protocol
from muster.app.protocol import BoundedProtocol
from polling import PATIENCE


async def test_whoever_does_not_read_their_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "READ_SECONDS", 0.1)
    left = asyncio.Event()

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        sending = asyncio.create_task(_send_on(send))
        assert (await receive())["type"] == "http.disconnect"
        sending.cancel()
        left.set()

    config = uvicorn.Config(endless, lifespan="off", log_config=None, ws="none")
    config.load()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: BoundedProtocol(config, ServerState(), {}), "127.0.0.1", 0)
    # A stream reads only as much as it is asked for, and a little ahead.
    _, writer = await asyncio.open_connection(*server.sockets[0].getsockname(), limit=1024)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(PATIENCE):
        await left.wait()
    writer.close()
    server.close()


async def _send_on(send: Send) -> None:
    while True:
        await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
        await asyncio.sleep(0)
