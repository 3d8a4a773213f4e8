"""A thousand schedules that come due in the same second, and four instances that look: each fires once."""

import asyncio
import sys
from datetime import timedelta

import pytest
from sqlalchemy import Connection

from engine_house import Told
from muster.kit.loop import Loop
from muster.model.schedule import ScheduleOrigin
from muster.model.workflow import Schedule
from muster.store.database import Database
from muster.store.dialect import insert_rows, now
from muster.store.open import open_database
from muster.store.schedule_rows import new_row
from muster.store.tables import workflow_schedule
from polling import until
from scheduled_house import TROUBLE, E, Scheduled

SCHEDULES, INSTANCES = 1_000, 4
NODE = {"id": "a", "type": "NOOP"}


@pytest.mark.parametrize(
    "database_url", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)
async def test_each_fires_once(database: Database, database_url: str) -> None:
    """Each instance has its own connections and its own loop, as processes have."""
    others = [open_database(database_url) for _ in range(INSTANCES - 1)]
    houses = [Scheduled(each, Told(), f"h{number}") for number, each in enumerate([database, *others])]
    await houses[0].save("w", NODE)
    await database.write(put_schedules)
    loops = [Loop("schedules", house.occurrences.timetable, TROUBLE) for house in houses]
    running = [asyncio.create_task(loop.run()) for loop in loops]

    async def all_started() -> bool:
        return sum(len(house.lateness) for house in houses) >= SCHEDULES

    await until(all_started, every=0.1)
    for loop in loops:
        await loop.stop()
    await asyncio.gather(*running)
    rows = await houses[0].rows(E.trigger_id.is_not(None))
    assert len({row.trigger_id for row in rows}) == len(rows) == SCHEDULES
    outcomes = [each for house in houses for each in house.outcomes]
    assert outcomes == ["started"] * SCHEDULES
    late = sorted(each for house in houses for each in house.lateness)
    shares = "/".join(str(len(house.lateness)) for house in houses)
    middle, ninety_nine = late[len(late) // 2], late[len(late) * 99 // 100]
    sys.stdout.write(f"\n{SCHEDULES} schedules in one second, {INSTANCES} instances ({shares}): ")
    sys.stdout.write(f"late p50 {middle:.3f} s, p99 {ninety_nine:.3f} s, most {late[-1]:.3f} s\n")
    for each in others:
        await each.close()


def put_schedules(connection: Connection) -> None:
    """All for the same second of every day, which is about to come."""
    at = now(connection)
    soon = at + timedelta(seconds=3)
    daily = Schedule("CRON", cron_expression=f"{soon.second} {soon.minute} {soon.hour} * * *")
    rows = [new_row(f"s{number:04}", "w", "", ScheduleOrigin.API, daily, at) for number in range(SCHEDULES)]
    insert_rows(connection, workflow_schedule, rows)
