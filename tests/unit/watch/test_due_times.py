"""When what follows an event is due."""

from datetime import UTC, datetime

import pytest

from muster.model.watching import WatchedEdge
from muster.watch.due import due_at
from muster.watch.graph import read_deadline

NOON = datetime(2024, 6, 10, 12, tzinfo=UTC)


def due(zone: str = "UTC", at: datetime = NOON, **edge: object) -> datetime | None:
    told = {name: read_deadline(str(v)) if name == "absolute_deadline" else v for name, v in edge.items()}
    return due_at(WatchedEdge("a", "b", **told), at, zone)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("edge", "zone", "expected"),
    [
        ({"max_latency_sec": 300}, "UTC", "2024-06-10T12:05:00+00:00"),
        ({"absolute_deadline": "18:30Z"}, "UTC", "2024-06-10T18:30:00+00:00"),
        ({"absolute_deadline": "08:00Z"}, "UTC", "2024-06-10T08:00:00+00:00"),
        ({"absolute_deadline": "08:00Z", "deadline_rollover": True}, "UTC", "2024-06-11T08:00:00+00:00"),
        ({"absolute_deadline": "18:00Z", "deadline_rollover": True}, "UTC", "2024-06-10T18:00:00+00:00"),
        ({"absolute_deadline": "18:00+02:00"}, "UTC", "2024-06-10T16:00:00+00:00"),
        ({"absolute_deadline": "18:00"}, "UTC", "2024-06-10T18:00:00+00:00"),
        ({"absolute_deadline": "18:00"}, "America/New_York", "2024-06-10T22:00:00+00:00"),
        ({"absolute_deadline": "18:00Z"}, "America/New_York", "2024-06-10T18:00:00+00:00"),
        ({"absolute_deadline": "18:00Z", "max_latency_sec": 60}, "UTC", "2024-06-10T12:01:00+00:00"),
        ({"absolute_deadline": "12:00:30Z", "max_latency_sec": 60}, "UTC", "2024-06-10T12:00:30+00:00"),
    ],
    ids=[
        "seconds",
        "a time of day",
        "one that is past already",
        "rolled over",
        "not rolled over before its time",
        "an offset",
        "without one, UTC",
        "without one, in the workflow's zone",
        "with one, wherever the workflow is",
        "both: seconds are earlier",
        "both: the time of day is earlier",
    ],
)
def test_what_follows_is_due_by_what_the_edge_says(edge: dict[str, object], zone: str, expected: str) -> None:
    assert due(zone, **edge) == datetime.fromisoformat(expected)


def test_the_day_is_the_event_s_own_in_its_zone() -> None:
    """In Tokyo it is the next day already."""
    at = datetime(2024, 6, 10, 20, tzinfo=UTC)
    assert due("Asia/Tokyo", at, absolute_deadline="09:00") == datetime(2024, 6, 11, tzinfo=UTC)


@pytest.mark.parametrize(
    ("day", "deadline", "expected"),
    [
        ("2024-03-09", "18:00", "2024-03-09T23:00:00+00:00"),
        ("2024-03-10", "18:00", "2024-03-10T22:00:00+00:00"),
        ("2024-03-10", "02:30", "2024-03-10T07:00:00+00:00"),
        ("2024-11-03", "01:30", "2024-11-03T05:30:00+00:00"),
        ("2024-11-03", "18:00", "2024-11-03T23:00:00+00:00"),
        ("2024-11-03", "01:30-05:00", "2024-11-03T06:30:00+00:00"),
    ],
    ids=[
        "in winter",
        "on the day of the change",
        "a time that the clock skips: when it does",
        "a time that it shows twice: the first",
        "back in winter",
        "with an offset, by that",
    ],
)
def test_a_time_of_day_is_by_the_clock_where_it_is_put_forward_and_back(
    day: str, deadline: str, expected: str
) -> None:
    at = datetime.fromisoformat(f"{day}T12:00:00-05:00")
    assert due("America/New_York", at, absolute_deadline=deadline) == datetime.fromisoformat(expected)


def test_a_day_that_is_short_rolls_over_to_the_same_time_of_the_next() -> None:
    at = datetime(2024, 3, 9, 23, 30, tzinfo=UTC)
    rolled = due("America/New_York", at, absolute_deadline="18:00", deadline_rollover=True)
    assert rolled == datetime(2024, 3, 10, 22, tzinfo=UTC)


def test_an_edge_that_says_nothing_expects_nothing() -> None:
    assert due() is None
