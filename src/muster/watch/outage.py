"""Our own outages: what came due while nobody took events in may have come, for all we know."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

# Somebody says so every two seconds.
TOLERANCE = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Presence:
    """When somebody last took events in; before that, nobody did from `gap_from` until `returned_at`. All
    that had waited meanwhile was read by `caught_up_at`."""

    seen_at: datetime
    gap_from: datetime | None = None
    returned_at: datetime | None = None
    caught_up_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """What is due after `since`, up to and with `until`, does not fire yet."""

    since: datetime
    until: datetime | None = None


def beaten(presence: Presence | None, at: datetime, grace: timedelta) -> Presence:
    """The presence after somebody has said that events are taken in."""
    if presence is None:
        return Presence(at)
    if at - presence.seen_at <= TOLERANCE:
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
    return None if since is None else Held(since, presence.returned_at)


def _since(presence: Presence, at: datetime, grace: timedelta) -> datetime | None:
    if presence.gap_from is None or presence.returned_at is None:
        return None
    over = presence.caught_up_at is not None and at >= presence.returned_at + grace
    return None if over else presence.gap_from
