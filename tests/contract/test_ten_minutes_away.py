"""Muster is away for ten minutes, by a clock that is put forward, while events go on coming to their topic:
of what came nothing is missed or late for that, and what did not come is missed."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import orjson
import pytest

from clocks import FakeClock
from muster.definitions.limits import Limits
from muster.engine.bus import Batch, Outgoing
from muster.store.bus import EmbeddedBus
from muster.store.committer import GroupCommitter
from muster.store.database import Database
from muster.store.migrations import migrate
from muster.store.open import inline_database
from muster.store.watch_presence import WatchPresence
from muster.watch.attendance import Attendance
from muster.watch.envelope import Bounds
from muster.watch.intake import TopicIntake
from muster.watch.messages import instant
from muster.watch.stages import Stage
from watch_house import NOON, WatchHouse

GRACE = timedelta(minutes=1)
CAME, SILENT = [f"TR{n}" for n in range(40)], ["TR-silent"]


class Unseen:
    def took(self, events: int, duplicates: int, unmatched: int, how: str) -> None:
        return

    def refused(self, events: int, how: str) -> None:
        raise AssertionError(f"{events} were refused")


class Process:
    """One life of an instance that watches."""

    def __init__(self, database: Database, clock: FakeClock, number: int) -> None:
        self.watch = WatchHouse(database, grace=GRACE)
        self._committer = GroupCommitter(database)
        bus = EmbeddedBus(database, self._committer, f"here/{number}", "here/", timedelta(seconds=30))
        self.bus, self.member = bus, bus.member("muster-watch")
        self._attendance = Attendance(WatchPresence(database, Stage.INGEST, "here", GRACE))
        self._intake = TopicIntake(
            self.watch.feed, Bounds(), clock, Limits(), Unseen(), absence=self._attendance.absence
        )

    async def begin(self) -> None:
        await self.member.subscribe(["events.raw"])

    async def beat(self) -> None:
        await self._attendance.beat(self.member)

    async def read(self, most: int) -> int:
        messages = await self.member.fetch(most, 0)
        if messages:
            await self._intake(Batch(messages))
            await self.member.record({each.place: each.offset + 1 for each in messages})
        return len(messages)

    async def fire(self) -> int:
        return await self.watch.due.fire(1_000)

    async def end(self) -> None:
        await self.watch.close()
        await self._committer.close()


@pytest.fixture
async def clock() -> FakeClock:
    return FakeClock(NOON)


@pytest.fixture
async def simulated(clock: FakeClock) -> AsyncIterator[Database]:
    made = inline_database(clock=clock)
    await migrate(made)
    yield made
    await made.close()


def message(type_: str, key: str, clock: FakeClock) -> Outgoing:
    told: dict[str, Any] = {
        "eventType": type_,
        "eventTime": instant(clock.now()),
        "correlationKey": key,
        "group": {"book": "EQD", "region": "NY"},
    }
    return Outgoing("events.raw", orjson.dumps(told), key.encode())


async def test_of_what_came_meanwhile_nothing_is_missed_or_late(
    simulated: Database, clock: FakeClock
) -> None:
    before = Process(simulated, clock, 1)
    await before.begin()
    await before.watch.watch()
    await before.beat()
    await before.bus.publish([message("TRADE_INGEST", key, clock) for key in CAME + SILENT])
    while await before.read(100):
        pass
    assert len(await before.watch.runs()) == 41

    # Others go on: what is due after five minutes, twice, comes after two and after four.
    clock.forward(seconds=120)
    await before.bus.publish([message("SYS2_VERIFIED", key, clock) for key in CAME])
    clock.forward(seconds=120)
    await before.bus.publish([message("SYS2_VERIFIED", key, clock) for key in CAME])
    await before.end()
    clock.forward(seconds=360)

    after = Process(simulated, clock, 2)
    await after.begin()
    assert await after.fire() == 0, "before it has said that it is there"
    for _ in range(200):
        await after.beat()
        assert await after.fire() == 0
        if not await after.read(8):
            break
        clock.forward(seconds=1)
    assert not await after.watch.alerts()
    for _ in range(40):
        clock.forward(seconds=2)
        await after.beat()
        await after.fire()
    assert {each["correlation_key"] for each in await after.watch.alerts()} == {*SILENT, *CAME}
    by_node = {(each["correlation_key"], each["node_key"]) for each in await after.watch.alerts()}
    # What was silent was never verified; what was verified has yet to be acknowledged, and is not.
    assert by_node == {("TR-silent", "sys2-verify")} | {(key, "sys3-ack") for key in CAME}
    assert not any(each["late"] for each in await after.watch.occurrences())
    await after.end()
