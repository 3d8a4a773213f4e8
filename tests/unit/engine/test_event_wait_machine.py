"""Whatever comes for a wait with any number of events, in whatever order, some things always hold."""

from datetime import UTC, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from muster.engine.event_waits import (
    Accepted,
    Arrived,
    Expected,
    OnTimeout,
    Plan,
    Refusal,
    Source,
    Strategy,
    WaitState,
    WaitStatus,
    deadline,
    is_complete,
    needed,
    rearmed,
    receive,
)

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
NAMES = ("a", "b", "c", "d")
SECONDS = st.integers(1, 600)
EVENTS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from([*Source]), st.booleans(), st.none() | SECONDS),
    min_size=1,
    unique_by=lambda event: event[0],
)


class Wait(RuleBasedStateMachine):
    @initialize(
        events=EVENTS,
        strategy=st.sampled_from([*Strategy]),
        on_timeout=st.sampled_from([*OnTimeout]),
        overall=SECONDS,
        quorum=st.none() | st.integers(1, 4),
        named=st.sets(st.sampled_from(NAMES)),
    )
    def open(
        self,
        events: list[tuple[str, Source, bool, int | None]],
        strategy: Strategy,
        on_timeout: OnTimeout,
        overall: int,
        quorum: int | None,
        named: set[str],
    ) -> None:
        expected = tuple(
            Expected(
                name,
                source,
                required,
                topic="t" if source is Source.KAFKA else None,
                filter={"ok": True},
                deadline=None if own is None else NOON + timedelta(seconds=own),
            )
            for name, source, required, own in events
        )
        there = tuple(sorted(named & {event.name for event in expected}))
        when = None if quorum is None else f"received.size() >= {quorum}"
        plan = Plan(expected, NOON + timedelta(seconds=overall), strategy, on_timeout, there, when)
        self.state = WaitState("e", "c", plan)
        self.accepted: dict[str, object] = {}
        self.completions = 0
        self.number = 0

    @rule(
        name=st.sampled_from(NAMES),
        source=st.sampled_from([*Source]),
        is_named=st.booleans(),
        ok=st.booleans(),
        execution=st.sampled_from(["e", "e", "e", "x"]),
        correlation=st.sampled_from(["c", "c", "c", "x"]),
    )
    def arrive(
        self, name: str, source: Source, is_named: bool, ok: bool, execution: str, correlation: str
    ) -> None:
        self.number += 1
        before = self.state
        topic = "t" if source is Source.KAFKA else None
        data = {"ok": ok, "number": self.number}
        event = Arrived(source, execution, correlation, data, topic, name if is_named else None)
        self.state, verdict = receive(before, event)
        if isinstance(verdict, Accepted):
            assert before.status is WaitStatus.WAITING
            assert (execution, correlation, ok) == ("e", "c", True)
            assert verdict.name not in self.accepted, "the first one wins"
            assert verdict.name == name or not is_named
            self.accepted[verdict.name] = data
            self.completions += verdict.completes
            assert deadline(self.state.plan, self.state.received) >= deadline(before.plan, before.received)
        else:
            assert self.state == before, "what is refused changes nothing"
            if verdict.reason is Refusal.DUPLICATE:
                assert verdict.name in self.accepted

    @rule(later=SECONDS)
    def rearm(self, later: int) -> None:
        until = self.state.plan.deadline + timedelta(seconds=later)
        again = rearmed(self.state.plan, until)
        assert deadline(again, self.state.received) == until
        assert needed(again, self.state.received) == needed(self.state.plan, self.state.received)

    @invariant()
    def keeps_what_came_and_completes_once(self) -> None:
        if not hasattr(self, "state"):
            return
        assert dict(self.state.received) == self.accepted
        assert self.completions <= 1
        over = self.state.status is not WaitStatus.WAITING
        assert over == (self.completions == 1)
        if self.accepted:
            assert over == is_complete(self.state.plan, self.state.received)


TestWait = Wait.TestCase
TestWait.settings = settings(max_examples=150, stateful_step_count=25, deadline=None)
