"""The Python client and a real server: every call, in both manners."""

from typing import Any
from uuid import uuid4

import httpx
import pytest

from muster.client import AsyncMuster, Conflict, Invalid, Muster, NotEnded, NotFound, StaleVersion, shapes
from muster.client.shapes import NotStarted, Shape, Started
from polling import PATIENCE, poll, until

GREET = {"transformations": [{"field": "greeting", "expression": "#{'Hello, ' + name}"}]}


def defined(*nodes: dict[str, Any], key: str | None = None) -> dict[str, Any]:
    return {"workflow": {"key": key or f"w-{uuid4().hex[:12]}", "name": "A test's", "nodes": list(nodes)}}


def greeting(**also: Any) -> dict[str, Any]:
    return defined({"id": "greet", "type": "TRANSFORM", "config": GREET}, **also)


CALLED = {
    "id": "wait",
    "type": "wait_events",
    "config": {"timeout": 3600, "events": [{"name": "paid", "source": "webhook"}]},
}


def test_a_workflow_is_saved_started_waited_for_and_read(muster: Muster) -> None:
    saved = muster.create_workflow(greeting())
    started = muster.execute(saved.key, {"name": "Ada"}, tags=["t1"])
    ended = muster.wait(started.execution_id, timeout=PATIENCE)
    assert (ended.status, ended.context["greeting"]) == ("COMPLETED", "Hello, Ada")
    assert [visit.node_id for visit in muster.visits(ended.id)] == ["greet"]
    at_once = muster.execute(saved.key, {"name": "Bob"}, wait=60)
    assert at_once.ended
    assert muster.run(saved.key, {"name": "Eve"}, timeout=PATIENCE).context["greeting"] == "Hello, Eve"


async def test_the_same_by_awaiting(async_muster: AsyncMuster) -> None:
    saved = await async_muster.create_workflow(greeting())
    ended = await async_muster.run(saved.key, {"name": "Ada"}, timeout=PATIENCE)
    assert ended.context["greeting"] == "Hello, Ada"
    assert [row.id async for row in async_muster.executions(workflow=saved.key)] == [ended.id]
    assert [visit.status async for visit in async_muster.visits(ended.id)] == ["completed"]


def test_one_key_starts_once_and_the_second_is_told_so(muster: Muster) -> None:
    key = muster.create_workflow(greeting()).key
    first = muster.execute(key, {"name": "Ada"}, idempotency_key="order-1")
    second = muster.execute(key, {"name": "Ada"}, idempotency_key="order-1", wait=60)
    assert (first.duplicate, second.duplicate) == (False, True)
    assert second.execution_id == first.execution_id
    assert second.status == "COMPLETED"


def test_many_are_started_at_once_and_listed_page_by_page(muster: Muster) -> None:
    key = muster.create_workflow(greeting()).key
    starts = [{"key": key, "context": {"name": str(number)}} for number in range(250)]
    results = muster.execute_many([*starts, {"key": "nobody"}])
    assert [type(each) for each in results] == [Started] * 250 + [NotStarted]
    assert len({row.id for row in muster.executions(workflow=key)}) == 250


def test_a_definition_is_checked_changed_and_guarded(muster: Muster) -> None:
    verdict = muster.validate(defined({"id": "a", "type": "TRANSFROM"}))
    assert not verdict.valid
    assert verdict.errors[0].pointer == "/workflow/nodes/0/type"
    with pytest.raises(Invalid) as raised:
        muster.create_workflow(defined({"id": "a", "type": "TRANSFROM"}))
    assert raised.value.code == "INVALID_DEFINITION"
    assert "/workflow/nodes/0/type" in str(raised.value)
    by_hand = "workflow: {name: By hand, nodes: [{id: a, type: LOG, config: {message: hi}}]}"
    saved = muster.create_workflow(by_hand)
    assert muster.update_workflow(saved.id, greeting(key=saved.key), activate=True, if_version=1).version == 2
    with pytest.raises(StaleVersion):
        muster.update_workflow(saved.id, greeting(key=saved.key), if_version=1)
    found = muster.workflow(saved.key)
    assert (found.version, found.active_version) == (2, 2)
    assert muster.activate_workflow(saved.id, version=1).active_version == 1
    assert saved.key in {row.key for row in muster.workflows()}
    muster.archive_workflow(saved.id)
    assert saved.key not in {row.key for row in muster.workflows()}


