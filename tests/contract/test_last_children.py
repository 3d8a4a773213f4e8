"""Of the last two children of a list one ends by itself, and one by hand while it is queued, at once."""

import asyncio

import pytest
from sqlalchemy import Connection, text

from muster.engine.journal import SignalKind
from muster.engine.state import ExecutionStatus
from muster.store.acts import Sent, put_signals
from muster.store.child_ends import Ended, tell_parents
from muster.store.database import Database
from muster.store.dialect import lock_rows
from muster.store.tables import workflow_execution
from waiting_house import Waiting

ASK = {"id": "ask", "type": "ASK", "config": {}}
EACH = {"on": "#{xs}", "forEach": {"workflow": "#{item}", "concurrency": 2}}
LOCKED = text(
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
)


@pytest.mark.parametrize(
    "database_url", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)
async def test_of_the_last_two_one_tells_the_parent(database: Database) -> None:
    """Each has to see the other: if both think that the other is still there, nobody tells it."""
    house = Waiting(database)
    await house.save("free", ASK)
    await house.save("narrow", ASK, concurrency={"limit": 1})
    await house.save("parent", {"id": "call", "type": "SUB_WORKFLOW", "config": {"workflow": "x", **EACH}})
    await house.begin("narrow")
    parent = await house.begin("parent", xs=["free", "narrow"])
    await house.settle()
    running, queued = sorted(await house.children(parent), key=lambda child: child.status == "QUEUED")
    assert (running.status, queued.status) == ("WAITING", "QUEUED")
    cancelled, told = False, asyncio.Event()

    def end(connection: Connection) -> None:
        lock_rows(connection, workflow_execution, "id", [running.id, parent], ("id",))
        tell_parents(connection, [Ended(running.id, ExecutionStatus.COMPLETED)])
        told.set()
        # Until the other has looked, too, or waits for this one.
        while not cancelled and not connection.execute(LOCKED).scalar_one():
            connection.execute(text("SELECT pg_sleep(0.01)"))

    def cancel(connection: Connection) -> None:
        nonlocal cancelled
        assert put_signals(connection, [Sent(queued.id, SignalKind.CANCEL, {"reason": "enough"})]) == [True]
        cancelled = True

    async def then_cancel() -> None:
        await told.wait()
        await database.write(cancel)

    await asyncio.gather(database.write(end), then_cancel())
    await house.settle()
    assert (await house.row(parent))["status"] == "FAILED", "it was told: one of its items was cancelled"
