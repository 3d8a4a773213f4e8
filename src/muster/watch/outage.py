"""Our own outages: what came due while nobody took events in may have come, for all we know."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from muster.engine.bus import Place, Reach

# Somebody says so every two seconds.
TOLERANCE = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Absence:
    """While nobody took events in."""

    since: datetime
    until: datetime

    def received(self, came_at: datetime, at: datetime) -> datetime:
        """When an event counts as received that is read now and came to its topic then: it is not late for
        our absence. (Some come without a time: they may have come at any.)"""
        return at if came_at > self.until else max(came_at, self.since)


@dataclass(frozen=True, slots=True)
class Presence:
    """When somebody last took events in; before that, nobody did from `gap_from` until `returned_at`. All
    that had waited meanwhile was read by `caught_up_at`."""

    seen_at: datetime
    gap_from: datetime | None = None
    returned_at: datetime | None = None
    caught_up_at: datetime | None = None

    @property
    def absence(self) -> Absence | None:
        """The absence of which not everything has been read yet."""
        if self.gap_from is None or self.returned_at is None or self.caught_up_at is not None:
            return None
        return Absence(self.gap_from, self.returned_at)


@dataclass(frozen=True, slots=True)
class Held:
    """What is due after `since`, up to and with `until`, does not fire yet."""

    since: datetime
    until: datetime | None = None

    def holds(self, due_at: datetime) -> bool:
        return self.since < due_at and (self.until is None or due_at <= self.until)


def beaten(presence: Presence | None, at: datetime, grace: timedelta, returns: bool = False) -> Presence:
    """The presence after somebody has said that events are taken in. `returns`: who says so has just come,
    and nobody else is there."""
    if presence is None:
        return Presence(at)
    if at - presence.seen_at <= TOLERANCE and not returns:
        return replace(presence, seen_at=max(at, presence.seen_at))
    # What a return of a moment ago still holds back stays so.
    since = _since(presence, at, grace) or presence.seen_at
    return Presence(at, since, at)


def held(presence: Presence | None, at: datetime, grace: timedelta) -> Held | None:
    """What does not fire at a moment."""
    if presence is None:
        return None
    if at - presence.seen_at > TOLERANCE:
        return Held(_since(presence, at, grace) or presence.seen_at)
    since = _since(presence, at, grace)
    # Until all is read that waited, what is due by now may be among it, too.
    return None if since is None else Held(since, presence.caught_up_at)


def _since(presence: Presence, at: datetime, grace: timedelta) -> datetime | None:
    if presence.gap_from is None or presence.returned_at is None:
        return None
    over = presence.caught_up_at is not None and at >= presence.returned_at + grace
    return None if over else presence.gap_from


class Backlog:
    """What waited on the topic at a return. Where the topic ended is noted when it is first asked for: what
    comes after that is no backlog."""

    def __init__(self) -> None:
        self._returned_at: datetime | None = None
        self._ends: dict[Place, int] = {}

    def is_read(self, returned_at: datetime, reach: Mapping[Place, Reach] | None) -> bool:
        """Whether all of it has been read. `reach` None: nobody knows how far that is."""
        if reach is None:
            return False
        if returned_at != self._returned_at:
            self._returned_at, self._ends = returned_at, {place: each.end for place, each in reach.items()}
        return all(place in reach and reach[place].position >= end for place, end in self._ends.items())