def test_what_is_not_there_is_said_with_the_servers_words(muster: Muster) -> None:
    with pytest.raises(NotFound, match=r"^404 NOT_FOUND: .+ \(request \w+\)$"):
        muster.execution("nobody")


def test_an_execution_is_paused_resumed_cancelled_and_retried(muster: Muster) -> None:
    key = muster.create_workflow(defined(CALLED)).key
    id = muster.execute(key).execution_id
    poll(lambda: muster.execution(id).waits)
    with pytest.raises(NotEnded, match=id):
        muster.wait(id, timeout=0)
    assert muster.pause(id, reason="lunch").id == id
    poll(lambda: muster.execution(id).status == "PAUSED")
    muster.resume(id, reason="back")
    poll(lambda: muster.execution(id).status == "WAITING")
    muster.cancel(id, reason="enough")
    assert muster.wait(id, timeout=PATIENCE).status == "CANCELLED"
    with pytest.raises(Conflict):
        muster.resume(id)


def test_a_dead_letter_is_found_and_redriven(muster: Muster) -> None:
    divide = {"transformations": [{"field": "half", "expression": "#{total / divisor}"}]}
    key = muster.create_workflow(defined({"id": "divide", "type": "TRANSFORM", "config": divide})).key
    failed = muster.run(key, {"total": 4, "divisor": 0}, timeout=PATIENCE)
    assert failed.status == "FAILED"
    [letter] = poll(lambda: list(muster.dead_letters(source=key)))
    assert letter.key == failed.id
    muster.redrive(letter.id, context={"divisor": 2}, reason="mended")
    assert muster.wait(failed.id, timeout=PATIENCE).context["half"] == 2
    again = muster.run(key, {"total": 4, "divisor": 0}, timeout=PATIENCE)
    assert muster.retry(again.id, context={"divisor": 4}).id == again.id
    assert muster.wait(again.id, timeout=PATIENCE).status == "COMPLETED"


def test_a_wait_is_answered_by_a_callback_once(muster: Muster) -> None:
    key = muster.create_workflow(defined(CALLED)).key
    id = muster.execute(key).execution_id
    [wait] = poll(lambda: list(muster.waits(execution=id)))
    assert muster.call_back(id, "nobody", {}).reason == "NOT_WAITING"
    assert muster.call_back(id, wait.correlation_id, {"total": 3}, event="paid").accepted
    assert not muster.call_back(id, wait.correlation_id, {"total": 4}, event="paid").accepted
    assert muster.wait(id, timeout=PATIENCE).context["paid"]["total"] == 3


def test_a_message_starts_what_waits_for_its_topic(muster: Muster, url: str) -> None:
    topic = f"orders-{uuid4().hex[:8]}"
    key = muster.create_workflow(greeting()).key
    made = {"workflowId": key, "type": "event", "topic": topic}
    assert httpx.post(f"{url}/api/workflow/triggers", json=made).status_code == 201
    assert muster.publish(topic, {"name": "Ada"}, key="o-1", headers={"X-Event-Id": "e-1"}).topic == topic
    [row] = poll(lambda: list(muster.executions(workflow=key)))
    assert muster.wait(row.id, timeout=PATIENCE).context["greeting"] == "Hello, Ada"


