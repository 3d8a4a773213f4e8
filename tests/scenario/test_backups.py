"""Copies of the database that are taken while a server runs, and put in its place."""

import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from databases import Kind, fresh_database, server_of
from own_standby import run as run_of_postgres
from polling import poll
from servers import MUSTER, Server

RESTING = {
    "workflow": {
        "key": "resting",
        "name": "Resting",
        "nodes": [
            {"id": "rest", "type": "delay", "config": {"duration": 3, "unit": "seconds"}},
            {
                "id": "after",
                "type": "TRANSFORM",
                "config": {"transformations": [{"field": "twice", "expression": "#{n * 2}"}]},
            },
        ],
    }
}
EXECUTIONS = "/api/workflow/executions"
BEFORE = 10
PAUSE = 0.05
UNDER_WAY = ("QUEUED", "RUNNING", "WAITING", "RESUMING")


@contextmanager
def running(folder: Path, **settings: str) -> Iterator[Server]:
    folder.mkdir(exist_ok=True)
    server = Server(folder)
    server.settings = settings
    try:
        server.start()
        yield server
    finally:
        server.clean_up()


def call(server: Server, method: str, path: str, body: object = None) -> dict[str, Any]:
    status, found = server.call(method, path, body)
    assert status < 300, found
    assert isinstance(found, dict)
    return found


class Load:
    """Starts executions until it is told to end; remembers those that were accepted."""

    def __init__(self, server: Server) -> None:
        self._server, self._over = server, threading.Event()
        self.accepted: list[str] = []

    def __enter__(self) -> "Load":
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.is_set():
            body = {"key": "resting", "context": {"n": len(self.accepted)}}
            answer = call(self._server, "POST", "/api/workflow/execute", body)
            self.accepted.append(answer["executionId"])
            self._over.wait(PAUSE)


def loaded(server: Server) -> Load:
    call(server, "POST", "/api/workflow", RESTING)
    return Load(server)


def judge(server: Server, accepted: list[str]) -> None:
    """Whatever was accepted before the copy was begun is there, and goes on; so does what came meanwhile."""

    def are_over() -> bool:
        asked = (call(server, "GET", f"{EXECUTIONS}?status={status}&limit=1") for status in UNDER_WAY)
        return not any(found["items"] for found in asked)

    for number, one in enumerate(accepted):
        found = poll(lambda: _ended(server, one))  # noqa: B023 (asked before the next)
        assert (found["status"], found["context"]["twice"]) == ("COMPLETED", 2 * number)
    poll(are_over)


def _ended(server: Server, one: str) -> dict[str, Any] | None:
    found = call(server, "GET", f"{EXECUTIONS}/{one}")
    return found if found["status"] in ("COMPLETED", "FAILED") else None


def test_sqlite_is_copied_while_it_is_written_to_and_the_copy_goes_on(tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with running(tmp_path / "first") as server, loaded(server) as load:
        poll(lambda: len(load.accepted) >= BEFORE)
        before = list(load.accepted)
        done = backup(server, copy)
        assert done.returncode == 0, done.stderr
        poll(lambda: len(load.accepted) >= len(before) + BEFORE)
        load.end()
        server.end(signal.SIGKILL)
    restored = tmp_path / "second"
    restored.mkdir()
    shutil.copyfile(copy, restored / "muster.db")
    with running(restored) as server:
        judge(server, before)


def backup(server: Server, target: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(MUSTER), "backup", str(target)],
        env=server.environment() | {"MUSTER_DATA_DIR": str(server.folder)},
        cwd=server.folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_copy_takes_the_place_of_no_file_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    server = Server(tmp_path)
    absent = backup(server, tmp_path / "copy.db")
    assert (absent.returncode, "There is no database" in absent.stderr) == (3, True)
    (tmp_path / "muster.db").write_bytes(b"not a database, but as long as the head of one would be" * 4)
    broken = backup(server, tmp_path / "copy.db")
    assert (broken.returncode, "not a database" in broken.stderr) == (3, True)
    (tmp_path / "copy.db").write_text("the last one")
    taken = backup(server, tmp_path / "copy.db")
    assert (taken.returncode, "is not written over" in taken.stderr) == (2, True)
    assert (tmp_path / "copy.db").read_text() == "the last one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "muster.db"]


def _dump_postgres(url: str) -> str:
    return run_of_postgres("pg_dump", url)


def _load_postgres(url: str, dump: str) -> None:
    run_of_postgres("psql", "--quiet", "--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-1", url, given=dump)


def _dump_mariadb(url: str) -> str:
    return _of_mariadb("mariadb-dump", url, "--single-transaction")


def _load_mariadb(url: str, dump: str) -> None:
    _of_mariadb("mariadb", url, given=dump)


def _of_mariadb(program: str, url: str, *options: str, given: str = "") -> str:
    parts = urlsplit(url)
    where = ["--no-defaults", "-h", "127.0.0.1", "-P", str(parts.port), "-u", "root", *options]
    command = [program, *where, parts.path.removeprefix("/")]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("kind", "dump", "load"),
    [
        pytest.param("postgres", _dump_postgres, _load_postgres, marks=pytest.mark.postgres),
        pytest.param("mariadb", _dump_mariadb, _load_mariadb, marks=pytest.mark.mariadb),
    ],
)
async def test_a_server_s_database_is_dumped_while_it_is_written_to_and_the_copy_goes_on(
    kind: Kind,
    dump: Callable[[str], str],
    load: Callable[[str, str], None],
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    place = server_of(kind, request)
    async with fresh_database(kind, place) as first, fresh_database(kind, place) as second:
        with running(tmp_path / "first", DB_URL=first) as server, loaded(server) as under_load:
            poll(lambda: len(under_load.accepted) >= BEFORE)
            before = list(under_load.accepted)
            copy = dump(first)
            poll(lambda: len(under_load.accepted) >= len(before) + BEFORE)
        load(second, copy)
        with running(tmp_path / "second", DB_URL=second) as server:
            judge(server, before)
