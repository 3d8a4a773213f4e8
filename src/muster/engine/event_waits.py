"""Waiting for events: what a wait expects, what becomes of an event, when it is complete, what holds at its
deadline. Pure: events come in any order, twice, wrong or never, and the same ones decide alike.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, TypeAlias, assert_never

from muster.engine.tracing import Waiter
from muster.expr import ExpressionError, Scope, compile_condition, to_boolean
from muster.expr.errors import ExpressionSyntaxError
from muster.expr.paths import plain_path
from muster.model.json import Json, JsonObject, JsonView

RECEIVED = "received"


class Strategy(StrEnum):
    ALL = "all"
    ANY = "any"
    REQUIRED_ONLY = "required_only"
    CUSTOM = "custom"


class OnTimeout(StrEnum):
    FAIL = "fail"
    CONTINUE = "continue"
    CONTINUE_WITH_PARTIAL = "continue_with_partial"


class Source(StrEnum):
    CALLBACK = "callback"
    KAFKA = "kafka"
    WEBHOOK = "webhook"


class WaitStatus(StrEnum):
    """`resuming`: it is complete, and its execution is told so; `completed`: the execution has gone on."""

    WAITING = "waiting"
    RESUMING = "resuming"
    COMPLETED = "completed"
    TIMEOUT = "timeout"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Expected:
    """An event that a wait has enabled. A `deadline` of its own is there only where one is written. With a
    `key` it is matched by that business value, and not by the two ids."""

    name: str
    source: Source
    required: bool = True
    topic: str | None = None
    filter: JsonView = field(default_factory=dict)
    deadline: datetime | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a wait is about, fixed when it is registered. `named` are the `requiredEvents` of `custom`;
    `complete_when` may read `received` and `given`, the values that the context had."""

    events: tuple[Expected, ...]
    deadline: datetime
    strategy: Strategy = Strategy.ALL
    on_timeout: OnTimeout = OnTimeout.FAIL
    named: tuple[str, ...] = ()
    complete_when: str | None = None
    given: JsonView = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(event.name for event in self.events)


@dataclass(frozen=True, slots=True)
class WaitState:
    """A wait as it stands. `received` is in the order in which the events came."""

    execution_id: str
    correlation_id: str
    plan: Plan
    received: Mapping[str, Json] = field(default_factory=dict)
    status: WaitStatus = WaitStatus.WAITING


@dataclass(frozen=True, slots=True)
class Arrived:
    """Something that came from outside, for whoever it names. `name` says which event it is, if the sender
    does; `key`: it was matched by a business value, and the two ids say nothing. `by_hand`: a person says
    that it is the event of this name, whatever its place and the filter say. `is_unreadable`: nobody can tell
    what it says, and `data` is how it begins. `trace` is the `traceparent` that it came with."""

    source: Source
    execution_id: str
    correlation_id: str
    data: Json
    topic: str | None = None
    name: str | None = None
    key: str | None = None
    by_hand: bool = False
    is_unreadable: bool = False
    trace: str | None = None


class Refusal(StrEnum):
    """Why an event was not accepted, as its sender is told."""

    NOT_WAITING = "NOT_WAITING"
    EXECUTION_MISMATCH = "EXECUTION_MISMATCH"
    DUPLICATE = "DUPLICATE"
    NOT_ENABLED = "NOT_ENABLED"
    FILTERED = "FILTERED"


class NearMiss(StrEnum):
    """Why an event that names something known was not accepted, as operators are told."""

    EARLY = "EARLY"
    LATE = "LATE"
    EXECUTION_MISMATCH = "EXECUTION_MISMATCH"
    CORRELATION_MISMATCH = "CORRELATION_MISMATCH"
    FILTERED = "FILTERED"
    DUPLICATE = "DUPLICATE"
    NOT_ENABLED = "NOT_ENABLED"
    UNPARSABLE = "UNPARSABLE"


class Accepted(NamedTuple):
    """It was stored under this name; with it the wait is complete, or not. `is_taken_up`: its execution goes
    on already, and nobody has to look for it. `waiter` is whose wait it is, where anybody knows."""

    name: str
    completes: bool
    is_taken_up: bool = False
    waiter: Waiter | None = None


