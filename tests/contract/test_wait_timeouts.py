"""A node's `timeout` ends its wait, whatever it waits for, on every database."""

from typing import Any

import pytest
from sqlalchemy import select

from engine_house import Told
from muster.engine.journal import SignalKind
from muster.store.database import Database
from muster.store.tables import approval
from waiting_house import BY_HAND, E, Waiting

WAITS: dict[str, dict[str, Any]] = {
    "APPROVAL": {"assignees": ["ada"], "timeout": "P3D", "onTimeout": "approve"},
    "SUB_WORKFLOW": {"workflow": "child"},
    "delay": {"duration": "P1D"},
    "ASK": {},
}
ON = {"id": "on", "type": "TELL", "config": {"say": "#{_error.type}"}}


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
async def house(database: Database, told: Told) -> Waiting:
    house = Waiting(database, told)
    await house.save("child", {"id": "ask", "type": "ASK", "config": {}})
    return house


def wait(type_: str = "ASK", **facts: Any) -> dict[str, Any]:
    return {"id": "wait", "type": type_, "config": WAITS[type_], "timeout": "1h", **facts}


async def began(house: Waiting, *nodes: dict[str, Any]) -> str:
    await house.save("w", *nodes)
    execution = await house.begin("w")
    await house.settle()
    return execution


@pytest.mark.parametrize("type_", WAITS)
async def test_a_wait_ends_with_its_nodes_timeout(house: Waiting, type_: str) -> None:
    execution = await began(house, wait(type_))
    await house.pass_time(minutes=59)
    await house.settle()
    assert (await house.row(execution))["status"] in ("WAITING", "PAUSED")
    await house.pass_time(minutes=1)
    await house.settle()
    row = await house.row(execution)
    assert (row["status"], row["error_type"]) == ("FAILED", "Timeout")
    assert row["error_message"] == "wait waited longer than 1:00:00"
    assert {child.status for child in await house.children(execution)} <= {"CANCELLED"}


async def test_people_are_told_until_when_they_may_decide(house: Waiting) -> None:
    execution = await began(house, wait("APPROVAL"))
    wanted = select(approval.c.expires_at, approval.c.status)
    [asked] = await house.database.read(lambda connection: connection.execute(wanted).all())
    assert asked.expires_at == (await house.row(execution))["resume_at"]
    await house.pass_time(hours=1)
    await house.settle()
    [asked] = await house.database.read(lambda connection: connection.execute(wanted).all())
    assert asked.status == "EXPIRED"


async def test_what_the_wait_says_itself_holds_if_it_comes_first(house: Waiting) -> None:
    execution = await began(house, wait("delay", config={"duration": "PT30M"}))
    await house.pass_time(hours=2)
    await house.settle()
    assert (await house.row(execution))["status"] == "COMPLETED"


async def test_an_answer_that_came_in_time_counts(house: Waiting) -> None:
    execution = await began(house, wait())
    answer = {"node": "wait", "visit": 1, "answer": None}
    await house.signal(execution, SignalKind.ANSWER, answer)
    await house.pass_time(hours=2)
    await house.settle()
    assert (await house.row(execution))["status"] == "COMPLETED"


async def test_each_attempt_has_the_whole_time(house: Waiting, told: Told) -> None:
    retry = {"maxAttempts": 2, "initialDelay": 0}
    execution = await began(house, wait(retry=retry, onError="continue"), ON)
    await house.pass_time(hours=1)
    await house.settle()
    await house.pass_time(minutes=59)
    await house.settle()
    assert ((await house.row(execution))["status"], told.said) == ("WAITING", [])
    await house.pass_time(minutes=2)
    await house.settle()
    assert ((await house.row(execution))["status"], told.said) == ("COMPLETED", ["Timeout"])


async def test_whoever_takes_over_from_the_journal_knows_the_time(house: Waiting) -> None:
    execution = await began(house, wait())
    await house.change(E.id == execution, state=None, owner="here/gone", resume_at=None)
    await house.instance.take_back()
    await house.settle()
    await house.pass_time(hours=1)
    await house.settle()
    assert (await house.row(execution))["error_type"] == "Timeout"


async def test_what_is_held_by_hand_times_out_when_it_is_let_go_on(house: Waiting) -> None:
    execution = await began(house, wait())
    await house.actions.pause(execution, BY_HAND)
    await house.settle()
    await house.pass_time(hours=1)
    await house.settle()
    assert (await house.row(execution))["status"] == "PAUSED"
    await house.actions.resume(execution, BY_HAND)
    await house.settle()
    assert (await house.row(execution))["error_type"] == "Timeout"
