"""Calls as values: what is sent, what is safe to repeat, and how answers are read."""

import inspect
import json
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook

from muster.client import AsyncMuster, BusinessError, Complete, Failure, Muster, looking, starting, tasks
from muster.client.ingesting import MOST_BYTES, NotTaken, batches
from muster.client.requests import Call, Page
from muster.client.shapes import ENDED, Started
from muster.client.signing import signed
from muster.engine.state import FINAL

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


def test_both_clients_can_do_the_same_in_the_same_words() -> None:
    assert public(Muster) == public(AsyncMuster)
    for name in public(Muster) - {"send", "each"}:
        one, other = (inspect.signature(getattr(kind, name)) for kind in (Muster, AsyncMuster))
        assert list(one.parameters.values()) == list(other.parameters.values()), name


def test_what_has_ended_is_what_the_engine_calls_so() -> None:
    assert {status.value for status in FINAL} == ENDED


def test_a_start_has_a_key_of_its_own_and_may_be_repeated() -> None:
    one, two = (starting.execute("hello").request for _ in range(2))
    assert one.repeatable
    assert 1 <= len(one.headers["Idempotency-Key"]) <= 255
    assert one.headers["Idempotency-Key"] != two.headers["Idempotency-Key"]
    assert starting.execute("hello", idempotency_key="k").request.headers["Idempotency-Key"] == "k"


def test_a_duplicate_under_our_own_key_is_our_start_and_under_a_given_one_anothers() -> None:
    answer = {"executionId": "e1", "status": "SKIPPED", "reason": "DUPLICATE"}
    assert starting.execute("w").read(answer) == Started(execution_id="e1", status="RUNNING")
    known = starting.execute("w", idempotency_key="k").read(answer)
    assert known == Started(execution_id="e1", status="SKIPPED", duplicate=True)


@pytest.mark.parametrize(
    ("call", "repeatable"),
    [
        (starting.fire_path("p", {}), False),
        (starting.fire_path("p", {}, secret=SECRET), True),
        (starting.fire_event("E", repeatable=True), True),
        (starting.publish("t", 1), False),
        (starting.call_back("e", "c"), True),
        (looking.run_schedule("s"), False),
        (looking.redrive(1), False),
        (looking.cancel("e"), False),
        (looking.update_workflow("w", {}), False),
        (looking.validate({}), True),
        (looking.execution("e"), True),
    ],
    ids=lambda value: value.request.path if isinstance(value, Call) else "",
)
def test_only_what_does_no_harm_twice_is_said_to_be_repeatable(call: Call[object], repeatable: bool) -> None:
    assert call.request.repeatable is repeatable


def test_signatures_are_those_of_the_convention() -> None:
    body = b'{"userId": "u1"}'
    headers = signed(SECRET, "msg_1", datetime.now(UTC), body)
    assert Webhook(SECRET).verify(body, headers) == {"userId": "u1"}


def test_a_secret_that_is_none_is_said_to_be_none_without_repeating_it() -> None:
    with pytest.raises(ValueError, match="whsec_") as raised:
        signed("whsec_~hush~", "m", datetime.now(UTC), b"")
    assert "hush" not in str(raised.value)


def test_parts_of_an_address_stay_parts() -> None:
    assert looking.execution("a/../b?c").request.path == "/api/workflow/executions/a%2F..%2Fb%3Fc"
    assert starting.fire_path("/orders/paid now").request.path == "/api/workflow/trigger/orders/paid%20now"


def test_a_list_is_asked_for_page_by_page_until_there_is_no_further_one() -> None:
    listing = looking.executions(status="FAILED", started_from=datetime(2026, 3, 1, tzinfo=UTC))
    assert listing.page().request.params == {
        "limit": "200",
        "status": "FAILED",
        "from": "2026-03-01T00:00:00+00:00",
    }
    following = listing.after(Page([], "c2"))
    assert following is not None
    assert following.request.params["cursor"] == "c2"
    assert listing.after(Page([], None)) is None


def test_events_are_sent_in_batches_that_are_neither_too_many_nor_too_large() -> None:
    many = [{"eventId": str(number)} for number in range(2_500)]
    assert [len(json.loads(call.request.content or b"")) for call in batches(many)] == [1000, 1000, 500]
    large = [{"eventId": str(number), "payload": "x" * 400_000} for number in range(5)]
    sizes = [len(call.request.content or b"") for call in batches(large)]
    assert (len(sizes), max(sizes) <= MOST_BYTES + 2) == (3, True)
    assert list(batches([])) == []


def test_an_event_without_an_id_gets_one_and_a_rejected_one_is_named_by_its_place() -> None:
    [first, second] = batches({"eventType": "T"} for _ in range(1_001))
    sent = json.loads(first.request.content or b"")
    assert len({each["eventId"] for each in sent}) == 1_000
    told = second.read({"results": [{"error": {"code": "INVALID_EVENT", "detail": "no time"}}]})
    assert (told.taken, told.rejected) == (0, (NotTaken(1_000, "INVALID_EVENT", "no time"),))
    both = told + first.read({"results": [{"eventId": "1", "duplicate": True}, {"eventId": "2"}]})
    assert (both.taken, both.duplicates, len(both.rejected)) == (1, 1, 1)


def test_what_a_handler_returns_or_raises_is_what_is_reported() -> None:
    assert tasks.reported(None) == Complete()
    assert tasks.reported({"paid": 1}) == Complete({"paid": 1})
    assert tasks.reported(Failure("no")) == Failure("no")
    broke = BusinessError("NO_FUNDS", "none left")
    assert tasks.failed(broke, 3.0) is broke
    assert tasks.failed(ValueError("bad"), 3.0) == Failure("ValueError: bad", retry_after=3.0)


def test_variables_are_plain_values_for_handlers() -> None:
    given = {
        "total": {"type": "Integer", "value": 3},
        "items": {"type": "Json", "value": '[{"sku": 1}]'},
        "nothing": {"type": "Null", "value": None},
    }
    task = {"id": "t", "topicName": "a", "variables": given, "processInstanceId": "e", "activityId": "n"}
    [found] = tasks.fetch("w", ["a"], 1, lock=1, poll=0).read([{**task, "processDefinitionKey": "k"}])
    assert found.variables == {"total": 3, "items": [{"sku": 1}], "nothing": None}
