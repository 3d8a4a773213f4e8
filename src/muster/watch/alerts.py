"""Alerts: what becomes of one when it is triggered, and when what it is about has come after all."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

from muster.model.watching import AlertReason, AlertState, Severity, Trigger, worst


@dataclass(frozen=True, slots=True)
class Settled:
    """What was missed has come: the alert about it resolves by itself."""

    dedupe_key: str
    at: datetime


Step: TypeAlias = Trigger | Settled
# Why an alert does something by itself.
COME = "what was missed has come"
AGAIN = "triggered once more"
OVER = "suppression ended"


@dataclass(frozen=True, slots=True)
class Move:
    """That an alert went from a state to another by itself, and why."""

    before: AlertState
    after: AlertState
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Standing:
    """An alert as it stands. `moves`: what it did by itself on the way."""

    severity: Severity
    reason: str
    state: AlertState
    count: int
    first_triggered_at: datetime
    last_triggered_at: datetime
    suppressed_until: datetime | None = None
    resolved_at: datetime | None = None
    acked_by: str | None = None
    moves: tuple[Move, ...] = ()


def after(standing: Standing | None, steps: Iterable[Step]) -> Standing | None:
    """How an alert stands after these. None: there is none, and none was triggered."""
    for step in steps:
        if isinstance(step, Trigger):
            standing = _triggered(standing, step)
        elif standing is not None:
            standing = _settled(standing, step)
    return standing


def _triggered(standing: Standing | None, trigger: Trigger) -> Standing:
    if standing is None:
        return Standing(trigger.severity, trigger.reason, AlertState.OPEN, 1, trigger.at, trigger.at)
    counted = replace(
        standing,
        severity=worst(standing.severity, trigger.severity),
        reason=_about(standing, trigger),
        count=standing.count + 1,
        last_triggered_at=max(standing.last_triggered_at, trigger.at),
    )
    if standing.state is AlertState.RESOLVED:
        return _opened(counted, trigger.at, AGAIN)
    return _opened(counted, trigger.at, OVER) if _is_over(standing, trigger.at) else counted


def _opened(standing: Standing, at: datetime, reason: str) -> Standing:
    """Opened by itself: nobody has acknowledged what it is about now."""
    opened = _moved(standing, AlertState.OPEN, at, reason)
    return replace(opened, acked_by=None, suppressed_until=None, resolved_at=None)


def _moved(standing: Standing, to: AlertState, at: datetime, reason: str) -> Standing:
    return replace(standing, state=to, moves=(*standing.moves, Move(standing.state, to, at, reason)))


def _about(standing: Standing, trigger: Trigger) -> str:
    """What an alert is about that is triggered once more. A miss is over when its event comes; what was late
    or out of order stays so until somebody has seen to it, and no miss hides that."""
    beside = trigger.reason == AlertReason.EXPECTED_MISSED and standing.state is not AlertState.RESOLVED
    return standing.reason if beside else trigger.reason


def _is_over(standing: Standing, at: datetime) -> bool:
    """Whether it was suppressed until a time that has come."""
    until = standing.suppressed_until
    return standing.state is AlertState.SUPPRESSED and until is not None and until <= at


def _settled(standing: Standing, settled: Settled) -> Standing:
    """What is about a miss and nothing else resolves by itself."""
    if standing.state is AlertState.RESOLVED or standing.reason != AlertReason.EXPECTED_MISSED:
        return standing
    resolved = _moved(standing, AlertState.RESOLVED, settled.at, COME)
    return replace(resolved, resolved_at=settled.at, suppressed_until=None)
