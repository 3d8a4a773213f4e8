"""What comes due while it is paused by hand is noticed once, and waits to be let go on, on every database."""

from typing import Any

import pytest

from engine_house import Told
from muster.store.database import Database
from waiting_house import BY_HAND, Waiting


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> Waiting:
    return Waiting(database, told)


async def test_a_timer_that_is_over_does_not_keep_it_due(house: Waiting, told: Told) -> None:
    rest = {"id": "rest", "type": "delay", "config": {"duration": 3600}}
    await house.save("w", rest, {"id": "b", "type": "TELL", "config": {"say": "on"}})
    execution = await house.begin("w")
    await house.settle()
    await house.actions.pause(execution, BY_HAND)
    await house.settle()
    await house.pass_time(hours=2)
    assert await house.instance.take_due() == 1
    await house.instance.ended(execution)
    row: Any = await house.row(execution)
    assert (row["status"], row["resume_at"], told.said) == ("PAUSED", None, [])
    await house.actions.resume(execution, BY_HAND)
    await house.settle()
    assert ((await house.row(execution))["status"], told.said) == ("COMPLETED", ["on"])
