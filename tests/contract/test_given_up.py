"""What cannot even be taken up is given up: whoever it concerns hears of it, and nothing of it stays open."""

from typing import Any

import pytest

from muster.model.stored import Page
from muster.store.database import Database
from waiting_house import E, Waiting

ASK = {"id": "ask", "type": "ASK", "config": {}}
CALL = {"id": "call", "type": "SUB_WORKFLOW", "config": {"workflow": "child"}}
APPROVAL = {"id": "ok", "type": "APPROVAL", "config": {"assignees": ["ada"]}}


@pytest.fixture
def house(database: Database) -> Waiting:
    return Waiting(database)


async def give_up(house: Waiting, execution: str) -> None:
    """Let it be found abandoned once too often, with a state that nobody can read."""
    held: dict[str, Any] = {"owner": "here/gone", "takeovers": 5, "resume_at": None}
    await house.change(E.id == execution, **held, state={"seq": "none", "tokens": 7})
    assert await house.instance.take_back() == 1
    row = await house.row(execution)
    assert (row["status"], row["error_type"], row["owner"]) == ("FAILED", "Poisoned", None)


async def test_its_parent_is_told(house: Waiting) -> None:
    await house.save("child", ASK)
    await house.save("parent", CALL)
    parent = await house.begin("parent")
    await house.settle()
    [child] = await house.children(parent)
    await give_up(house, child.id)
    await house.settle()
    row = await house.row(parent)
    assert (row["status"], row["error_type"]) == ("FAILED", "Poisoned")


async def test_who_is_queued_behind_it_comes_in(house: Waiting) -> None:
    await house.save("w", ASK, concurrency={"limit": 1})
    first, second = await house.begin("w"), await house.begin("w")
    await house.settle()
    await give_up(house, first)
    await house.settle()
    assert (await house.row(second))["status"] == "WAITING"
    assert await house.limits() == 1


async def test_its_children_are_cancelled(house: Waiting) -> None:
    await house.save("child", ASK)
    await house.save("parent", CALL)
    parent = await house.begin("parent")
    await house.settle()
    await give_up(house, parent)
    await house.settle()
    assert [child.status for child in await house.children(parent)] == ["CANCELLED"]


async def test_what_it_asked_of_people_cannot_be_decided_any_more(house: Waiting) -> None:
    await house.save("w", APPROVAL)
    execution = await house.begin("w")
    await house.settle()
    await give_up(house, execution)
    [approval], _ = await house.approvals.list(None, Page(10, None), execution_id=execution)
    assert approval.status == "CANCELLED"
