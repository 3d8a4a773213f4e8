"""Clients that mean harm, on real connections: no request is taken for two, and nobody waits for others."""

import http.client
import json
import socket
from collections.abc import Iterator

import pytest

from polling import PATIENCE
from servers import Server

# What is hidden behind a request: it is asked for by nobody, and must not be answered.
HIDDEN = b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
START = b"POST /api/expressions/evaluate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
LAST = b"0\r\n\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("hostile"))
    found.settings = {"MUSTER_API_BODY_TIMEOUT": "1"}
    found.start()
    yield found
    found.clean_up()


def statuses(server: Server, *parts: bytes) -> list[int]:
    """What is answered to what is sent, part by part, until the server ends the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        answers = b""
        try:
            for part in parts:
                line.sendall(part)
            while more := line.recv(65_536):
                answers += more
        except ConnectionError:  # it did not wait for all of it
            pass
    return [int(answer[:3]) for answer in answers.split(b"HTTP/1.1 ")[1:]]


AMBIGUOUS = {
    "length, then chunks": START + b"Content-Length: 4\r\n" + CHUNKED + b"\r\n" + LAST,
    "chunks, then length": START + CHUNKED + b"Content-Length: 5\r\n\r\n" + LAST,
    "two lengths": START + b"Content-Length: 0\r\nContent-Length: 47\r\n\r\n",
    "one length twice": START + b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
    "lengths in a list": START + b"Content-Length: 0, 0\r\n\r\n",
    "a length with a sign": START + b"Content-Length: +0\r\n\r\n",
    "a length below zero": START + b"Content-Length: -1\r\n\r\n",
    "a length in another base": START + b"Content-Length: 0x0\r\n\r\n",
    "a length beyond numbers": START + b"Content-Length: 99999999999999999999999\r\n\r\n",
    "a length of nothing": START + b"Content-Length: \r\n\r\n",
    "a space before the colon": START + b"Content-Length : 0\r\n\r\n",
    "no colon": START + b"Content-Length 47\r\n\r\n",
    "chunks behind a space": START + b"Transfer-Encoding : chunked\r\n\r\n" + LAST,
    "chunks behind a control character": START + b"Transfer-Encoding: \x0bchunked\r\n\r\n" + LAST,
    "chunks on a folded line": START + b"Transfer-Encoding:\r\n chunked\r\n\r\n" + LAST,
    "chunks, and identity": START + b"Transfer-Encoding: chunked, identity\r\n\r\n" + LAST,
    "chunks of something else": START + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + LAST,
    "chunks twice": START + CHUNKED + CHUNKED + b"\r\n" + LAST,
    "no chunks, but nearly": START + b"Transfer-Encoding: xchunked\r\n\r\n" + LAST,
    "identity": START + b"Transfer-Encoding: identity\r\n\r\n",
    "chunks in HTTP/1.0": START.replace(b"HTTP/1.1", b"HTTP/1.0") + CHUNKED + b"\r\n" + LAST,
    "a folded line": START + b"X-A: b\r\n c\r\nContent-Length: 0\r\n\r\n",
    "a chunk below zero": START + CHUNKED + b"\r\n-1\r\n\r\n",
    "a chunk with a sign": START + CHUNKED + b"\r\n+0\r\n\r\n",
    "a chunk in another base": START + CHUNKED + b"\r\n0x0\r\n\r\n",
    "a chunk beyond numbers": START + CHUNKED + b"\r\n10000000000000000\r\n\r\n",
    "a chunk and a space": START + CHUNKED + b"\r\n0 \r\n\r\n",
    "a chunk that ends early": START + CHUNKED + b"\r\n1\r\naX\r\n" + LAST,
    "chunks with bare line feeds": START + CHUNKED + b"\r\n0\n\n",
    "a bare line feed in an extension": START + CHUNKED + b"\r\n0;a\nb\r\n\r\n",
    "a length after the chunks": START + CHUNKED + b"\r\n0\r\nContent-Length: 50\r\n\r\n",
    "bare line feeds": START.replace(b"\r\n", b"\n") + b"Content-Length: 0\n\n",
    "a bare line feed": START + b"X-A: b\nContent-Length: 47\r\n\r\n",
    "a bare carriage return": START + b"X-A: b\rContent-Length: 47\r\n\r\n",
    "a NUL in a name": START + b"X-\x00A: b\r\nContent-Length: 0\r\n\r\n",
    "a NUL in a value": START + b"X-A: b\x00c\r\nContent-Length: 0\r\n\r\n",
    "a line before the first": b" " + START + b"Content-Length: 0\r\n\r\n",
    "two hosts": START + b"Host: 127.0.0.1\r\nContent-Length: 0\r\n\r\n",
    "another host in the address": b"GET http://evil.example/health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "a way to elsewhere": b"CONNECT evil.example:443 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "no version": b"GET /health/live\r\n\r\n",
    "a version to come": b"GET /health/live HTTP/2.0\r\nHost: 127.0.0.1\r\n\r\n",
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_what_two_readers_could_take_for_two_things_is_refused_and_nothing_behind_it_is_read(
    server: Server, name: str
) -> None:
    assert statuses(server, AMBIGUOUS[name] + HIDDEN) == [400]


@pytest.mark.parametrize("protocol", [b"h2c", b"websocket"])
@pytest.mark.parametrize("apart", [False, True])
def test_a_body_is_no_request_where_another_protocol_is_asked_for(
    server: Server, protocol: bytes, apart: bool
) -> None:
    """Whoever writes the body (a webhook's caller, say) would otherwise speak for whoever wrote the head."""
    wish = b"Connection: Upgrade\r\nUpgrade: %s\r\nContent-Length: %d\r\n\r\n" % (protocol, len(HIDDEN))
    last = b"GET /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    sent = (START + wish, HIDDEN + last) if apart else (START + wish + HIDDEN + last,)
    assert statuses(server, *sent) == [400, 404]


def test_whoever_asks_for_another_protocol_is_served_in_this_one(server: Server) -> None:
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    wish = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQ"}
    for _ in range(2):
        line.request("POST", "/api/expressions/evaluate", json.dumps({"expression": "#{1 + 1}"}), wish)
        answer = line.getresponse()
        assert (answer.status, json.loads(answer.read())) == (200, {"value": 2})
    line.close()


def test_a_body_that_comes_drop_by_drop_is_given_up(server: Server) -> None:
    assert statuses(server, START + b"Content-Length: 100\r\n\r\n{") == [408]
    assert statuses(server, START + CHUNKED + b"\r\n1\r\n{\r\n") == [408]


def test_hundreds_who_never_finish_their_request_keep_nobody_else_waiting(server: Server) -> None:
    lines = [socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) for _ in range(300)]
    try:
        for line in lines:
            line.sendall(b"GET /health/live HTTP/1.1\r\nX-Slow: ")
        assert server.call("GET", "/health/ready")[0] == 200
        body = {"expression": "#{1 + 1}"}
        assert server.call("POST", "/api/expressions/evaluate", body) == (200, {"value": 2})
    finally:
        for line in lines:
            line.close()


def test_headers_beyond_bounds_are_refused(server: Server) -> None:
    get = b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    assert statuses(server, get + b"X-Long: " + b"x" * 70_000 + b"\r\n\r\n") == [431]
    assert statuses(server, get + b"X-A: b\r\n" * 20_000 + b"\r\n") == [431]
    assert server.call("GET", "/health/ready")[0] == 200
