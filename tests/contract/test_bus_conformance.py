"""What every bus promises, on the embedded one with each database, and on Kafka."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence

import pytest
from sqlalchemy import Connection, insert, select

from bus_house import BusHouse, EmbeddedBuses, KafkaBuses, Taking, come_to, crash, numbered
from databases import EVERY_KIND, MigratedUrls
from muster.engine.bus import AlreadyHandled, Batch, Outgoing, Refused, Rejected, TooLarge, dead_letter_topic
from muster.engine.ports import NotWritten
from muster.store.database import Database
from muster.store.positions import record_positions
from muster.store.tables import audit_log
from polling import until

KAFKA = "kafka"


@pytest.fixture(params=[*EVERY_KIND, pytest.param(KAFKA, marks=pytest.mark.kafka)])
def database_url(request: pytest.FixtureRequest, migrated_urls: MigratedUrls) -> str:
    """The database of the embedded bus; with Kafka, consumers have one of their own beside it."""
    return migrated_urls.of("sqlite" if request.param == KAFKA else request.param)


@pytest.fixture
async def house(database: Database, request: pytest.FixtureRequest) -> AsyncIterator[BusHouse]:
    on_kafka = request.node.callspec.params["database_url"] == KAFKA
    buses = KafkaBuses(request.getfixturevalue("kafka_bootstrap")) if on_kafka else EmbeddedBuses(database)
    made = BusHouse(buses, database)
    yield made
    await made.close()


def values(count: int) -> list[bytes]:
    return [str(each).encode() for each in range(count)]


async def test_messages_of_one_key_come_in_their_order(house: BusHouse) -> None:
    topic, taking = await house.topic(), Taking()
    async with house.consuming([topic], taking):
        for start in range(0, 200, 50):
            await house.publish(*numbered(topic, 50, start=start))
        await come_to(lambda: len(taking.messages) >= 200)
    assert sorted(taking.values) == sorted(values(200))
    expected = {
        f"key-{key}".encode(): [str(each).encode() for each in range(key, 200, 5)] for key in range(5)
    }
    assert taking.by_key() == expected


async def test_a_message_comes_as_it_was_published(house: BusHouse) -> None:
    topic, taking = await house.topic(), Taking()
    headers = (("a", b"1"), ("b", b"\xff\x00"), ("a", b"2"))
    await house.publish(Outgoing(topic, b"\x00\xfe", b"\xff", headers), Outgoing(topic, None, b"\xff"))
    async with house.consuming([topic], taking):
        await come_to(lambda: len(taking.messages) >= 2)
    first, second = taking.messages
    assert (first.topic, first.key, first.value, first.headers) == (topic, b"\xff", b"\x00\xfe", headers)
    assert (second.value, second.headers) == (None, ())
    assert second.offset == first.offset + 1
    assert first.at.tzinfo is not None


async def test_what_was_handled_does_not_come_again(house: BusHouse) -> None:
    topic, before, after = await house.topic(), Taking(), Taking()
    await house.publish(*numbered(topic, 20))
    async with house.consuming([topic], before):
        await come_to(lambda: len(house.heard.messages) >= 20)
    await house.publish(Outgoing(topic, b"last"))
    async with house.consuming([topic], after):
        await come_to(lambda: bool(after.messages))
    assert (len(before.messages), after.values) == (20, [b"last"])


async def test_what_was_not_recorded_comes_again(house: BusHouse) -> None:
    topic, stuck, taking = await house.topic(), asyncio.Event(), Taking()

    async def handled_but_never_recorded(batch: Batch) -> Sequence[Rejected]:
        stuck.set()
        await asyncio.Event().wait()
        return []

    await house.publish(*numbered(topic, 20))
    consumer = house.consumer([topic], handled_but_never_recorded)
    task = asyncio.create_task(consumer.run())
    await stuck.wait()
    await crash(consumer, task)
    async with house.consuming([topic], taking):
        await come_to(lambda: len(taking.messages) >= 20)
    assert sorted(taking.values) == sorted(values(20))


async def test_trouble_of_the_store_is_waited_for_and_nothing_is_skipped(house: BusHouse) -> None:
    topic, taking, tries = await house.topic(), Taking(), list[int]()

    async def away_for_a_while(batch: Batch) -> Sequence[Rejected]:
        tries.append(len(batch.messages))
        if len(tries) <= 4:  # more often than anything else may fail
            raise NotWritten("the database is away")
        return await taking(batch)

    await house.publish(*numbered(topic, 20))
    async with house.consuming([topic], away_for_a_while):
        await come_to(lambda: len(taking.messages) >= 20)
    assert sorted(taking.values) == sorted(values(20))
    assert house.heard.rejects == []


async def test_a_failing_handler_is_asked_again_and_nothing_is_lost(house: BusHouse) -> None:
    topic, taking, failures = await house.topic(), Taking(), [RuntimeError("once"), RuntimeError("twice")]

    async def failing_twice(batch: Batch) -> Sequence[Rejected]:
        if failures:
            raise failures.pop()
        return await taking(batch)

    await house.publish(*numbered(topic, 20))
    async with house.consuming([topic], failing_twice):
        await come_to(lambda: len(taking.messages) >= 20)
    assert sorted(taking.values) == sorted(values(20))
    assert await house.letters() == []


async def test_a_message_that_always_fails_is_found_and_the_others_are_handled(house: BusHouse) -> None:
    topic, taking = await house.topic(), Taking()

    async def choking(batch: Batch) -> Sequence[Rejected]:
        if any(message.value == b"7" for message in batch.messages):
            raise ValueError("seven is too much")
        return await taking(batch)

    await house.publish(*numbered(topic, 20))
    async with house.consuming([topic], choking):
        await come_to(lambda: bool(house.heard.rejects) and len(set(taking.values)) == 19)
    assert Counter(taking.values) == Counter(each for each in values(20) if each != b"7")
    assert taking.by_key()[b"key-2"] == [b"2", b"12", b"17"]
    [letter] = await house.letters()
    assert (letter["kind"], letter["source"], letter["error_type"]) == ("message", topic, "ValueError")
    assert letter["error_message"] == "seven is too much"


async def test_a_rejected_message_is_a_dead_letter_with_all_it_had(house: BusHouse) -> None:
    topic, taking, buried = await house.topic(), Taking(), Taking()

    async def rejecting(batch: Batch) -> Sequence[Rejected]:
        await taking(batch)
        bad = [message for message in batch.messages if message.value == b"bad"]
        return [Rejected(message, "UNPARSABLE", "It is no JSON.") for message in bad]

    await house.publish(
        Outgoing(topic, b"bad", b"k", (("trace", b"1"),)),
        Outgoing(topic, b"good", b"k"),
        Outgoing(topic, b"x"),
    )
    async with house.consuming([topic], rejecting):
        await come_to(lambda: len(house.heard.messages) >= 3)
    async with house.consuming([dead_letter_topic(topic)], buried, name="b"):
        await come_to(lambda: bool(buried.messages))
    [letter] = buried.messages
    assert (letter.key, letter.value) == (b"k", b"bad")
    headers = dict(letter.headers)
    assert headers.pop("X-Error-Timestamp").startswith(b"20")
    assert headers == {
        "trace": b"1",
        "X-Error-Message": b"It is no JSON.",
        "X-Error-Type": b"UNPARSABLE",
        "X-Original-Topic": topic.encode(),
    }
    [row] = await house.letters()
    assert (row["error_type"], row["status"], row["headers"]) == ("UNPARSABLE", "open", {"trace": "1"})
    assert isinstance(row["value"], dict)
    assert (row["value"]["key"], row["value"]["value"]) == ("k", "bad")


async def test_two_members_share_what_one_has_when_the_other_leaves(house: BusHouse) -> None:
    topic, first, second = await house.topic(), Taking(), Taking()
    sent = 0

    async def send_until(enough: list[Taking]) -> None:
        nonlocal sent
        before = [len(each.messages) for each in enough]
        while not all(len(each.messages) > was for each, was in zip(enough, before, strict=True)):
            await house.publish(*numbered(topic, 20, keys=50, start=sent))
            sent += 20
            await asyncio.sleep(0.05)

    async with house.consuming([topic], first, name="a"):
        await send_until([first])
        async with house.consuming([topic], second, name="b"):
            await send_until([first, second])
        await send_until([first])
        await come_to(lambda: len({*first.values, *second.values}) >= sent)
    assert {*first.values, *second.values} == set(values(sent))


async def test_each_group_gets_every_message(house: BusHouse) -> None:
    topic, one, other = await house.topic(), Taking(), Taking()
    await house.publish(*numbered(topic, 10))
    async with (
        house.consuming([topic], one, group=f"{house.group}-1"),
        house.consuming([topic], other, group=f"{house.group}-2"),
    ):
        await come_to(lambda: len(one.messages) >= 10 and len(other.messages) >= 10)
    assert sorted(one.values) == sorted(other.values) == sorted(values(10))


async def test_topics_may_come_and_go(house: BusHouse) -> None:
    orders, refunds, taking = await house.topic("orders"), await house.topic("refunds"), Taking()
    wanted = [orders]
    async with house.consuming(wanted, taking) as consumer:
        await house.publish(Outgoing(orders, b"1"), Outgoing(refunds, b"2"))
        await come_to(lambda: taking.values == [b"1"])
        wanted[:] = [refunds]
        consumer.look_for_topics()
        await house.publish(Outgoing(orders, b"3"))
        await come_to(lambda: b"2" in taking.values)
        wanted.append(orders)
        consumer.look_for_topics()
        await come_to(lambda: b"3" in taking.values)
    assert sorted(taking.values) == [b"1", b"2", b"3"]


async def test_it_is_told_how_many_messages_wait(house: BusHouse) -> None:
    topic, taking = await house.topic(), Taking()
    await house.publish(*numbered(topic, 10))
    consumer = house.consumer([topic], taking)
    await consumer.member.subscribe([topic])
    fetched = 0
    while fetched < 10:
        fetched += len(await consumer.member.fetch(100, 1.0))
    assert sum((await consumer.member.lag()).values()) == 10
    await consumer.member.leave()
    async with house.consuming([topic], taking):
        await come_to(lambda: len(taking.messages) >= 10)


async def test_a_message_that_is_too_large_is_refused_and_the_others_go(house: BusHouse) -> None:
    topic, taking = await house.topic(), Taking()
    with pytest.raises(TooLarge):
        await house.publish(Outgoing(topic, b"x" * 3_000_000))
    await house.publish(Outgoing(topic, b"small"))
    async with house.consuming([topic], taking):
        await come_to(lambda: b"small" in taking.values)
    assert taking.values == [b"small"]


# --- positions that are recorded with what messages do ---------------------------------------------


class Keeping:
    """A handler whose effect and position are one transaction. `after` is what becomes of it once that is
    committed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.after: list[Exception] = []

    async def __call__(self, batch: Batch) -> Sequence[Rejected]:
        if bad := [message for message in batch.messages if message.value == b"bad"]:
            raise Refused([Rejected(message, "BAD", "no") for message in bad])

        def work(connection: Connection) -> None:
            record_positions(connection, batch.positions)
            rows = [
                {
                    "entity_type": "message",
                    "entity_id": message.name,
                    "action": (message.value or b"").decode(),
                    "actor": "",
                    "details": {},
                    "created_at": message.at,
                }
                for message in batch.messages
            ]
            connection.execute(insert(audit_log), rows)

        await self._database.write(work)
        if self.after:
            raise self.after.pop(0)
        return []


