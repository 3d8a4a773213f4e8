"""What a stretch of time is added up from: every minute once, and few buckets."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from muster.watch.rollups import LENGTHS, Grain, Span, bucket, spans

FIRST = datetime(2020, 1, 1, tzinfo=UTC)
MOMENTS = st.integers(0, 60 * 24 * 60 * 60).map(lambda seconds: FIRST + timedelta(seconds=seconds))
BEGINNING, END = datetime(2019, 12, 1, tzinfo=UTC), datetime(2020, 4, 1, tzinfo=UTC)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def minutes_of(span: Span) -> set[datetime]:
    start, end = span.start or BEGINNING, span.end or END
    assert bucket(start, span.grain) == start
    assert bucket(end, span.grain) == end
    return {start + timedelta(minutes=n) for n in range(int((end - start) / timedelta(minutes=1)))}


@given(start=st.none() | MOMENTS, end=st.none() | MOMENTS)
def test_every_minute_of_the_stretch_is_counted_once(start: datetime | None, end: datetime | None) -> None:
    parts = [minutes_of(span) for span in spans(start, end)]
    wanted = minutes_of(Span(Grain.MINUTE, start and bucket(start), end and bucket(end)))
    assert set().union(*parts) == wanted
    assert sum(map(len, parts)) == len(wanted)


@given(start=MOMENTS, end=MOMENTS)
def test_no_more_buckets_are_read_than_two_hours_two_days_and_the_days(
    start: datetime, end: datetime
) -> None:
    read = dict.fromkeys(Grain, 0.0)
    for span in spans(start, end):
        assert span.start
        assert span.end
        read[span.grain] += (span.end - span.start) / LENGTHS[span.grain]
    assert read[Grain.MINUTE] <= 2 * 59
    assert read[Grain.HOUR] <= 2 * 23


def test_a_day_until_now_is_minutes_then_hours_then_days() -> None:
    assert spans(at("2020-01-01T22:58:30"), None) == [
        Span(Grain.MINUTE, at("2020-01-01T22:58:00"), at("2020-01-01T23:00:00")),
        Span(Grain.HOUR, at("2020-01-01T23:00:00"), at("2020-01-02T00:00:00")),
        Span(Grain.DAY, at("2020-01-02T00:00:00"), None),
    ]


def test_all_that_was_before_is_days_then_hours_then_minutes() -> None:
    assert spans(None, at("2020-01-02T01:02:03")) == [
        Span(Grain.DAY, None, at("2020-01-02T00:00:00")),
        Span(Grain.HOUR, at("2020-01-02T00:00:00"), at("2020-01-02T01:00:00")),
        Span(Grain.MINUTE, at("2020-01-02T01:00:00"), at("2020-01-02T01:02:00")),
    ]


def test_the_last_of_all_moments_has_its_buckets_too() -> None:
    last = datetime.max.replace(tzinfo=UTC)
    assert all(span.start is None or span.start <= last for span in spans(last, None))
    assert spans(None, last)
