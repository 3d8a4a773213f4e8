"""delay: how long it rests, and when it does not."""

from datetime import UTC, datetime, timedelta

import pytest

from muster.engine.handlers import Done, Outcome, Suspend
from muster.engine.state import Failure, Phase
from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject
from muster.nodes.delay import delay
from node_calls import NOW, call_with, woken


def rest(**params: Json) -> Outcome:
    return delay(params, call_with())


@pytest.mark.parametrize(
    ("params", "length"),
    [
        ({"duration": 2, "unit": "seconds"}, timedelta(seconds=2)),
        ({"duration": 2}, timedelta(seconds=2)),
        ({"duration": 250, "unit": "milliseconds"}, timedelta(milliseconds=250)),
        ({"duration": 1.5, "unit": "minutes"}, timedelta(seconds=90)),
        ({"duration": "3", "unit": "hours"}, timedelta(hours=3)),
        ({"duration": 7, "unit": "days"}, timedelta(days=7)),
        ({"duration": "5m"}, timedelta(minutes=5)),
        ({"duration": "1h30m", "unit": "days"}, timedelta(minutes=90)),
        ({"duration": "PT24H"}, timedelta(hours=24)),
        ({"until": None, "duration": "5m"}, timedelta(minutes=5)),
    ],
)
def test_it_rests_for_as_long_as_it_says(params: JsonObject, length: timedelta) -> None:
    assert rest(**params) == Suspend(Phase.PAUSED, NodeStatus.PAUSED, NOW + length)


@pytest.mark.parametrize(
    ("until", "due"),
    [
        ("2026-01-02T09:00:00Z", datetime(2026, 1, 2, 9, tzinfo=UTC)),
        ("2026-01-02T09:00:00+05:30", datetime(2026, 1, 2, 3, 30, tzinfo=UTC)),
        ("2026-01-02T09:00:00", datetime(2026, 1, 2, 9, tzinfo=UTC)),
        ("2026-01-02", datetime(2026, 1, 2, tzinfo=UTC)),
    ],
)
def test_it_rests_until_a_moment_and_without_an_offset_that_is_in_utc(until: str, due: datetime) -> None:
    assert rest(until=until, duration=5) == Suspend(Phase.PAUSED, NodeStatus.PAUSED, due)


@pytest.mark.parametrize(
    "params",
    [
        {"duration": 0},
        {"duration": -3, "unit": "days"},
        {"duration": "-PT5M"},
        {"duration": -(10**8), "unit": "days"},
        {"until": "2026-01-01T12:00:00Z"},
        {"until": "1999-12-31T00:00:00Z"},
    ],
)
def test_what_is_past_is_done_at_once(params: JsonObject) -> None:
    assert rest(**params) == Done()


def test_woken_it_is_done_whatever_the_time() -> None:
    assert delay({"duration": 5, "unit": "days"}, woken(call_with())) == Done()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"duration": None}, "`duration`: a duration such as 15m or PT15M was expected, and this is null"),
        (
            {"duration": True},
            "`duration`: a duration such as 15m or PT15M was expected, and this is a boolean",
        ),
        ({"duration": "soon"}, "`duration`: this text is not a duration such as 15m, 1h30m or PT15M"),
        ({"duration": 10**30, "unit": "days"}, "`duration` is out of all bounds"),
        ({"duration": float("nan")}, "`duration` is out of all bounds"),
        ({"duration": 40_000, "unit": "days"}, "`duration` is more than a hundred years away"),
        ({"until": "soon"}, "`until`: this text is not an ISO 8601 time such as 2026-11-15T09:30:00Z"),
        ({"until": None}, "`until`: an ISO 8601 time was expected, and this is null"),
        ({"until": ["2026-01-01"]}, "`until`: an ISO 8601 time was expected, and this is a list"),
        ({"until": "9999-12-31T23:59:59-12:00"}, "`until` is more than a hundred years away"),
    ],
)
def test_what_is_no_length_of_time_fails_and_is_not_tried_again(params: JsonObject, message: str) -> None:
    assert rest(**params) == Failure("BadParameter", message, retryable=False)
