"""What was watched long ago goes, in bounded steps; what is not over stays; idle runs come to their end."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from muster.app.watched import backtest
from muster.engine.housekeeping import Expiring
from muster.kit.clock import SystemClock
from muster.kit.ids import TimeOrderedIds
from muster.model.access import Caller, How, Role
from muster.store.committer import GroupCommitter
from muster.store.database import Database
from muster.store.recounting import Recounting
from muster.store.tables import alert, stage_aggregate, watch_horizon
from muster.store.watch_feed import EventFeed
from muster.store.watch_idle import IdleRuns
from muster.store.watch_retention import OldRuns, old_events
from muster.store.watch_rules import Rules
from muster.store.watched_graphs import WatchedGraphs
from muster.watch.backtest import Asked
from muster.watch.posting import TopicNames
from watch_house import EVERY_STAGE, WatchHouse, event

ANN = Caller("ann", frozenset({Role.VIEWER}), None, How.TOKEN)
MONTH = timedelta(days=30)
LONG_AGO = datetime.now(UTC) - timedelta(days=100)
WHOLE = ("TRADE_INGEST", "SYS2_VERIFIED", "SYS2_VERIFIED", "SYS3_ACK", "SYS4_SETTLED")


@pytest.fixture
async def house(database: Database) -> AsyncIterator[WatchHouse]:
    made = WatchHouse(database)
    yield made
    await made.close()


async def traded(house: WatchHouse, key: str, at: datetime) -> None:
    await house.take(*(event(type_, key, at) for type_ in WHOLE))


async def test_old_events_go_a_few_at_a_time(house: WatchHouse) -> None:
    await traded(house, "OLD", LONG_AGO)
    await traded(house, "NEW", datetime.now(UTC))
    old = old_events(house.database, MONTH)
    assert [await old.forget_expired(3) for _ in range(3)] == [3, 2, 0]
    assert {row["correlation_key"] for row in await house.raw()} == {"NEW"}


async def test_runs_that_were_over_long_ago_go_with_all_that_is_theirs(house: WatchHouse) -> None:
    await house.watch()
    for key in ("A", "B", "C"):
        await traded(house, key, LONG_AGO)
    await traded(house, "NEW", datetime.now(UTC))
    counted = await house.totals()
    old = OldRuns(house.database, MONTH)
    assert [await old.forget_expired(2) for _ in range(3)] == [2, 1, 0]
    [run] = await house.runs()
    assert run["correlation_key"] == "NEW"
    assert {row["workflow_run_id"] for row in await house.occurrences()} == {run["id"]}
    assert {row["workflow_run_id"] for row in await house.expectations()} == {run["id"]}
    assert await house.totals() == counted, "what was counted stays"


async def test_what_is_not_over_stays_however_old(house: WatchHouse) -> None:
    await house.watch()
    await house.take(event("TRADE_INGEST", "PENDING", LONG_AGO))
    await traded(house, "ALERTED", LONG_AGO)
    await traded(house, "LATER", LONG_AGO)
    await house.take(event("SYS3_ACK", "LATER", datetime.now(UTC)))
    runs = {run["correlation_key"]: run["id"] for run in await house.runs()}
    await house.take(event("SYS3_ACK", "ALERTED", LONG_AGO))
    assert {(a["correlation_key"], a["state"]) for a in await house.alerts()} >= {("ALERTED", "open")}
    assert await OldRuns(house.database, MONTH).forget_expired(100) == 0
    assert {run["correlation_key"] for run in await house.runs()} == runs.keys()
    resolved = update(alert).where(alert.c.correlation_key == "ALERTED").values(state="resolved")
    await house.database.write(lambda connection: connection.execute(resolved))
    assert await OldRuns(house.database, MONTH).forget_expired(100) == 1
    assert "ALERTED" not in {run["correlation_key"] for run in await house.runs()}


async def test_counts_are_held_against_what_is_still_there(house: WatchHouse) -> None:
    await house.watch()
    await traded(house, "OLD", LONG_AGO)
    await traded(house, "NEW", datetime.now(UTC) - timedelta(days=2))
    await OldRuns(house.database, MONTH).forget_expired(100)
    verdict = await Recounting(house.database).verify()
    assert verdict.differences == []
    assert verdict.since is not None
    [horizon] = await house.rows(watch_horizon)
    assert horizon["name"] == "runs"
    assert horizon["at"] == verdict.since
    spoilt = update(stage_aggregate).values(completed=stage_aggregate.c.completed + 1)
    await house.database.write(lambda connection: connection.execute(spoilt))
    found = (await Recounting(house.database).verify()).differences
    assert found, "what is still there is looked at"
    assert all(each.cell[3] >= verdict.since for each in found)


@pytest.mark.parametrize("gone", [OldRuns, old_events])
async def test_a_replay_begins_where_everything_is_still_there(
    house: WatchHouse, gone: Callable[[Database, timedelta], Expiring]
) -> None:
    await house.watch()
    await traded(house, "OLD", LONG_AGO)
    await traded(house, "NEW", datetime.now(UTC) - timedelta(days=2))
    assert await gone(house.database, MONTH).forget_expired(100) > 0
    replaying = backtest(house.database, TimeOrderedIds(), SystemClock())
    done = await replaying.run(Asked("trade-lifecycle"), ANN, 1_000)
    assert (done.report.events, done.report.runs.now, done.report.differs) == (5, 1, False)
    assert done.since is not None


async def test_an_event_that_comes_again_after_it_was_forgotten_is_not_applied_twice(
    database: Database,
) -> None:
    house, committer = WatchHouse(database), GroupCommitter(database)
    rules = Rules(WatchedGraphs(), MONTH)
    feed = EventFeed(database, [committer], rules, EVERY_STAGE, TopicNames(), lambda: ())
    await house.watch()
    began = event("TRADE_INGEST", at=LONG_AGO)
    await feed.take([began])
    assert await old_events(database, MONTH).forget_expired(10) == 1
    again = event("TRADE_INGEST", at=LONG_AGO, event_id=began.event_id, received_at=datetime.now(UTC))
    await feed.take([again, event("SYS2_VERIFIED", at=datetime.now(UTC))])
    assert [o["node_key"] for o in await house.occurrences()] == ["ingest", "sys2-verify"]
    assert (await house.totals())["ingest"] == (0, 1, 0, 0)
    await committer.close()
    await house.close()


async def test_an_idle_run_is_over_after_a_while(house: WatchHouse) -> None:
    await house.watch()
    await house.take(*(event(type_, "IDLE", LONG_AGO) for type_ in WHOLE[:4]))
    await house.take(*(event(type_, "BUSY", datetime.now(UTC)) for type_ in WHOLE[:4]))
    await house.take(event("TRADE_INGEST", "PENDING", LONG_AGO))
    idle = IdleRuns(house.database, timedelta(days=7))
    assert [await idle.finish(10), await idle.finish(10)] == [1, 0]
    over = {run["correlation_key"] for run in await house.runs() if run["finished_at"]}
    assert over == {"IDLE"}
    await house.take(event("TRADE_INGEST", "IDLE", datetime.now(UTC)))
    numbers = select(stage_aggregate.c.completed).where(stage_aggregate.c.node_key == "ingest")
    assert len(await house.database.read(lambda connection: connection.execute(numbers).all())) >= 2
    assert [run["run_no"] for run in await house.runs() if run["correlation_key"] == "IDLE"] == [1, 2]
