"""Stored events once more: the same through the same version, and different where a draft is."""

from collections.abc import AsyncIterator
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from clocks import FakeClock
from muster.app.watched import backtest
from muster.definitions.library import Invalid, NotFound
from muster.kit.ids import TimeOrderedIds
from muster.model.access import Caller, How, Role
from muster.store.database import Database
from muster.store.migrations import migrate
from muster.store.open import inline_database
from muster.store.tables import expected_start, workflow_version
from muster.store.watch_starts import ExpectedStarts
from muster.watch.backtest import Asked, Backtest
from muster.watch.replay import Report
from muster.watch.traffic import DEMO_TRADES, traffic
from watch_house import EVERY_STAGE, NOON, WatchHouse, event
from watched_trade import TRADE

ANN = Caller("ann", frozenset({Role.VIEWER}), None, How.TOKEN)


@pytest.fixture
async def house(database: Database) -> AsyncIterator[WatchHouse]:
    made = WatchHouse(database)
    yield made
    await made.close()


@pytest.fixture
def replaying(database: Database) -> Backtest:
    return backtest(database, TimeOrderedIds(), FakeClock(NOON + timedelta(days=1)))


async def a_morning(house: WatchHouse) -> None:
    await house.watch()
    await house.take(*(event("TRADE_INGEST", f"TR{n}", NOON + timedelta(minutes=n)) for n in range(5)))
    for n in (0, 1):
        for _ in range(2):
            await house.take(event("SYS2_VERIFIED", f"TR{n}", NOON + timedelta(minutes=n + 3)))
    await house.take(event("SYS3_ACK", "TR0", NOON + timedelta(minutes=7)))
    await house.take(event("SYS3_ACK", "TR4", NOON + timedelta(minutes=8)))
    while await house.due.fire(100):
        pass


def differences(report: Report) -> dict[str, int]:
    parts = {"runs": report.runs, "misses": report.misses, "alerts": report.alerts}
    return {name: part.differences for name, part in parts.items()}


async def test_through_the_same_version_everything_is_as_it_was(
    house: WatchHouse, replaying: Backtest
) -> None:
    await a_morning(house)
    before = [await house.runs(), await house.expectations(), await house.alerts(), await house.totals()]
    done = await replaying.run(Asked("trade-lifecycle"), ANN, 1000)
    assert (done.report.events, done.version, done.truncated) == (11, 1, False)
    assert differences(done.report) == {"runs": 0, "misses": 0, "alerts": 0}
    assert (done.report.runs.now, done.report.misses.now, done.report.alerts.now) == (5, 4, 5)
    after = [await house.runs(), await house.expectations(), await house.alerts(), await house.totals()]
    assert after == before


async def test_a_draft_says_what_would_be_different(house: WatchHouse, replaying: Backtest) -> None:
    await a_morning(house)
    draft: dict[str, Any] = deepcopy(TRADE["graph"])
    draft["edges"][0] |= {"maxLatencySec": 60, "expectedCount": 1}
    done = await replaying.run(Asked("trade-lifecycle", graph=draft), ANN, 1000)
    assert done.version is None
    # All five are verified after more than a minute, or not at all; and what is verified once more than was
    # expected is to be acknowledged once more.
    assert (done.report.misses.now, done.report.misses.replayed) == (4, 7)
    assert ("TR0", "sys2-verify") in done.report.misses.only_replayed
    assert done.report.differs
    draft["edges"][0]["to"] = "nowhere"
    with pytest.raises(Invalid):
        await replaying.run(Asked("trade-lifecycle", graph=draft), ANN, 1000)
    with pytest.raises(NotFound):
        await replaying.run(Asked("trade-lifecycle", version=7), ANN, 1000)


async def test_a_stretch_of_time_is_replayed_without_what_was_under_way(
    house: WatchHouse, replaying: Backtest
) -> None:
    await a_morning(house)
    since = NOON + timedelta(minutes=2)
    done = await replaying.run(Asked("trade-lifecycle", since=since), ANN, 1000)
    assert done.left_out >= 2
    assert (done.report.runs.now, done.report.runs.replayed) == (3, 3)
    assert differences(done.report) == {"runs": 0, "misses": 0, "alerts": 0}
    few = await replaying.run(Asked("trade-lifecycle"), ANN, 4)
    assert (few.truncated, few.report.events) == (True, 4)


async def replayed(replaying: Backtest, key: str = "trade-lifecycle") -> dict[str, int]:
    return differences((await replaying.run(Asked(key), ANN, 1000)).report)


SAME = {"runs": 0, "misses": 0, "alerts": 0}


