"""What becomes of an alert that is triggered once more, or whose event has come: the rules of its upsert."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from muster.model.watching import AlertReason, AlertState, Severity, Trigger
from muster.watch.alerts import Move, Settled, Standing, after

NOON = datetime(2024, 6, 10, 12, tzinfo=UTC)
MISS, LATE, ORDER = AlertReason.EXPECTED_MISSED, AlertReason.SLA_MISSED, AlertReason.ORDER_VIOLATION


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def trigger(minutes: float, severity: str = "amber", reason: AlertReason = MISS) -> Trigger:
    return Trigger(1, 7, "b", "k", "", "", Severity(severity), reason, at(minutes))


def settled(minutes: float) -> Settled:
    return Settled("1:b:k", at(minutes))


def opened(**changes: object) -> Standing:
    return replace(Standing(Severity.AMBER, MISS, AlertState.OPEN, 1, at(0), at(0)), **changes)  # type: ignore[arg-type]


def test_the_first_trigger_opens_it() -> None:
    assert after(None, [trigger(0)]) == opened()
    assert after(None, [settled(0)]) is None


def test_its_severity_is_the_worst_whatever_the_order() -> None:
    for severities in (("amber", "red"), ("red", "amber")):
        found = after(None, [trigger(n, each) for n, each in enumerate(severities)])
        assert found is not None
        assert found.severity is Severity.RED


def test_it_was_last_triggered_at_the_latest_and_first_at_the_first() -> None:
    found = after(None, [trigger(5), trigger(9), trigger(7)])
    assert found is not None
    assert (found.first_triggered_at, found.last_triggered_at, found.count) == (at(5), at(9), 3)


@pytest.mark.parametrize("state", [AlertState.ACK, AlertState.SUPPRESSED])
def test_what_somebody_deals_with_is_counted_and_left_as_it_is(state: AlertState) -> None:
    dealt_with = opened(state=state, acked_by="ann", suppressed_until=at(60))
    found = after(dealt_with, [trigger(5, "red")])
    expected = replace(dealt_with, severity=Severity.RED, count=2, last_triggered_at=at(5))
    assert found == expected


def test_a_suppression_that_is_over_ends_with_the_next_trigger() -> None:
    found = after(opened(state=AlertState.SUPPRESSED, suppressed_until=at(5)), [trigger(5)])
    assert found is not None
    assert (found.state, found.suppressed_until) == (AlertState.OPEN, None)
    assert found.moves == (Move(AlertState.SUPPRESSED, AlertState.OPEN, at(5), "suppression ended"),)


def test_what_was_resolved_is_opened_and_nobody_has_acknowledged_it() -> None:
    resolved = opened(state=AlertState.RESOLVED, resolved_at=at(1), acked_by="ann")
    found = after(resolved, [trigger(5, reason=LATE)])
    assert found is not None
    assert (found.state, found.acked_by, found.resolved_at) == (AlertState.OPEN, None, None)
    assert (found.reason, found.count) == (LATE, 2)
    assert found.moves == (Move(AlertState.RESOLVED, AlertState.OPEN, at(5), "triggered once more"),)


@pytest.mark.parametrize("state", [AlertState.OPEN, AlertState.ACK, AlertState.SUPPRESSED])
def test_a_miss_resolves_when_its_event_comes(state: AlertState) -> None:
    found = after(opened(state=state, suppressed_until=at(60)), [settled(3)])
    assert found is not None
    assert (found.state, found.resolved_at, found.suppressed_until) == (AlertState.RESOLVED, at(3), None)
    assert found.moves == (Move(state, AlertState.RESOLVED, at(3), "what was missed has come"),)


@pytest.mark.parametrize("reason", [LATE, ORDER])
def test_a_miss_beside_something_else_neither_hides_it_nor_takes_it_along(reason: AlertReason) -> None:
    found = after(None, [trigger(0, reason=reason), trigger(1), settled(2)])
    assert found is not None
    assert (found.reason, found.state, found.count) == (reason, AlertState.OPEN, 2)
