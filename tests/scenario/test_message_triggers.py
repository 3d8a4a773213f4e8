"""Messages that start workflows: published over HTTP, on the embedded bus or on Kafka."""

import asyncio
from typing import Any

import pytest

from api_for_tests import Client
from muster.app.build import House
from polling import until

NOOP = {"id": "echo", "type": "NOOP", "config": {}}


@pytest.fixture
def house(house_on_a_bus: House) -> House:
    return house_on_a_bus


async def workflow(client: Client, key: str = "orders") -> None:
    made = await client.post("/api/workflow", json={"workflow": {"name": key, "key": key, "nodes": [NOOP]}})
    assert made.status_code == 201, made.text


async def trigger(client: Client, of: str = "orders", **settings: Any) -> dict[str, Any]:
    body = {"workflowId": of, "type": "event", **settings}
    made = await client.post("/api/workflow/triggers", json=body)
    assert made.status_code == 201, made.text
    return dict(made.json())


async def publish(client: Client, topic: str, body: object) -> dict[str, Any]:
    answer = await client.post(f"/api/messages/{topic}", json=body)
    assert answer.status_code == 202, answer.text
    return dict(answer.json())


async def contexts(client: Client, count: int) -> list[dict[str, Any]]:
    """The contexts of so many executions, or more, once they have ended."""

    async def ended() -> list[dict[str, Any]]:
        found = (await client.get("/api/workflow/executions?limit=200")).json()["items"]
        return found if len([each for each in found if each["status"] == "COMPLETED"]) >= count else []

    rows = await until(ended, every=0.1)
    whole = [(await client.get(f"/api/workflow/executions/{row['id']}")).json() for row in rows]
    return [each["context"] for each in whole]


async def letters(client: Client) -> list[dict[str, Any]]:
    """The dead letters of messages, once there are some."""

    async def found() -> list[dict[str, Any]]:
        return list((await client.get("/api/dead-letters?kind=message")).json()["items"])

    return await until(found, every=0.1)


async def test_a_message_starts_the_workflows_of_its_topic(client: Client, topic: str) -> None:
    await workflow(client)
    await trigger(client, topic=topic, filter={"kind": "paid"}, condition="total > 10")
    sent = [
        {"key": "k", "headers": {"X-Event-Id": "e1"}, "value": {"kind": "paid", "total": 40}},
        {"key": "k", "value": {"kind": "refunded", "total": 40}},
        {"key": "k", "value": {"kind": "paid", "total": 5}},
        {"key": "k", "value": {"kind": "paid", "total": 50}},
    ]
    published = (await publish(client, topic, sent))["results"]
    assert [each["offset"] for each in published] == [0, 1, 2, 3]
    found = await contexts(client, 2)
    assert sorted(each["total"] for each in found) == [40, 50]
    payload = next(each["_trigger"] for each in found if each["total"] == 40)
    assert (payload["topic"], payload["offset"], payload["key"]) == (topic, 0, "k")
    assert payload["headers"] == {"x-event-id": "e1"}
    assert payload["body"] == {"kind": "paid", "total": 40}


async def test_a_repeat_is_recognised_by_the_triggers_setting(client: Client, topic: str) -> None:
    await workflow(client)
    setting = {"strategy": "CONTEXT_BASED", "contextFields": ["orderId"]}
    await trigger(client, topic=topic, idempotencyGenerationSetting=setting)
    await publish(
        client, topic, [{"key": "k", "value": {"orderId": each}} for each in ("a", "a", "b", "end")]
    )
    found = await contexts(client, 3)
    assert sorted(each["orderId"] for each in found) == ["a", "b", "end"]


async def test_an_event_name_is_found_in_messages_of_every_topic(client: Client, topic: str) -> None:
    await workflow(client)
    await workflow(client, "named")
    await trigger(client, topic=topic)
    await trigger(client, of="named", triggerEventName="PAID")
    await publish(client, topic, {"value": {"eventName": "PAID"}})
    found = await contexts(client, 2)
    assert [each["eventName"] for each in found] == ["PAID", "PAID"]


async def test_messages_older_than_a_trigger_do_not_start_it(client: Client, topic: str) -> None:
    await workflow(client)
    await publish(client, topic, {"key": "k", "value": {"n": 1}})
    await asyncio.sleep(0.01)  # so that they are not of the same millisecond
    await trigger(client, topic=topic)
    await publish(client, topic, {"key": "k", "value": {"n": 2}})
    assert [each["n"] for each in await contexts(client, 1)] == [2]


