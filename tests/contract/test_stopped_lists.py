"""A list that is paused or cancelled begins no further item, and goes on where it was, on every database."""

from typing import Any

import pytest

from engine_house import Told
from muster.engine.actions import Retry
from muster.store.database import Database
from waiting_house import BY_HAND, Waiting

EACH = {"on": "#{xs}", "forEach": {"say": "#{item}", "concurrency": 1}}
LIST = {"id": "a", "type": "TELL", "config": EACH}


@pytest.fixture
def told() -> Told:
    return Told(pauses_at="two")  # type: ignore[arg-type]  # what is said


@pytest.fixture
def house(database: Database, told: Told) -> Waiting:
    return Waiting(database, told)


async def at_the_second(house: Waiting, told: Told) -> str:
    await house.save("w", LIST, {"id": "b", "type": "TELL", "config": {"say": "b"}})
    execution = await house.begin("w", xs=["one", "two", "three", "four"])
    await told.hanging.wait()
    return execution


async def test_a_pause_is_heard_between_items(house: Waiting, told: Told) -> None:
    execution = await at_the_second(house, told)
    await house.actions.pause(execution, BY_HAND)
    await house.instance.take_signals()
    told.go_on.set()
    await house.instance.ended(execution)
    row: Any = await house.row(execution)
    assert (row["status"], row["resume_at"], told.said) == ("PAUSED", None, ["one", "two"])
    await house.actions.resume(execution, BY_HAND)
    await house.settle()
    row = await house.row(execution)
    assert told.said == ["one", "two", "three", "four", "b"]
    assert row["state"]["outputs"]["a"]["succeeded"] == 4


async def test_a_cancellation_is_heard_between_items_and_a_retry_does_the_rest(
    house: Waiting, told: Told
) -> None:
    execution = await at_the_second(house, told)
    await house.actions.cancel(execution, BY_HAND)
    await house.instance.take_signals()
    told.go_on.set()
    await house.instance.ended(execution)
    assert ((await house.row(execution))["status"], told.said) == ("CANCELLED", ["one", "two"])
    await house.actions.retry(execution, BY_HAND, Retry())
    await house.settle()
    assert ((await house.row(execution))["status"], told.said[2:]) == ("COMPLETED", ["three", "four", "b"])


async def test_one_that_is_let_go_on_at_once_does_nothing_twice(house: Waiting, told: Told) -> None:
    execution = await at_the_second(house, told)
    await house.actions.pause(execution, BY_HAND)
    await house.actions.resume(execution, BY_HAND)
    await house.instance.take_signals()
    told.go_on.set()
    await house.settle()
    assert ((await house.row(execution))["status"], told.said) == (
        "COMPLETED",
        ["one", "two", "three", "four", "b"],
    )
