"""Commands and their replies over the built application, on the embedded bus and on Kafka."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from api_for_tests import Client
from muster.app.build import House, opened
from muster.app.settings import Settings
from polling import until

# As an author writes it; topics get a name of their own, so that tests can share a broker.
EXPORT = """
name: export
key: export
steps:
  - id: "trigger-batch-export"
    type: "KAFKA_COMMAND"
    config:
      commandTopic: "{run}-export-commands"
      replyTopic: "{run}-export-replies"
      command:
        type: "EXPORT_DATA"
        payload:
          entityType: "${{workflow.context.entityType}}"
          filters: "${{workflow.context.filters}}"
          format: "CSV"
      timeout: 300s  # 5 minutes
      dlq:
        topic: "{run}-export-commands-dlq"
        onTimeout: true
        onError: true
      outputMapping:
        exportId: "$.exportId"
        downloadUrl: "$.downloadUrl"
"""


@pytest.fixture
def run() -> str:
    return uuid4().hex[:8]


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
async def house(request: pytest.FixtureRequest, tmp_path: Path, run: str) -> AsyncIterator[House]:
    settings: dict[str, Any] = {"data_dir": str(tmp_path)}
    if request.param == "kafka":
        brokers = request.getfixturevalue("kafka_bootstrap")
        topics = [f"{run}-{name}" for name in ("export-commands", "export-replies")]
        admin = AdminClient({"bootstrap.servers": brokers})
        for made in admin.create_topics([NewTopic(topic, 2, 1) for topic in topics]).values():
            await asyncio.to_thread(made.result)
        settings["kafka"] = {"bootstrap_servers": brokers, "consumer": {"group_id": f"g-{run}"}}
        settings["workflow"] = {"kafka": {"reply_group_id": f"r-{run}"}}
    async with opened(Settings.model_validate(settings)) as found:
        yield found


async def save(client: Client, run: str, text: str = EXPORT) -> None:
    yaml = {"content-type": "application/yaml"}
    made = await client.post("/api/workflow", content=text.format(run=run), headers=yaml)
    assert made.status_code == 201, made.text


async def start(client: Client, key: str = "export") -> str:
    context = {"entityType": "orders", "filters": {"since": "2026-01-01"}}
    begun = await client.post("/api/workflow/execute", json={"key": key, "context": context})
    return str(begun.json()["executionId"])


async def command(client: Client, execution: str, *statuses: str) -> dict[str, Any]:
    """The last command of an execution, once it has one of these statuses."""

    async def found() -> dict[str, Any]:
        path = f"/api/commands?execution={execution}"
        rows = (await client.get(path)).json()["items"]
        return rows[0] if rows and rows[0]["status"] in statuses else {}

    return await until(found, every=0.05)


async def ended(client: Client, execution: str) -> dict[str, Any]:
    async def found() -> dict[str, Any]:
        row = (await client.get(f"/api/workflow/executions/{execution}")).json()
        return row if row["status"] in ("COMPLETED", "FAILED") else {}

    return await until(found, every=0.05)


async def reply(client: Client, run: str, correlation: str, value: object, **headers: str) -> None:
    body = {"headers": {"X-Correlation-ID": correlation, **headers}, "value": value}
    sent = await client.post(f"/api/messages/{run}-export-replies", json=body)
    assert sent.status_code == 202, sent.text


async def test_a_command_is_sent_and_its_reply_received(client: Client, run: str) -> None:
    await save(client, run)
    execution = await start(client)
    sent = await command(client, execution, "SENT")
    assert sent["commandPayload"]["payload"]["filters"] == {"since": "2026-01-01"}
    assert sent["timeoutAt"] > sent["sentAt"]
    whole = (await client.get(f"/api/workflow/executions/{execution}")).json()
    assert [node["status"] for node in whole["nodes"]] == ["waiting_for_reply"]
    [wait] = whole["waits"]
    assert (wait["kind"], wait["correlationId"]) == ("reply", sent["correlationId"])
    await reply(client, run, sent["correlationId"], {"exportId": "x-1", "downloadUrl": "http://f.test/x-1"})
    done = await ended(client, execution)
    assert done["status"] == "COMPLETED"
    assert (done["context"]["exportId"], done["context"]["downloadUrl"]) == ("x-1", "http://f.test/x-1")
    row = (await client.get(f"/api/commands/{sent['id']}")).json()
    assert (row["status"], row["replyPayload"]["exportId"]) == ("REPLY_RECEIVED", "x-1")
    metrics = (await client.get("/metrics")).text
    topic = f'topic="{run}-export-commands"'
    assert f"workflow_kafka_commands_sent_total{{{topic}}} 1.0" in metrics
    came = f'topic="{run}-export-replies"'
    assert f'workflow_kafka_replies_received_total{{status="success",{came}}} 1.0' in metrics
    assert f"workflow_kafka_reply_latency_ms_count{{{came}}} 1.0" in metrics

    async def lag() -> list[str]:
        lines = (await client.get("/metrics")).text.splitlines()
        mine = [each for each in lines if each.startswith("muster_consumer_lag{") and came in each]
        return mine if mine and all(each.endswith(" 0.0") for each in mine) else []

    for line in await until(lag, every=0.1):
        assert 'group="' in line, "who reads replies tells how many wait"
        assert 'partition="' in line


PLAIN = """
name: plain
key: plain
steps:
  - id: send-command
    type: KAFKA_COMMAND
    config: {{commandTopic: "{run}-export-commands", replyTopic: "{run}-export-replies"{more}}}
