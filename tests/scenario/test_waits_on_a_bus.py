"""Waits for messages on a whole Muster, on the embedded bus or on Kafka: what reaches them, what is counted,
and what becomes of topics that are not there."""

import asyncio
import json
import logging
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

import polling
from api_for_tests import Client
from muster.app.build import House
from scenario.test_executions_api import until
from scenario.test_message_triggers import publish

MILLION = 1_000_000


@pytest.fixture
def house(house_on_a_bus: House) -> House:
    return house_on_a_bus


async def waiting(client: Client, topic: str, **event: Any) -> dict[str, str]:
    """An execution that waits for a message of the topic: its ids."""
    config = {"kafkaEvent": {"topic": topic, **event}}
    node = {"id": "w", "type": "wait_events", "config": config}
    document = {"workflow": {"key": "wait", "name": "wait", "nodes": [node]}}
    made = await client.post("/api/workflow", json=document)
    assert made.status_code == 201, made.text
    return await again(client)


async def again(client: Client) -> dict[str, str]:
    body = {"key": "wait", "context": {"order": "o-1"}}
    execution = (await client.post("/api/workflow/execute", json=body)).json()["executionId"]
    seen = await until(client, execution, "WAITING")
    return {"execution_id": execution, "correlation_id": seen["waits"][0]["correlationId"]}


async def went_on(client: Client, ids: dict[str, str]) -> Any:
    """What it went on with, once it has."""
    return (await until(client, ids["execution_id"], "COMPLETED"))["context"]["kafka_event"]


async def counted(client: Client, outcome: str, least: float = 1.0) -> None:
    """Once so many events of topics have come to that."""
    line = f'muster_wait_events_total{{outcome="{outcome}",source="kafka"}} '

    async def found() -> bool:
        lines = (await client.get("/metrics")).text.splitlines()
        return any(float(each.removeprefix(line)) >= least for each in lines if each.startswith(line))

    await polling.until(found, every=0.1)