def test_triggers_are_fired_by_path_id_and_name_and_signed_ones_once(muster: Muster, url: str) -> None:
    key = muster.create_workflow(greeting()).key
    path, event = f"p/{uuid4().hex}", f"E-{uuid4().hex}"
    made = {"workflowId": key, "path": path, "authentication": "HMAC"}
    trigger = httpx.post(f"{url}/api/workflow/triggers", json=made).json()
    first = muster.fire_path(path, {"name": "Ada"}, secret=trigger["secret"], message_id="m-1", wait=60)
    assert first.status == "COMPLETED"
    again = muster.fire_trigger(trigger["id"], {"name": "Ada"}, secret=trigger["secret"], message_id="m-1")
    assert (again.status, again.reason, again.execution_id) == ("SKIPPED", "DUPLICATE", first.execution_id)
    for _ in range(2):
        named = {"workflowId": key, "type": "event", "triggerEventName": event}
        httpx.post(f"{url}/api/workflow/triggers", json=named).raise_for_status()
    fired = muster.fire_event(event, {"name": "Bob"}, event_id="1")
    assert [each.status for each in fired] == ["PROCESSING", "PROCESSING"]


def test_a_schedule_is_listed_and_run_now(muster: Muster, url: str) -> None:
    key = muster.create_workflow(greeting()).key
    made = {"workflowId": key, "scheduleType": "CRON", "cronExpression": "0 9 1 1 *"}
    httpx.post(f"{url}/api/workflow/schedule", json=made).raise_for_status()
    [schedule] = muster.schedules(workflow=key)
    assert schedule.status == "ACTIVE"
    started = muster.run_schedule(schedule.id, reason="today")
    assert muster.wait(started.execution_id, timeout=PATIENCE).ended


async def test_events_are_taken_in_once_and_a_miss_is_acknowledged(
    async_muster: AsyncMuster, url: str
) -> None:
    graph = {
        "nodes": [
            {"key": "in", "eventType": "IN", "start": True},
            {"key": "out", "eventType": "OUT", "terminal": True},
        ],
        "edges": [{"from": "in", "to": "out", "maxLatencySec": 1}],
    }
    key = f"trades-{uuid4().hex[:8]}"
    async with httpx.AsyncClient() as plain:
        made = await plain.post(f"{url}/workflows", json={"key": key, "name": "Trades", "graph": graph})
    assert made.status_code == 201, made.text
    event = {"eventType": "IN", "correlationKey": "T1", "workflowKey": key, "sourceSystem": "s"}
    known = {**event, "eventTime": "2024-06-10T12:00:00Z", "eventId": "i-1"}
    told = await async_muster.ingest([known, known, {"eventType": "IN"}])
    assert (told.taken, told.duplicates, [each.place for each in told.rejected]) == (1, 1, [2])

    async def alerts() -> list[shapes.Alert]:
        return [each async for each in async_muster.alerts(workflow=key)]

    found = await until(alerts)
    assert (await async_muster.acknowledge(found[0].id, reason="seen")).state == "ack"
    assert (await async_muster.resolve(found[0].id, reason="done")).state == "resolved"


ANSWERS = {
    "Execution": "ExecutionWhole",
    "ExecutionRow": "ExecutionItem",
    "ExecutionError": "ExecutionError",
    "NotStarted": "NotStarted",
    "Visit": "NodeItem",
    "ParkedOn": "WaitItem",
    "Wait": "EventWaitItem",
    "Received": "CallbackAnswer",
    "Published": "PublishedMessage",
    "Saved": "WorkflowCreated",
    "WorkflowRow": "WorkflowRow",
    "Workflow": "WorkflowWhole",
    "Verdict": "DefinitionVerdict",
    "Schedule": "ScheduleItem",
    "DeadLetter": "LetterItem",
    "Alert": "AlertRow",
    "Place": "ProblemEntry",
}


@pytest.mark.parametrize(("ours", "theirs"), ANSWERS.items(), ids=list(ANSWERS))
def test_every_field_that_the_client_reads_is_one_that_the_server_has(
    ours: str, theirs: str, url: str
) -> None:
    described = httpx.get(f"{url}/openapi.json").json()["components"]["schemas"][theirs]["properties"]
    shape: type[Shape] = getattr(shapes, ours)
    assert {field.alias for field in shape.model_fields.values()} <= described.keys()
