"""Stored events once more: the same through the same version, and different where a draft is."""

from collections.abc import AsyncIterator
from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest

from clocks import FakeClock
from muster.app.watched import backtest
from muster.definitions.library import Invalid, NotFound
from muster.kit.ids import TimeOrderedIds
from muster.model.access import Caller, How, Role
from muster.store.database import Database
from muster.watch.backtest import Asked, Backtest
from muster.watch.replay import Report
from watch_house import NOON, WatchHouse, event
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
