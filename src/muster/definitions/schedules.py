"""Schedule blocks: the full form, and the short one with `type` and `expression`."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import cast, get_args

from muster.definitions.pointers import Below, child
from muster.definitions.problems import Problems
from muster.definitions.scalars import as_id, as_whole
from muster.definitions.wall_clock import last_moment_in, moment_in
from muster.model.json import Json, JsonObject, JsonView
from muster.model.workflow import Misfire, Overlap, Schedule

MOST_SCHEDULES = 100
MOST_FAILURES = 1_000
# Ten years, in minutes.
LONGEST_INTERVAL = 5_256_000
_KINDS = ("CRON", "INTERVAL", "MONTHLY")
_SAME = {"type": "scheduleType", "expression": "cronExpression"}
_NEEDED = {"CRON": "cronExpression", "INTERVAL": "intervalMinutes", "MONTHLY": "dayOfMonth"}
_ONLY_FOR = {
    "cronExpression": "CRON",
    "intervalMinutes": "INTERVAL",
    "dayOfMonth": "MONTHLY",
    "time": "MONTHLY",
}
_CRON: JsonObject = {"type": ["string", "null"], "format": "cron", "x-literal": True}

SCHEDULE: JsonObject = {
    "type": "object",
    "x-literal": True,
    "additionalProperties": False,
    "properties": {
        "workflowId": {"type": ["string", "integer", "null"]},
        "scheduleType": {"type": "string", "x-literal": True},
        "type": {"type": "string", "x-literal": True},
        "cronExpression": _CRON,
        "expression": _CRON,
        "intervalMinutes": {
            "type": ["integer", "null"],
            "minimum": 1,
            "maximum": LONGEST_INTERVAL,
            "x-literal": True,
        },
        "dayOfMonth": {"type": ["integer", "null"], "minimum": 1, "maximum": 31, "x-literal": True},
        "time": {"type": ["string", "null"], "format": "time-of-day", "x-literal": True},
        "timezone": {"type": ["string", "null"], "format": "timezone", "x-literal": True},
        "startDate": {"type": ["string", "null"], "format": "instant", "x-literal": True},
        "endDate": {"type": ["string", "null"], "format": "instant", "x-literal": True},
        "status": {"enum": ["ACTIVE", "INACTIVE"], "x-literal": True},
        "misfire": {"enum": list(get_args(Misfire)), "x-literal": True},
        "overlap": {"enum": list(get_args(Overlap)), "x-literal": True},
        "pauseAfterFailures": {
            "type": ["integer", "null"],
            "minimum": 1,
            "maximum": MOST_FAILURES,
            "x-literal": True,
        },
    },
}


def read_schedules(value: Json, pointer: str, problems: Problems) -> tuple[Schedule, ...]:
    """The schedules of a `schedule` field: one block, or a list of them."""
    if value is None:
        return ()
    if not isinstance(value, list):
        return tuple(filter(None, [read_schedule(value, pointer, problems)]))
    if len(value) > MOST_SCHEDULES:
        problems.error("OUT_OF_RANGE", pointer, f"At most {MOST_SCHEDULES} schedules are allowed.")
        return ()
    blocks = [read_schedule(block, child(pointer, index), problems) for index, block in enumerate(value)]
    return tuple(filter(None, blocks))


def refuse_foreign_schedules(
    value: Json, pointer: str, names: Collection[str | None], problems: Problems
) -> None:
    """A workflow's own schedules start it and no other. `names` are those that the document gives it."""
    blocks = (
        [(child(pointer, index), block) for index, block in enumerate(value[:MOST_SCHEDULES])]
        if isinstance(value, list)
        else [(pointer, value)]
    )
    for at, block in blocks:
        meant = as_id(block.get("workflowId")) if isinstance(block, dict) else None
        if names and meant is not None and meant not in names:
            message = f"This schedule is for `{meant[:100]}`, but it starts the workflow that it stands in."
            problems.error("OTHER_WORKFLOW", child(at, "workflowId"), message)


def read_schedule(block: Json, pointer: str, problems: Problems) -> Schedule | None:
    """A schedule from its block; None if it has an error, which is then among the problems."""
    if not problems.hold(block, SCHEDULE, Below(pointer)):
        return None
    written = cast("JsonObject", block)
    fields = _canonical(written, pointer, problems)
    kind = None if fields is None else _kind(fields, written, pointer, problems)
    if fields is None or kind is None or not _complete(kind, fields, written, pointer, problems):
        return None
    schedule = schedule_of({**fields, "scheduleType": kind})
    return schedule if _spans_time(schedule, pointer, problems) else None


def _canonical(block: JsonObject, pointer: str, problems: Problems) -> JsonView | None:
    """The fields under their full names; None if two of them contradict each other."""
    fields: dict[str, Json] = {}
    for name, value in block.items():
        canonical = _SAME.get(name, name)
        if canonical in fields and fields[canonical] != value:
            problems.error("GIVEN_TWICE", child(pointer, name), f"`{canonical}` says something else.")
            return None
        if value is not None:
            fields[canonical] = value
    return fields