class Refused(NamedTuple):
    """It was not stored. `name` is the event that it would have been, if any; `near` is None where nothing is
    known by its ids. `over_since` is when its wait was completed, or its time over, if it is."""

    reason: Refusal
    near: NearMiss | None = None
    name: str | None = None
    over_since: datetime | None = None


Verdict: TypeAlias = Accepted | Refused


class Ending(StrEnum):
    """What a wait whose time is over comes to: its node fails, or goes on, perhaps with a warning."""

    FAILS = "fails"
    GOES_ON = "goes_on"
    GOES_ON_WARNED = "goes_on_warned"


# --- receiving -----------------------------------------------------------------------------------------


def receive(state: WaitState, event: Arrived) -> tuple[WaitState, Verdict]:
    """What an event does to the wait that it was matched with. A stored event never changes: the first
    wins."""
    if event.key is None:
        if event.correlation_id != state.correlation_id:
            return state, Refused(Refusal.NOT_WAITING, NearMiss.CORRELATION_MISMATCH)
        if event.execution_id != state.execution_id:
            return state, Refused(Refusal.EXECUTION_MISMATCH, NearMiss.EXECUTION_MISMATCH)
    if event.is_unreadable:
        return state, Refused(Refusal.FILTERED, NearMiss.UNPARSABLE)
    meant = _meant(state, event)
    if isinstance(meant, Refused):
        return state, meant
    received = {**state.received, meant.name: event.data}
    completes = is_complete(state.plan, received)
    status = WaitStatus.RESUMING if completes else WaitStatus.WAITING
    return replace(state, received=received, status=status), Accepted(meant.name, completes)


def _meant(state: WaitState, event: Arrived) -> Expected | Refused:
    """The event of the wait that this is, if it is one and has not come yet."""
    enabled = [each for each in state.plan.events if _is_from(each, event)]
    fitting = [each for each in enabled if event.by_hand or passes(each.filter, event.data)]
    fresh = [each for each in fitting if each.name not in state.received]
    if fitting and not fresh:
        return Refused(Refusal.DUPLICATE, NearMiss.DUPLICATE, fitting[0].name)
    if state.status is not WaitStatus.WAITING:
        return Refused(Refusal.NOT_WAITING, NearMiss.LATE)
    if not enabled:
        return Refused(Refusal.NOT_ENABLED, NearMiss.NOT_ENABLED)
    return fresh[0] if fresh else Refused(Refusal.FILTERED, NearMiss.FILTERED, enabled[0].name)


def _is_from(expected: Expected, event: Arrived) -> bool:
    if event.by_hand:
        return event.name == expected.name
    same_place = _door(expected.source) is _door(event.source) and expected.topic == event.topic
    named = event.name in (None, expected.name)
    return same_place and named and expected.key == event.key


def _door(source: Source) -> Source:
    """Where events come in: webhooks and callbacks over HTTP, by one door."""
    return Source.CALLBACK if source is Source.WEBHOOK else source


def passes(wanted: JsonView, data: Json) -> bool:
    """Whether all fields of a filter, which may be nested paths, have these values."""
    return all(_is_equal(field_of(data, path), value) for path, value in wanted.items())


def field_of(data: Json, path: str) -> Json:
    """The value under a name, or at the end of a path; None if there is none. A name with dots in it that is
    there as it stands is that name."""
    if isinstance(data, dict) and path in data:
        return data[path]
    try:
        return plain_path(path).lookup(data)[0]
    except ExpressionSyntaxError:
        return None


