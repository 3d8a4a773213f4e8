"""What ended long ago goes from a server that works, and nothing goes that anybody still needs."""

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from signal import SIGTERM
from typing import Any

import pytest
from sqlalchemy import Connection, update

from databases import EVERY_KIND, Kind, fresh_database, server_of
from muster.store.dialect import now
from muster.store.open import open_database
from muster.store.tables import dead_letter, execution_wait_states, node_execution, workflow_execution
from polling import poll
from servers import Server

E = workflow_execution.c
PAUSE = 0.05
CALLBACK = "/api/internal/callbacks/external-service"
DONE = {"id": "done", "type": "LOG", "config": {"message": "done"}}
WAIT = {"id": "wait", "type": "wait_events", "config": {"events": [{"name": "paid", "source": "callback"}]}}
REST = {"id": "rest", "type": "delay", "config": {"duration": 1, "unit": "hours"}}
CHILD = {"id": "child", "type": "SUB_WORKFLOW", "config": {"workflow": "plain"}}
FAIL = {"id": "fail", "type": "FAIL", "config": {"message": "no"}}
WORKFLOWS = {"plain": [DONE], "waits": [WAIT], "rests": [REST], "calls": [CHILD, WAIT], "fails": [FAIL]}


def call(server: Server, method: str, path: str, body: object = None) -> dict[str, Any]:
    status, answer = server.call(method, path, body)
    assert status < 300, (path, answer)
    assert isinstance(answer, dict)
    return answer


def start(server: Server, key: str, status: str) -> str:
    """One that has come so far."""
    begun = call(server, "POST", "/api/workflow/execute", {"key": key})
    execution = str(begun["executionId"])
    poll(lambda: is_so(server, execution, status))
    return execution


def is_so(server: Server, execution: str, status: str) -> bool:
    return bool(call(server, "GET", f"/api/workflow/executions/{execution}")["status"] == status)


def is_gone(server: Server, execution: str) -> bool:
    return server.call("GET", f"/api/workflow/executions/{execution}")[0] == 404


def letter_of(server: Server, execution: str) -> str:
    found = call(server, "GET", "/api/dead-letters?status=open")["items"]
    [letter] = [each["id"] for each in found if each["key"] == execution]
    return str(letter)


def go_on(server: Server, execution: str) -> None:
    [wait] = call(server, "GET", f"/api/waits?execution={execution}")["items"]
    ids = {"execution_id": execution, "correlation_id": wait["correlationId"]}
    assert call(server, "POST", CALLBACK, {**ids, "event": "paid"})["accepted"] is True
    poll(lambda: is_so(server, execution, "COMPLETED"))


@dataclass
class Load:
    """Executions that are started meanwhile, one after the other."""

    begun: list[str] = field(default_factory=list)

    def has_begun(self, more: int) -> None:
        wanted = len(self.begun) + more
        poll(lambda: len(self.begun) >= wanted)


@contextmanager
def load_on(server: Server) -> Iterator[Load]:
    load, over = Load(), threading.Event()

    def keep_starting() -> None:
        while not over.wait(PAUSE):
            key = "waits" if len(load.begun) % 5 == 0 else "plain"
            load.begun.append(str(call(server, "POST", "/api/workflow/execute", {"key": key})["executionId"]))

    starting = threading.Thread(target=keep_starting)
    starting.start()
    try:
        yield load
    finally:
        over.set()
        starting.join()


async def age(url: str, days: float) -> None:
    """Let all that is there have been there for so long."""

    def work(connection: Connection) -> None:
        by = timedelta(days=days)
        at = now(connection) - by
        for table, columns in (
            (workflow_execution, ("created_at", "started_at", "updated_at")),
            (node_execution, ("started_at",)),
            (execution_wait_states, ("created_at",)),
            (dead_letter, ("created_at",)),
        ):
            connection.execute(update(table).values({name: at for name in columns if name in table.c}))
        over = update(workflow_execution).where(E.completed_at.is_not(None))
        connection.execute(over.values(completed_at=at))

    database = open_database(url)
    try:
        await database.write(work)
    finally:
        await database.close()


@pytest.fixture(params=EVERY_KIND)
async def place(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Kind, str]]:
    async with fresh_database(request.param, server_of(request.param, request)) as url:
        yield request.param, url


@pytest.fixture
def servers(place: tuple[Kind, str], tmp_path: Path) -> Iterator[list[Server]]:
    """Two on one database; on SQLite there is one, which is started again as if it were the second."""
    found = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        server = Server(tmp_path / name)
        server.settings = {
            "DB_URL": place[1],
            "MUSTER_INSTANCE_ID": name,
            "MUSTER_ENGINE_RETENTION_DAYS": "30",
            "MUSTER_API_RATE_LIMIT": "0",
        }
        found.append(server)
    yield found
    for server in found:
        server.clean_up()


async def test_what_ended_long_ago_goes_while_a_server_works_and_nothing_goes_that_is_live(
    place: tuple[Kind, str], servers: list[Server]
) -> None:
    kind, url = place
    first, second = servers
    first.start()
    for key, nodes in WORKFLOWS.items():
        call(first, "POST", "/api/workflow", {"workflow": {"key": key, "name": key, "nodes": nodes}})
    ended = [start(first, "plain", "COMPLETED") for _ in range(20)]
    dismissed, failed = start(first, "fails", "FAILED"), start(first, "fails", "FAILED")
    call(first, "POST", f"/api/dead-letters/{letter_of(first, dismissed)}/dismiss", {"reason": "seen"})
    waiting, resting = start(first, "waits", "WAITING"), start(first, "rests", "PAUSED")
    parent = start(first, "calls", "WAITING")
    listed = call(first, "GET", "/api/workflow/executions?limit=100")["items"]
    [child] = {each["id"] for each in listed} - {*ended, dismissed, failed, waiting, resting, parent}
    if kind == "sqlite":
        assert first.end(SIGTERM) == 0
    await age(url, days=60)
    # Who starts looks at once for what has had its time; later ones look every minute.
    if kind == "sqlite":
        first.start()
        second = first
    with load_on(first) as load:
        if kind != "sqlite":
            load.has_begun(10)
            second.start()
        for execution in (*ended, dismissed):
            poll(lambda gone=execution: is_gone(second, gone))  # type: ignore[misc]  # each its own
        load.has_begun(10)
    for execution in (waiting, resting, parent, child, failed, *load.begun):
        assert not is_gone(second, execution)
    assert is_so(second, resting, "PAUSED")
    # All of it can still be gone on with, however old it is.
    for execution in (waiting, parent, *load.begun[::5]):
        go_on(second, execution)
    poll(lambda: all(is_so(second, each, "COMPLETED") for each in load.begun))
    call(second, "POST", f"/api/dead-letters/{letter_of(second, failed)}/redrive", {"reason": "again"})
