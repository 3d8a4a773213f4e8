"""A stream of the outbox is published once and in its order: by one, by many after one another, and by many
who each believe that it is theirs."""

import asyncio
from contextlib import suppress
from datetime import timedelta

import pytest
from sqlalchemy import delete, select, update

from muster.engine.bus import BusAway
from muster.engine.outbox import MessageStatus, OutgoingMessage, Stream, WantedMessages
from muster.engine.publishing import Broken, Overtaken
from muster.engine.stream_publisher import StreamPublisher
from muster.model.stored import Page
from muster.store.bus_log import MOST_BYTES
from muster.store.database import Database
from muster.store.outbox import OldPublished, add_messages
from muster.store.outbox_draining import StreamDraining
from muster.store.outbox_lists import OutboxLists
from muster.store.tables import dead_letter, outbox_message, outbox_stream
from outbox_house import Log, OutboxHouse
from polling import PATIENCE


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def house(database: Database, log: Log) -> OutboxHouse:
    return OutboxHouse(database, log)


async def test_what_was_written_is_published_in_batches_and_marked(house: OutboxHouse, log: Log) -> None:
    await house.write(7)
    await house.publisher(batch_size=3).work()
    assert log.values == await house.marked() == house.expected()
    assert house.heard.batches == [[1, 2, 3], [4, 5, 6], [7]]
    assert house.senders.sent == [f"r{number}" for number in range(7)]


async def test_a_message_that_is_seen_late_gets_a_later_place(house: OutboxHouse, log: Log) -> None:
    """Ids become visible in another order than they were given in: nothing may be passed over by that."""
    publisher = house.publisher()
    late = OutgoingMessage("late", "orders", b"late")
    await house.database.write(lambda connection: add_messages(connection, [late]))
    await house.write(2)
    hidden = update(outbox_message).where(outbox_message.c.message_id == "late")
    await house.database.write(lambda connection: connection.execute(hidden.values(stream="hidden")))
    await publisher.work()
    await house.database.write(lambda connection: connection.execute(hidden.values(stream="executions")))
    await publisher.work()
    assert log.values == [b"0", b"1", b"late"]


async def test_a_stream_has_one_publisher_until_its_lease_is_over(house: OutboxHouse, log: Log) -> None:
    first, second = house.publisher("a"), house.publisher("b")
    await house.write(1)
    await first.work()
    await house.write(1)
    await second.work()
    assert len(log.values) == 1, "it is the other's"
    await house.end_lease()
    await second.work()
    assert log.values == house.expected()


async def test_who_leaves_lets_the_next_begin_at_once(house: OutboxHouse, log: Log) -> None:
    first = house.publisher("a")
    await first.work()
    await first.leave()
    await house.write(1)
    await house.publisher("b").work()
    assert log.values == house.expected()


async def test_an_instance_that_starts_again_has_what_it_had_before(house: OutboxHouse, log: Log) -> None:
    await house.publisher("a").work()
    await house.write(1)
    await house.publisher("a").work()
    assert log.values == house.expected()


async def test_who_was_overtaken_gives_no_places_and_publishes_nothing(house: OutboxHouse, log: Log) -> None:
    zombie, heir = house.publisher("a"), house.publisher("b")
    await zombie.work()
    await house.end_lease()
    await heir.work()
    await house.write(3)
    await zombie.work()
    assert log.values == []
    await heir.work()
    assert log.values == await house.marked() == house.expected()


async def test_a_claim_under_an_earlier_fence_writes_nothing(house: OutboxHouse, log: Log) -> None:
    streams, others = house.streams("a"), house.streams("b")
    held = await streams.lease(Stream.EXECUTIONS)
    assert held is not None
    await house.end_lease()
    assert await others.lease(Stream.EXECUTIONS) is not None
    await house.write(2)
    with pytest.raises(Overtaken):
        await streams.claim(held, 0, 0, 100)
    with pytest.raises(Overtaken):
        await streams.refuse(held, {1: "no"})
    await streams.stop(held, "no")
    await streams.release(held)
    rows = await house.database.read(lambda connection: connection.execute(select(outbox_stream)).all())
    assert [(row.next_seq, row.problem, row.owner is None) for row in rows] == [(1, None, False)]
    assert await house.marked() == []


async def test_what_was_given_a_place_keeps_it_whoever_publishes(house: OutboxHouse, log: Log) -> None:
    streams = house.streams("a")
    held = await streams.lease(Stream.EXECUTIONS)
    assert held is not None
    await house.write(3)
    claimed = await streams.claim(held, 0, 0, 2)  # and then it dies
    await house.end_lease()
    await house.publisher("b").work()
    assert log.values == house.expected()
    assert [queued.message.value for queued in claimed] == log.values[:2]


