"""Commands as an author writes them, with their schema in a registry, over a real Kafka: what others read
there, and what they may answer."""

import asyncio
import io
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import fastavro
import httpx
import pytest
from confluent_kafka import Producer

from api_for_tests import Client
from export_steps import EXPORT_STEPS
from kafka_stranger import Stranger
from muster.app.build import House, opened
from muster.app.settings import Settings
from polling import PATIENCE, until

pytestmark = [pytest.mark.kafka, pytest.mark.registry]

FILTERS = {"type": "map", "values": "string"}
PAYLOAD = {
    "type": "record",
    "name": "Payload",
    "fields": [
        {"name": "entityType", "type": "string"},
        {"name": "filters", "type": FILTERS},
        {"name": "format", "type": "string"},
    ],
}
COMMAND = {
    "type": "record",
    "name": "Command",
    "fields": [{"name": "type", "type": "string"}, {"name": "payload", "type": PAYLOAD}],
}
REPLY_SCHEMA = """
      replySchema:
        type: JSON_SCHEMA
        schema: {type: object, required: [exportId], properties: {exportId: {type: string}}}
"""
REPLY = {
    "type": "record",
    "name": "Reply",
    "fields": [{"name": "id", "type": "string"}, {"name": "exportId", "type": "string"}],
}
ERRORS = {"X-Error-Message", "X-Error-Timestamp", "X-Error-Type", "X-Original-Topic"}


@pytest.fixture
def run() -> str:
    return uuid4().hex[:8]


@pytest.fixture
async def stranger(kafka_bootstrap: str, run: str) -> Stranger:
    found = Stranger(kafka_bootstrap)
    await found.make(f"{run}-export-commands", f"{run}-export-replies")
    return found


@pytest.fixture
async def house(tmp_path: Path, kafka_bootstrap: str, run: str, stranger: Stranger) -> AsyncIterator[House]:
    settings = {
        "data_dir": str(tmp_path),
        "kafka": {"bootstrap_servers": kafka_bootstrap, "consumer": {"group_id": f"g-{run}"}},
        "workflow": {"kafka": {"reply_group_id": f"r-{run}"}},
    }
    async with opened(Settings.model_validate(settings)) as found:
        yield found


@pytest.fixture
async def known_as(registry_url: str, run: str) -> int:
    """The number of the command's schema in the registry."""
    async with httpx.AsyncClient() as others:
        versions = f"{registry_url}/subjects/{run}-export-command-value/versions"
        known = await others.post(versions, json={"schema": json.dumps(COMMAND)})
        return int(known.raise_for_status().json()["id"])


@pytest.fixture
def steps(registry_url: str, run: str, known_as: int) -> str:
    """As they are written; topics and the subject have names of their own, since all share one broker."""
    return EXPORT_STEPS.replace("http://schema-registry:8081", registry_url).replace(
        "export-", f"{run}-export-"
    )


async def save(client: Client, steps: str) -> None:
    text, yaml = f"name: export\nkey: export\n{steps}", {"content-type": "application/yaml"}
    made = await client.post("/api/workflow", content=text, headers=yaml)
    assert made.status_code == 201, made.text


async def start(client: Client, filters: dict[str, Any]) -> str:
    context = {"entityType": "orders", "filters": filters}
    begun = await client.post("/api/workflow/execute", json={"key": "export", "context": context})
    return str(begun.json()["executionId"])


async def ended(client: Client, execution: str) -> dict[str, Any]:
    async def found() -> dict[str, Any]:
        row = (await client.get(f"/api/workflow/executions/{execution}")).json()
        return row if row["status"] in ("COMPLETED", "FAILED") else {}

    return await until(found, every=0.05)


async def test_a_command_goes_out_as_its_subject_in_the_registry_says(
    client: Client, stranger: Stranger, run: str, steps: str, known_as: int
) -> None:
    await save(client, steps)
    execution = await start(client, {"since": "2026-01-01"})
    [sent] = await stranger.has(f"{run}-export-commands", 1)
    assert sent.value is not None
    assert sent.value[:5] == b"\0" + known_as.to_bytes(4, "big"), "the registry's wire format"
    assert fastavro.schemaless_reader(io.BytesIO(sent.value[5:]), COMMAND, None) == {
        "type": "EXPORT_DATA",
        "payload": {"entityType": "orders", "filters": {"since": "2026-01-01"}, "format": "CSV"},
    }
    correlation = sent.headers["X-Correlation-ID"]
    assert sent.key == correlation.encode()
    assert sent.headers["X-Workflow-Instance-ID"] == execution
    assert sent.headers["X-Step-ID"] == "trigger-batch-export"
    assert sent.headers["X-Reply-Topic"] == f"{run}-export-replies"
    assert {"traceparent", "X-Timestamp"} <= sent.headers.keys()

    reply = b'{"exportId": "x-1", "downloadUrl": "http://f.test/x-1"}'
    await stranger.send(f"{run}-export-replies", reply, X_Correlation_ID=correlation)
    done = await ended(client, execution)
    assert done["status"] == "COMPLETED"
    assert (done["context"]["exportId"], done["context"]["downloadUrl"]) == ("x-1", "http://f.test/x-1")

    refused = await ended(client, await start(client, {"since": 2026}))
    assert (refused["status"], refused["error"]["type"]) == ("FAILED", "SchemaViolation")
    assert len(await asyncio.to_thread(stranger.read, f"{run}-export-commands")) == 1, "it was never sent"


