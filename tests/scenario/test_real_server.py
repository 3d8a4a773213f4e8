"""A real `muster serve`: starts, keeps what it acknowledged, and ends when told to."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from databases import fresh_database
from polling import PATIENCE
from servers import Server

WORKFLOW = {"workflow": {"name": "Kept", "nodes": [{"id": "stop", "type": "NOOP", "config": {}}]}}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    found = Server(tmp_path)
    yield found
    found.clean_up()


def test_it_starts_serves_ends_cleanly_and_starts_again(server: Server) -> None:
    server.start()
    assert server.call("POST", "/api/workflow", WORKFLOW)[0] == 201
    assert server.end(signal.SIGTERM) == 0
    server.start()
    assert server.call("GET", "/api/workflow/kept")[0] == 200
    assert server.end(signal.SIGINT) == 0
    lines = [json.loads(line) for line in (server.folder / "log").read_text().splitlines()]
    assert "stopped" in [line["event"] for line in lines]


def test_killed_in_the_middle_it_keeps_what_it_acknowledged(server: Server) -> None:
    server.start()
    for _ in range(5):
        assert server.call("POST", "/api/workflow", WORKFLOW)[0] == 201
    server.end(signal.SIGKILL)
    server.start()
    _, listed = server.call("GET", "/api/workflow")
    assert isinstance(listed, dict)
    assert len(listed["items"]) == 5


def test_a_body_of_ten_megabytes_gets_its_answer_on_a_real_connection(server: Server) -> None:
    server.start()
    status, problem = server.call("POST", "/api/workflow", "x" * 10_000_000)
    assert isinstance(problem, dict)
    assert (status, problem["code"]) == (413, "BODY_TOO_LARGE")
    assert server.call("GET", "/health/live")[0] == 200


def test_a_body_past_what_is_drained_ends_the_connection_and_nothing_else(server: Server) -> None:
    server.start()
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        head = f"POST /api/workflow HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {10**12}\r\n\r\n"
        line.sendall(head.encode())
        answer = b""
        while part := line.recv(65_536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"connection: close" in answer
    assert server.call("GET", "/health/live")[0] == 200


def test_a_port_that_is_taken_and_a_folder_that_is_in_use_are_one_sentence_each(server: Server) -> None:
    server.start()
    taken = server.attempt()
    assert taken.returncode == 3
    assert taken.stderr.startswith(f"Port {server.port} on 127.0.0.1 cannot be used: address already in use.")
    owned = server.attempt("--port", "0")
    assert owned.returncode == 3
    assert "is in use by process" in owned.stderr
    assert "Traceback" not in taken.stderr + owned.stderr


def test_a_disk_without_room_is_one_sentence(server: Server) -> None:
    # As much as a file may hold here: enough to begin a database, not to finish one.
    command = ["bash", "-c", 'ulimit -S -f 16 && exec "$@"', "bash", *server.command()]
    refused = subprocess.run(
        command, env=server.environment(), capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert refused.returncode == 3
    assert refused.stderr.startswith("The database cannot be reached, or not be written: ")
    assert "Traceback" not in refused.stderr


def test_several_workers_share_a_port_but_not_a_sqlite_folder(server: Server) -> None:
    refused = server.attempt("--workers", "2")
    assert refused.returncode == 3
    assert refused.stderr.startswith("SQLite serves one process")


@pytest.mark.postgres
async def test_several_workers_serve_one_postgresql_and_a_dead_one_is_replaced(
    server: Server, postgres_url: str
) -> None:
    async with fresh_database("postgres", postgres_url) as url:
        server.settings = {"DB_URL": url, "MUSTER_WORKERS": "2"}
        server.start()
        assert server.call("POST", "/api/workflow", WORKFLOW)[0] == 201
        assert server.process is not None
        first = server.workers(2)[0]
        os.kill(first, signal.SIGKILL)
        assert first not in server.workers(2)
        assert {server.call("GET", "/api/workflow/kept")[0] for _ in range(10)} == {200}
        assert server.end(signal.SIGTERM) == 0
