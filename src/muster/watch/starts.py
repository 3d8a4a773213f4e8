"""Runs that are expected to begin by the clock: when, under which key, and since when a beginning counts."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from muster.definitions.timetables import Timetable, timetable
from muster.model.watching import Expectation, ExpectStart, Run, Severity
from muster.model.workflow import Schedule
from muster.watch.grouping import group_hash

# In a key, the day of the occurrence where its clock is.
DAY = "{date}"
LONGEST_NODE = 200


@dataclass(frozen=True, slots=True)
class Occurrence:
    """`since` is when what begins begins to count for it: halfway from the occurrence before it, as far as
    that can be told from the one after it."""

    at: datetime
    next: datetime | None
    since: datetime
    due_at: datetime
    key: str


def next_start(expected: ExpectStart, after: datetime) -> datetime | None:
    return _times(expected).after(after)


def occurrence(node: str, expected: ExpectStart, at: datetime) -> Occurrence:
    times = _times(expected)
    following = times.after(at)
    apart = following - at if following is not None else timedelta(days=1)
    day = times.shown(at).date().isoformat()
    key = (
        f"{node[:LONGEST_NODE]}@{at.isoformat()}" if expected.key is None else expected.key.replace(DAY, day)
    )
    due = at + timedelta(seconds=expected.grace_sec)
    return Occurrence(at, following, at - apart / 2, due, key)


def _times(expected: ExpectStart) -> Timetable:
    return timetable(Schedule("CRON", cron_expression=expected.cron, timezone=expected.timezone))


def expected_run(
    run_id: int, expectation_id: int, version_id: int, tenant: str, node: str, when: Occurrence, at: datetime
) -> Run:
    """A run that has not begun, and expects to."""
    run = Run(
        id=run_id,
        version_id=version_id,
        correlation_key=when.key,
        number=1,
        institute_id=tenant,
        group=None,
        group_hash=group_hash({}),
        started_at=when.since,
        updated_at=at,
    )
    run.expectations.append(expected_of(run_id, expectation_id, node, when, at))
    return run


def expected_of(run_id: int, expectation_id: int, node: str, when: Occurrence, at: datetime) -> Expectation:
    """That a run begins, or does so once more."""
    return Expectation(
        id=expectation_id,
        run_id=run_id,
        source="",
        target=node,
        due_at=when.due_at,
        severity=Severity.AMBER,
        optional=False,
        created_at=at,
        origin_id=expectation_id,
    )
