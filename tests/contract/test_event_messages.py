"""Messages of topics reach the waits that they name, whole batches at once."""

from dataclasses import replace

import pytest

import message_batches
from event_house import DONE, TOPIC, Awaiting
from muster.definitions.limits import Limits
from muster.engine.bus import Batch
from muster.model.json import Json
from muster.nodes.event_messages import WaitMessages
from muster.store.business_keys import BusinessKeys
from muster.store.database import Database

PAID = {"topic": "paid", "correlationIdField": "order.id", "correlation": "#{'o' + q}"}


@pytest.fixture
def house(database: Database) -> Awaiting:
    return Awaiting(database)


@pytest.fixture
def handle(house: Awaiting) -> WaitMessages:
    keyed = BusinessKeys(house.database, "here")
    return WaitMessages(house.waits, house.waits, keyed, Limits(), house.clock)


def batch(*values: Json | bytes, topic: str = TOPIC) -> Batch:
    return message_batches.batch(*values, topic=topic)


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


async def test_a_business_key_meets_its_wait_before_or_after_it_once(
    house: Awaiting, handle: WaitMessages
) -> None:
    first = await house.wait_for(apiCall=None, kafkaEvent=PAID)
    paid = batch({"order": {"id": "o1"}, "amount": 5}, {"order": {"id": "o2"}}, {"order": 7}, topic="paid")
    assert await handle(paid) == []
    assert await handle(paid) == [], "it comes again"
    second = await house.begin_waiting()
    keyed = BusinessKeys(house.database, "here")
    await keyed.meet()
    await house.settle()
    assert [await house.status(each) for each in (first, second)] == ["COMPLETED", "WAITING"]
    context = (await house.row(first))["context"]
    assert isinstance(context, dict)
    assert context["kafka_event"]["amount"] == 5
    later = Batch([replace(paid.messages[0], offset=9)])
    await handle(later)
    third = await house.begin_waiting()
    await house.settle()
    assert await keyed.meet() == 0, "it has met the one that it is for"
    assert [await house.status(each) for each in (second, third)] == ["COMPLETED", "WAITING"]


async def test_an_early_event_is_met_by_all_that_share_it_and_pass_its_filter(
    house: Awaiting, handle: WaitMessages
) -> None:
    shared = {**PAID, "cardinality": "all", "filter": {"done": True}}
    waiting = [await house.wait_for(apiCall=None, kafkaEvent=shared)]
    await handle(batch({"order": {"id": "o1"}, "done": False}, topic="paid"))
    later = Batch([replace(batch({"order": {"id": "o1"}, "done": True}, topic="paid").messages[0], offset=3)])
    await handle(later)
    waiting.append(await house.begin_waiting())
    keyed = BusinessKeys(house.database, "here")
    while await keyed.meet():
        pass
    await house.settle()
    assert [await house.status(each) for each in waiting] == ["COMPLETED", "COMPLETED"]
    assert await keyed.forget_expired(10) == 0
