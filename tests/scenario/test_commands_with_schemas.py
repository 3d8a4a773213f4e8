"""A command as an author writes it, with its schema in a registry: saved, sent as Avro, and answered."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import select

from api_for_tests import Client
from export_steps import EXPORT_STEPS
from muster.app.build import House, opened
from muster.app.settings import Settings
from muster.store.open import open_database
from muster.store.tables import bus_message
from polling import until

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


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/muster.db"


@pytest.fixture
async def house(tmp_path: Path, database_url: str) -> AsyncIterator[House]:
    settings = {"data_dir": str(tmp_path), "database": {"url": database_url}}
    async with opened(Settings.model_validate(settings)) as found:
        yield found


async def start(client: Client, filters: dict[str, Any]) -> str:
    context = {"entityType": "orders", "filters": filters}
    begun = await client.post("/api/workflow/execute", json={"key": "export", "context": context})
    return str(begun.json()["executionId"])


async def ended(client: Client, execution: str) -> dict[str, Any]:
    async def found() -> dict[str, Any]:
        row = (await client.get(f"/api/workflow/executions/{execution}")).json()
        return row if row["status"] in ("COMPLETED", "FAILED") else {}

    return await until(found, every=0.05)


async def sent_bytes(database_url: str) -> bytes:
    database = open_database(database_url)
    value = select(bus_message.c.value).where(bus_message.c.topic == "export-commands")
    found: bytes = await database.read(lambda connection: connection.scalars(value).one())
    await database.close()
    return found


@pytest.mark.registry
async def test_a_command_goes_out_as_its_subject_in_the_registry_says(
    client: Client, registry_url: str, database_url: str
) -> None:
    subject = f"export-command-{uuid4().hex}-value"
    async with httpx.AsyncClient() as others:
        versions = f"{registry_url}/subjects/{subject}/versions"
        known = await others.post(versions, json={"schema": json.dumps(COMMAND)})
        known.raise_for_status()
    steps = EXPORT_STEPS.replace("http://schema-registry:8081", registry_url)
    text = f"name: export\nkey: export\n{steps.replace('export-command-value', subject)}"
    made = await client.post("/api/workflow", content=text, headers={"content-type": "application/yaml"})
    assert made.status_code == 201, made.text

    execution = await start(client, {"since": "2026-01-01"})

    async def sent() -> str:
        rows = (await client.get(f"/api/commands?execution={execution}&status=SENT")).json()["items"]
        return str(rows[0]["correlationId"]) if rows else ""

    correlation = await until(sent, every=0.05)
    value = await sent_bytes(database_url)
    assert value[:5] == b"\0" + known.json()["id"].to_bytes(4, "big"), "the registry's wire format"
    assert b"EXPORT_DATA" in value
    assert b"{" not in value
    reply = {"headers": {"X-Correlation-ID": correlation}, "value": {"exportId": "x-1", "downloadUrl": "u"}}
    assert (await client.post("/api/messages/export-replies", json=reply)).status_code == 202
    done = await ended(client, execution)
    assert (done["status"], done["context"]["exportId"]) == ("COMPLETED", "x-1")

    refused = await ended(client, await start(client, {"since": 2026}))
    assert (refused["status"], refused["error"]["type"]) == ("FAILED", "SchemaViolation")