async def test_a_command_without_a_reply_is_found_among_the_dead_letters_and_sent_again_once(
    client: Client, stranger: Stranger, run: str, steps: str
) -> None:
    await save(client, steps.replace("timeout: 300s", "timeout: 0.1s"))
    done = await ended(client, await start(client, {}))
    assert (done["status"], done["error"]["message"]) == ("FAILED", "Reply timeout after 0.1s")
    [sent] = await stranger.has(f"{run}-export-commands", 1)
    [dead] = await stranger.has(f"{run}-export-commands-dlq", 1)
    assert (dead.key, dead.value) == (sent.key, sent.value)
    assert dead.headers.items() > sent.headers.items()
    assert dead.headers.keys() - sent.headers.keys() == ERRORS
    assert dead.headers["X-Error-Message"] == "Reply timeout after 0.1s"
    assert dead.headers["X-Original-Topic"] == f"{run}-export-commands"

    [letter] = (await client.get("/api/dead-letters?kind=command")).json()["items"]
    path = f"/api/dead-letters/{letter['id']}/redrive"
    again = await asyncio.gather(*[client.post(path, json={}) for _ in range(2)])
    assert sorted(answer.status_code for answer in again) == [200, 409]
    [one, other] = await stranger.has(f"{run}-export-commands", 2)
    assert (one.key, one.value) == (other.key, other.value) == (sent.key, sent.value)

    async def nothing_waits() -> bool:
        return not (await client.get("/api/outbox?status=pending")).json()["items"]

    await until(nothing_waits)
    assert len(await asyncio.to_thread(stranger.read, f"{run}-export-commands")) == 2


async def test_a_command_that_is_changed_and_sent_again_is_as_its_subject_says(
    client: Client, stranger: Stranger, run: str, steps: str, known_as: int
) -> None:
    await save(client, steps.replace("timeout: 300s", "timeout: 0.1s"))
    await ended(client, await start(client, {}))
    [letter] = (await client.get("/api/dead-letters?kind=command")).json()["items"]
    path = f"/api/dead-letters/{letter['id']}/redrive"
    refused = await client.post(path, json={"context": {"payload": {"format": 7}}})
    assert refused.status_code == 409, refused.text
    assert "not as its schema says" in refused.text
    payload = {"entityType": "orders", "filters": {"since": "2027"}, "format": "XML"}
    changed = await client.post(path, json={"context": {"payload": payload}})
    assert changed.status_code == 200, changed.text
    sent = await stranger.has(f"{run}-export-commands", 2)
    assert {each.headers["X-Correlation-ID"] for each in sent} == {letter["key"]}
    values = [each.value or b"" for each in sent]
    assert {value[:5] for value in values} == {b"\0" + known_as.to_bytes(4, "big")}
    read = [fastavro.schemaless_reader(io.BytesIO(value[5:]), COMMAND, None) for value in values]
    assert [each["payload"] for each in read if each["payload"]["format"] == "XML"] == [payload]  # type: ignore[index, call-overload]


async def test_commands_that_came_to_nothing_are_sent_again_and_let_be_in_bulk(
    client: Client, stranger: Stranger, run: str, steps: str
) -> None:
    await save(client, steps.replace("timeout: 300s", "timeout: 0.1s"))
    for _ in range(3):
        await ended(client, await start(client, {}))
    rows = (await client.get("/api/dead-letters?kind=command")).json()["items"]
    first = min(row["id"] for row in rows)

    async def act(**asked: object) -> None:
        answer = await client.post("/api/dead-letters/bulk", json={**asked, "reason": "looked at"})
        assert answer.status_code == 202, answer.text

    async def statuses() -> list[str]:
        found = (await client.get("/api/dead-letters?kind=command")).json()["items"]
        return [row["status"] for row in sorted(found, key=lambda row: row["id"])]

    async def are(*wanted: str) -> bool:
        return await statuses() == [*wanted]

    await act(action="dismiss", ids=[first])
    await until(lambda: are("dismissed", "open", "open"), every=0.1)
    await act(action="redrive", filter={"kind": "command", "status": "open"})
    await until(lambda: are("dismissed", "redriven", "redriven"), every=0.1)
    sent = await stranger.has(f"{run}-export-commands", 5)
    again = Counter(each.headers["X-Correlation-ID"] for each in sent)
    assert sorted(again.values()) == [1, 2, 2]