async def test_a_restored_database_stops_the_stream(house: OutboxHouse, log: Log) -> None:
    await house.write(3)
    await house.publisher("a").work()
    older = update(outbox_stream).values(next_seq=2, published_seq=1, owner=None)
    gone = delete(outbox_message).where(outbox_message.c.seq > 1)
    await house.database.write(lambda connection: connection.execute(older))
    await house.database.write(lambda connection: connection.execute(gone))
    await house.write(1)
    publisher = house.publisher("b")
    await publisher.work()
    await publisher.work()
    assert len(log.values) == 3, "nothing more was published"
    [state, _] = await OutboxLists(house.database).streams()
    assert "older copy of the database" in (state.problem or "")
    assert state.pending == 1


async def test_another_bus_stops_the_stream_until_the_right_one_is_back(house: OutboxHouse, log: Log) -> None:
    await house.write(3)
    await house.publisher("a").work()
    await house.write(1)
    publisher = house.publisher("a", channels=Log())
    await publisher.work()
    assert "another bus" in (await house.problem() or "")
    await house.publisher("a").work()
    assert log.values == house.expected()
    assert await house.problem() is None


async def test_what_is_marked_and_not_noted_is_not_sent_to_another_bus(house: OutboxHouse, log: Log) -> None:
    """Whoever published it goes down between the two."""
    streams = house.streams("a")
    await house.write(3)
    held = await streams.lease(Stream.EXECUTIONS)
    assert held is not None
    channel = log.open(held.name)
    await channel.begin()
    await channel.send(await streams.claim(held, 0, 0, 3))
    await streams.mark(held, 0, 3)
    other = Log()
    await house.publisher("a", channels=other).work()
    assert other.values == []
    assert "another bus" in (await house.problem() or "")


async def test_one_that_the_bus_refuses_is_a_dead_letter_and_the_others_go_on(
    house: OutboxHouse, log: Log
) -> None:
    await house.write(3)
    await house.write_value(b"x" * 2000)
    await house.write(2)
    await house.publisher().work()
    assert log.values == await house.marked() == house.expected()
    assert house.heard.reasons == {4: "too large"}
    assert house.senders.given_up == {"r" + "x" * 20: "too large"}
    letters = await house.database.read(lambda connection: connection.execute(select(dead_letter)).all())
    assert [(letter.kind, letter.source, letter.error_type) for letter in letters] == [
        ("message", "orders", "UNDELIVERABLE")
    ]


async def test_a_gap_in_the_places_is_not_published_over(house: OutboxHouse, log: Log) -> None:
    streams = house.streams("a")
    held = await streams.lease(Stream.EXECUTIONS)
    assert held is not None
    await house.write(3)
    await streams.claim(held, 0, 0, 3)
    gone = delete(outbox_message).where(outbox_message.c.seq == 2)
    await house.database.write(lambda connection: connection.execute(gone))
    with pytest.raises(Broken):
        await house.publisher("a").work()
    assert log.values == []


async def test_published_messages_go_after_a_while_and_others_stay(house: OutboxHouse, log: Log) -> None:
    await house.write(2)
    await house.publisher("a").work()
    await house.write(1)
    assert await OldPublished(house.database, timedelta(days=1)).forget_expired(10) == 0
    assert await OldPublished(house.database, timedelta(days=-1)).forget_expired(10) == 2
    await house.publisher("a").work()
    assert log.values == house.expected(), "whoever takes over does not miss those that are gone"


async def test_what_the_embedded_bus_has_is_published_by_no_other_and_goes_with_the_rest(
    house: OutboxHouse, log: Log
) -> None:
    await house.write(2)
    await house.write_value(b"x" * (MOST_BYTES + 1))
    embedded = StreamDraining(Stream.EXECUTIONS, house.database, lambda topics: None, house.heard, 10)
    await embedded.work()
    assert len(house.heard.reasons) == 1
    await house.write(1)
    states = await OutboxLists(house.database).streams()
    assert [state.pending for state in states] == [1, 0]
    await house.publisher("a").work()
    assert log.values == [b"2"], "from now on there is a bus"
    waiting, _ = await OutboxLists(house.database).list(
        None, WantedMessages(status=MessageStatus.PENDING), Page(10)
    )
    assert waiting == []
    assert await OldPublished(house.database, timedelta(days=-1)).forget_expired(10) == 4


async def test_several_who_come_at_once_publish_everything_once(house: OutboxHouse, log: Log) -> None:
    publishers = [house.publisher(name) for name in "abc"]
    writing = asyncio.create_task(house.write(30))

    async def restless(publisher: StreamPublisher) -> None:
        while not writing.done() or await house.marked() != house.expected():
            await house.end_lease()
            with suppress(BusAway):  # whoever is overtaken while it sends is fenced off by the bus
                await publisher.work()

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        for publisher in publishers:
            group.create_task(restless(publisher))
        await writing
    assert log.values == house.expected()