async def test_what_an_alert_was_about_before_a_miss_it_is_about_in_a_replay(
    house: WatchHouse, replaying: Backtest
) -> None:
    await house.watch()
    # Out of order, then expected once more and missed.
    await house.take(event("SYS3_ACK"), event("SYS2_VERIFIED"), event("SYS2_VERIFIED"))
    assert await house.due.fire(100) == 1
    assert [row["reason"] for row in await house.alerts()] == ["ORDER_VIOLATION"] * 2
    assert await replayed(replaying) == SAME


@pytest.mark.parametrize("looked", [True, False])
async def test_whether_it_was_missed_before_it_came_late_makes_no_difference(
    house: WatchHouse, replaying: Backtest, looked: bool
) -> None:
    await house.watch()
    await house.take(event("TRADE_INGEST"))
    if looked:
        assert await house.due.fire(100) == 2
    late = NOON + timedelta(minutes=5, milliseconds=200)
    await house.take(event("SYS2_VERIFIED", at=late), event("SYS2_VERIFIED", at=late))
    await house.due.fire(100)
    reasons = {(row["node_key"], row["reason"]) for row in await house.alerts()}
    assert ("sys2-verify", "EXPECTED_MISSED" if looked else "SLA_MISSED") in reasons
    done = await replaying.run(Asked("trade-lifecycle"), ANN, 1000)
    assert differences(done.report) == SAME
    assert done.report.misses.now == 2


@pytest.mark.parametrize("key", [None, "the-file", "in-{date}"])
@pytest.mark.parametrize("comes", ["in time", "late", "never"])
async def test_starts_that_are_expected_by_the_clock_are_expected_in_a_replay(
    house: WatchHouse, key: str | None, comes: str
) -> None:
    expected = {"cron": "0 6 * * *", "graceSec": 60} | ({"key": key} if key else {})
    nodes = [{"key": "file", "eventType": "FILE_CAME", "start": True, "expectStart": expected}]
    files = {"name": "Files", "key": "files", "graph": {"nodes": nodes, "edges": []}}
    version = await house.watch(files)
    due = house.due
    starts = ExpectedStarts(house.database, due.graphs, EVERY_STAGE, due.topics, due.wanted)
    assert await starts.look() == 1
    now = datetime.now(UTC)
    six = now.replace(hour=6, minute=0, second=0, microsecond=0)
    six = six if six + timedelta(minutes=2) < now else six - timedelta(days=1)
    made = update(workflow_version).where(workflow_version.c.id == version)
    for change in (
        made.values(created_at=six - timedelta(hours=20)),
        update(expected_start).values(next_at=six),
    ):
        await house.database.write(lambda connection, each=change: connection.execute(each))
    assert await starts.open(10) == 1
    named = (key or "whatever").replace("{date}", six.date().isoformat())
    if comes == "in time":
        await house.take(event("FILE_CAME", named, six, group=None))
    await house.due.fire(10)
    if comes == "late":
        await house.take(event("FILE_CAME", named, six + timedelta(minutes=2), group=None))
    again = backtest(house.database, TimeOrderedIds(), FakeClock(now))
    assert await replayed(again, "files") == SAME
    assert len(await house.alerts()) == (comes != "in time")


@pytest.mark.parametrize("every", [1, 7, None])
async def test_trades_with_their_usual_mishaps_are_in_a_replay_as_they_were(every: int | None) -> None:
    """However often somebody looks whether something is missing: every so many seconds, or only in the end.
    Time passes where the clock is moved."""
    clock = FakeClock(NOON)
    simulated = inline_database(clock=clock)
    await migrate(simulated)
    house = WatchHouse(simulated)
    await house.watch(DEMO_TRADES)
    looked = 0.0
    for timed in traffic(5.0, 4711, trades=400):
        while every is not None and timed.at - looked >= every:
            looked += every
            clock.forward(seconds=(NOON + timedelta(seconds=looked) - clock.now()).total_seconds())
            await house.due.fire(1000)
        told, at = timed.event, NOON + timedelta(seconds=timed.at)
        named = {"event_id": told["eventId"], "source_system": "demo", "group": told["group"]}
        await house.take(event(told["eventType"], told["correlationKey"], at, **named))
    clock.forward(hours=1)
    while await house.due.fire(1000):
        pass
    done = await backtest(simulated, TimeOrderedIds(), clock).run(Asked("demo-trades"), ANN, 10_000)
    assert differences(done.report) == SAME
    assert min(done.report.runs.now - 399, done.report.misses.now, done.report.alerts.now) > 0
    await house.close()
    await simulated.close()