def _is_equal(one: Json, other: Json) -> bool:
    """`true` is not 1, whatever Python says."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


# --- completing ----------------------------------------------------------------------------------------


def is_complete(plan: Plan, received: JsonView) -> bool:
    """Whether the wait has what it needs."""
    if needed(plan, received):
        return False
    return plan.strategy is not Strategy.CUSTOM or plan.complete_when is None or _holds(plan, received)


def needed(plan: Plan, received: JsonView) -> tuple[str, ...]:
    """The events that are still needed, by name; where any one will do, all of them."""
    missing = tuple(name for name in _wanted(plan) if name not in received)
    if _takes_any(plan):
        return missing if not received else ()
    return missing


def _wanted(plan: Plan) -> tuple[str, ...]:
    match plan.strategy:
        case Strategy.ALL | Strategy.ANY:
            return plan.names
        case Strategy.REQUIRED_ONLY:
            return _required(plan) or plan.names
        case Strategy.CUSTOM:
            return plan.named
        case _:
            assert_never(plan.strategy)


def _required(plan: Plan) -> tuple[str, ...]:
    return tuple(event.name for event in plan.events if event.required)


def _takes_any(plan: Plan) -> bool:
    """`required_only` without any that is required is like `any`."""
    return plan.strategy is Strategy.ANY or (plan.strategy is Strategy.REQUIRED_ONLY and not _required(plan))


def _holds(plan: Plan, received: JsonView) -> bool:
    """Whether `completeWhen` does. One that cannot be computed yet, because it reads what is not there, does
    not."""
    try:
        return _computed(plan, received)
    except ExpressionError:
        return False


def trouble_of_condition(plan: Plan, received: JsonView) -> str | None:
    """Why `completeWhen` cannot be computed with what has come. None: it can, or is not asked yet."""
    if plan.complete_when is None or needed(plan, received):
        return None
    try:
        _computed(plan, received)
    except ExpressionError as error:
        return error.message
    return None


def _computed(plan: Plan, received: JsonView) -> bool:
    assert plan.complete_when is not None, "asked before"
    root: JsonObject = {**plan.given, RECEIVED: dict(received)}
    return to_boolean(compile_condition(plan.complete_when).evaluate(Scope(root, plan.deadline, "")))


# --- by hand -------------------------------------------------------------------------------------------


def rearmed(plan: Plan, until: datetime) -> Plan:
    """The same plan with another deadline, which is all the time that there is."""
    return replace(plan, deadline=until, events=tuple(replace(each, deadline=None) for each in plan.events))


# --- timing out ----------------------------------------------------------------------------------------


def deadline(plan: Plan, received: JsonView) -> datetime:
    """When the wait is over: at its own deadline, or before, at that of an event that is still needed. Where
    any one will do, as long as one of them may still come. With every event it can only move on."""
    missing = needed(plan, received)
    own = [event.deadline for event in plan.events if event.name in missing]
    written = [at for at in own if at is not None]
    if _takes_any(plan):
        return min(plan.deadline, max(written)) if written and len(written) == len(own) else plan.deadline
    return min([plan.deadline, *written])


def at_deadline(plan: Plan, received: JsonView) -> Ending:
    """What holds when the time is over and the wait is not complete."""
    match plan.on_timeout:
        case OnTimeout.FAIL:
            return Ending.FAILS
        case OnTimeout.CONTINUE_WITH_PARTIAL:
            return Ending.GOES_ON_WARNED
        case OnTimeout.CONTINUE:
            return Ending.GOES_ON if all(name in received for name in _essential(plan)) else Ending.FAILS
        case _:
            assert_never(plan.on_timeout)


def lacking(plan: Plan, received: JsonView) -> str:
    """What a wait lacked whose time is over and which is not complete, in words."""
    names = needed(plan, received)
    if plan.on_timeout is OnTimeout.CONTINUE:
        # What it would have gone on without is not why it failed.
        names = tuple(name for name in _essential(plan) if name not in received) or names
    if names:
        told = ", ".join(names)
        is_one = len(names) == 1 or not _takes_any(plan)
        return f"{told} did not come in time" if is_one else f"none of {told} came in time"
    trouble = trouble_of_condition(plan, received)
    why = "" if trouble is None else f": it cannot be computed with what has come: {trouble}"
    return f"`completeWhen` did not hold in time{why}"


def _essential(plan: Plan) -> tuple[str, ...]:
    """The events without which `continue` does not."""
    match plan.strategy:
        case Strategy.ALL:
            return _required(plan)
        case Strategy.CUSTOM:
            return plan.named
        case Strategy.ANY | Strategy.REQUIRED_ONLY:
            return ()
        case _:
            assert_never(plan.strategy)
