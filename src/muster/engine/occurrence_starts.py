"""How an occurrence of a schedule is started: under which key, with what, and behind which others. Pure."""

import hashlib
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from muster.definitions.timetables import timetable
from muster.engine.control import Start
from muster.engine.openings import Limit
from muster.model.json import JsonObject
from muster.model.once import Once, once
from muster.model.schedule import StoredSchedule

# An occurrence is known for so long: until then it is not started a second time, whoever asks.
KNOWN_FOR = timedelta(days=366)


class Why(StrEnum):
    """Why a schedule starts its workflow: its time has come, a range is filled up, or somebody wants it."""

    DUE = "due"
    BACKFILL = "backfill"
    MANUAL = "manual"


def key_of_occurrence(kept: StoredSchedule, time: datetime, now: datetime) -> Once:
    """What makes an occurrence start once."""
    parts = ("schedule", kept.id, utc_text(time))
    return once(kept.institute_id, kept.workflow_id, parts, expires_at=max(time, now) + KNOWN_FOR)


def start_of_occurrence(kept: StoredSchedule, time: datetime, why: Why) -> Start:
    """What it is started with."""
    payload: JsonObject = {
        "triggerType": "schedule",
        "scheduleId": kept.id,
        "scheduledTime": utc_text(time),
        "localTime": timetable(kept.schedule).shown(time).isoformat(),
        "timezone": kept.schedule.timezone,
        "reason": why.value,
        "overlap": kept.schedule.overlap,
    }
    return Start(kept.workflow_id, {"_trigger": payload})


def limit_of_occurrence(schedule_id: str, context: JsonObject) -> Limit | None:
    """The limit of what a schedule has started with this context: one of its executions is under way at once,
    the others are queued. None: they may overlap, or it was started otherwise."""
    told = context.get("_trigger")
    if not isinstance(told, dict) or told.get("scheduleId") != schedule_id:
        return None
    match told.get("overlap"), told.get("reason"):
        # What overlaps is left out only where the clock starts it; a range is filled one after another.
        case ("queue", Why.DUE | Why.BACKFILL) | ("skip", Why.BACKFILL):
            return Limit(hashlib.sha256(f"schedule\n{schedule_id}".encode()).hexdigest(), 1)
        case _:
            return None


def utc_text(time: datetime) -> str:
    return time.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