async def kept(house: BusHouse) -> list[str]:
    chosen = select(audit_log.c.action).order_by(audit_log.c.id)
    return list(await house.database.read(lambda connection: connection.scalars(chosen).all()))


async def test_what_is_recorded_with_its_effect_has_it_once_however_often_it_comes(house: BusHouse) -> None:
    topic, keeping = await house.topic(), Keeping(house.database)
    keeping.after = [NotWritten("its answer got lost"), RuntimeError("and now a mistake")]
    await house.publish(*numbered(topic, 20))
    async with house.consuming([topic], keeping, records=True):
        await come_to(lambda: len(keeping.after) < 2)
        await house.publish(*numbered(topic, 20, start=20))

        async def all_there() -> bool:
            return not keeping.after and len(await kept(house)) >= 40

        await until(all_there)
    assert Counter(await kept(house)) == Counter(map(str, range(40)))


async def test_a_position_in_the_database_is_ahead_of_the_one_of_the_bus(house: BusHouse) -> None:
    topic, stuck = await house.topic(), asyncio.Event()
    keeping = Keeping(house.database)

    async def dying_after_its_commit(batch: Batch) -> Sequence[Rejected]:
        await keeping(batch)
        stuck.set()
        await asyncio.Event().wait()
        return []

    await house.publish(Outgoing(topic, b"1", b"k"), Outgoing(topic, b"2", b"k"))
    consumer = house.consumer([topic], dying_after_its_commit, records=True)
    task = asyncio.create_task(consumer.run())
    await stuck.wait()
    await crash(consumer, task)
    done = len(await kept(house))
    await house.publish(Outgoing(topic, b"3", b"k"))
    async with house.consuming([topic], keeping, records=True):

        async def is_there() -> bool:
            return "3" in await kept(house)

        await until(is_there)
    assert done > 0
    assert await kept(house) == ["1", "2", "3"]


