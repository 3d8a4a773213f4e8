"""wait_events on every database: in any order, matched by two ids, resumed once."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from clocks import NOON
from event_house import API_CALL, DONE, END, KAFKA_EVENT, Awaiting, answered, said
from muster.engine.event_waits import Arrived, Source
from muster.engine.state import Failure
from muster.nodes.ports import HttpAnswer, HttpRequest
from muster.store.database import Database
from muster.store.near_misses import old_near_misses
from muster.store.tables import near_miss, workflow_execution
from waiting_house import BY_HAND

BOTH = {"apiCall": API_CALL, "kafkaEvent": KAFKA_EVENT}


@pytest.fixture
def house(database: Database) -> Awaiting:
    return Awaiting(database)


async def test_the_service_is_called_with_both_ids_once_the_wait_is_there(house: Awaiting) -> None:
    execution = await house.wait_for()
    row = await house.wait_row(execution)
    [body], [request] = house.service.bodies, house.service.requests
    assert body == {"q": 1, "execution_id": execution, "correlation_id": row.correlation_id}
    headers = dict(request.headers)
    assert headers["X-Correlation-Id"] == row.correlation_id
    assert headers["X-Execution-Id"] == execution
    assert headers["Idempotency-Key"] == f"{execution}:wait:1"
    assert await house.status(execution) == "WAITING"
    assert await house.journal(execution) == [("wait", "", "waiting_for_events")]
    assert (row.status, row.needed_events, row.received_events) == (
        "waiting",
        ["api_response", "kafka_event"],
        [],
    )


@pytest.mark.parametrize("first", ["callback", "message"])
async def test_both_events_in_whichever_order_let_it_go_on_once(house: Awaiting, first: str) -> None:
    execution = await house.wait_for()
    orders = {"callback": (house.callback, house.message), "message": (house.message, house.callback)}
    one, two = orders[first]
    assert await one(execution) == "accepted"
    await house.settle()
    assert await house.status(execution) == "WAITING"
    assert await two(execution) == "accepted"
    assert [await one(execution), await two(execution)] == ["DUPLICATE", "DUPLICATE"]
    await house.settle()
    row = await house.row(execution)
    assert row["status"] == "COMPLETED"
    context = row["context"]
    assert isinstance(context, dict)
    assert context["api_response"] == {"ok": True}
    assert context["kafka_event"] == DONE
    assert context["apiCallResponse"]["status"] == 200
    assert house.told.said == ["end"]
    wait = await house.wait_row(execution)
    assert (wait.status, wait.resumed_by) == ("completed", "here")
    assert await house.misses() == ["DUPLICATE", "DUPLICATE"]
    assert await house.callback(execution) == "DUPLICATE"


async def test_wrong_ids_change_nothing_and_are_kept_as_near_misses(house: Awaiting) -> None:
    one = await house.wait_for(aggregationStrategy="any")
    other = await house.begin_waiting()
    theirs = (await house.wait_row(other)).correlation_id
    assert await house.callback(one, correlation=theirs) == "EXECUTION_MISMATCH"
    assert await house.callback(one, to="nope") == "EXECUTION_MISMATCH"
    assert await house.message(one, correlation="nope") == "NOT_WAITING"
    assert await house.message(one, {"event_type": "other"}) == "FILTERED"
    assert await house.message(one, topic="elsewhere") == "NOT_ENABLED"
    assert await house.callback(one, to="nope", correlation="neither") == "NOT_WAITING"
    await house.settle()
    assert [await house.status(each) for each in (one, other)] == ["WAITING", "WAITING"]
    assert sorted(await house.misses()) == [
        "CORRELATION_MISMATCH",
        "EXECUTION_MISMATCH",
        "EXECUTION_MISMATCH",
        "FILTERED",
        "NOT_ENABLED",
    ]
    assert await house.callback(one) == "accepted"
    await house.settle()
    assert [await house.status(each) for each in (one, other)] == ["COMPLETED", "WAITING"]
    assert await house.message(one) == "NOT_WAITING", "it is over, and this one has not come before"
    assert "LATE" in await house.misses()


async def test_at_most_a_hundred_near_misses_of_a_wait_are_kept_and_the_rest_is_counted(
    house: Awaiting,
) -> None:
    execution = await house.wait_for()
    row = await house.wait_row(execution)
    wrong = Arrived(Source.CALLBACK, "nope", row.correlation_id, {})
    for _ in range(3):
        await house.waits.receive([wrong] * 50)
    assert len(await house.misses()) == 100
    assert (await house.wait_row(execution)).near_misses == 150


async def test_an_event_for_an_execution_that_does_not_wait_yet_is_an_early_one(house: Awaiting) -> None:
    await house.save("pause", {"id": "ask", "type": "ASK", "config": {}})
    execution = await house.begin("pause")
    await house.settle()
    assert await house.offer(Arrived(Source.CALLBACK, execution, "any", {})) == "NOT_WAITING"
    assert await house.misses() == ["EARLY"]


async def test_with_neither_event_it_goes_on_at_once(house: Awaiting) -> None:
    execution = await house.wait_for(apiCall={"enabled": False}, kafkaEvent=None)
    assert await house.status(execution) == "COMPLETED"
    assert await house.wait_row(execution) is None


async def test_many_events_at_once_resume_each_wait_once(house: Awaiting) -> None:
    executions = [await house.wait_for(apiCall=None)]
    executions += [await house.begin_waiting() for _ in range(20)]
    correlations = [(await house.wait_row(each)).correlation_id for each in executions]
    events = [
        Arrived(Source.KAFKA, execution, correlation, DONE, "ext.events")
        for execution, correlation in zip(executions, correlations, strict=True)
    ]
    elsewhere = Awaiting(house.database, "elsewhere")
    came = await asyncio.gather(house.waits.receive(events), elsewhere.waits.receive(events[::-1]))
    verdicts = [said(verdict) for batch in came for verdict in batch]
    assert verdicts.count("accepted") == len(executions)
    await house.settle()
    assert [await house.status(each) for each in executions] == ["COMPLETED"] * len(executions)
    assert len(house.told.did) == len(executions)


async def test_at_the_deadline_the_node_fails_and_the_wait_says_so(house: Awaiting) -> None:
    execution = await house.wait_for()
    await house.callback(execution)
    await house.run_out(execution)
    row = await house.row(execution)
    assert (row["status"], row["error_type"]) == ("FAILED", "Timeout")
    assert row["error_message"] == "kafka_event did not come in time"
    assert (await house.wait_row(execution)).status == "timeout"
    assert await house.message(execution) == "NOT_WAITING"


async def test_with_a_part_it_goes_on_and_warns(house: Awaiting) -> None:
    execution = await house.wait_for(onTimeout="continue_with_partial")
    await house.callback(execution)
    await house.run_out(execution)
    context = (await house.row(execution))["context"]
    assert await house.status(execution) == "COMPLETED"
    assert isinstance(context, dict)
    assert "api_response" in context
    assert "kafka_event" not in context


async def test_a_time_of_its_own_no_longer_counts_once_the_event_is_there(house: Awaiting) -> None:
    call = {**API_CALL, "timeout": 60}
    execution = await house.wait_for(apiCall=call, timeout=7200)
    await house.callback(execution)
    await house.run_out(execution)
    assert await house.status(execution) == "WAITING", "there is an hour left for the message"
    assert await house.message(execution) == "accepted"
    await house.settle()
    assert await house.status(execution) == "COMPLETED"


async def test_a_time_of_its_own_ends_the_wait_for_an_event_that_is_needed(house: Awaiting) -> None:
    execution = await house.wait_for(apiCall={**API_CALL, "timeout": 60}, timeout=7200)
    await house.message(execution)
    await house.run_out(execution)
    assert await house.status(execution) == "FAILED"


async def test_the_answer_to_the_call_itself_may_be_the_event(house: Awaiting) -> None:
    house.service.answers = [answered(201, {"id": 7})]
    execution = await house.wait_for(apiCall={**API_CALL, "responseMode": "sync"}, kafkaEvent=None)
    await house.settle()
    context = (await house.row(execution))["context"]
    assert isinstance(context, dict)
    assert context["api_response"] == {"id": 7}


async def test_a_call_that_is_refused_fails_the_node_and_closes_the_wait(house: Awaiting) -> None:
    house.service.answers = [answered(422, {})]
    execution = await house.wait_for()
    assert (await house.row(execution))["error_type"] == "HTTP_422"
    assert (await house.wait_row(execution)).status == "failed"
    assert await house.callback(execution) == "NOT_WAITING"


async def test_a_call_that_may_pass_is_made_again_under_the_same_ids(house: Awaiting) -> None:
    house.service.answers = [Failure("ConnectError", "away", retryable=True)]
    execution = await house.wait_for(apiCall={**API_CALL, "retries": 1})
    await house.settle()
    await house.pass_time(minutes=1)
    await house.settle()
    assert await house.callback(execution) == "accepted"
    first, second = house.service.bodies
    assert first == second
    assert await house.message(execution) == "accepted"
    await house.settle()
    assert await house.status(execution) == "COMPLETED"


async def test_values_of_the_wait_can_be_asked_for_in_the_call(house: Awaiting) -> None:
    call = {
        "url": "http://service.test/#{_execution.correlationId}",
        "body": "@{_execution.id} @{_execution.correlationId} @{_execution.callbackUrl}",
    }
    execution = await house.wait_for(apiCall=call)
    correlation = (await house.wait_row(execution)).correlation_id
    [request] = house.service.requests
    assert request.url.endswith(correlation)
    base = "http://muster.test/api/internal/callbacks/external-service"
    query = f"?execution_id={execution}&correlation_id={correlation}"
    assert request.content == f"{execution} {correlation} {base}{query}".encode()


async def test_a_quorum_of_named_events(house: Awaiting) -> None:
    events = [{"name": name, "source": "callback"} for name in ("ada", "bob", "cy")]
    execution = await house.wait_for(
        apiCall=None,
        kafkaEvent=None,
        events=events,
        aggregationStrategy="custom",
        completeWhen="#{received.size() >= q + 1}",
        outputMapping={"ada": "first"},
    )
    row = await house.wait_row(execution)
    for name in ("ada", "cy"):
        event = Arrived(Source.CALLBACK, execution, row.correlation_id, {"by": name}, name=name)
        assert await house.offer(event) == "accepted"
    await house.settle()
    context = (await house.row(execution))["context"]
    assert isinstance(context, dict)
    assert (context["first"], context["cy"]) == ({"by": "ada"}, {"by": "cy"})


async def test_each_round_of_a_loop_waits_for_its_own_events(house: Awaiting) -> None:
    wait = {
        "id": "wait",
        "type": "wait_events",
        "config": {"kafkaEvent": KAFKA_EVENT},
        "routing": [
            {
                "type": "conditional",
                "condition": "#{kafka_event.n < 2}",
                "trueNodeId": "wait",
                "falseNodeId": "end",
            }
        ],
    }
    end = {"id": "end", "type": "TELL", "config": {"say": "end"}}
    await house.save_document("loop", {"key": "loop", "name": "loop", "nodes": [wait, end]})
    execution = await house.begin("loop")
    await house.settle()
    first = (await house.wait_row(execution)).correlation_id
    await house.message(execution, {**DONE, "n": 1})
    await house.settle()
    assert await house.message(execution, correlation=first) == "DUPLICATE"
    assert await house.status(execution) == "WAITING"
    _, second = [row.correlation_id for row in await house.wait_rows(execution)]
    assert await house.message(execution, {**DONE, "n": 2}, correlation=second) == "accepted"
    await house.settle()
    row = await house.row(execution)
    assert (row["status"], house.told.said) == ("COMPLETED", ["end"])
    assert isinstance(row["context"], dict)
    assert row["context"]["kafka_event"]["n"] == 2


async def test_a_cancelled_execution_waits_for_nothing(house: Awaiting) -> None:
    execution = await house.wait_for()
    await house.actions.cancel(execution, BY_HAND)
    await house.settle()
    assert await house.callback(execution) == "NOT_WAITING"
    assert (await house.wait_row(execution)).status == "failed"


async def test_large_events_are_kept_aside_and_come_back_whole(house: Awaiting) -> None:
    execution = await house.wait_for(apiCall=None)
    large = {**DONE, "text": "x" * 100_000}
    assert await house.message(execution, large) == "accepted"
    await house.settle()
    assert await house.status(execution) == "COMPLETED"


async def test_near_misses_are_kept_for_a_day(house: Awaiting) -> None:
    execution = await house.wait_for()
    for _ in range(3):
        await house.callback(execution, to="nope")
    old = update(near_miss).where(near_miss.c.id == await house.first_miss())
    a_day_ago = datetime.now(UTC) - timedelta(hours=25)
    await house.database.write(lambda connection: connection.execute(old.values(received_at=a_day_ago)))
    assert await old_near_misses(house.database).forget_expired(10) == 1
    assert len(await house.misses()) == 2


async def test_who_takes_over_goes_on_with_the_wait_that_is_there(house: Awaiting) -> None:
    """Its owner opened the wait, called, and went away before it could park."""
    hangs = asyncio.Event()

    async def hang(request: HttpRequest) -> HttpAnswer | Failure:
        house.service.requests.append(request)
        hangs.set()
        await asyncio.Event().wait()
        return answered(200, {})

    house.service.send = hang  # type: ignore[method-assign]  # for this call only
    await house.save("w", {"id": "wait", "type": "wait_events", "config": BOTH}, END)
    execution = await house.begin("w", q=1)
    await hangs.wait()
    assert await house.callback(execution) == "accepted", "the wait is there before the call is answered"
    await house.change(workflow_execution.c.id == execution, lease_until=NOON)
    heir = Awaiting(house.database, "heir")
    await heir.instance.take_abandoned()
    await heir.instance.ended(execution)
    assert heir.service.requests == [], "the service has answered: it was called"
    assert await heir.message(execution) == "accepted"
    await heir.settle()
    assert await heir.status(execution) == "COMPLETED"
    assert heir.told.said == ["end"]
    await house.instance.leave(0)


async def test_what_comes_while_the_service_is_still_being_called_is_not_lost(house: Awaiting) -> None:
    async def answer_at_once(request: HttpRequest) -> HttpAnswer | Failure:
        ids = json.loads(request.content or b"")
        event = Arrived(Source.CALLBACK, ids["execution_id"], ids["correlation_id"], {"ok": True})
        assert await house.offer(event) == "accepted"
        await house.instance.take_signals()
        return answered(200, {"taken": True})

    house.service.send = answer_at_once  # type: ignore[method-assign]  # for this call only
    execution = await house.wait_for(kafkaEvent=None)
    await house.settle()
    context = (await house.row(execution))["context"]
    assert await house.status(execution) == "COMPLETED"
    assert isinstance(context, dict)
    assert context["apiCallResponse"]["body"] == {"taken": True}


async def test_what_comes_before_the_call_is_made_again_makes_that_needless(house: Awaiting) -> None:
    house.service.answers = [Failure("Timeout", "no answer", retryable=True, retry_after=600)]
    execution = await house.wait_for(kafkaEvent=None)
    assert await house.journal(execution) == [("wait", "", "retrying")]
    assert await house.callback(execution) == "accepted"
    await house.settle()
    assert await house.status(execution) == "COMPLETED"
    assert len(house.service.requests) == 1
