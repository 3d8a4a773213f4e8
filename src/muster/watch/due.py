"""When what follows an event is due."""

from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

from muster.definitions.wall_clock import UnknownZone, moment_of, zone_named
from muster.model.watching import Deadline, WatchedEdge

_DAY = timedelta(days=1)
# What is due later than time can tell is due then.
_LAST = datetime.max.replace(tzinfo=UTC) - _DAY


def due_at(edge: WatchedEdge, happened_at: datetime, zone: str) -> datetime | None:
    """The earlier of what an edge says, counted from its event; None: it says nothing."""
    found = []
    if edge.max_latency_sec is not None:
        found.append(_after(happened_at, timedelta(seconds=edge.max_latency_sec)))
    if edge.absolute_deadline is not None:
        found.append(deadline_of(edge.absolute_deadline, happened_at, zone, edge.deadline_rollover))
    return min(found, default=None)


def deadline_of(deadline: Deadline, happened_at: datetime, zone: str, rollover: bool) -> datetime:
    """The deadline on the event's own date, also where that is past; with `rollover` then on the next."""
    place = _place(deadline, zone)
    day = happened_at.astimezone(place).date()
    moment = _on(day_of := datetime.combine(day, deadline.at), place)
    if rollover and moment < happened_at and moment < _LAST:
        moment = _on(day_of + _DAY, place)
    return moment


def _place(deadline: Deadline, zone: str) -> ZoneInfo | timezone:
    if deadline.offset is not None:
        return timezone(deadline.offset)
    try:
        return _zone(zone)
    except UnknownZone:
        return UTC  # it was known where the version was saved


@lru_cache(maxsize=256)
def _zone(name: str) -> ZoneInfo:
    return zone_named(name)


def _on(shown: datetime, place: ZoneInfo | timezone) -> datetime:
    if isinstance(place, ZoneInfo):
        return moment_of(shown, place)
    return shown.replace(tzinfo=place).astimezone(UTC)


def _after(moment: datetime, wait: timedelta) -> datetime:
    return moment + wait if moment < _LAST - wait else _LAST