"""


async def test_a_command_without_a_mapping_gives_its_reply(client: Client, run: str) -> None:
    await save(client, run, PLAIN.replace("{more}", ", command: {{action: PROCESS}}, timeout: 10"))
    execution = await start(client, "plain")
    sent = await command(client, execution, "SENT")
    assert sent["commandPayload"] == {"action": "PROCESS"}
    timeout = datetime.fromisoformat(sent["timeoutAt"]) - datetime.fromisoformat(sent["sentAt"])
    assert timeout == timedelta(seconds=10)
    await reply(client, run, sent["correlationId"], {"status": "success"})
    done = await ended(client, execution)
    assert (done["status"], done["context"]["status"]) == ("COMPLETED", "success")
    [row] = (await client.get(f"/api/commands?execution={execution}")).json()["items"]
    assert row["status"] == "REPLY_RECEIVED"


@pytest.mark.parametrize("dlq", [False, True], ids=["alone", "with dead letters"])
async def test_a_command_that_says_nothing_runs_out_of_time(client: Client, run: str, dlq: bool) -> None:
    buried = f"{run}-test-dlq"
    more = ", timeout: 1" + (f", dlq: {{{{topic: {buried}, onTimeout: true}}}}" if dlq else "")
    await save(client, run, PLAIN.replace("{more}", more))
    execution = await start(client, "plain")
    done = await ended(client, execution)
    assert (done["status"], done["error"]["message"]) == ("FAILED", "Reply timeout after 1s")
    row = await command(client, execution, "TIMEOUT")
    assert (row["commandPayload"], row["dlqTopic"]) == ({}, buried if dlq else None)

    async def published() -> list[str]:
        rows = (await client.get("/api/outbox?status=published")).json()["items"]
        return [each["topic"] for each in rows] if len(rows) == 1 + dlq else []

    assert (buried in await until(published, every=0.05)) is dlq


async def test_a_timeout_is_a_dead_letter_that_is_sent_again_once(client: Client, run: str) -> None:
    await save(client, run, EXPORT.replace("timeout: 300s", "timeout: 0s"))
    execution = await start(client)
    done = await ended(client, execution)
    assert (done["status"], done["error"]["message"]) == ("FAILED", "Reply timeout after 0s")
    row = await command(client, execution, "TIMEOUT")
    assert row["dlqTopic"] == f"{run}-export-commands-dlq"
    [letter] = (await client.get("/api/dead-letters?kind=command")).json()["items"]
    assert (letter["source"], letter["key"]) == (f"{run}-export-commands", row["correlationId"])
    path = f"/api/dead-letters/{letter['id']}/redrive"
    again = await asyncio.gather(*[client.post(path, json={"context": {"again": True}}) for _ in range(3)])
    assert sorted(answer.status_code for answer in again) == [200, 409, 409]

    async def published() -> list[str]:
        rows = (await client.get("/api/outbox?status=published")).json()["items"]
        return [each["topic"] for each in rows] if len(rows) == 3 else []

    topics = await until(published, every=0.05)
    assert sorted(topics) == [f"{run}-export-commands"] * 2 + [f"{run}-export-commands-dlq"]
    await reply(client, run, row["correlationId"], {"exportId": "late"})

    async def is_late() -> bool:
        return bool((await client.get(f"/api/commands/{row['id']}")).json()["late"])

    await until(is_late, every=0.05)
    metrics = (await client.get("/metrics")).text
    assert f'workflow_kafka_command_timeouts_total{{topic="{run}-export-commands"}} 1.0' in metrics


async def test_what_is_nobody_s_reply_is_a_dead_letter_and_the_next_one_counts(
    client: Client, run: str
) -> None:
    await save(client, run)
    execution = await start(client)
    sent = await command(client, execution, "SENT")
    await reply(client, run, str(uuid4()), {"exportId": 1})
    await reply(client, run, sent["correlationId"], {"exportId": 2}, **{"X-Error-Message": "no such entity"})
    done = await ended(client, execution)
    assert (done["status"], done["error"]["message"]) == ("FAILED", "no such entity")

    async def letters() -> list[str]:
        rows = (await client.get("/api/dead-letters")).json()["items"]
        return sorted(each["errorType"] for each in rows) if len(rows) == 3 else []

    assert await until(letters, every=0.05) == ["CommandError", "CommandError", "UNMATCHED"]


async def test_a_list_of_commands_is_filtered_and_paged(client: Client, run: str) -> None:
    await save(client, run)
    executions = [await start(client) for _ in range(3)]
    for execution in executions:
        await command(client, execution, "SENT")
    first = (await client.get("/api/commands?status=SENT&limit=2")).json()
    rest = (await client.get(f"/api/commands?status=SENT&limit=2&cursor={first['nextCursor']}")).json()
    found = [row["workflowInstanceId"] for row in [*first["items"], *rest["items"]]]
    assert (set(found), rest["nextCursor"]) == (set(executions), None)
    assert (await client.get("/api/commands?status=TIMEOUT")).json()["items"] == []
    assert (await client.get("/api/commands?topic=others")).json()["items"] == []
    assert (await client.get("/api/commands/none")).status_code == 404
