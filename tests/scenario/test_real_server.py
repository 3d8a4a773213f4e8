"""A real `muster serve`: starts, keeps what it acknowledged, and ends when told to."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from databases import fresh_database

MUSTER = Path(sys.executable).with_name("muster")
WORKFLOW = {"workflow": {"name": "Kept", "nodes": [{"id": "stop", "type": "NOOP", "config": {}}]}}


class Server:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None
        self.settings: dict[str, str] = {}
        self.served = 1

    def command(self, *more: str) -> list[str]:
        return [str(MUSTER), "serve", "--port", str(self.port), "--data-dir", str(self.folder), *more]

    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        return inherited | self.settings

    def start(self) -> float:
        """Start it; the seconds until it was ready."""
        began = time.monotonic()
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command(), env=self.environment(), cwd=self.folder, stdout=log, stderr=log
            )
        while time.monotonic() - began < 20:
            assert self.process.poll() is None, (self.folder / "log").read_text()
            try:
                if self.call("GET", "/health/ready")[0] == 200:
                    return time.monotonic() - began
            except OSError:
                time.sleep(0.02)
        raise AssertionError("not ready within 20 s")

    def attempt(self, *more: str) -> "subprocess.CompletedProcess[str]":
        """Start one that is expected to refuse."""
        command, environment = self.command(*more), self.environment()
        return subprocess.run(
            command, env=environment, cwd=self.folder, capture_output=True, text=True, timeout=20, check=False
        )

    def call(self, method: str, path: str, body: object = None) -> tuple[int, object]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def workers(self, count: int) -> list[int]:
        """The ids of its live workers, once there are so many and all of them answer."""
        assert self.process is not None
        until = time.monotonic() + 20
        while time.monotonic() < until:
            task = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
            found = [int(text) for text in task.read_text().split()]
            served = (self.folder / "log").read_text().count('"event": "serving"')
            if len(found) == count and served > self.served:
                self.served = served
                return found
            time.sleep(0.05)
        raise AssertionError(f"there are not {count} workers")

    def end(self, how: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(how)
        return self.process.wait(15)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    found = Server(tmp_path)
    yield found
    if found.process is not None and found.process.poll() is None:
        found.process.kill()
        found.process.wait()


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
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as line:
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
        command, env=server.environment(), capture_output=True, text=True, timeout=20, check=False
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
