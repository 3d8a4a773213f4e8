"""The counts equal what happened; where they do not, it is found and mended."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from sqlalchemy import delete, update

from muster.model.access import Caller, How, Role
from muster.store.database import Database
from muster.store.recounting import Recounting
from muster.store.tables import stage_aggregate, stage_aggregate_day, stage_aggregate_hour
from muster.watch.rollups import Grain
from watch_house import NOON, WatchHouse
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
    recounting = Recounting(house.database)
    verdict = await recounting.verify()
    assert {each.grain for each in verdict.differences} == set(Grain)
    [hour] = [each for each in verdict.differences if each.grain is Grain.HOUR]
    assert (hour.cell[2], hour.counted[1] - hour.happened[1]) == ("ingest", 5)
    await recounting.repair(verdict.differences)
    assert (await recounting.verify()).differences == []
    after = [
        await house.rows(table) for table in (stage_aggregate, stage_aggregate_hour, stage_aggregate_day)
    ]
    nonzero = [[row for row in rows if any(list(row.values())[4:])] for rows in before]
    assert after == nonzero
