"""Schedules that are dealt with in the same pass do not stand in each other's way, nor in anybody else's."""

import asyncio
from datetime import datetime, timedelta

import pytest

from muster.engine import occurrence_pass
from muster.engine.occurrences import DueSchedule, Plan, plan
from muster.engine.schedules import Settled
from muster.model.workflow import Schedule
from muster.store.database import Database
from muster.store.due_schedules import LEFT_ALONE_FOR
from scheduled_house import ADA, Scheduled, last_minute, text

NODE = {"id": "a", "type": "NOOP"}
MINUTELY = Schedule("CRON", cron_expression="* * * * *", misfire="fire_all", overlap="allow")


@pytest.fixture
async def house(database: Database) -> Scheduled:
    house = Scheduled(database)
    await house.save("w", NODE)
    return house


async def test_one_whose_times_cannot_be_told_stops_no_other(house: Scheduled) -> None:
    flawed, sound = await house.make(MINUTELY), await house.make(MINUTELY)
    due = last_minute()
    await house.put_back(flawed.id, due, timezone="Moon/Base")
    await house.put_back(sound.id, due)
    await house.fire()
    assert text(due) in await house.times(sound.id)
    kept, row = await house.kept(flawed.id), await house.raw(flawed.id)
    assert (kept.is_active, kept.next_run_at, kept.last_run_at) == (True, due, None)
    assert kept.last_error == "It cannot be told when it is due; the log says more."
    # Nobody looks at it all the time; and when it can be told again, nothing is lost.
    assert row.lease_until == row.updated_at + LEFT_ALONE_FOR
    await house.put_back(flawed.id, due, timezone="UTC")
    await house.fire()
    assert text(due) in await house.times(flawed.id)
    assert (await house.kept(flawed.id)).last_error is None


async def test_what_was_run_by_hand_meanwhile_is_not_forgotten(house: Scheduled) -> None:
    made = await house.make(MINUTELY)
    due = last_minute() - timedelta(hours=1)
    await house.put_back(made.id, due, misfire="skip")
    (claimed,) = (await house.due.claim(10)).due
    await house.scheduling.run(made.id, ADA, due)
    run_at = (await house.raw(made.id)).last_run_at
    skipped = plan(claimed, due + timedelta(minutes=5))
    assert skipped.skipped_at is not None
    await house.due.settle([Settled(claimed, skipped)])
    row = await house.raw(made.id)
    assert (row.last_run_at, row.last_skipped_at) == (run_at, skipped.skipped_at)
    assert run_at is not None


async def test_others_have_their_turn_while_times_are_worked_out(
    house: Scheduled, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [await house.make(MINUTELY) for _ in range(5)]
    for each in made:
        await house.put_back(each.id, last_minute())
    turns, seen = 0, []

    def slow(due: DueSchedule, at: datetime) -> Plan:
        seen.append(turns)
        loop = asyncio.get_running_loop()
        until = loop.time() + 2 * occurrence_pass.AT_A_STRETCH
        while loop.time() < until:
            pass
        return Plan((), due.due + timedelta(days=1))

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    monkeypatch.setattr(occurrence_pass, "plan", slow)
    busy = asyncio.create_task(others())
    await house.occurrences.work()
    busy.cancel()
    assert len(set(seen)) == len(seen) == 5
