"""Waits for events: which event an arrival is, when a wait is complete, and until when it waits."""

from datetime import UTC, datetime, timedelta

import pytest

from muster.engine.event_wait_codec import document_of, plan_of
from muster.engine.event_waits import (
    Accepted,
    Arrived,
    Ending,
    Expected,
    NearMiss,
    OnTimeout,
    Plan,
    Refusal,
    Refused,
    Source,
    Strategy,
    WaitState,
    at_deadline,
    deadline,
    field_of,
    is_complete,
    lacking,
    needed,
    passes,
    receive,
)

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
END = NOON + timedelta(seconds=300)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def callback(name: str, required: bool = True, own: float | None = None) -> Expected:
    return Expected(name, Source.CALLBACK, required, deadline=None if own is None else after(own))


def waiting(*events: Expected, **facts: object) -> WaitState:
    return WaitState("e", "c", Plan(events, END, **facts))  # type: ignore[arg-type]  # facts are its fields


def test_a_quorum_of_named_events_completes_the_wait() -> None:
    when = "#{received.size() >= 2}"
    state = waiting(*map(callback, "abc"), strategy=Strategy.CUSTOM, complete_when=when)
    state, first = receive(state, Arrived(Source.CALLBACK, "e", "c", 1, name="c"))
    state, second = receive(state, Arrived(Source.CALLBACK, "e", "c", 2))
    assert (first, second) == (Accepted("c", False), Accepted("a", True))
    assert list(state.received) == ["c", "a"]


def test_a_condition_may_read_what_came_and_what_the_context_held() -> None:
    plan = Plan(
        (callback("vote"), callback("veto")),
        END,
        Strategy.CUSTOM,
        complete_when="#{received.vote.yes >= quorum}",
        given={"quorum": 3},
    )
    assert not is_complete(plan, {"veto": {}}), "what cannot be computed yet does not hold"
    assert not is_complete(plan, {"vote": {"yes": 2}})
    assert is_complete(plan, {"vote": {"yes": 3}})


def test_required_events_and_a_condition_must_both_hold() -> None:
    plan = Plan(
        (callback("a"), callback("b")),
        END,
        Strategy.CUSTOM,
        named=("a",),
        complete_when="received.size() == 2",
    )
    assert not is_complete(plan, {"a": 1})
    assert is_complete(plan, {"a": 1, "b": 2})
    assert needed(plan, {"b": 2}) == ("a",)


def test_a_message_is_the_event_of_its_topic_whose_filter_it_passes() -> None:
    paid = Expected("paid", Source.KAFKA, topic="t", filter={"data.type": "paid"})
    sent = Expected("sent", Source.KAFKA, topic="t", filter={"data.type": "sent"})
    state, verdict = receive(
        waiting(paid, sent), Arrived(Source.KAFKA, "e", "c", {"data": {"type": "sent"}}, "t")
    )
    assert verdict == Accepted("sent", False)
    _, other = receive(state, Arrived(Source.KAFKA, "e", "c", {"data": {"type": "lost"}}, "t"))
    assert other == Refused(Refusal.FILTERED, NearMiss.FILTERED, "paid")
    _, elsewhere = receive(state, Arrived(Source.KAFKA, "e", "c", {}, "another"))
    assert elsewhere == Refused(Refusal.NOT_ENABLED, NearMiss.NOT_ENABLED)


@pytest.mark.parametrize(
    ("wanted", "data", "fits"),
    [
        ({}, None, True),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": 1}, {"a": "1"}, False),
        ({"a.b[0]": "x"}, {"a": {"b": ["x"]}}, True),
        ({"a.b": "x"}, {"a.b": "x"}, True),
        ({"a": None}, {}, True),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"a": 1}, "text", False),
    ],
)
def test_all_fields_of_a_filter_have_to_be_equal(wanted: dict[str, object], data: object, fits: bool) -> None:
    assert passes(wanted, data) is fits  # type: ignore[arg-type]  # JSON, as parametrised


