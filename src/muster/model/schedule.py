"""Schedules as they are kept."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from muster.model.workflow import Schedule


class ScheduleStatus(StrEnum):
    ACTIVE = "ACTIVE"
    INACTIVE = "INACTIVE"


class ScheduleOrigin(StrEnum):
    """Where a schedule comes from: activating a version replaces those of the definition, and no others."""

    DEFINITION = "definition"
    API = "api"


class SkipReason(StrEnum):
    """Why an occurrence was left out: the one before was under way; it was missed, and not made up for."""

    OVERLAP = "overlap"
    MISSED = "missed"


@dataclass(frozen=True, slots=True)
class StoredSchedule:
    """`schedule.status` is how it stands. `next_run_at` None: it is off. Failures are counted from
    `activated_at` on. `last_error` is why it could not start its workflow, or else what the last execution
    that ended failed with. `version` counts what people have changed."""

    id: str
    workflow_id: str
    institute_id: str
    origin: ScheduleOrigin
    schedule: Schedule
    next_run_at: datetime | None
    last_run_at: datetime | None
    last_error: str | None
    last_skipped_at: datetime | None
    last_skip_reason: SkipReason | None
    activated_at: datetime
    created_at: datetime
    updated_at: datetime
    version: int

    @property
    def is_active(self) -> bool:
        return self.schedule.status == ScheduleStatus.ACTIVE
