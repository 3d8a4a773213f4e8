"""Schedules go off with their workflow when it is archived, and on with it when it is active again."""

from dataclasses import replace
from datetime import timedelta

import pytest

from muster.engine.schedules import Archived
from muster.model.json import JsonObject
from muster.model.schedule import ScheduleStatus, StoredSchedule
from muster.model.stored import Page
from muster.model.workflow import Schedule
from muster.store.database import Database
from scheduled_house import ADA, Scheduled, last_minute, text

DAILY = {"scheduleType": "CRON", "cronExpression": "0 9 * * *"}
WEEKLY = {"scheduleType": "CRON", "cronExpression": "0 9 * * MON"}
RESTING = {"scheduleType": "CRON", "cronExpression": "0 9 1 * *", "status": "INACTIVE"}
YEARLY = Schedule("CRON", cron_expression="0 0 1 1 *")
ON, OFF = ScheduleStatus.ACTIVE, ScheduleStatus.INACTIVE


def document(*blocks: dict[str, str]) -> JsonObject:
    return {
        "workflow": {"key": "w", "name": "w", "nodes": [{"id": "a", "type": "NOOP"}]},
        "schedule": [dict(each) for each in blocks],
    }


@pytest.fixture
def house(database: Database) -> Scheduled:
    return Scheduled(database)


async def standing(house: Scheduled) -> dict[str | None, StoredSchedule]:
    found, _ = await house.scheduling.list(ADA, Page(50, None))
    return {each.schedule.cron_expression: each for each in found}


async def on(house: Scheduled) -> set[str | None]:
    """Those that are on; they all have a next time, and the others have none."""
    found = await standing(house)
    assert {cron for cron, each in found.items() if each.next_run_at} == {
        cron for cron, each in found.items() if each.is_active
    }
    return {cron for cron, each in found.items() if each.is_active}


async def test_what_was_on_when_it_was_archived_is_on_when_it_is_active_again(house: Scheduled) -> None:
    await house.library.create(document(DAILY, WEEKLY, RESTING), ADA)
    await house.make(YEARLY)
    before = await standing(house)
    await house.scheduling.switch(before["0 9 * * MON"].id, OFF, ADA)
    await house.put_back(before["0 9 * * *"].id, last_minute() - timedelta(days=3))
    await house.library.archive("w", ADA)
    assert await on(house) == set()
    await house.library.activate("w", 1, ADA)
    assert await on(house) == {"0 9 * * *", "0 0 1 1 *"}
    after = await standing(house)
    assert {each.id for each in after.values()} == {each.id for each in before.values()}
    # What passed in between is not made up for.
    following = after["0 9 * * *"].next_run_at
    assert following is not None
    assert following > last_minute()


async def test_another_version_has_its_own_after_archiving_too(house: Scheduled) -> None:
    await house.library.create(document(DAILY), ADA)
    await house.library.archive("w", ADA)
    await house.library.update("w", document(DAILY, WEEKLY), ADA, activate=True)
    assert await on(house) == {"0 9 * * *", "0 9 * * MON"}


async def test_what_somebody_has_switched_since_it_was_archived_stays_so(house: Scheduled) -> None:
    await house.library.create(document(DAILY, WEEKLY), ADA)
    before = await standing(house)
    await house.library.archive("w", ADA)
    await house.scheduling.switch(before["0 9 * * *"].id, OFF, ADA)
    with pytest.raises(Archived):
        await house.scheduling.switch(before["0 9 * * MON"].id, ON, ADA)
    await house.library.activate("w", 1, ADA)
    assert await on(house) == {"0 9 * * MON"}
    await house.library.archive("w", ADA)
    await house.library.activate("w", 1, ADA)
    assert await on(house) == {"0 9 * * MON"}


async def test_one_that_is_changed_while_its_workflow_is_archived(house: Scheduled) -> None:
    await house.library.create(document(DAILY), ADA)
    kept, off = await house.make(YEARLY), await house.make(YEARLY)
    await house.library.archive("w", ADA)
    monthly, weekly = (replace(YEARLY, cron_expression=each) for each in ("0 0 1 * *", "0 0 * * SUN"))
    await house.scheduling.replace(kept.id, monthly, ADA, keeps_status=True)
    await house.scheduling.replace(off.id, replace(weekly, status="INACTIVE"), ADA)
    await house.library.activate("w", 1, ADA)
    assert await on(house) == {"0 9 * * *", "0 0 1 * *"}


async def test_one_whose_end_has_passed_meanwhile_stays_off(house: Scheduled) -> None:
    await house.library.create(document(DAILY), ADA)
    own = await house.make(YEARLY)
    await house.library.archive("w", ADA)
    await house.put_back(own.id, last_minute(), next_run_at=None, end_date=text(last_minute()))
    await house.library.activate("w", 1, ADA)
    assert await on(house) == {"0 9 * * *"}