async def test_an_avro_reply_is_read_by_its_schema_and_known_by_its_field(
    client: Client, stranger: Stranger, run: str, steps: str, registry_url: str
) -> None:
    schema = f"""
      correlationIdField: id
      replySchema: {{type: AVRO, registry: "{registry_url}", subject: "{run}-reply"}}
"""
    async with httpx.AsyncClient() as others:
        versions = f"{registry_url}/subjects/{run}-reply/versions"
        known = await others.post(versions, json={"schema": json.dumps(REPLY)})
        number = int(known.raise_for_status().json()["id"])
    await save(client, steps.rstrip() + schema)
    execution = await start(client, {})
    [sent] = await stranger.has(f"{run}-export-commands", 1)
    body = io.BytesIO()
    fastavro.schemaless_writer(body, REPLY, {"id": sent.headers["X-Correlation-ID"], "exportId": "x-1"})
    framed = b"\0" + number.to_bytes(4, "big") + body.getvalue()
    await stranger.send(
        f"{run}-export-replies", framed[:-1], X_Correlation_ID=sent.headers["X-Correlation-ID"]
    )
    await stranger.send(f"{run}-export-replies", framed)
    done = await ended(client, execution)
    assert (done["status"], done["context"]["exportId"]) == ("COMPLETED", "x-1")
    [dead] = await stranger.has(f"{run}-export-replies.dlq", 1)
    assert (dead.value, dead.headers["X-Error-Type"]) == (framed[:-1], "UNPARSABLE")


async def test_a_reply_that_was_never_committed_is_none(
    client: Client, stranger: Stranger, run: str, steps: str, kafka_bootstrap: str
) -> None:
    await save(client, steps)
    execution = await start(client, {})
    [sent] = await stranger.has(f"{run}-export-commands", 1)
    correlation = sent.headers["X-Correlation-ID"]
    other = Producer({"bootstrap.servers": kafka_bootstrap, "transactional.id": f"other-{run}"})

    def reply_and_abort() -> None:
        other.init_transactions(PATIENCE)
        other.begin_transaction()
        headers: list[tuple[str, str | bytes | None]] = [("X-Correlation-ID", correlation)]
        for partition in range(2):
            other.produce(
                f"{run}-export-replies", b'{"exportId": "never"}', partition=partition, headers=headers
            )
        other.flush(PATIENCE)
        other.abort_transaction(PATIENCE)

    await asyncio.to_thread(reply_and_abort)
    await stranger.send(f"{run}-export-replies", b'{"exportId": "x-1"}', X_Correlation_ID=correlation)
    done = await ended(client, execution)
    assert (done["status"], done["context"]["exportId"]) == ("COMPLETED", "x-1")


async def test_replies_that_are_none_are_put_among_the_dead_letters_as_they_came(
    client: Client, stranger: Stranger, run: str, steps: str
) -> None:
    replies = f"{run}-export-replies"
    await save(client, steps.rstrip() + REPLY_SCHEMA)
    execution = await start(client, {})
    [sent] = await stranger.has(f"{run}-export-commands", 1)
    mine = sent.headers["X-Correlation-ID"]
    bad: list[tuple[bytes, dict[str, str | bytes], str]] = [
        (b'{"exportId": "a"}', {}, "NO_CORRELATION_ID"),
        (b'{"exportId": "b"}', {"X_Correlation_ID": b"\xff\xfe\0"}, "UNMATCHED"),
        (b'{"exportId": "c"}', {"X_Correlation_ID": str(uuid4())}, "UNMATCHED"),
        (b"\x00\xff\xfe{", {}, "UNPARSABLE"),
        (b"\x00\xff\xfe{", {"X_Correlation_ID": mine}, "UNPARSABLE"),
        (b'{"exportId": 5}', {"X_Correlation_ID": mine}, "SCHEMA_VIOLATION"),
    ]
    for value, headers, _ in bad:
        await stranger.send(replies, value, **headers)
    await stranger.send(replies, b'{"exportId": "good"}', X_Correlation_ID=mine)
    await stranger.send(replies, b'{"exportId": "second"}', X_Correlation_ID=mine)
    done = await ended(client, execution)
    assert (done["status"], done["context"]["exportId"]) == ("COMPLETED", "good")
    dead = await stranger.has(f"{replies}.dlq", len(bad))
    assert sorted((each.value, each.headers["X-Error-Type"]) for each in dead) == sorted(
        (value, kind) for value, _, kind in bad
    )
    assert {each.headers["X-Original-Topic"] for each in dead} == {replies}
    letters = (await client.get("/api/dead-letters?kind=message")).json()["items"]
    assert sorted(each["errorType"] for each in letters) == sorted(kind for _, _, kind in bad)

    async def is_counted() -> bool:
        metrics = (await client.get("/metrics")).text
        return f'replies_received_total{{status="duplicate",topic="{replies}"}} 1.0' in metrics

    await until(is_counted, every=0.1)
