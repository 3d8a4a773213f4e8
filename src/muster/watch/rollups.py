"""What a stretch of time is added up from: days where whole days fit, then hours, then minutes. Pure.

Buckets of all three lengths are written together, so the one that is not over yet counts what it has so far.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum


class Grain(StrEnum):
    """How long a bucket is."""

    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"


LENGTHS: Mapping[Grain, timedelta] = {
    Grain.DAY: timedelta(days=1),
    Grain.HOUR: timedelta(hours=1),
    Grain.MINUTE: timedelta(minutes=1),
}
COARSEST_FIRST = tuple(LENGTHS)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# After it no day begins that can be told.
_LAST = datetime.max.replace(tzinfo=UTC) - timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Span:
    """The buckets of one length that begin at `start` or later, and before `end`. None: without bound."""

    grain: Grain
    start: datetime | None
    end: datetime | None


def bucket(moment: datetime, grain: Grain = Grain.MINUTE) -> datetime:
    """When the bucket that holds this moment begins, in UTC."""
    return moment - (moment - _EPOCH) % LENGTHS[grain]


def spans(start: datetime | None, end: datetime | None) -> Sequence[Span]:
    """What covers the minutes from `start`'s on, before `end`'s: every minute once, and in few buckets."""
    first, last = (None if each is None else bucket(min(each, _LAST)) for each in (start, end))
    return _cover(first, last)


def _cover(
    start: datetime | None, end: datetime | None, grains: Sequence[Grain] = COARSEST_FIRST
) -> Sequence[Span]:
    if start is not None and end is not None and start >= end:
        return []
    grain, finer = grains[0], grains[1:]
    if not finer:
        return [Span(grain, start, end)]
    first = None if start is None else _next(start, grain)
    last = None if end is None else bucket(end, grain)
    if first is not None and last is not None and first >= last:
        return _cover(start, end, finer)
    before = [] if first is None else _cover(start, first, finer)
    beyond = [] if last is None else _cover(last, end, finer)
    return [*before, Span(grain, first, last), *beyond]


def _next(moment: datetime, grain: Grain) -> datetime:
    """The moment itself where a bucket begins, else the beginning of the next."""
    begins = bucket(moment, grain)
    return begins if begins == moment else begins + LENGTHS[grain]
