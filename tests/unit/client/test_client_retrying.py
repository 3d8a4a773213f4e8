"""When the client sends a request again: only where that is safe, and not before the server wants it."""

from datetime import UTC, datetime

import pytest

from muster.client.errors import Invalid, RateLimited, Refused, Unavailable, Unreachable, refusal
from muster.client.requests import Request
from muster.client.retrying import Again, Answer, GiveUp, Lost, NotSent, Outcome, Retries, Situation, decide

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ONCE = Request("POST", "/x")
AT_WILL = Request("GET", "/x", repeatable=True)
AWAY, LOST = NotSent("refused"), Lost("reset")
RETRIES = Retries(tries=5, first=1.0, longest=4.0, within=30.0)


def problem(status: int, code: str = "", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, named, f'{{"code": "{code}", "detail": "so it is"}}'.encode())


def after(
    request: Request, outcome: Outcome, tried: int = 1, elapsed: float = 0.0, chance: float = 1.0
) -> object:
    return decide(RETRIES, request, outcome, Situation(tried, elapsed, NOW, chance))


def test_an_answer_is_an_answer() -> None:
    assert after(ONCE, Answer(202, {}, b"{}")) == Answer(202, {}, b"{}")


@pytest.mark.parametrize(
    "outcome",
    [AWAY, problem(429), problem(503, "UNAVAILABLE"), problem(503, "PROVIDER_UNAVAILABLE")],
    ids=["not sent", "429", "unavailable", "provider"],
)
def test_what_was_not_done_is_tried_again_whatever_it_is(outcome: Outcome) -> None:
    assert isinstance(after(ONCE, outcome), Again)


@pytest.mark.parametrize(
    "outcome",
    [
        LOST,
        problem(503, "OUTCOME_UNKNOWN"),
        problem(503, "BUS_UNAVAILABLE"),
        Answer(503, {}, b"<p>busy</p>"),
        problem(502),
        problem(504),
    ],
    ids=["lost", "unknown", "bus", "a proxy's", "502", "504"],
)
def test_what_may_have_been_done_is_tried_again_only_where_that_does_no_harm(outcome: Outcome) -> None:
    assert isinstance(after(ONCE, outcome), GiveUp)
    assert isinstance(after(AT_WILL, outcome), Again)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 412, 422, 500])
def test_what_would_only_be_refused_again_is_not_repeated(status: int) -> None:
    assert isinstance(after(AT_WILL, problem(status)), GiveUp)


def test_pauses_double_up_to_the_longest_and_chance_takes_up_to_half_of_them() -> None:
    assert [after(AT_WILL, LOST, tried) for tried in (1, 2, 3, 4)] == [Again(1), Again(2), Again(4), Again(4)]
    assert after(AT_WILL, LOST, 3, chance=0.0) == Again(2)


@pytest.mark.parametrize("value", ["7", "Sun, 01 Mar 2026 12:00:07 GMT"])
def test_the_server_is_left_alone_for_as_long_as_it_asks(value: str) -> None:
    assert after(ONCE, problem(429, retry_after=value)) == Again(7.0)


@pytest.mark.parametrize("value", ["", "soon", "-3", "Sun, 01 Mar 2026 11:00:00 GMT"])
def test_a_time_that_means_nothing_is_passed_over(value: str) -> None:
    assert after(ONCE, problem(429, retry_after=value)) == Again(1.0)


def test_it_ends_after_so_many_tries_and_where_the_time_would_be_over() -> None:
    assert isinstance(after(AT_WILL, LOST, tried=5), GiveUp)
    assert isinstance(after(AT_WILL, LOST, elapsed=29.5), GiveUp)
    assert isinstance(after(ONCE, problem(429, retry_after="31")), GiveUp)


def error(request: Request, outcome: Outcome) -> Exception:
    given_up = decide(Retries(tries=1), request, outcome, Situation(1, 0.0, NOW, 0.0))
    assert isinstance(given_up, GiveUp)
    return given_up.error


def test_an_error_says_whether_it_may_have_been_done() -> None:
    away, lost = error(ONCE, AWAY), error(ONCE, LOST)
    assert isinstance(away, Unreachable)
    assert not away.in_doubt
    assert isinstance(lost, Unreachable)
    assert lost.in_doubt


def test_a_refusal_says_what_the_server_said_and_where() -> None:
    found = refusal(
        422,
        b'{"code": "INVALID_BODY", "detail": "A field is missing.", "requestId": "r1",'
        b' "errors": [{"pointer": "/key", "code": "MISSING", "message": "There should be a key."}]}',
    )
    assert isinstance(found, Invalid)
    assert (found.code, found.mistakes[0].pointer) == ("INVALID_BODY", "/key")
    assert str(found) == (
        "422 INVALID_BODY: A field is missing. (request r1)\n  at /key: There should be a key."
    )


@pytest.mark.parametrize(
    ("status", "content", "kind"),
    [
        (429, b"", RateLimited),
        (502, b"<html>", Unavailable),
        (418, b"[]", Refused),
        (503, b'{"errors": 3, "detail": null}', Unavailable),
    ],
)
def test_whoever_refuses_the_error_can_be_read(status: int, content: bytes, kind: type[Refused]) -> None:
    found = refusal(status, content)
    assert type(found) is kind
    assert str(status) in str(found)
