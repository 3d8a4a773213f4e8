"""Whatever comes for a wait with any number of events, in whatever order, some things always hold."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from muster.engine.event_waits import (
    Accepted,
    Arrived,
    Ending,
    Expected,
    OnTimeout,
    Plan,
    Refusal,
    Source,
    Strategy,
    WaitState,
    WaitStatus,
    at_deadline,
    deadline,
    is_complete,
    lacking,
    needed,
    rearmed,
    receive,
)
from muster.model.json import JsonObject

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
NAMES = ("a", "b", "c", "d")
SECONDS = st.integers(1, 600)
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.sampled_from([*Source]),
        st.booleans(),
        st.none() | SECONDS,
        st.sampled_from([None, None, "k"]),
    ),
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
        events: list[tuple[str, Source, bool, int | None, str | None]],
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
                key=key if source is Source.KAFKA else None,
            )
            for name, source, required, own, key in events
        )
        there = tuple(sorted(named & {event.name for event in expected}))
        when = None if quorum is None else f"received.size() >= {quorum}"
        plan = Plan(expected, NOON + timedelta(seconds=overall), strategy, on_timeout, there, when)
        self.state = WaitState("e", "c", plan)
        self.accepted: dict[str, object] = {}
        self.completions = 0
        self.expiries = 0
        self.number = 0

    @rule(
        name=st.sampled_from(NAMES),
        source=st.sampled_from([*Source]),
        is_named=st.booleans(),
        ok=st.booleans(),
        execution=st.sampled_from(["e", "e", "e", "x"]),
        correlation=st.sampled_from(["c", "c", "c", "x"]),
        key=st.sampled_from([None, None, "k", "other"]),
    )
    def arrive(
        self,
        name: str,
        source: Source,
        is_named: bool,
        ok: bool,
        execution: str,
        correlation: str,
        key: str | None,
    ) -> None:
        topic = "t" if source is Source.KAFKA else None
        event = Arrived(
            source, execution, correlation, self._data(ok), topic, name if is_named else None, key=key
        )
        if (accepted := self._receive(event)) is not None:
            expected = self._expected(accepted)
            assert ok
            assert expected.key == key, "by its ids, or by its key, as it is expected"
            assert key is not None or (execution, correlation) == ("e", "c")
            assert accepted == name or not is_named

    @rule(name=st.sampled_from(NAMES), source=st.sampled_from([*Source]), ok=st.booleans())
    def give_by_hand(self, name: str, source: Source, ok: bool) -> None:
        """Whatever its place and the filter say, it is the event that a person says."""
        takes = name in self.state.plan.names and name not in self.accepted and self._is_open()
        event = Arrived(source, "e", "c", self._data(ok), "elsewhere", name, by_hand=True)
        assert self._receive(event) == (name if takes else None)

    @rule()
    def expire(self) -> None:
        """The time is over: whatever holds then, nothing more is taken, until it is armed again."""
        if not self._is_open():
            return
        plan, received = self.state.plan, self.state.received
        ending, told = at_deadline(plan, received), lacking(plan, received)
        assert ending is Ending.FAILS or plan.on_timeout is not OnTimeout.FAIL
        assert (ending is Ending.GOES_ON_WARNED) == (plan.on_timeout is OnTimeout.CONTINUE_WITH_PARTIAL)
        assert told.endswith(" in time"), "nothing is lacking of a wait that is complete"
        assert all(name not in told.split() for name in self.accepted)
        self.state = replace(self.state, status=WaitStatus.TIMEOUT)
        self.expiries += 1

    @rule(later=SECONDS)
    def rearm(self, later: int) -> None:
        until = self.state.plan.deadline + timedelta(seconds=later)
        again = rearmed(self.state.plan, until)
        assert deadline(again, self.state.received) == until
        assert needed(again, self.state.received) == needed(self.state.plan, self.state.received)
        if self.state.status is WaitStatus.TIMEOUT:
            self.state = replace(self.state, plan=again, status=WaitStatus.WAITING)
            self.expiries -= 1

    def _data(self, ok: bool) -> JsonObject:
        self.number += 1
        return {"ok": ok, "number": self.number}

    def _is_open(self) -> bool:
        return self.state.status is WaitStatus.WAITING

    def _expected(self, name: str) -> Expected:
        return next(each for each in self.state.plan.events if each.name == name)

    def _receive(self, event: Arrived) -> str | None:
        """The name under which it was accepted, if it was."""
        before = self.state
        self.state, verdict = receive(before, event)
        if not isinstance(verdict, Accepted):
            assert self.state == before, "what is refused changes nothing"
            if verdict.reason is Refusal.DUPLICATE:
                assert verdict.name in self.accepted
            return None
        assert before.status is WaitStatus.WAITING
        assert verdict.name not in self.accepted, "the first one wins"
        self.accepted[verdict.name] = event.data
        self.completions += verdict.completes
        assert deadline(self.state.plan, self.state.received) >= deadline(before.plan, before.received)
        return verdict.name

    @invariant()
    def keeps_what_came_and_comes_to_one_end(self) -> None:
        if not hasattr(self, "state"):
            return
        assert dict(self.state.received) == self.accepted
        assert self.completions + self.expiries <= 1, "completed, or out of time"
        assert self._is_open() == (self.completions + self.expiries == 0)
        if self.accepted:
            assert (self.completions == 1) == is_complete(self.state.plan, self.state.received)


TestWait = Wait.TestCase
TestWait.settings = settings(max_examples=150, stateful_step_count=25, deadline=None)
