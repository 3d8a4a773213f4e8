"""Messages of topics reach the waits that they name, whole batches at once."""

import json
from datetime import UTC, datetime

import pytest

from event_house import DONE, TOPIC, Awaiting
from muster.definitions.limits import Limits
from muster.engine.bus import Batch, Message
from muster.model.json import Json
from muster.nodes.event_messages import WaitMessages
from muster.store.database import Database

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


@pytest.fixture
def house(database: Database) -> Awaiting:
    return Awaiting(database)


@pytest.fixture
def handle(house: Awaiting) -> WaitMessages:
    return WaitMessages(house.waits, house.waits, Limits())


def batch(*values: Json | bytes, topic: str = TOPIC) -> Batch:
    raw = [value if isinstance(value, bytes) else json.dumps(value).encode() for value in values]
    return Batch([Message(topic, 0, place, None, value, (), NOON) for place, value in enumerate(raw)])


async def ids(house: Awaiting, execution: str) -> dict[str, Json]:
    return {"execution_id": execution, "correlation_id": (await house.wait_row(execution)).correlation_id}


async def test_a_batch_is_offered_at_once_and_comes_again_without_harm(
    house: Awaiting, handle: WaitMessages
) -> None:
    executions = [await house.wait_for(apiCall=None)]
    executions += [await house.begin_waiting() for _ in range(5)]
    messages = batch(*[{**DONE, **await ids(house, each)} for each in executions])
    assert await handle(messages) == []
    assert await handle(messages) == []
    await house.settle()
    assert [await house.status(each) for each in executions] == ["COMPLETED"] * len(executions)
    assert len(house.told.did) == len(executions)


async def test_what_cannot_be_read_is_rejected_and_keeps_no_other_from_its_wait(
    house: Awaiting, handle: WaitMessages
) -> None:
    execution = await house.wait_for(apiCall=None)
    good = {**DONE, **await ids(house, execution)}
    messages = batch(b"{not json", good, 7, {"execution_id": execution})
    [rejected] = await handle(messages)
    assert (rejected.message.offset, rejected.type) == (0, "UNPARSABLE")
    await house.settle()
    assert await house.status(execution) == "COMPLETED"
    assert await house.misses() == []


async def test_the_ids_are_where_each_wait_says_also_deep_inside(
    house: Awaiting, handle: WaitMessages
) -> None:
    plain = await house.wait_for(apiCall=None)
    event = {"topic": TOPIC, "correlationIdField": "meta.corr", "executionIdField": "meta.exec"}
    deep = await house.wait_for("deep", apiCall=None, kafkaEvent=event)
    theirs = await ids(house, deep)
    message = {"meta": {"corr": theirs["correlation_id"], "exec": deep}}
    assert await handle(batch(message, {**DONE, **await ids(house, plain)})) == []
    await house.settle()
    assert [await house.status(each) for each in (plain, deep)] == ["COMPLETED", "COMPLETED"]
    assert set(await handle.topics()) == {TOPIC}


async def test_where_no_wait_looks_messages_are_left_alone(house: Awaiting, handle: WaitMessages) -> None:
    assert await handle(batch(b"\xff\xfe binary", topic="pictures")) == []