def _as_written(canonical: str, block: JsonObject) -> str:
    """The name under which a block has a field."""
    return next(
        name for name, value in block.items() if value is not None and _SAME.get(name, name) == canonical
    )


def _kind(fields: JsonView, written: JsonObject, pointer: str, problems: Problems) -> str | None:
    given = fields.get("scheduleType")
    if given is None:
        problems.error(
            "MISSING_FIELD", pointer, "`scheduleType` is missing: `CRON`, `INTERVAL` or `MONTHLY`."
        )
        return None
    kind = str(given).upper()
    if kind not in _KINDS:
        message = f"`{given}` is not one of `CRON`, `INTERVAL` and `MONTHLY`."
        at = child(pointer, _as_written("scheduleType", written))
        problems.error("NOT_ALLOWED", at, message, problems.suggest(str(given), _KINDS))
        return None
    return kind


def _complete(kind: str, fields: JsonView, written: JsonObject, pointer: str, problems: Problems) -> bool:
    missing = fields.get(_NEEDED[kind]) is None
    if missing:
        problems.error("MISSING_FIELD", pointer, f"A schedule of type `{kind}` needs `{_NEEDED[kind]}`.")
    foreign = [name for name in fields if _ONLY_FOR.get(name, kind) != kind]
    for name in foreign:
        at = child(pointer, _as_written(name, written))
        problems.error("UNKNOWN_FIELD", at, f"`{name}` has no meaning in a schedule of type `{kind}`.")
    return not missing and not foreign


def schedule_of(fields: JsonView) -> Schedule:
    """The schedule of a block in the full form, as `schedule_block` made it: nothing is checked again."""
    return Schedule(
        schedule_type=str(fields["scheduleType"]),
        cron_expression=_text(fields, "cronExpression"),
        interval_minutes=as_whole(fields.get("intervalMinutes")),
        day_of_month=as_whole(fields.get("dayOfMonth")),
        time=_text(fields, "time"),
        timezone=_text(fields, "timezone") or "UTC",
        start_date=_text(fields, "startDate"),
        end_date=_text(fields, "endDate"),
        status=_text(fields, "status") or "ACTIVE",
        misfire=cast("Misfire", _text(fields, "misfire") or "fire_once"),
        overlap=cast("Overlap", _text(fields, "overlap") or "skip"),
        pause_after_failures=as_whole(fields.get("pauseAfterFailures")),
    )


def _text(fields: Mapping[str, Json], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def _spans_time(schedule: Schedule, pointer: str, problems: Problems) -> bool:
    """Whether it starts and ends at times that there are, and in this order."""
    start = _limit(start_of, schedule, schedule.start_date, child(pointer, "startDate"), problems)
    end = _limit(end_of, schedule, schedule.end_date, child(pointer, "endDate"), problems)
    if (start is None) != (schedule.start_date is None) or (end is None) != (schedule.end_date is None):
        return False
    if start is not None and end is not None and end < start:
        problems.error("OUT_OF_RANGE", child(pointer, "endDate"), "`endDate` is before `startDate`.")
        return False
    return True


def _limit(
    limit: Callable[[Schedule], datetime | None],
    schedule: Schedule,
    written: str | None,
    pointer: str,
    problems: Problems,
) -> datetime | None:
    try:
        return limit(schedule)
    except OverflowError:
        message = f"`{(written or '')[:100]}` is, in UTC, outside of the years 1 to 9999."
        problems.error("INVALID_TIME", pointer, message)
        return None


def start_of(schedule: Schedule) -> datetime | None:
    """The first moment at which it may fire, in UTC. Raises `OverflowError` for one that the calendar does
    not have there."""
    return None if schedule.start_date is None else moment_in(schedule.start_date, schedule.timezone)


def end_of(schedule: Schedule) -> datetime | None:
    """The last moment at which it may fire, in UTC; of a day without a time, the last of that day.
    Raises like `start_of`, for what is before the calendar."""
    return None if schedule.end_date is None else last_moment_in(schedule.end_date, schedule.timezone)


def schedule_block(schedule: Schedule) -> JsonObject:
    """The full form of a schedule, as a document holds it."""
    block: dict[str, Json] = {
        "scheduleType": schedule.schedule_type,
        "cronExpression": schedule.cron_expression,
        "intervalMinutes": schedule.interval_minutes,
        "dayOfMonth": schedule.day_of_month,
        "time": schedule.time,
        "timezone": schedule.timezone,
        "startDate": schedule.start_date,
        "endDate": schedule.end_date,
        "status": schedule.status,
        "misfire": schedule.misfire,
        "overlap": schedule.overlap,
        "pauseAfterFailures": schedule.pause_after_failures,
    }
    return {name: value for name, value in block.items() if value is not None}