def test_a_field_that_is_no_path_is_not_there() -> None:
    assert field_of({"a": 1}, "..") is None


@pytest.mark.parametrize(
    ("strategy", "required", "received", "until"),
    [
        (Strategy.ALL, (True, True), {}, 10),
        (Strategy.ALL, (True, True), {"a": 1}, 60),
        (Strategy.ALL, (True, False), {"a": 1}, 60),
        (Strategy.ANY, (True, True), {}, 60),
        (Strategy.REQUIRED_ONLY, (False, True), {}, 60),
        (Strategy.REQUIRED_ONLY, (False, True), {"b": 1}, 300),
        (Strategy.REQUIRED_ONLY, (False, False), {}, 60),
        (Strategy.CUSTOM, (True, True), {}, 60),
    ],
)
def test_the_deadline_is_that_of_an_event_that_is_still_needed(
    strategy: Strategy, required: tuple[bool, bool], received: dict[str, object], until: int
) -> None:
    events = (callback("a", required[0], 10), callback("b", required[1], 60))
    plan = Plan(events, END, strategy, named=("b",))
    assert deadline(plan, received) == after(until)  # type: ignore[arg-type]  # JSON, as parametrised


def test_where_one_of_any_has_no_time_of_its_own_the_whole_time_holds() -> None:
    assert deadline(Plan((callback("a", own=10), callback("b")), END, Strategy.ANY), {}) == END


def test_a_time_of_its_own_cannot_be_longer_than_the_whole() -> None:
    assert deadline(Plan((callback("a", own=900),), END), {}) == END


def test_with_a_quorum_alone_continue_goes_on_with_what_is_there() -> None:
    plan = Plan(
        (callback("a"),), END, Strategy.CUSTOM, OnTimeout.CONTINUE, complete_when="received.size() == 2"
    )
    assert at_deadline(plan, {}) is Ending.GOES_ON


def test_a_plan_is_kept_as_a_document() -> None:
    plan = Plan(
        (
            Expected("a", Source.KAFKA, False, "t", {"x.y": 1}, after(5), "order-1"),
            Expected("b", Source.WEBHOOK),
        ),
        END,
        Strategy.CUSTOM,
        OnTimeout.CONTINUE,
        ("a",),
        "received.size() == n",
        {"n": 1},
    )
    assert plan_of(document_of(plan)) == plan


@pytest.mark.parametrize(
    ("facts", "received", "told"),
    [
        ({}, {"a": 1}, "b, c did not come in time"),
        ({"strategy": Strategy.ANY}, {}, "none of a, b, c came in time"),
        ({"strategy": Strategy.REQUIRED_ONLY}, {"a": 1}, "b did not come in time"),
        ({"on_timeout": OnTimeout.CONTINUE}, {"a": 1}, "b did not come in time"),
        ({"strategy": Strategy.CUSTOM, "named": ("c",)}, {"a": 1}, "c did not come in time"),
        (
            {"strategy": Strategy.CUSTOM, "complete_when": "#{received.a > 1}"},
            {"a": 1, "b": 1, "c": 1},
            "`completeWhen` did not hold in time",
        ),
    ],
)
def test_what_was_lacking_at_the_deadline_is_what_it_was_not_to_go_on_without(
    facts: dict[str, object], received: dict[str, object], told: str
) -> None:
    plan = waiting(callback("a"), callback("b"), callback("c", required=False), **facts).plan
    assert lacking(plan, received) == told  # type: ignore[arg-type]  # numbers


def test_a_condition_that_could_not_be_computed_is_told_with_the_reason() -> None:
    plan = waiting(callback("a"), strategy=Strategy.CUSTOM, complete_when="#{received.a.b.size() > 1}").plan
    told = lacking(plan, {"a": {}})
    assert told.startswith("`completeWhen` did not hold in time: it cannot be computed with what has come: ")
    assert not told.endswith(": ")
