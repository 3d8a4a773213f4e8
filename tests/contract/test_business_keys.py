"""Events under business keys on every database: which waits they are for, however they cross, and how long
anybody listens for them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import update

from event_house import END, Awaiting
from message_batches import batch
from muster.definitions.check import check
from muster.definitions.document import checksum, to_document
from muster.definitions.limits import Limits
from muster.engine.actions import Rearm, Retry
from muster.engine.bus import NO_TIME, Batch
from muster.engine.event_keys import TopicFields
from muster.engine.housekeeping import Housekeeping
from muster.model.json import Json, JsonObject
from muster.model.node_type import Catalogue
from muster.model.stored import AuditEntry, NewVersion
from muster.nodes.event_messages import WaitMessages
from muster.store.business_keys import BusinessKeys
from muster.store.database import Database
from muster.store.tables import buffered_event
from muster.store.wait_topics import WaitTopics
from waiting_house import BY_HAND, TYPES

HOUR = 3600
PAID: JsonObject = {"topic": "paid", "correlationIdField": "order", "correlation": "#{'o' + q}"}
LISTENED = TopicFields("paid", "order", "", HOUR)
FIRST: JsonObject = {"order": "o1", "amount": 5}


@pytest.fixture
def house(database: Database) -> Awaiting:
    return Awaiting(database)


@pytest.fixture
def keyed(house: Awaiting) -> BusinessKeys:
    return BusinessKeys(house.database, "here")


@pytest.fixture
def handle(house: Awaiting, keyed: BusinessKeys) -> WaitMessages:
    return WaitMessages(house.waits, house.waits, keyed, Limits(), house.clock)


@pytest.fixture
def topics(house: Awaiting) -> WaitTopics:
    return WaitTopics(house.database)


def paid(*values: Json) -> Batch:
    return batch(*(values or (FIRST,)), topic="paid")


def at(messages: Batch, when: Callable[[datetime], datetime]) -> Batch:
    return Batch([replace(each, at=when(each.at)) for each in messages.messages])


def node(**event: Json) -> JsonObject:
    return {"id": "wait", "type": "wait_events", "config": {"kafkaEvent": {**PAID, **event}}}


async def wait(house: Awaiting, **event: Json) -> str:
    return await house.wait_for(apiCall=None, kafkaEvent={**PAID, **event}, timeout=24 * HOUR)


async def statuses(house: Awaiting, *executions: str) -> list[str]:
    await house.settle()
    return [await house.status(each) for each in executions]


# --- which waits an event is for -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "when", [lambda now: now - timedelta(days=2), lambda _: NO_TIME], ids=["two days old", "of no time"]
)
async def test_an_event_is_for_the_wait_that_was_there_when_it_came_however_old_it_is(
    house: Awaiting, handle: WaitMessages, when: Callable[[datetime], datetime]
) -> None:
    execution = await wait(house)
    await handle(at(paid(), when))
    assert await statuses(house, execution) == ["COMPLETED"]


async def test_one_that_is_too_old_is_not_for_a_wait_that_begins_later(
    house: Awaiting, handle: WaitMessages, keyed: BusinessKeys
) -> None:
    first = await wait(house)
    await handle(at(paid(FIRST, FIRST), lambda now: now - timedelta(hours=2)))
    second = await house.begin_waiting()
    assert await keyed.meet() == 0
    assert await statuses(house, first, second) == ["COMPLETED", "WAITING"]


async def test_one_that_says_no_time_is_kept_from_when_it_came(
    house: Awaiting, handle: WaitMessages, keyed: BusinessKeys
) -> None:
    await house.save("w", node(), END)
    await handle(at(paid(), lambda _: NO_TIME))
    execution = await house.begin_waiting()
    assert await keyed.meet() == 1
    assert await statuses(house, execution) == ["COMPLETED"]


async def test_it_is_for_waits_that_begin_while_it_is_kept_and_for_none_after(
    house: Awaiting, handle: WaitMessages, keyed: BusinessKeys
) -> None:
    await house.save("w", node(bufferFor="10m", cardinality="all"), END)
    await handle(paid())
    in_time = await house.begin_waiting()
    house.clock.ahead += timedelta(minutes=11)  # type: ignore[attr-defined]  # a shifted one
    late = await house.begin_waiting()
    # Nobody has looked until now: who meets whom does not depend on that.
    while await keyed.meet():
        pass
    assert await statuses(house, in_time, late) == ["COMPLETED", "WAITING"]


async def test_a_wait_that_is_armed_again_hears_its_event(
    house: Awaiting, handle: WaitMessages, keyed: BusinessKeys
) -> None:
    execution = await house.wait_for(apiCall=None, kafkaEvent=PAID, timeout=60)
    await house.run_out(execution)
    assert await house.status(execution) == "FAILED"
    await keyed.forget_expired(10)
    await rearm(house, execution)
    await handle(paid())
    assert await statuses(house, execution) == ["COMPLETED"]


async def test_keys_of_waits_that_are_over_for_good_are_forgotten(
    house: Awaiting, handle: WaitMessages, keyed: BusinessKeys
) -> None:
    execution = await wait(house)
    await handle(paid())
    assert await statuses(house, execution) == ["COMPLETED"]
    await keyed.forget_expired(10)
    await house.change_wait(execution, status="waiting")  # behind everybody's back
    await handle(paid())
    assert await keyed.meet() == 0


async def test_another_event_under_the_key_of_a_wait_that_has_one_is_for_the_next_and_no_near_miss(
    house: Awaiting, handle: WaitMessages, keyed: BusinessKeys
) -> None:
    both = {"name": "called", "source": "callback"}
    first = await house.wait_for(apiCall=None, kafkaEvent=PAID, events=[both])
    await handle(paid())
    await handle(paid({"order": "o1", "amount": 7}))
    assert await house.misses() == [], "applied by hand it would be two waits' event"
    second = await house.begin_waiting()
    assert await keyed.meet() == 1
    rows = [await house.wait_row(each) for each in (first, second)]
    assert [row.kafka_event_data["amount"] for row in rows] == [5, 7]
    assert [row.near_misses for row in rows] == [0, 0]


async def test_a_topic_that_is_made_anew_has_new_events_under_old_names(
    house: Awaiting, handle: WaitMessages
) -> None:
    executions = [await wait(house), await house.begin_waiting()]
    messages = paid()
    for each in (messages, messages, at(messages, lambda now: now + timedelta(seconds=1))):
        await handle(each)
    assert await statuses(house, *executions) == ["COMPLETED", "COMPLETED"]
    third = await house.begin_waiting()
    await handle(messages)
    assert await statuses(house, third) == ["WAITING"], "it has come before"


async def test_a_repeat_is_recognised_also_of_one_that_was_old_when_it_came(
    house: Awaiting, handle: WaitMessages, keyed: BusinessKeys
) -> None:
    executions = [await wait(house), await house.begin_waiting()]
    old = at(paid(), lambda now: now - timedelta(days=2))
    for _ in range(2):
        await handle(old)
        assert await keyed.forget_expired(10) == 0
    assert await statuses(house, *executions) == ["COMPLETED", "WAITING"]


async def test_events_go_when_their_time_is_over_and_they_came_a_while_ago(
    house: Awaiting, handle: WaitMessages, keyed: BusinessKeys
) -> None:
    await wait(house)
    await handle(at(paid(FIRST, {"order": "o2"}), lambda now: now - timedelta(days=2)))
    came = update(buffered_event).values(received_at=house.clock.now() - timedelta(minutes=61))
    await house.database.write(lambda connection: connection.execute(came))
    assert await keyed.forget_expired(10) == 2


async def rearm(house: Awaiting, execution: str) -> None:
    row = await house.wait_row(execution)
    until = house.clock.now() + timedelta(hours=1)
    again = Retry(rearm=Rearm(row.id, row.node_id, row.visit, until))
    await house.actions.retry(execution, BY_HAND, again)
    await house.settle()
    assert await house.status(execution) == "WAITING"


# --- how long anybody listens --------------------------------------------------------------------------


async def tidy(topics: WaitTopics, times: int = 2) -> None:
    for _ in range(times):
        await Housekeeping([topics]).tidy()


async def archive(house: Awaiting, key: str = "w") -> None:
    await house.workflows.archive(key, None, AuditEntry("workflow", key, "archive", "test", ""))


async def test_what_comes_before_the_first_wait_is_kept_for_it(
    house: Awaiting, handle: WaitMessages, keyed: BusinessKeys
) -> None:
    await house.save("w", node(), END)
    assert await house.waits.topics() == [LISTENED]
    await handle(paid())
    execution = await house.begin_waiting()
    assert await keyed.meet() == 1
    assert await statuses(house, execution) == ["COMPLETED"]


async def test_nobody_listens_for_a_workflow_that_was_archived(house: Awaiting, topics: WaitTopics) -> None:
    await house.save("w", node(), END)
    await archive(house)
    await tidy(topics)
    assert await house.waits.topics() == []


async def test_somebody_listens_for_what_still_waits_until_it_is_over(
    house: Awaiting, handle: WaitMessages, topics: WaitTopics
) -> None:
    execution = await wait(house)
    await archive(house)
    await tidy(topics)
    assert await house.waits.topics() == [LISTENED]
    await handle(paid())
    assert await statuses(house, execution) == ["COMPLETED"]
    await tidy(topics)
    assert await house.waits.topics() == []


async def test_one_look_is_not_enough_to_stop_listening(house: Awaiting, topics: WaitTopics) -> None:
    """What begins at the moment of the look is not there yet."""
    await house.save("w", node(), END)
    await archive(house)
    await tidy(topics, times=1)
    assert await house.waits.topics() == [LISTENED]


async def test_a_wait_that_is_armed_again_is_listened_for_though_its_workflow_was_archived(
    house: Awaiting, handle: WaitMessages, topics: WaitTopics
) -> None:
    execution = await house.wait_for(apiCall=None, kafkaEvent=PAID, timeout=60)
    await archive(house)
    await house.run_out(execution)
    await tidy(topics)
    assert await house.waits.topics() == []
    await rearm(house, execution)
    await handle(paid())
    assert await statuses(house, execution) == ["COMPLETED"]


async def test_early_events_are_kept_as_long_as_the_longest_wants_and_no_longer(
    house: Awaiting, topics: WaitTopics
) -> None:
    await house.save("short", node(bufferFor="10m"), END)
    assert await kept_for(house) == 600
    await house.save("long", node(bufferFor="2h"), END)
    assert await kept_for(house) == 7200
    await house.save("middle", node(bufferFor="30m"), END)
    await tidy(topics)
    assert await kept_for(house) == 7200
    await another_version(house, "long", node(bufferFor="20m"))
    await tidy(topics)
    assert await kept_for(house) == 1800


async def test_what_only_a_wait_knows_is_left_as_it_made_it(house: Awaiting, topics: WaitTopics) -> None:
    await house.wait_for(apiCall=None, kafkaEvent={**PAID, "bufferFor": "#{q * 120}"})
    assert await kept_for(house) == 120
    await tidy(topics)
    assert await kept_for(house) == 120
    await house.begin("w", q=2)
    await house.settle()
    assert await kept_for(house) == 240


async def kept_for(house: Awaiting) -> int:
    [fields] = await house.waits.topics()
    return fields.buffer_seconds


async def another_version(house: Awaiting, key: str, *nodes: JsonObject) -> None:
    checked = check({"workflow": {"key": key, "name": key, "nodes": list(nodes)}}, Catalogue(TYPES))
    assert checked.definition is not None, checked.errors
    canonical = to_document(checked.definition)
    version = NewVersion(checked.definition, canonical, checksum(canonical), "test")
    audit = AuditEntry("workflow", key, "version", "test", "")
    await house.workflows.add_version(key, version, None, True, audit)
