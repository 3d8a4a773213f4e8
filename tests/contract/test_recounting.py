"""The counts equal what happened; where they do not, it is found and mended."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, delete, update
from sqlalchemy.util import await_only

from muster.model.access import Caller, How, Role
from muster.store import recounting
from muster.store.database import Database
from muster.store.recounting import Recounting
from muster.store.tables import stage_aggregate, stage_aggregate_day, stage_aggregate_hour
from muster.watch.rollups import Grain
from watch_house import NOON, WatchHouse, event
from watch_lives import live_through_everything

OPERATOR = Caller("ann", frozenset({Role.OPERATOR}), None, How.TOKEN)


@pytest.fixture
async def house(database: Database) -> AsyncIterator[WatchHouse]:
    made = WatchHouse(database)
    yield made
    await made.close()


async def test_what_was_counted_is_what_happened(house: WatchHouse) -> None:
    await live_through_everything(house)
    verdict = await Recounting(house.database).verify()
    assert verdict.buckets > 10
    assert verdict.differences == []


async def test_what_comes_meanwhile_and_counts_as_received_long_ago_is_not_too_much(
    house: WatchHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a backlog is read: it came while nobody was there."""
    await live_through_everything(house)
    loop, counted = asyncio.get_running_loop(), recounting._counted

    def late_to_be_read(connection: Connection, until: datetime) -> Any:
        taking = house.take(event("TRADE_INGEST", "TR9"))
        if house.database.dialect_name == "sqlite":  # this is another thread
            asyncio.run_coroutine_threadsafe(taking, loop).result()
        else:
            await_only(taking)
        return counted(connection, until)

    monkeypatch.setattr(recounting, "_counted", late_to_be_read)
    assert (await Recounting(house.database).verify()).differences == []
    assert {run["correlation_key"] for run in await house.runs()} >= {"TR9"}


async def test_counts_that_were_lost_or_changed_are_found_and_mended(house: WatchHouse) -> None:
    await live_through_everything(house)
    before = [
        await house.rows(table) for table in (stage_aggregate, stage_aggregate_hour, stage_aggregate_day)
    ]
    wrong = [
        # What was written just now is not held against anything.
        delete(stage_aggregate).where(
            stage_aggregate.c.node_key == "sys2-verify",
            stage_aggregate.c.bucket_start < NOON + timedelta(days=3),
        ),
        update(stage_aggregate_hour)
        .where(stage_aggregate_hour.c.node_key == "ingest")
        .values(completed=stage_aggregate_hour.c.completed + 5),
        delete(stage_aggregate_day),
    ]
    for statement in wrong:
        await house.database.write(lambda connection, each=statement: connection.execute(each).rowcount)
    again = Recounting(house.database)
    verdict = await again.verify()
    assert {each.grain for each in verdict.differences} == set(Grain)
    [hour] = [each for each in verdict.differences if each.grain is Grain.HOUR]
    assert (hour.cell[2], hour.counted[1] - hour.happened[1]) == ("ingest", 5)
    await again.repair(verdict.differences)
    assert (await again.verify()).differences == []
    after = [
        await house.rows(table) for table in (stage_aggregate, stage_aggregate_hour, stage_aggregate_day)
    ]
    nonzero = [[row for row in rows if any(list(row.values())[4:])] for rows in before]
    assert after == nonzero
