"""Whoever takes an execution up reads of its journal what its checkpoint does not know, on every database."""

from typing import Any

import pytest
from sqlalchemy import update

from clocks import NOON
from engine_house import House, Told, chain, node
from muster.engine.journal import SignalKind
from muster.engine.state import Failure
from muster.store.database import Database
from muster.store.execution_records import ExecutionRecords
from muster.store.tables import workflow_execution

REST = node("rest", "ASK", config={})


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> House:
    return House(database, told)


async def answer(house: House, execution: str) -> None:
    await house.signal(execution, SignalKind.ANSWER, {"node": "rest", "visit": 1, "answer": 7})


async def test_what_came_before_the_checkpoint_is_not_read_again(house: House) -> None:
    await house.define(chain(node("a"), node("b"), REST, node("c")))
    execution = await house.run()
    await answer(house, execution)
    [owned] = await house.executions.claim_due("somebody", 5)
    assert (owned.id, list(owned.journal)) == (execution, [])
    assert [signal.payload["answer"] for signal in owned.signals] == [7]


async def test_what_came_after_it_is(house: House, told: Told) -> None:
    told.hangs_at = "c"
    await house.define(chain(node("a"), REST, node("b"), node("c")))
    execution = await house.run()
    await answer(house, execution)
    await house.instance.take_due()
    await told.hanging.wait()
    over = update(workflow_execution).values(lease_until=NOON)
    await house.database.write(lambda connection: connection.execute(over))
    [owned] = await house.executions.claim_abandoned("somebody", 5, 0)
    assert sorted(row.node for row in owned.journal) == ["b", "rest"]


async def test_signals_that_were_taken_are_not_read_again(house: House, told: Told) -> None:
    told.pauses_at = "c"
    await house.define(chain(node("a"), REST, node("b"), node("c")))
    execution = await house.run()
    await answer(house, execution)
    await house.instance.take_due()
    await told.hanging.wait()
    assert await house.executions.signals(house.instance.name.owner) == {}
    told.go_on.set()
    await house.instance.ended(execution)
    assert (await house.row(execution))["status"] == "COMPLETED"


async def test_when_a_visit_began_and_what_failed_in_it_is_known_all_the_same(
    house: House, told: Told
) -> None:
    told.answers = [Failure("Busy", "one", retryable=True), Failure("Busy", "two", retryable=True)]
    slow = {"maxAttempts": 3, "initialDelay": 3600, "jitter": False}
    await house.define(chain(node("a", retry=slow), REST))
    execution = await house.run()
    first: Any = await ExecutionRecords(house.database).get(None, execution)
    for hours in (1, 2):
        await house.pass_time(hours=hours)
        await house.instance.take_due()
        await house.instance.ended(execution)
        found: Any = await ExecutionRecords(house.database).get(None, execution)
        assert found.nodes[0].started_at == first.nodes[0].started_at
        if hours == 1:
            assert [each["message"] for each in found.nodes[0].error["attempts"]] == ["one", "two"]
    assert found.nodes[0].status == "completed"
