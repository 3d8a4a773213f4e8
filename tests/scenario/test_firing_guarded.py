"""Firing triggers as strangers try it: what they cost, and what is kept of what was sent."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from api_for_tests import Client
from muster.app.build import House, opened
from muster.app.settings import Settings

Holding = Callable[..., Awaitable[Client]]
TRIGGERS, FIRE = "/api/workflow/triggers", "/api/workflow/trigger"
ECHO = {"id": "echo", "type": "NOOP", "config": {}}
SECRET_HEADERS = [
    "authorization",
    "cookie",
    "x-auth",
    "x-auth-key",
    "x-access-key",
    "x-functions-key",
    "ocp-apim-subscription-key",
    "x-jwt-assertion",
    "x-goog-iap-jwt-assertion",
    "x-session-id",
    "x-shared-key",
    "x-shopify-hmac-sha256",
    "x-api-key",
    "x-hub-signature-256",
    "webhook-signature",
    "x-gitlab-token",
    "x-anything-at-all",
]
SHOWN_HEADERS = [
    "user-agent",
    "webhook-id",
    "webhook-timestamp",
    "x-github-event",
    "x-github-delivery",
    "x-shopify-topic",
    "x-event-key",
    "x-request-id",
    "x-correlation-id",
    "traceparent",
    "ce-type",
]
SECRET_PARAMETERS = [
    "token",
    "api_key",
    "apiKey",
    "access_key",
    "key",
    "sig",
    "code",
    "X-Amz-Signature",
    "auth",
    "sessionId",
    "jwt",
    "pwd",
]
SHOWN_PARAMETERS = ["lang", "author", "countryCode", "keyboard", "design"]


@pytest.fixture
def rate_limit() -> int:
    return 5_000


@pytest.fixture
async def house(tmp_path: Path, rate_limit: int) -> AsyncIterator[House]:
    settings = {
        "data_dir": str(tmp_path),
        "secret_key": "A" * 43 + "=",
        "api": {"rate_limit": rate_limit},
    }
    async with opened(Settings.model_validate(settings)) as found:
        yield found


async def trigger(client: Client, **settings: Any) -> dict[str, Any]:
    document = {"workflow": {"name": "orders", "key": "orders", "nodes": [ECHO]}}
    assert (await client.post("/api/workflow", json=document)).status_code == 201
    made = await client.post(TRIGGERS, json={"workflowId": "orders", **settings})
    assert made.status_code == 201, made.text
    return dict(made.json())


@pytest.mark.parametrize("rate_limit", [10])
@pytest.mark.parametrize("way", ["path", "id", "signature", "token"])
async def test_whoever_asks_in_vain_is_soon_not_looked_at(client: Client, way: str) -> None:
    await trigger(client, path="orders", authentication="HMAC" if way == "signature" else "JWT")
    stranger = {"Authorization": "Bearer mst_nobody"}

    async def ask(number: int) -> int:
        if way == "id":
            return (await client.post(FIRE, json={"triggerId": f"no-{number}"})).status_code
        path = f"no-{number}" if way == "path" else "orders"
        return (await client.post(f"{FIRE}/{path}", json={}, headers=stranger)).status_code

    expected = 404 if way in ("path", "id") else 401
    # Once is too often at ten a second, and is paid back in two seconds.
    answers = [await ask(number) for number in range(10)]
    assert answers[0] == expected
    assert set(answers) == {expected, 429}


async def test_what_was_not_there_is_told_as_what_is_not_theirs(client: Client, holding: Holding) -> None:
    editor = await holding("editor", institute="A")
    made = await trigger(editor, path="of-a")
    producer = await holding("producer", institute="B")
    told = [
        await producer.post(f"{FIRE}/of-a", json={}),
        await producer.post(f"{FIRE}/none", json={}),
        await producer.post(FIRE, json={"triggerId": made["id"]}),
    ]
    assert {(answer.status_code, answer.json()["detail"]) for answer in told} == {
        (404, "There is no such trigger.")
    }


async def test_a_caller_is_recognised_before_it_is_said_what_is_wrong_with_a_body(client: Client) -> None:
    signed = await trigger(client, path="orders", authentication="HMAC")
    stranger = {"Authorization": "Bearer mst_nobody"}
    for body in ({"triggerId": signed["id"], "context": 5}, {"eventName": "PAID", "contxt": {}}, {}, 5):
        answer = await client.post(FIRE, json=body, headers=stranger)
        assert answer.status_code == 401, body


async def test_only_headers_that_tell_of_the_message_are_kept_and_no_secret_of_the_query(
    client: Client,
) -> None:
    await trigger(client, path="orders", authentication="NONE")
    headers = dict.fromkeys([*SECRET_HEADERS, *SHOWN_HEADERS], "v")
    query = dict.fromkeys([*SECRET_PARAMETERS, *SHOWN_PARAMETERS], "v")
    fired = await client.post(f"{FIRE}/orders", params=query, json={}, headers=headers)
    assert fired.status_code == 202, fired.text
    found = await client.get(f"/api/workflow/executions/{fired.json()['executionId']}")
    kept = found.json()["context"]["_trigger"]
    assert sorted(kept["headers"]) == sorted([*SHOWN_HEADERS, "content-type"])
    assert sorted(kept["query"]) == sorted(SHOWN_PARAMETERS)


@pytest.mark.parametrize("written", ["zz", "/zz/", "/api/workflow/trigger/zz", "api/workflow/trigger/zz/"])
@pytest.mark.parametrize("field", ["path", "endpoint", None])
async def test_a_path_is_the_same_however_and_wherever_it_is_written(
    client: Client, written: str, field: str | None
) -> None:
    if field is None:
        await trigger(client, path=written, authentication="NONE")
    else:
        config = {"triggerType": "webhook", "authentication": "NONE", field: written}
        nodes = [{"id": "start", "type": "TRIGGER", "config": config}, ECHO]
        document = {"workflow": {"name": "orders", "key": "orders", "nodes": nodes}}
        assert (await client.post("/api/workflow", json=document)).status_code == 201
    [found] = (await client.get(TRIGGERS)).json()["items"]
    assert found["path"] == "zz"
    for asked in ("zz", "zz/"):
        assert (await client.post(f"{FIRE}/{asked}", json={})).status_code == 202


async def test_what_is_before_every_path_is_none(client: Client) -> None:
    document = {"workflow": {"name": "orders", "key": "orders", "nodes": [ECHO]}}
    await client.post("/api/workflow", json=document)
    refused = await client.post(TRIGGERS, json={"workflowId": "orders", "path": FIRE})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/path")
