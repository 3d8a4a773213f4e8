"""What every bus promises, on the embedded one with each database, and on Kafka."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial

import pytest
from sqlalchemy import Connection, insert, select

from databases import EVERY_KIND, MigratedUrls
from muster.conformance.bus_checks import BUS_CHECKS
from muster.conformance.buses import BusHouse, EmbeddedBuses, Taking, crash, numbered, values
from muster.conformance.checks import Check, come_to
from muster.conformance.kafka import KafkaBuses
from muster.engine.bus import AlreadyHandled, Batch, Outgoing, Refused, Rejected
from muster.engine.consuming import Consumer
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
    buses = (
        KafkaBuses({"bootstrap.servers": request.getfixturevalue("kafka_bootstrap")})
        if on_kafka
        else EmbeddedBuses(database)
    )
    made = BusHouse(buses, database)
    yield made
    await made.close()


def _kafka(request: pytest.FixtureRequest) -> KafkaBuses:
    return KafkaBuses({"bootstrap.servers": request.getfixturevalue("kafka_bootstrap")})


@pytest.mark.parametrize("check", BUS_CHECKS, ids=lambda check: check.name)
async def test_every_bus_keeps_its_promise(check: Check[BusHouse], house: BusHouse) -> None:
    await check.run(house)


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


async def test_a_member_knows_how_far_its_whole_group_is(house: BusHouse) -> None:
    topic, let_go, taking = await house.topic(), asyncio.Event(), Taking()

    async def not_yet(batch: Batch) -> Sequence[Rejected]:
        await let_go.wait()
        return await taking(batch)

    async def left(consumer: Consumer) -> int | None:
        found = await consumer.member.reach()
        return None if found is None else sum(each.end - each.position for each in found.values())

    await house.publish(*numbered(topic, 40, keys=20))
    async with (
        house.consuming([topic], not_yet, name="a") as one,
        house.consuming([topic], not_yet, name="b") as other,
    ):
        for each in (one, other):
            assert await until(partial(left, each)) == 40, "some of it is the other's"
        let_go.set()
        for each in (one, other):
            await until(partial(_is_nothing, left, each))
    assert sorted(_given(taking)) == sorted(values(40))


async def _is_nothing(left: Callable[[Consumer], Awaitable[int | None]], consumer: Consumer) -> bool:
    return await left(consumer) == 0


def _given(taking: Taking) -> list[bytes]:
    return [value for value in set(taking.values) if value is not None]
