"""What the embedded bus promises beyond what every bus does: it is part of the database."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from sqlalchemy import Connection, func, select, update

from muster.conformance.buses import BusHouse, EmbeddedBuses, Taking, numbered
from muster.conformance.checks import come_to
from muster.engine.bus import Outgoing, Place
from muster.store.bus_leases import Claimant, Lease, Partition, claim, record_ends, shares
from muster.store.bus_log import PARTITIONS, OldMessages, publish_messages
from muster.store.database import Database
from muster.store.dialect import now
from muster.store.tables import bus_member, bus_message, bus_position

WEEK = timedelta(days=7)


@pytest.fixture
async def house(database: Database) -> AsyncIterator[BusHouse]:
    made = BusHouse(EmbeddedBuses(database), database)
    yield made
    await made.close()


async def count(house: BusHouse) -> int:
    chosen = select(func.count()).select_from(bus_message)
    return await house.database.read(lambda connection: connection.execute(chosen).scalar_one())


def claimant(owner: str) -> Claimant:
    return Claimant("g", owner, f"{owner}/", timedelta(seconds=30))


async def claimed(house: BusHouse, owner: str) -> list[Lease]:
    return await house.database.write(lambda connection: claim(connection, claimant(owner), ["orders"]))


async def test_a_message_is_there_only_if_its_transaction_is(house: BusHouse) -> None:
    class Undone(Exception):
        pass

    def work(connection: Connection) -> None:
        publish_messages(connection, [Outgoing("orders", b"1")])
        raise Undone

    with pytest.raises(Undone):
        await house.database.write(work)
    assert await count(house) == 0
    await house.database.write(lambda connection: publish_messages(connection, [Outgoing("orders", b"2")]))
    assert await count(house) == 1


async def test_offsets_have_no_gaps_however_many_publish_at_once(house: BusHouse) -> None:
    async def publish(start: int) -> None:
        await house.publish(*numbered("orders", 5, keys=3, start=start))

    await asyncio.gather(*(publish(start) for start in range(0, 100, 5)))
    chosen = select(bus_message.c.partition, bus_message.c.offset).order_by("partition", "offset")
    rows = await house.database.read(lambda connection: connection.execute(chosen).all())
    for partition in {row.partition for row in rows}:
        offsets = [row.offset for row in rows if row.partition == partition]
        assert offsets == list(range(len(offsets)))
    assert len(rows) == 100


async def test_who_has_lost_a_partition_moves_no_position(house: BusHouse) -> None:
    leases = await claimed(house, "a")

    def run_out(connection: Connection) -> None:
        past = now(connection) - timedelta(seconds=1)
        connection.execute(update(bus_position).values(lease_until=past))
        connection.execute(update(bus_member).values(lease_until=past))

    await house.database.write(run_out)
    taken = await claimed(house, "b")
    assert {lease.place for lease in taken} == {lease.place for lease in leases}
    ends = {lease.place: 9 for lease in leases}
    await house.database.write(lambda connection: record_ends(connection, "g", leases, ends))
    assert {lease.position for lease in await claimed(house, "b")} == {0}
    await house.database.write(lambda connection: record_ends(connection, "g", taken, ends))
    assert {lease.position for lease in await claimed(house, "b")} == {9}


async def test_a_later_self_takes_over_at_once(house: BusHouse) -> None:
    earlier = Claimant("g", "a/1", "a/", timedelta(hours=1))
    later = Claimant("g", "a/2", "a/", timedelta(hours=1))
    await house.database.write(lambda connection: claim(connection, earlier, ["orders"]))
    leases = await house.database.write(lambda connection: claim(connection, later, ["orders"]))
    assert len(leases) == PARTITIONS
    assert {lease.fence for lease in leases} == {2}


async def test_old_messages_go_once_every_group_has_read_them(house: BusHouse) -> None:
    topic, taking, old = await house.topic(), Taking(), OldMessages(house.database, WEEK)
    await house.publish(*numbered(topic, 10))

    def age(connection: Connection) -> None:
        connection.execute(update(bus_message).values(created_at=now(connection) - 2 * WEEK))

    consumer = house.consumer([topic], taking)
    await consumer.member.subscribe([topic])
    await consumer.member.fetch(100, 1.0)
    await house.database.write(age)
    assert await old.forget_expired(100) == 0
    await consumer.member.leave()
    async with house.consuming([topic], taking):
        await come_to(lambda: len(house.heard.messages) >= 10)
    assert await old.forget_expired(4) == 4
    assert await old.forget_expired(100) == 6
    assert await count(house) == 0


async def test_a_group_that_is_gone_keeps_no_message(house: BusHouse) -> None:
    topic, old = await house.topic(), OldMessages(house.database, WEEK)
    await house.publish(*numbered(topic, 10))
    consumer = house.consumer([topic], Taking())
    await consumer.member.subscribe([topic])
    await consumer.member.fetch(100, 1.0)
    await consumer.member.leave()

    def age(connection: Connection) -> None:
        long_ago = now(connection) - 2 * WEEK
        connection.execute(update(bus_message).values(created_at=long_ago))
        connection.execute(update(bus_position).values(updated_at=long_ago))

    await house.database.write(age)
    assert await old.forget_expired(100) == 10


def partitions(owned: int, free: int, others: int) -> list[Partition]:
    states = [(True, False)] * owned + [(False, True)] * free + [(False, False)] * others
    return [Partition(Place("t", place), *state) for place, state in enumerate(states)]


@pytest.mark.parametrize(
    ("owned", "free", "others", "members", "wanted", "left"),
    [
        (0, 8, 0, 1, 8, 0),
        (8, 0, 0, 2, 4, 4),
        (0, 0, 8, 2, 0, 0),
        (0, 4, 4, 2, 4, 0),
        (0, 8, 0, 3, 3, 0),
        (3, 0, 5, 3, 3, 0),
        (0, 8, 0, 20, 1, 0),
    ],
)
def test_members_have_fair_shares(
    owned: int, free: int, others: int, members: int, wanted: int, left: int
) -> None:
    taken, given = shares(partitions(owned, free, others), {"t": members})
    assert (len(taken), len(given)) == (wanted, left)
