"""What callers send and get about schedules."""

from datetime import datetime

from pydantic import Field

from muster.api.execution_shapes import REASON
from muster.api.shapes import Request, Shape
from muster.definitions.schedules import LONGEST_INTERVAL, MOST_FAILURES
from muster.model.schedule import ScheduleOrigin, ScheduleStatus, SkipReason, StoredSchedule

# How many of its times are told at once.
MOST_SHOWN = 100


class ScheduleFields(Request):
    """When. `type` and `expression` are other names of `scheduleType` and `cronExpression`."""

    schedule_type: str | None = Field(default=None, description="`CRON`, `INTERVAL` or `MONTHLY`.")
    type: str | None = None
    cron_expression: str | None = Field(default=None, examples=["0 9 * * MON-FRI"])
    expression: str | None = None
    interval_minutes: int | None = Field(default=None, ge=1, le=LONGEST_INTERVAL)
    day_of_month: int | None = Field(
        default=None, ge=1, le=31, description="In a shorter month, its last day."
    )
    time: str | None = Field(default=None, description="For `MONTHLY`; default `00:00`.")
    timezone: str | None = Field(default=None, description="An IANA name; default `UTC`.")
    start_date: str | None = Field(default=None, description="Included. Without an offset: in `timezone`.")
    end_date: str | None = Field(
        default=None, description="Included. Without a time: to the end of that day."
    )
    status: ScheduleStatus | None = Field(
        default=None, description="A new one is `ACTIVE`; one that is changed keeps its own."
    )
    misfire: str | None = Field(default=None, description="`fire_once` (default), `skip` or `fire_all`.")
    overlap: str | None = Field(default=None, description="`skip` (default), `allow` or `queue`.")
    pause_after_failures: int | None = Field(
        default=None, ge=1, le=MOST_FAILURES, description="Switch it off after so many failures in a row."
    )


class ScheduleBody(ScheduleFields):
    """A schedule and the workflow that it starts."""

    workflow_id: str = Field(description="The workflow's id, or its key.")


class NextBody(ScheduleFields):
    """A schedule's fields, saved or not, and how many of its times are wanted."""

    workflow_id: str | None = None
    count: int = Field(default=5, ge=1, le=MOST_SHOWN)
    after: str | None = Field(default=None, description="Later than that; else than now.")


class BackfillBody(Request):
    """From when to when, both included; up to now. Without an offset: in the schedule's zone."""

    from_: str = Field(alias="from", examples=["2026-03-01T00:00:00"])
    to: str = Field(
        examples=["2026-03-31T23:59:59", "2026-03-31"], description="Without a time: to the end of that day."
    )
    reason: str = REASON


class ScheduleItem(Shape):
    id: str
    workflow_id: str
    institute_id: str
    origin: ScheduleOrigin = Field(description="`definition`: replaced when a version is activated.")
    schedule_type: str
    cron_expression: str | None
    interval_minutes: int | None
    day_of_month: int | None
    time: str | None
    timezone: str
    start_date: str | None
    end_date: str | None
    status: ScheduleStatus
    misfire: str
    overlap: str
    pause_after_failures: int | None
    next_run_at: datetime | None = Field(description="Null: it is off.")
    last_run_at: datetime | None
    last_error: str | None = Field(
        description="Why it could not start its workflow, or what the last execution that ended failed with."
    )
    last_skipped_at: datetime | None = Field(description="The last time that was left out.")
    last_skip_reason: SkipReason | None
    version: int = Field(description="One more with each change by hand; also the `ETag`.")
    created_at: datetime
    updated_at: datetime


class SchedulePage(Shape):
    items: list[ScheduleItem]
    next_cursor: str | None


class NextTimes(Shape):
    next: list[str] = Field(description="With the zone's offset.", examples=[["2026-03-29T03:00:00+02:00"]])


class Backfilled(Shape):
    scheduled_time: datetime
    execution_id: str
    status: str
    duplicate: bool = Field(description="It had been started before, and was not again.")


class BackfillResult(Shape):
    results: list[Backfilled]


BODIES = (ScheduleBody, NextBody, BackfillBody)


def item_of(kept: StoredSchedule) -> ScheduleItem:
    schedule = kept.schedule
    return ScheduleItem(
        id=kept.id,
        workflow_id=kept.workflow_id,
        institute_id=kept.institute_id,
        origin=kept.origin,
        schedule_type=schedule.schedule_type,
        cron_expression=schedule.cron_expression,
        interval_minutes=schedule.interval_minutes,
        day_of_month=schedule.day_of_month,
        time=schedule.time,
        timezone=schedule.timezone,
        start_date=schedule.start_date,
        end_date=schedule.end_date,
        status=ScheduleStatus(schedule.status),
        misfire=schedule.misfire,
        overlap=schedule.overlap,
        pause_after_failures=schedule.pause_after_failures,
        next_run_at=kept.next_run_at,
        last_run_at=kept.last_run_at,
        last_error=kept.last_error,
        last_skipped_at=kept.last_skipped_at,
        last_skip_reason=kept.last_skip_reason,
        version=kept.version,
        created_at=kept.created_at,
        updated_at=kept.updated_at,
    )
