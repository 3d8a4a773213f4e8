"""Workflows with triggers, and requests that fire them, signed or not."""

import json
from datetime import datetime
from typing import Any

import httpx
from standardwebhooks import Webhook

from api_for_tests import Client

TRIGGERS, FIRE = "/api/workflow/triggers", "/api/workflow/trigger"
ECHO = {"id": "echo", "type": "NOOP", "config": {}}


async def workflow(client: Client, key: str, **more: Any) -> None:
    document = {"workflow": {"name": key, "key": key, "nodes": [ECHO], **more}}
    made = await client.post("/api/workflow", json=document)
    assert made.status_code == 201, made.text


async def trigger(client: Client, of: str = "orders", **settings: Any) -> dict[str, Any]:
    made = await client.post(TRIGGERS, json={"workflowId": of, **settings})
    assert made.status_code == 201, made.text
    return dict(made.json())


def by(strategy: str, **more: Any) -> dict[str, Any]:
    return {"idempotencyGenerationSetting": {"strategy": strategy, **more}}


async def execution(client: Client, execution_id: str) -> dict[str, Any]:
    return dict((await client.get(f"/api/workflow/executions/{execution_id}")).json())


async def started(client: Client) -> int:
    return len((await client.get("/api/workflow/executions")).json()["items"])


def signing(secret: str, body: bytes, at: datetime, id: str = "msg_1") -> dict[str, str]:
    return {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(id, at, body.decode()),
    }


async def send(
    client: Client, secret: str, body: object, at: datetime, id: str = "msg_1", path: str = f"{FIRE}/orders"
) -> httpx.Response:
    content = json.dumps(body).encode()
    return await client.post(path, content=content, headers=signing(secret, content, at, id))
