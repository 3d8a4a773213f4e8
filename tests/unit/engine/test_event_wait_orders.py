"""Every order of what may happen to a wait comes to what the plainest model of it says."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from event_wait_reference import API, HAPPENINGS, KAFKA, SETTINGS, Reference, Setting
from muster.engine.event_waits import (
    Accepted,
    Arrived,
    Expected,
    OnTimeout,
    Plan,
    Source,
    Strategy,
    WaitState,
    WaitStatus,
    at_deadline,
    receive,
)

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
DONE = {"event_type": "done"}
TOPIC = "ext.events"
CALLBACK = Arrived(Source.CALLBACK, "e", "c", {"ok": True})
MESSAGE = Arrived(Source.KAFKA, "e", "c", DONE, TOPIC)
EVENTS = {
    "api": CALLBACK,
    "kafka": MESSAGE,
    "wrong execution": replace(CALLBACK, execution_id="other"),
    "wrong correlation": replace(MESSAGE, correlation_id="other"),
    "filtered": replace(MESSAGE, data={"event_type": "other"}),
}


def plan_of(setting: Setting) -> Plan:
    return Plan(
        events=(
            Expected(API, Source.CALLBACK, API in setting.required),
            Expected(KAFKA, Source.KAFKA, KAFKA in setting.required, TOPIC, filter=DONE),
        ),
        deadline=NOON + timedelta(minutes=5),
        strategy=Strategy(setting.strategy),
        on_timeout=OnTimeout(setting.on_timeout),
        named=tuple(sorted(setting.required)),
    )


class Walk:
    """All orders of one setting, beginnings in common walked once."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.orders = setting, 0

    def from_here(self, left: Counter[str], state: WaitState, reference: Reference) -> None:
        for what in [each for each, count in left.items() if count]:
            rest = left - Counter([what])
            model = reference.copy()
            after, told = happen(state, what)
            assert told == model.happen(what), (self.setting, what, state)
            assert set(after.received) == model.has
            assert (after.status is WaitStatus.WAITING) == (model.end is None)
            if rest:
                self.from_here(rest, after, model)
            else:
                self.orders += 1
                assert model.ends == 1, "however it went, it came to one end"


def happen(state: WaitState, what: str) -> tuple[WaitState, str]:
    if what == "timeout":
        if state.status is not WaitStatus.WAITING:
            return state, "too late"
        return replace(state, status=WaitStatus.TIMEOUT), at_deadline(state.plan, state.received).value
    after, verdict = receive(state, EVENTS[what])
    return after, "accepted" if isinstance(verdict, Accepted) else verdict.reason.value


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_every_order_comes_to_what_the_model_says(setting: Setting) -> None:
    walk = Walk(setting)
    walk.from_here(Counter(HAPPENINGS), WaitState("e", "c", plan_of(setting)), Reference(setting))
    assert walk.orders == 10_080, "8! / (2! * 2!) for each of 48 settings"