async def test_what_names_another_execution_is_logged_and_counted_and_changes_nothing(
    client: Client, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    ids = await waiting(client, topic)
    with caplog.at_level(logging.WARNING, "muster.nodes.event_messages"):
        await publish(client, topic, {"value": {**ids, "execution_id": "another"}})
        await counted(client, "execution_mismatch")
    assert any("do not belong together: EXECUTION_MISMATCH" in line.message for line in caplog.records)
    await publish(client, topic, {"value": {**ids, "n": 1}})
    assert (await went_on(client, ids))["n"] == 1


async def test_an_event_that_was_kept_and_one_that_was_applied_by_hand_count_as_others_do(
    client: Client, topic: str
) -> None:
    ids = await waiting(client, topic, correlationIdField="order", correlation="#{order}")
    await publish(client, topic, {"value": {"order": "o-1"}})
    await went_on(client, ids)
    await counted(client, "accepted", 1)
    second = await again(client)
    wrong = {"X-Execution-Id": "another", "X-Correlation-Id": second["correlation_id"]}
    await client.post("/api/internal/callbacks/external-service", json={}, headers=wrong)
    [miss] = (await client.get("/api/near-misses")).json()["items"]
    applied = await client.post(f"/api/near-misses/{miss['id']}/apply", json={"event": "kafka_event"})
    assert applied.status_code == 200, applied.text
    text = (await client.get("/metrics")).text
    assert 'muster_wait_events_total{outcome="accepted",source="callback"} 1.0' in text
    assert "muster_wait_resumes_total 2.0" in text


async def test_what_comes_early_is_heard_before_anybody_has_waited(client: Client, topic: str) -> None:
    keyed = {"correlationIdField": "order", "correlation": "#{order}"}
    node = {"id": "w", "type": "wait_events", "config": {"kafkaEvent": {"topic": topic, **keyed}}}
    document = {"workflow": {"key": "wait", "name": "wait", "nodes": [node]}}
    assert (await client.post("/api/workflow", json=document)).status_code == 201
    await publish(client, topic, [{"value": {"order": "o-1", "n": 1}}, {"value": b"{".decode()}])
    ids = await again(client)
    assert (await went_on(client, ids))["n"] == 1


# --- what only Kafka has -------------------------------------------------------------------------------

on_kafka = pytest.mark.parametrize(
    "house_on_a_bus", [pytest.param("kafka", marks=pytest.mark.kafka)], indirect=True
)


async def make(brokers: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": brokers})
    await asyncio.to_thread(admin.create_topics([NewTopic(topic, 1, 1)])[topic].result)


@on_kafka
async def test_a_message_of_a_million_characters_reaches_the_context_whole(
    client: Client, topic: str, kafka_bootstrap: str
) -> None:
    ids = await waiting(client, topic)
    text = "".join(str(number % 10) for number in range(MILLION))
    # Others' producers may be set to send more than ours do unless told so.
    producer = Producer({"bootstrap.servers": kafka_bootstrap, "message.max.bytes": 1_048_000})
    producer.produce(topic, json.dumps({**ids, "text": text}).encode())
    await asyncio.to_thread(producer.flush)
    kept = (await went_on(client, ids))["text"]
    assert (await client.get(kept["$large"]["href"])).json() == text


@on_kafka
async def test_a_wait_on_a_topic_that_is_not_there_yet_hears_it_when_it_is(
    client: Client, topic: str, kafka_bootstrap: str
) -> None:
    unknown = f"{topic}-later"
    ids = await waiting(client, unknown)
    refused = await client.post(f"/api/messages/{unknown}", json={"value": ids})
    assert refused.status_code == 404
    await make(kafka_bootstrap, unknown)
    await publish(client, unknown, {"value": {**ids, "n": 1}})
    assert (await went_on(client, ids))["n"] == 1


@on_kafka
async def test_a_wait_on_a_topic_that_was_deleted_hears_the_one_that_is_made_anew(
    client: Client, topic: str, kafka_bootstrap: str
) -> None:
    first = await waiting(client, topic)
    await publish(client, topic, {"value": first})
    await went_on(client, first)
    admin = AdminClient({"bootstrap.servers": kafka_bootstrap})
    await asyncio.to_thread(admin.delete_topics([topic])[topic].result)
    second = await again(client)
    await asyncio.to_thread(_until_gone, admin, topic)
    await make(kafka_bootstrap, topic)
    # As many as there were, so that it does not depend on where the old one ended.
    messages = [{"value": {**second, "n": n}} for n in range(3)]

    async def taken() -> bool:
        """The client of a bus may believe for a while in the topic that is gone: then it is tried again."""
        answer = await client.post(f"/api/messages/{topic}", json=messages)
        assert answer.status_code in (202, 503), answer.text
        return answer.status_code == 202

    await polling.until(taken)
    assert (await went_on(client, second))["n"] in range(3)


def _until_gone(admin: AdminClient, topic: str) -> None:
    polling.poll(lambda: topic not in admin.list_topics(timeout=10).topics)


@on_kafka
async def test_a_message_of_a_transaction_that_was_aborted_is_never_seen(
    client: Client, topic: str, kafka_bootstrap: str
) -> None:
    ids = await waiting(client, topic)
    await asyncio.to_thread(_abort_and_commit, kafka_bootstrap, topic, ids)
    assert (await went_on(client, ids))["n"] == 2
    assert (await client.get("/api/near-misses")).json()["items"] == []


def _abort_and_commit(brokers: str, topic: str, ids: dict[str, str]) -> None:
    producer = Producer({"bootstrap.servers": brokers, "transactional.id": topic})
    producer.init_transactions()
    for number, is_meant in ((1, False), (2, True)):
        producer.begin_transaction()
        producer.produce(topic, json.dumps({**ids, "n": number}).encode(), b"k")
        producer.flush()
        if is_meant:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
