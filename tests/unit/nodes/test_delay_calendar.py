"""Delays by the calendar: years and months are as long as they are."""

from datetime import UTC, datetime

import pytest

from muster.definitions.formats import period
from muster.engine.handlers import Done, Suspend
from muster.engine.state import Failure
from muster.nodes.delay import delay
from node_calls import NOW, call_with


@pytest.mark.parametrize(
    ("duration", "due"),
    [
        ("P1Y", datetime(2027, 1, 1, 12, tzinfo=UTC)),
        ("P1M", datetime(2026, 2, 1, 12, tzinfo=UTC)),
        ("p2m", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("P1Y2M3DT4H", datetime(2027, 3, 4, 16, tzinfo=UTC)),
        ("P14M", datetime(2027, 3, 1, 12, tzinfo=UTC)),
        ("PT2M", datetime(2026, 1, 1, 12, 2, tzinfo=UTC)),
        ("P99Y", datetime(2125, 1, 1, 12, tzinfo=UTC)),
    ],
)
def test_years_and_months_are_the_calendars(duration: str, due: datetime) -> None:
    assert datetime(2026, 1, 1, 12, tzinfo=UTC) == NOW
    rested = delay({"duration": duration}, call_with())
    assert isinstance(rested, Suspend)
    assert rested.due == due
    assert period(duration) is None


@pytest.mark.parametrize("duration", ["-P1Y", "P0M", "P0Y"])
def test_what_is_past_or_nothing_is_done_at_once(duration: str) -> None:
    assert delay({"duration": duration}, call_with()) == Done()


@pytest.mark.parametrize("duration", ["P1Y1Y", "P1M1Y", "P1Ysoon", "P", "PY"])
def test_what_is_no_length_of_time_is_refused_when_it_is_saved_and_when_it_runs(duration: str) -> None:
    assert period(duration) is not None
    assert isinstance(delay({"duration": duration}, call_with()), Failure)


@pytest.mark.parametrize("duration", ["P101Y", "P9999Y", "P99999M"])
def test_what_is_too_far_away_fails(duration: str) -> None:
    assert isinstance(delay({"duration": duration}, call_with()), Failure)
