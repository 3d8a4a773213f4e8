"""Of a list that is tried again, only what may come to something else is tried again, on every database."""

from typing import Any

import pytest

from engine_house import Told
from muster.engine.actions import Retry
from muster.engine.handlers import Done
from muster.engine.state import Failure
from muster.store.database import Database
from waiting_house import BY_HAND, Waiting

GONE = Failure("Gone", "410", retryable=False)
BUSY = Failure("Busy", "503", retryable=True)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> Waiting:
    return Waiting(database, told)


def listed(**config: Any) -> dict[str, Any]:
    retry = {"maxAttempts": 3, "initialDelay": 0}
    each = {"on": "#{xs}", "forEach": {"say": "#{item}", "concurrency": 1}, **config}
    return {"id": "a", "type": "TELL", "config": each, "retry": retry}


async def test_what_failed_for_good_is_left_alone_by_the_policy(house: Waiting, told: Told) -> None:
    told.answers = [Done("one"), GONE, BUSY, Done("three")]
    await house.save("w", listed())
    execution = await house.begin("w", xs=[1, 2, 3])
    await house.settle()
    row: Any = await house.row(execution)
    assert told.said == [1, 2, 3, 3]
    assert (row["status"], row["error_type"]) == ("FAILED", "ItemsFailed")
    assert row["error_message"] == "1 of 3 items failed, the first with: 410"


async def test_by_hand_everything_that_failed_is_tried_again(house: Waiting, told: Told) -> None:
    told.answers = [Done("one"), GONE, Done("three"), Done("two")]
    await house.save("w", listed())
    execution = await house.begin("w", xs=[1, 2, 3])
    await house.settle()
    await house.actions.retry(execution, BY_HAND, Retry())
    await house.settle()
    assert told.said == [1, 2, 3, 2]
    assert (await house.row(execution))["status"] == "COMPLETED"


async def test_an_item_that_cannot_be_started_is_not_tried_again(house: Waiting, told: Told) -> None:
    told.answers = [BUSY]
    await house.save(
        "child", {"id": "b", "type": "TELL", "config": {"say": "#{n}"}, "retry": {"maxAttempts": 1}}
    )
    each = {"input": {"n": "#{10 / item}"}}
    config = {"workflow": "child", "on": "#{xs}", "forEach": each}
    retry = {"maxAttempts": 3, "initialDelay": 0}
    await house.save("w", {"id": "a", "type": "SUB_WORKFLOW", "config": config, "retry": retry})
    execution = await house.begin("w", xs=[5, 0])
    await house.settle()
    row: Any = await house.row(execution)
    assert (told.said, len(await house.children(execution))) == ([2, 2], 2)
    assert (row["status"], row["error_type"]) == ("FAILED", "ItemsFailed")
    assert "1 of 2 items failed" in str(row["error_message"])
