"""The self-check looks behind the status: who waits has something open, and who is queued has a place."""

import pytest
from sqlalchemy import delete, update

from muster.store.database import Database
from muster.store.self_check import SelfCheck
from muster.store.tables import approval, execution_child
from waiting_house import Waiting

ASK = {"id": "ask", "type": "ASK", "config": {}}
CALL = {"id": "call", "type": "SUB_WORKFLOW", "config": {"workflow": "child"}}
EACH = {**CALL, "config": {"workflow": "child", "on": "#{xs}", "forEach": {"concurrency": 1}}}
APPROVAL = {"id": "ok", "type": "APPROVAL", "config": {"assignees": ["ada"]}}


@pytest.fixture
def house(database: Database) -> Waiting:
    return Waiting(database)


async def found_in(house: Waiting) -> list[str]:
    return sorted(await SelfCheck(house.database).unattended())


async def test_who_waits_for_a_child_has_one(house: Waiting) -> None:
    await house.save("child", ASK)
    await house.save("parent", CALL)
    parent = await house.begin("parent")
    await house.settle()
    assert await found_in(house) == []
    await house.database.write(lambda connection: connection.execute(delete(execution_child)))
    assert await found_in(house) == [parent]


async def test_who_waits_for_a_decision_can_be_given_one(house: Waiting) -> None:
    await house.save("w", APPROVAL)
    execution = await house.begin("w")
    await house.settle()
    assert await found_in(house) == []
    closed = update(approval).values(status="CANCELLED")
    await house.database.write(lambda connection: connection.execute(closed))
    assert await found_in(house) == [execution]


async def test_who_is_queued_at_a_limit_has_a_place_there(house: Waiting) -> None:
    await house.save("w", ASK, concurrency={"limit": 1})
    await house.begin("w")
    second = await house.begin("w")
    assert await found_in(house) == []
    await house.forget_limit(second)
    assert await found_in(house) == [second], "its time for a look does not help it"


async def test_who_waits_for_its_turn_in_a_list_has_a_place_there(house: Waiting) -> None:
    await house.save("child", ASK)
    await house.save("parent", EACH)
    parent = await house.begin("parent", xs=[1, 2])
    await house.settle()
    assert await found_in(house) == []
    [waiting] = [child.id for child in await house.children(parent) if child.status == "QUEUED"]
    held = execution_child.c.child_execution_id == waiting
    await house.database.write(lambda connection: connection.execute(delete(execution_child).where(held)))
    assert await found_in(house) == [waiting]
