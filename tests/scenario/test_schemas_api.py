"""Workflows whose messages have schemas, on the built application."""

import uuid
from typing import Any

import httpx
import pytest

from api_for_tests import Client

ORDER = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}


def publishing(key: str, schema: dict[str, Any], payload: Any = "#{order}") -> dict[str, Any]:
    config = {"topic": f"orders.{key}", "payload": payload, "schema": schema}
    node = {"id": "send", "type": "KAFKA_PUBLISH", "config": config}
    return {"workflow": {"key": key, "name": key, "nodes": [node]}}


async def run(client: Client, key: str, order: Any) -> dict[str, Any]:
    body = {"key": key, "context": {"order": order}}
    answer = await client.post("/api/workflow/execute?wait=60", json=body)
    ended: dict[str, Any] = answer.json()
    return ended


async def test_what_is_not_as_its_schema_says_is_never_sent(client: Client) -> None:
    document = publishing("plain", {"type": "JSON_SCHEMA", "schema": ORDER})
    assert (await client.post("/api/workflow", json=document)).status_code == 201
    assert (await run(client, "plain", {"id": 1}))["status"] == "COMPLETED"
    refused = await run(client, "plain", {"id": "x"})
    assert (refused["status"], refused["error"]["type"]) == ("FAILED", "SchemaViolation")
    assert "`/id`" in refused["error"]["message"]


async def test_a_command_that_is_not_as_its_schema_says_is_never_sent(client: Client) -> None:
    config = {
        "commandTopic": "commands",
        "replyTopic": "replies",
        "command": {"type": "EXPORT", "payload": "#{order}"},
        "schema": {"type": "JSON_SCHEMA", "schema": {"properties": {"payload": ORDER}}},
    }
    document = {
        "workflow": {
            "key": "ask",
            "name": "ask",
            "nodes": [{"id": "ask", "type": "KAFKA_COMMAND", "config": config}],
        }
    }
    assert (await client.post("/api/workflow", json=document)).status_code == 201
    refused = await run(client, "ask", {"id": "x"})
    assert (refused["status"], refused["error"]["type"]) == ("FAILED", "SchemaViolation")
    assert "`/payload/id`" in refused["error"]["message"]
    assert (await client.get("/api/commands")).json()["items"] == []


@pytest.mark.registry
async def test_an_incompatible_schema_is_not_saved(client: Client, registry_url: str) -> None:
    subject = f"orders-{uuid.uuid4().hex}"
    avro = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
    schema = {
        "type": "AVRO",
        "registry": registry_url,
        "subject": subject,
        "schema": avro,
        "compatibility": "BACKWARD",
    }
    async with httpx.AsyncClient() as others:
        unasked = publishing("first", {**schema, "compatibility": "NONE"})
        assert (await client.post("/api/workflow", json=unasked)).status_code == 201
        # Its first message registers it.
        assert (await run(client, "first", {"id": 7}))["status"] == "COMPLETED"
        level = f"{registry_url}/config/{subject}"
        (await others.put(level, json={"compatibility": "BACKWARD"})).raise_for_status()
    wider = {**avro, "fields": [{"name": "id", "type": "long"}, {"name": "more", "type": "int"}]}
    refused = await client.post("/api/workflow", json=publishing("second", {**schema, "schema": wider}))
    assert refused.status_code == 422, refused.text
    [error] = refused.json()["errors"]
    assert (error["code"], error["pointer"]) == ("INCOMPATIBLE_SCHEMA", "/nodes/0/config/schema/schema")
    assert (await client.post("/api/workflow", json=publishing("third", schema))).status_code == 201
