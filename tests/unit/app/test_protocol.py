"""The bounds on headers, on a real socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from uvicorn.server import ServerState

from muster.api.shapes import ProblemDetails
from muster.app import protocol
from muster.app.protocol import BoundedProtocol
from polling import PATIENCE


@asynccontextmanager
async def connection() -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    config = uvicorn.Config(PlainTextResponse("hello"), lifespan="off", log_config=None, ws="none")
    config.load()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: BoundedProtocol(config, ServerState(), {}), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        yield reader, writer
    finally:
        writer.close()
        server.close()


async def answered(request: bytes) -> bytes:
    async with connection() as (reader, writer):
        writer.write(request)
        return await asyncio.wait_for(reader.read(), PATIENCE)


async def test_a_request_is_answered() -> None:
    answer = await answered(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200")


async def test_headers_up_to_the_bound_are_read() -> None:
    answer = await answered(
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Long: " + b"x" * 60_000 + b"\r\n\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 70_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-A: b\r\n" * 20_000 + b"\r\n",
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nX-Endless: " + b"x" * 200_000,
    ],
    ids=["one long header", "very many headers", "a long path", "a header without an end"],
)
async def test_headers_past_the_bound_are_refused_and_the_connection_ends(request_bytes: bytes) -> None:
    answer = await answered(request_bytes)
    assert answer.startswith(b"HTTP/1.1 431")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "HEADERS_TOO_LARGE"


async def test_what_is_not_http_is_refused_as_a_problem_like_every_other() -> None:
    answer = await answered(b"\x16\x03\x01 not http\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    problem = json.loads(body)
    assert (problem["code"], problem["type"]) == ("MALFORMED_REQUEST", "/docs#MALFORMED_REQUEST")
    assert f"X-Request-Id: {problem['requestId']}".encode() in head.splitlines()
    ProblemDetails.model_validate(problem)


@pytest.mark.parametrize(
    ("hosts", "said"),
    [
        (b"Host: x\r\nHost: x\r\n", "more than once"),
        (b"Host: x\r\nhOST: evil.example\r\n", "more than once"),
        (b"", "is missing"),
    ],
)
async def test_a_request_has_one_host(hosts: bytes, said: str) -> None:
    answer = await answered(b"GET / HTTP/1.1\r\n" + hosts + b"Connection: close\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert b"X-Trace-Id: " in head
    assert json.loads(body)["code"] == "MALFORMED_REQUEST"
    assert said in json.loads(body)["detail"]


async def test_a_host_is_counted_for_each_request_by_itself_and_http_1_0_needs_none() -> None:
    kept = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    async with connection() as (reader, writer):
        for _ in range(2):
            writer.write(kept)
            await asyncio.wait_for(reader.readuntil(b"hello"), PATIENCE)
    assert (await answered(b"GET / HTTP/1.0\r\n\r\n")).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n"], ids=["silence", "half a header"])
async def test_a_header_that_does_not_come_in_time_ends_the_connection(
    monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(protocol, "HEADER_SECONDS", 0.1)
    async with connection() as (reader, writer):
        writer.write(begun)
        assert await asyncio.wait_for(reader.read(), PATIENCE) == b""


async def test_a_kept_connection_serves_again_after_the_header_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connection() as (reader, writer):
        for _ in range(2):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.wait_for(reader.readuntil(b"hello"), PATIENCE)
            # From now on: the first header may take as long as it takes on a slow machine.
            monkeypatch.setattr(protocol, "HEADER_SECONDS", 0.05)
            await asyncio.sleep(0.1)
        assert not reader.at_eof()