async def test_what_another_has_recorded_is_not_recorded_again(house: BusHouse) -> None:
    topic, seen = await house.topic(), list[Batch]()

    async def looking(batch: Batch) -> Sequence[Rejected]:
        await house.database.write(lambda connection: record_positions(connection, batch.positions))
        seen.append(batch)
        return []

    await house.publish(Outgoing(topic, b"1", b"k"))
    async with house.consuming([topic], looking, records=True):
        await come_to(lambda: bool(seen))
    with pytest.raises(AlreadyHandled):
        await house.positions.record(seen[0].positions)


async def test_a_handler_that_records_is_called_again_without_what_it_refuses(house: BusHouse) -> None:
    topic, keeping = await house.topic(), Keeping(house.database)
    await house.publish(*(Outgoing(topic, each, b"k") for each in (b"1", b"bad", b"2")))
    async with house.consuming([topic], keeping, records=True):
        await come_to(lambda: len(house.heard.messages) >= 3)
        await house.publish(Outgoing(topic, b"bad", b"k"), Outgoing(topic, b"3", b"k"))
        await come_to(lambda: len(house.heard.messages) >= 5)
    assert await kept(house) == ["1", "2", "3"]
    assert [letter["error_type"] for letter in await house.letters()] == ["BAD", "BAD"]
