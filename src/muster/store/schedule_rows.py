"""Rows of schedules; and those of a definition, replaced when one of its versions is activated."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, select, update

from muster.definitions.timetables import timetable
from muster.kit.ids import derived_id
from muster.model.schedule import ScheduleOrigin, ScheduleStatus, SkipReason, StoredSchedule
from muster.model.workflow import Schedule
from muster.store.dialect import insert_rows
from muster.store.tables import workflow_schedule

S = workflow_schedule.c
ACTIVE, INACTIVE = ScheduleStatus.ACTIVE.value, ScheduleStatus.INACTIVE.value
# Whoever is busy with it writes nothing more.
TAKEN_BACK = {"fence": S.fence + 1, "lease_until": None}


def content(schedule: Schedule, at: datetime) -> dict[str, object]:
    """The columns that say what a schedule is, to fire after `at`. One that has no time left is off."""
    following = timetable(schedule).after(at) if schedule.status == ACTIVE else None
    return {
        "schedule_type": schedule.schedule_type,
        "cron_expression": schedule.cron_expression,
        "interval_minutes": schedule.interval_minutes,
        "day_of_month": schedule.day_of_month,
        "time": schedule.time,
        "timezone": schedule.timezone,
        "start_date": schedule.start_date,
        "end_date": schedule.end_date,
        "status": ACTIVE if following else INACTIVE,
        "declared_status": schedule.status,
        "misfire": schedule.misfire,
        "overlap": schedule.overlap,
        "pause_after_failures": schedule.pause_after_failures,
        "next_run_at": following,
        "last_error": None,
        "activated_at": at,
        "updated_at": at,
    }


def new_row(
    schedule_id: str,
    workflow_id: str,
    institute_id: str,
    origin: ScheduleOrigin,
    schedule: Schedule,
    at: datetime,
) -> dict[str, object]:
    return {
        "id": schedule_id,
        "workflow_id": workflow_id,
        "institute_id": institute_id,
        "origin": origin.value,
        "fence": 0,
        "version": 1,
        "created_at": at,
        **content(schedule, at),
    }


def schedule_of_row(row: Row[Any]) -> Schedule:
    return Schedule(
        schedule_type=row.schedule_type,
        cron_expression=row.cron_expression,
        interval_minutes=row.interval_minutes,
        day_of_month=row.day_of_month,
        time=row.time,
        timezone=row.timezone,
        start_date=row.start_date,
        end_date=row.end_date,
        status=row.status,
        misfire=row.misfire,
        overlap=row.overlap,
        pause_after_failures=row.pause_after_failures,
    )


def stored(row: Row[Any]) -> StoredSchedule:
    return StoredSchedule(
        id=row.id,
        workflow_id=row.workflow_id,
        institute_id=row.institute_id,
        origin=ScheduleOrigin(row.origin),
        schedule=schedule_of_row(row),
        next_run_at=row.next_run_at,
        last_run_at=row.last_run_at,
        last_error=row.last_error,
        last_skipped_at=row.last_skipped_at,
        last_skip_reason=None if row.last_skip_reason is None else SkipReason(row.last_skip_reason),
        activated_at=row.activated_at,
        created_at=row.created_at,
        updated_at=row.updated_at,
        version=row.version,
    )


def replace_defined(
    connection: Connection,
    workflow_id: str,
    institute_id: str,
    version_id: int,
    schedules: Sequence[Schedule],
    at: datetime,
) -> None:
    """Let a workflow have the schedules of this version instead of those of another. One that both have stays
    as it is: what is due of it is not lost, and who has switched it off has done so."""
    mine = select(workflow_schedule).where(
        S.workflow_id == workflow_id, S.origin == ScheduleOrigin.DEFINITION.value
    )
    present = {row.id: _declared(row) for row in connection.execute(mine.order_by(S.id).with_for_update())}
    rows = []
    for place, schedule in enumerate(schedules):
        same = next((each for each, declared in present.items() if declared == schedule), None)
        if same is not None:
            del present[same]
            continue
        schedule_id = derived_id(workflow_id, f"{version_id}/{place}")
        rows.append(new_row(schedule_id, workflow_id, institute_id, ScheduleOrigin.DEFINITION, schedule, at))
    if present:
        connection.execute(delete(workflow_schedule).where(S.id.in_(sorted(present))))
    insert_rows(connection, workflow_schedule, rows)


def switch_off_all(connection: Connection, workflow_id: str, at: datetime) -> None:
    """Nothing starts a workflow by the clock any more, until it is active again."""
    mine = (S.workflow_id == workflow_id, S.status == ACTIVE)
    off = {**switched_off(at), "archived_at": at}
    connection.execute(update(workflow_schedule).where(*mine).values(off))


def switch_on_again(connection: Connection, workflow_id: str, at: datetime) -> None:
    """Let those fire after `at` that were switched off because their workflow was archived, and not by
    somebody."""
    mine = (S.workflow_id == workflow_id, S.archived_at.is_not(None))
    held = select(workflow_schedule).where(*mine).order_by(S.id).with_for_update()
    for row in connection.execute(held).all():
        on = switched_on(schedule_of_row(row), at) or {"archived_at": None, "updated_at": at}
        connection.execute(update(workflow_schedule).where(S.id == row.id).values(on))


def switched_off(at: datetime) -> dict[str, object]:
    """The columns of one that fires no more."""
    return {"status": INACTIVE, "next_run_at": None, "archived_at": None, "updated_at": at, **TAKEN_BACK}


def switched_on(schedule: Schedule, at: datetime) -> dict[str, object] | None:
    """The columns of one that fires after `at`, and counts its failures from then. None: it has no time
    left."""
    following = timetable(schedule).after(at)
    if following is None:
        return None
    on = {"status": ACTIVE, "next_run_at": following, "activated_at": at, "last_error": None}
    return {**on, "archived_at": None, "updated_at": at, **TAKEN_BACK}


def _declared(row: Row[Any]) -> Schedule:
    return replace(schedule_of_row(row), status=row.declared_status)
