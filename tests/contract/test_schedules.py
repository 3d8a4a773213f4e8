"""Schedules start their workflows, each time once, on every database."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from engine_house import Told
from muster.definitions.library import NotFound
from muster.engine.control import Conflict
from muster.engine.occurrence_pass import OccurrencePass
from muster.engine.occurrences import plan
from muster.engine.schedules import Settled
from muster.model.schedule import ScheduleOrigin, ScheduleStatus, SkipReason
from muster.model.stored import Page
from muster.model.workflow import Schedule
from muster.store.audit import AuditLog
from muster.store.database import Database, Unavailable
from muster.store.due_schedules import DueScheduleRepository
from scheduled_house import ADA, EVERY_MINUTE, TROUBLE, Scheduled, last_minute, text

TELL = {"id": "a", "type": "TELL", "config": {"say": "at #{_trigger.scheduledTime}"}}
ASK = {"id": "a", "type": "ASK"}
SLEEP = {"id": "a", "type": "SLEEP", "config": {"seconds": 0}}
FAIL = {"id": "a", "type": "FAIL", "config": {"message": "not today"}}
YEARLY = Schedule("CRON", cron_expression="0 0 1 1 *", misfire="fire_all")


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> Scheduled:
    return Scheduled(database, told)


async def test_what_is_due_is_started_with_its_time(house: Scheduled, told: Told) -> None:
    await house.save("w", TELL)
    made = await house.make(replace(EVERY_MINUTE, timezone="Asia/Kolkata"))
    assert made.next_run_at is not None
    due = last_minute()
    await house.put_back(made.id, due)
    await house.fire()
    await house.settle()
    (row, *_) = await house.rows()
    given = row.given["_trigger"]
    assert given["scheduleId"] == made.id
    assert given["scheduledTime"] == text(due)
    assert given["localTime"].endswith("+05:30")
    assert row.idempotency_key == f"schedule_{made.id}_{text(due)}"
    assert told.said[0] == f"at {text(due)}"
    kept = await house.kept(made.id)
    assert kept.next_run_at is not None
    assert kept.next_run_at > due
    assert kept.last_run_at is not None
    assert kept.last_error is None


async def test_what_is_not_due_is_left_alone(house: Scheduled) -> None:
    await house.save("w", TELL)
    await house.make(YEARLY)
    assert not await house.occurrences.work()
    assert await house.rows() == []
    wait = await house.due.next_due()
    assert wait is not None
    assert wait > timedelta(0)


async def test_each_of_many_instances_takes_what_the_others_do_not(database: Database) -> None:
    houses = [Scheduled(database, name=f"h{number}") for number in range(3)]
    await houses[0].save("w", TELL)
    made = [await houses[0].make(houses[0].hourly()) for _ in range(20)]
    for each in made:
        await houses[0].put_back(each.id, houses[0].last_hour)
    await asyncio.gather(*(house.fire() for house in houses))
    for each in made:
        assert len(await houses[0].times(each.id)) == 1
    assert sum(house.outcomes.count("started") for house in houses) == 20
    assert sum(house.outcomes.count("duplicate") for house in houses) == 0


class DiesBeforeSettling(DueScheduleRepository):
    async def settle(self, settled: Sequence[Settled]) -> None:
        raise Unavailable("it has died")


async def test_who_dies_after_starting_leaves_nothing_to_start_twice(house: Scheduled) -> None:
    await house.save("w", ASK)
    made = await house.make(YEARLY)
    due = last_minute().replace(month=1, day=1, hour=0, minute=0)
    await house.put_back(made.id, due)
    dying = OccurrencePass(DiesBeforeSettling(house.database), house.control, house, TROUBLE)
    with pytest.raises(Unavailable):
        await dying.work()
    # The instance is gone, and nothing is settled; its time with the schedule runs out.
    await house.put_back(made.id, due)
    again = Scheduled(house.database, name="there")
    await again.fire()
    assert again.outcomes == ["duplicate"]
    assert await again.times(made.id) == [text(due)]
    kept = await house.kept(made.id)
    assert (kept.last_skip_reason, kept.next_run_at) == (None, due.replace(year=due.year + 1))


async def test_who_dies_before_starting_leaves_it_to_the_others(house: Scheduled) -> None:
    await house.save("w", TELL)
    made = await house.make(house.hourly())
    due = house.last_hour
    await house.put_back(made.id, due)
    assert len((await house.due.claim(10)).due) == 1
    assert not await house.occurrences.work()
    await house.put_back(made.id, due)
    await house.fire()
    assert await house.times(made.id) == [text(due)]


async def test_who_was_overtaken_settles_nothing(house: Scheduled) -> None:
    await house.save("w", TELL)
    made = await house.make(house.hourly())
    due = house.last_hour
    await house.put_back(made.id, due)
    late = (await house.due.claim(10)).due[0]
    await house.put_back(made.id, due)
    await house.fire()
    present = await house.raw(made.id)
    await house.due.settle([Settled(late, plan(late, due - timedelta(days=1)), error="late")])
    assert await house.raw(made.id) == present


@pytest.mark.parametrize(("misfire", "hours"), [("fire_once", [0]), ("skip", []), ("fire_all", [3, 2, 1, 0])])
async def test_what_was_missed(house: Scheduled, misfire: str, hours: list[int]) -> None:
    await house.save("w", TELL)
    made = await house.make(house.hourly(misfire=misfire))
    due = house.last_hour
    await house.put_back(made.id, due - timedelta(hours=3))
    await house.fire()
    assert await house.times(made.id) == [text(due - timedelta(hours=each)) for each in hours]
    kept = await house.kept(made.id)
    assert kept.last_skip_reason is (None if misfire == "fire_all" else SkipReason.MISSED)
    assert kept.next_run_at == due + timedelta(hours=1)


@pytest.mark.parametrize("overlap", ["skip", "allow"])
async def test_one_that_is_still_under_way(house: Scheduled, overlap: str) -> None:
    await house.save("w", ASK)
    made = await house.make(house.hourly(overlap=overlap, misfire="fire_once"))
    started = await house.scheduling.run(made.id, ADA, house.last_hour)
    await house.instance.ended(started.id)
    await house.put_back(made.id, house.last_hour)
    await house.fire()
    rows = [row for row in await house.rows() if row.id != started.id]
    kept = await house.kept(made.id)
    assert kept.next_run_at == house.last_hour + timedelta(hours=1)
    if overlap == "skip":
        assert rows == []
        assert (kept.last_skipped_at, kept.last_skip_reason) == (house.last_hour, SkipReason.OVERLAP)
        assert house.outcomes == ["overlap"]
    else:
        assert len(rows) == 1
        assert house.outcomes == ["started"]


async def test_occurrences_that_queue_run_one_after_another(house: Scheduled) -> None:
    await house.save("w", ASK)
    made = await house.make(house.hourly(overlap="queue"))
    await house.put_back(made.id, house.last_hour - timedelta(hours=2))
    await house.fire()
    rows = await house.rows()
    assert sorted(row.status == "QUEUED" for row in rows) == [False, True, True]
    first = next(row for row in rows if row.status != "QUEUED")
    assert first.given["_trigger"]["scheduledTime"] == text(house.last_hour - timedelta(hours=2))


async def test_when_one_that_others_queue_behind_has_ended_the_next_begins(house: Scheduled) -> None:
    # It pauses, is let go of, and ends in hands that have not started it.
    await house.save("w", SLEEP)
    made = await house.make(house.hourly(overlap="queue"))
    await house.put_back(made.id, house.last_hour - timedelta(hours=2))
    await house.fire()

    async def all_have_ended() -> bool:
        return {row.status for row in await house.rows()} == {"COMPLETED"}

    await house.until(all_have_ended)
    assert await house.limits() == 0


async def test_a_range_is_filled_to_its_end_and_keeps_nothing_from_firing(house: Scheduled) -> None:
    await house.save("w", TELL)
    made = await house.make(house.hourly(overlap="skip"))
    last = house.last_hour - timedelta(hours=1)
    await house.scheduling.backfill(made.id, last - timedelta(hours=2), last, ADA, last_minute())
    await house.settle()
    await house.put_back(made.id, house.last_hour)
    await house.fire()
    await house.settle()
    assert [row.status for row in await house.rows()] == ["COMPLETED"] * 4


async def test_what_is_made_up_for_waits_for_what_is_under_way(house: Scheduled) -> None:
    await house.save("w", ASK)
    made = await house.make(house.hourly(overlap="skip"))
    await house.put_back(made.id, house.last_hour - timedelta(hours=2))
    await house.fire()
    assert len(await house.rows()) == 1
    kept = await house.kept(made.id)
    assert kept.next_run_at == house.last_hour - timedelta(hours=1)
    assert kept.last_skip_reason is None


async def test_a_failing_workflow_does_not_stop_its_schedule(house: Scheduled) -> None:
    await house.save("w", FAIL)
    made = await house.make(house.hourly())
    await house.put_back(made.id, house.last_hour - timedelta(hours=2))
    await house.fire()
    await house.settle()
    kept = await house.kept(made.id)
    assert kept.is_active
    assert kept.last_error is not None
    assert "not today" in kept.last_error
    assert {row.status for row in await house.rows()} == {"FAILED"}


async def test_after_failures_in_a_row_it_is_switched_off_if_it_says_so(house: Scheduled) -> None:
    await house.save("w", FAIL)
    made = await house.make(house.hourly(overlap="skip", pause_after_failures=2))
    for hours in (3, 2, 1):
        await house.put_back(made.id, house.last_hour - timedelta(hours=hours), status="ACTIVE")
        await house.occurrences.work()
        await house.settle()
    kept = await house.kept(made.id)
    assert (kept.schedule.status, kept.next_run_at) == ("INACTIVE", None)
    assert kept.last_error == "Switched off: 2 executions in a row have failed."
    assert len(await house.rows()) == 2
    again = await house.scheduling.switch(made.id, ScheduleStatus.ACTIVE, ADA)
    assert again.is_active
    await house.put_back(made.id, house.last_hour)
    await house.occurrences.work()
    assert len(await house.rows()) == 3


async def test_a_workflow_that_cannot_be_started_is_told_and_tried_next_time(house: Scheduled) -> None:
    await house.save("w", TELL)
    made = await house.make(house.hourly())
    await house.library.archive("w", ADA)
    kept = await house.kept(made.id)
    assert (kept.schedule.status, kept.next_run_at) == ("INACTIVE", None)
    await house.put_back(made.id, house.last_hour, status="ACTIVE")
    await house.fire()
    kept = await house.kept(made.id)
    assert kept.is_active
    assert kept.last_error == "The workflow 'w' is ARCHIVED: it cannot be started"
    assert house.outcomes == ["refused"]


async def test_when_its_end_is_past_it_is_off(house: Scheduled) -> None:
    await house.save("w", TELL)
    due = house.last_hour
    made = await house.make(house.hourly(end_date=text(due + timedelta(hours=1))))
    assert made.is_active
    await house.put_back(made.id, due, end_date=text(due))
    await house.fire()
    kept = await house.kept(made.id)
    assert (kept.schedule.status, kept.next_run_at) == ("INACTIVE", None)
    assert await house.times(made.id) == [text(due)]
    with pytest.raises(Conflict, match="no time left"):
        await house.scheduling.switch(made.id, ScheduleStatus.ACTIVE, ADA)


async def test_one_that_was_switched_off_fires_no_more(house: Scheduled) -> None:
    await house.save("w", TELL)
    made = await house.make(house.hourly())
    await house.put_back(made.id, house.last_hour)
    claimed = await house.due.claim(10)
    off = await house.scheduling.switch(made.id, ScheduleStatus.INACTIVE, ADA)
    assert off.next_run_at is None
    await house.due.settle([Settled(claimed.due[0], plan(claimed.due[0], claimed.at))])
    kept = await house.kept(made.id)
    assert (kept.schedule.status, kept.next_run_at) == ("INACTIVE", None)
    on = await house.scheduling.switch(made.id, ScheduleStatus.ACTIVE, ADA)
    assert on.next_run_at is not None
    assert on.next_run_at > last_minute()
    entries, _ = await AuditLog(house.database).list(None, "workflow_schedule", made.id, Page(10, None))
    assert [each.entry.action for each in entries] == ["activate", "deactivate", "create"]


async def test_a_range_is_filled_once_however_often_it_is_asked_for(house: Scheduled, told: Told) -> None:
    await house.save("w", TELL)
    made = await house.make(house.hourly())
    last = house.last_hour - timedelta(days=400)
    first = last - timedelta(hours=4)
    done = await house.scheduling.backfill(made.id, first, last, ADA, last_minute())
    assert [text(time) for time, _ in done] == await house.times(made.id)
    assert len(done) == 5
    wider = await house.scheduling.backfill(made.id, first - timedelta(hours=1), last, ADA, last_minute())
    assert [begun.duplicate for _, begun in wider] == [False, True, True, True, True, True]
    assert len(await house.rows()) == 6
    with pytest.raises(Conflict, match="more than 1000"):
        await house.scheduling.backfill(made.id, first - timedelta(days=100), last, ADA, last_minute())


async def test_a_filled_range_runs_one_after_another_unless_it_may_overlap(house: Scheduled) -> None:
    await house.save("w", ASK)
    made = await house.make(house.hourly(overlap="skip"))
    last = house.last_hour
    done = await house.scheduling.backfill(made.id, last - timedelta(hours=3), last, ADA, last)
    assert [begun.status for _, begun in done].count("QUEUED") == 3


async def test_activating_a_version_replaces_what_came_from_the_definition(house: Scheduled) -> None:
    daily = {"scheduleType": "CRON", "cronExpression": "0 9 * * *"}
    weekly = {"scheduleType": "CRON", "cronExpression": "0 9 * * MON"}
    hourly = {"scheduleType": "INTERVAL", "intervalMinutes": 60}

    def document(*blocks: dict[str, object]) -> dict[str, object]:
        return {"workflow": {"key": "w", "name": "w", "nodes": [TELL]}, "schedule": list(blocks)}

    await house.library.create(document(daily, hourly), ADA)
    before = await listed(house)
    assert {each.schedule.schedule_type for each in before} == {"CRON", "INTERVAL"}
    assert {each.origin for each in before} == {ScheduleOrigin.DEFINITION}
    own = await house.make(house.hourly())
    kept = next(each for each in before if each.schedule.schedule_type == "CRON")
    due = last_minute()
    await house.put_back(kept.id, due)
    await house.library.update("w", document(daily, weekly), ADA)
    assert {each.id for each in await listed(house)} == {*(each.id for each in before), own.id}
    await house.library.activate("w", 2, ADA)
    after = {each.id: each for each in await listed(house)}
    assert own.id in after
    # What both versions have is the same schedule still, and what was due of it is due.
    assert after[kept.id].next_run_at == due
    assert {each.schedule.cron_expression for each in after.values()} == {
        "0 9 * * *",
        "0 9 * * MON",
        None,
    }
    await house.library.update("w", document(), ADA, activate=True)
    assert [each.id for each in await listed(house)] == [own.id]
    await house.library.activate("w", 1, ADA)
    assert {each.id for each in before} < {each.id for each in await listed(house)}


async def listed(house: Scheduled) -> list[object]:
    found, _ = await house.scheduling.list(ADA, Page(50, None))
    assert all(one.id > two.id for one, two in pairwise(found))
    return list(found)


async def test_what_comes_from_a_definition_is_changed_there_and_switched_anywhere(house: Scheduled) -> None:
    block = {"scheduleType": "CRON", "cronExpression": "0 9 * * *"}
    document = {"workflow": {"key": "w", "name": "w", "nodes": [TELL]}, "schedule": block}
    await house.library.create(document, ADA)
    (made,) = await listed(house)
    with pytest.raises(Conflict, match="definition"):
        await house.scheduling.replace(made.id, house.hourly(), ADA)
    with pytest.raises(Conflict, match="definition"):
        await house.scheduling.delete(made.id, ADA)
    await house.scheduling.switch(made.id, ScheduleStatus.INACTIVE, ADA)
    await house.library.update("w", document, ADA, activate=True)
    (same,) = await listed(house)
    assert (same.id, same.schedule.status) == (made.id, "INACTIVE")


async def test_a_draft_is_not_started_by_the_clock(house: Scheduled) -> None:
    block = {"scheduleType": "CRON", "cronExpression": "0 9 * * *"}
    head = {"key": "w", "name": "w", "status": "DRAFT", "nodes": [TELL]}
    await house.library.create({"workflow": head, "schedule": block}, ADA)
    assert await listed(house) == []
    await house.library.activate("w", 1, ADA)
    assert len(await listed(house)) == 1


async def test_a_schedule_is_changed_and_deleted(house: Scheduled) -> None:
    await house.save("w", TELL)
    made = await house.make(house.hourly())
    changed = await house.scheduling.replace(made.id, replace(YEARLY, status="INACTIVE"), ADA)
    assert (changed.schedule.cron_expression, changed.next_run_at) == ("0 0 1 1 *", None)
    await house.scheduling.delete(made.id, ADA)
    with pytest.raises(NotFound):
        await house.kept(made.id)
    with pytest.raises(NotFound):
        await house.make(house.hourly(), workflow="nobody")