async def test_a_message_that_somebody_waited_for_starts_workflows_all_the_same(
    client: Client, topic: str
) -> None:
    node = {"id": "wait", "type": "wait_events", "config": {"kafkaEvent": {"enabled": True, "topic": topic}}}
    document = {"workflow": {"name": "waiting", "key": "waiting", "nodes": [node]}}
    assert (await client.post("/api/workflow", json=document)).status_code == 201
    await workflow(client)
    await trigger(client, topic=topic)
    waiting = (await client.post("/api/workflow/execute", json={"key": "waiting"})).json()["executionId"]
    path = f"/api/workflow/executions/{waiting}"

    async def waits() -> list[dict[str, Any]]:
        return list((await client.get(path)).json()["waits"])

    [wait] = await until(waits, every=0.1)
    ids = {"execution_id": waiting, "correlation_id": wait["correlationId"]}
    await publish(client, topic, [{"key": "k", "value": each} for each in ({"n": 1}, {**ids, "n": 2})])
    found = await contexts(client, 3)
    assert sorted(each["n"] for each in found if "_trigger" in each and "n" in each) == [1, 2]
    assert (await client.get(path)).json()["status"] == "COMPLETED"


async def test_what_has_no_key_is_a_dead_letter(client: Client, topic: str) -> None:
    await workflow(client)
    setting = {"strategy": "CONTEXT_BASED", "contextFields": ["orderId"], "failOnMissingContext": True}
    await trigger(client, topic=topic, idempotencyGenerationSetting=setting)
    await publish(client, topic, [{"key": "k", "value": {}}, {"key": "k", "value": {"orderId": "1"}}])
    assert [each["orderId"] for each in await contexts(client, 1)] == ["1"]
    [letter] = await letters(client)
    assert (letter["source"], letter["errorType"]) == (topic, "MISSING_FIELD")
    assert "orderId" in letter["errorMessage"]


async def test_a_dead_letter_can_be_sent_again(client: Client, topic: str) -> None:
    await workflow(client)
    setting = {"strategy": "CONTEXT_BASED", "contextFields": ["orderId"], "failOnMissingContext": True}
    made = await trigger(client, topic=topic, idempotencyGenerationSetting=setting)
    await publish(client, topic, {"key": "k", "headers": {"x-topic": "t"}, "value": {"n": 7}})
    [letter] = await letters(client)
    body = {"workflowId": "orders", "type": "event", "topic": topic}
    mended = await client.put(f"/api/workflow/triggers/{made['id']}", json=body)
    assert mended.status_code == 200, mended.text
    redriven = await client.post(f"/api/dead-letters/{letter['id']}/redrive", json={"reason": "mended"})
    assert redriven.status_code == 200, redriven.text
    assert redriven.json()["status"] == "redriven"
    [found] = await contexts(client, 1)
    assert (found["n"], found["_trigger"]["key"]) == (7, "k")
    assert found["_trigger"]["headers"] == {"x-topic": "t"}
    again = await client.post(f"/api/dead-letters/{letter['id']}/redrive", json={"reason": "once more"})
    assert again.status_code == 409


@pytest.mark.parametrize(
    ("topic_name", "body", "code"),
    [
        ("a b", {"value": 1}, "INVALID_PARAMETER"),
        ("orders", {"key": 1, "value": 1}, "INVALID_BODY"),
        ("orders", {"valeu": 1}, "INVALID_BODY"),
        ("orders", [], "INVALID_BODY"),
        ("orders", [{"value": 1}, {"headers": {"a": 1}, "value": 1}], "INVALID_BODY"),
    ],
)
async def test_a_message_that_cannot_be_published_is_refused(
    client: Client, topic_name: str, body: object, code: str
) -> None:
    answer = await client.post(f"/api/messages/{topic_name}", json=body)
    assert answer.json()["code"] == code, answer.text


async def test_what_is_wrong_in_a_list_is_told_with_its_place(client: Client, topic: str) -> None:
    answer = await client.post(f"/api/messages/{topic}", json=[{"value": 1}, {"key": 1, "value": 1}])
    assert [each["pointer"] for each in answer.json()["errors"]] == ["/1/key"]
