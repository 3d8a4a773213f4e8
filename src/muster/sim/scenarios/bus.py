"""The embedded bus under faults: every message is handled, in order, and once where that is promised.

Three instances share a database that fails and loses answers; they publish, and read as members of two
groups. They crash at any commit, freeze and wake up as if no time had passed, and start again. One group's
handler records positions with its effects: each message has its effect once. The other's does not: each has
it at least once. Some messages are rejected, and some make the handler fail whenever it sees them. In the end
the faults stop, everybody catches up, and the effects are compared with what was published.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache, partial

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import DBAPIError

from muster.engine.bus import (
    Batch,
    BusAway,
    Message,
    Outgoing,
    Place,
    Recording,
    Refused,
    Rejected,
    dead_letter_topic,
)
from muster.engine.consuming import Consumer
from muster.engine.ports import NotWritten
from muster.sim.database import FaultyDatabase
from muster.sim.scenarios.engine.ledger import Ledger
from muster.sim.scenarios.engine.weather import STORMY_SECONDS, Weather
from muster.sim.template import Template
from muster.sim.world import World
from muster.store.bus import EmbeddedBus
from muster.store.bus_log import NOBODY
from muster.store.committer import GroupCommitter
from muster.store.database import CommitUnknown, Database, Unavailable
from muster.store.message_letters import RejectedMessages
from muster.store.positions import ConsumerPositions, record_positions
from muster.store.tables import audit_log, bus_message, bus_position, dead_letter, metadata

INSTANCES = 3
LEASE = timedelta(seconds=2)
CALM_SECONDS = 120
TROUBLE = (Unavailable, CommitUnknown, NotWritten)
TOPIC = "orders"
# The one records its positions, the other does not.
EXACTLY, AT_LEAST = "exactly", "at-least"
GROUPS = (EXACTLY, AT_LEAST)
KEYS = 5
MESSAGES_EACH = 15
BAD, POISON = b"bad", b"poison"

MakeConsumer = type[Consumer]


@dataclass
class Told:
    """What was published and confirmed, kept where no crash reaches it: by instance, how many."""

    confirmed: set[bytes] = field(default_factory=set)
    next: dict[str, int] = field(default_factory=dict)


def simulate(world: World, make: MakeConsumer = Consumer) -> list[str]:
    """Run it in a world; answer what was found wrong."""
    return world.run(partial(_story, make=make))


async def _story(world: World, make: MakeConsumer) -> list[str]:
    ledger, told = Ledger({}), Told()
    database = _template().fresh(world.clock)
    weather = Weather(world, ledger)
    places = [_Place(world, weather, database, told, number, make) for number in range(INSTANCES)]
    lives = [world.outside(place.live_again_and_again(), place.name) for place in places]
    await asyncio.sleep(STORMY_SECONDS)
    world.note("world", "it is calm")
    ledger.calm = True
    await _until_all_is_read(database, told)
    wrong = [f"{life.get_name()} gave up: {life.exception()!r}" for life in lives if life.done()]
    for life in lives:
        life.cancel()
    return wrong + await database.read(partial(_judge, told=told))


async def _until_all_is_read(database: Database, told: Told) -> None:
    for _ in range(CALM_SECONDS):
        await asyncio.sleep(1)
        if len(told.confirmed) == INSTANCES * MESSAGES_EACH and await database.read(_is_all_read):
            return


def _is_all_read(connection: Connection) -> bool:
    rows = connection.execute(select(bus_position).where(bus_position.c.topic == TOPIC)).all()
    heads = {row.partition: row.position for row in rows if row.group_id == NOBODY}
    at = {(row.group_id, row.partition): row.position for row in rows if row.group_id != NOBODY}
    return all(at.get((group, place)) == head for group in GROUPS for place, head in heads.items())


# --- judging ---------------------------------------------------------------------------------------


def _judge(connection: Connection, told: Told) -> list[str]:
    """What is wrong with what became of the messages."""
    published = _published(connection, TOPIC)
    there = {value for _, _, value in published}
    wrong = [f"{value!r} was confirmed, and is not there" for value in told.confirmed - there]
    good = [(place, offset) for place, offset, value in published if not _is_unwanted(value)]
    unwanted = [(place, offset) for place, offset, value in published if _is_unwanted(value)]
    for group in GROUPS:
        wrong += [f"{group}: {each}" for each in _judge_effects(group, _effects(connection, group), good)]
    return wrong + _judge_letters(connection, unwanted)


def _judge_effects(
    group: str, effects: Sequence[tuple[int, int]], good: Sequence[tuple[int, int]]
) -> list[str]:
    first: list[tuple[int, int]] = []
    wrong: list[str] = []
    for effect in effects:
        if effect not in first:
            first.append(effect)
        elif group == EXACTLY:
            wrong.append(f"{effect} was handled twice")
    wrong += [f"{each} was never handled" for each in good if each not in first]
    wrong += [f"{each} was handled, and should not have been" for each in first if each not in good]
    for partition in {place for place, _ in first}:
        offsets = [offset for place, offset in first if place == partition]
        if offsets != sorted(offsets):
            wrong.append(f"partition {partition} was handled in the order {offsets}")
    return wrong


def _judge_letters(connection: Connection, unwanted: Sequence[tuple[int, int]]) -> list[str]:
    rows = list(connection.scalars(select(dead_letter.c.key)))
    names = [f"{TOPIC}/{place}/{offset}" for place, offset in unwanted]
    wrong = [f"{name} has {rows.count(name)} dead letters" for name in names if rows.count(name) != 1]
    wrong += [f"{name} has a dead letter, and should not" for name in rows if name not in names]
    buried = {value for _, _, value in _published(connection, dead_letter_topic(TOPIC))}
    sent = {value for _, _, value in _published(connection, TOPIC) if _is_unwanted(value)}
    return wrong + [f"{value!r} is not among the dead messages" for value in sent - buried]


def _published(connection: Connection, topic: str) -> list[tuple[int, int, bytes]]:
    chosen = select(bus_message).where(bus_message.c.topic == topic)
    rows = connection.execute(chosen.order_by(bus_message.c.partition, bus_message.c.offset))
    return [(row.partition, row.offset, row.value) for row in rows]


def _effects(connection: Connection, group: str) -> list[tuple[int, int]]:
    chosen = select(audit_log.c.entity_id).where(audit_log.c.entity_type == group).order_by(audit_log.c.id)
    names = (name.split("/") for name in connection.scalars(chosen))
    return [(int(partition), int(offset)) for _, partition, offset in names]


def _is_unwanted(value: bytes) -> bool:
    return value.startswith((BAD, POISON))


# --- instances -------------------------------------------------------------------------------------


class _Place:
    """Where an instance runs, crashes, and starts again under the same name."""

    def __init__(
        self, world: World, weather: Weather, database: Database, told: Told, number: int, make: MakeConsumer
    ) -> None:
        self.name = f"instance-{number}"
        self._world, self._weather, self._database, self._make = world, weather, database, make
        self._told, self._chance = told, world.chance(self.name)

    async def live_again_and_again(self) -> None:
        await self._weather.live_again_and_again(self.name, self._live, self._chance)

    async def _live(self) -> None:
        database = FaultyDatabase(self._database, self._world, self._weather.over_database())
        owner = f"{self.name}/{self._world.ids.new()}"
        bus = EmbeddedBus(database, GroupCommitter(database), owner, f"{self.name}/", LEASE)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._publish(bus))
            for group in GROUPS:
                tasks.create_task(self._consumer(bus, database, group).run())

    def _consumer(self, bus: EmbeddedBus, database: Database, group: str) -> Consumer:
        return self._make(
            bus,
            group,
            _topics,
            Recording(partial(_handle, database, group)),
            RejectedMessages(database),
            self._world.clock,
            _Nobody(),
            TROUBLE,
            ConsumerPositions(database) if group == EXACTLY else None,
        )

    async def _publish(self, bus: EmbeddedBus) -> None:
        """Whoever has no answer sends again: a message may be there twice."""
        while (number := self._told.next.get(self.name, 0)) < MESSAGES_EACH:
            value = self._value(number)
            try:
                await bus.publish([Outgoing(TOPIC, value, f"key-{number % KEYS}".encode())])
            except (BusAway, DBAPIError):
                continue
            self._told.confirmed.add(value)
            self._told.next[self.name] = number + 1
            await asyncio.sleep(self._chance.random() * 0.4)

    def _value(self, number: int) -> bytes:
        kind = {3: BAD, 7: POISON}.get(number % 10, b"good")
        return kind + f" {self.name} {number}".encode()


async def _topics() -> Collection[str]:
    return (TOPIC,)


async def _handle(database: Database, group: str, batch: Batch) -> Sequence[Rejected]:
    """Writes down each message; what is bad it rejects, and what is poison makes it fail."""
    bad = [Rejected(each, "BAD", "no good") for each in batch.messages if _begins(each, BAD)]
    if bad and group == EXACTLY:
        raise Refused(bad)
    if any(_begins(each, POISON) for each in batch.messages):
        raise ValueError("poison")
    rows = [_effect(group, each) for each in batch.messages if not _begins(each, BAD)]

    def work(connection: Connection) -> None:
        record_positions(connection, batch.positions)
        if rows:
            connection.execute(insert(audit_log), rows)

    await database.write(work)
    return bad


def _begins(message: Message, how: bytes) -> bool:
    return (message.value or b"").startswith(how)


def _effect(group: str, message: Message) -> dict[str, object]:
    told = {"action": "handle", "actor": "", "details": {}, "created_at": message.at}
    return {"entity_type": group, "entity_id": message.name, **told}


@cache
def _template() -> Template:
    return Template(metadata.create_all)


class _Nobody:
    """Hears, and tells nobody."""

    def handled(self, messages: Sequence[Message]) -> None:
        return

    def rejected(self, rejected: Sequence[Rejected]) -> None:
        return

    def waiting(self, group: str, lag: Mapping[Place, int]) -> None:
        return
