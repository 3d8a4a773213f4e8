"""`_vars`: a workflow's own constants everywhere, and its institute's secrets where they leave."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from muster.app.build import opened
from muster.app.settings import Settings
from stand_ins.http_site import Asked, Reply, Site, site

KEY = "A" * 43 + "="


@pytest.fixture
async def web() -> AsyncIterator[Site]:
    async with site(lambda asked: Reply(200, {"Content-Type": "application/json"}, b"{}")) as found:
        yield found


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings.model_validate({"data_dir": str(tmp_path), "secret_key": KEY})
    async with (
        opened(settings) as house,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(house.api), base_url="http://127.0.0.1:8080"
        ) as found,
    ):
        yield found


def sent(asked: Asked) -> Any:
    return json.loads(asked.body)


async def ran(client: httpx.AsyncClient, *nodes: dict[str, Any], **head: object) -> dict[str, Any]:
    document = {"workflow": {"name": "Secret", **head, "nodes": list(nodes)}}
    made = await client.post("/api/workflow", json=document)
    assert made.status_code == 201, made.text
    body = {"workflowId": made.json()["id"]}
    ended = await client.post("/api/workflow/execute?wait=60", json=body)
    found = await client.get(f"/api/workflow/executions/{ended.json()['executionId']}")
    result: dict[str, Any] = found.json()
    return result


def call(web: Site, **body: object) -> dict[str, Any]:
    return {
        "id": "call",
        "type": "REST_SYNC",
        "config": {"url": web.url("/"), "method": "POST", "body": body},
    }


async def test_an_effect_is_given_its_institutes_secrets_and_no_others(
    client: httpx.AsyncClient, web: Site
) -> None:
    for institute, value in (("", "of all"), ("north", "of the north"), ("south", "of the south")):
        body = {"name": "token", "value": value, "instituteId": institute}
        assert (await client.post("/api/secrets", json=body)).status_code == 201
    for institute in ("north", "south", ""):
        await ran(client, call(web, token="#{_vars.token}", other="#{_vars.other}"), instituteId=institute)
    assert [sent(asked) for asked in web.asked] == [
        {"token": "of the north", "other": None},
        {"token": "of the south", "other": None},
        {"token": "of all", "other": None},
    ]


async def test_the_workflows_own_constants_are_everywhere_and_come_first(
    client: httpx.AsyncClient, web: Site
) -> None:
    await client.post("/api/secrets", json={"name": "region", "value": "from the store"})
    await client.post("/api/secrets", json={"name": "token", "value": "s3cret"})
    shape = {"id": "shape", "type": "TRANSFORM", "config": {"transformations": [
        {"field": "where", "expression": "#{_vars.region}"},
        {"field": "hidden", "expression": "#{_vars.token}"},
    ]}}  # fmt: skip
    run = await ran(client, shape, call(web, region="#{_vars.region}"), vars={"region": "eu"})
    assert (run["context"]["where"], run["context"]["hidden"]) == ("eu", None)
    assert sent(web.asked[0]) == {"region": "eu"}


async def test_a_compensation_is_an_effect_too(client: httpx.AsyncClient, web: Site) -> None:
    await client.post("/api/secrets", json={"name": "token", "value": "s3cret"})
    undo = {"type": "REST_SYNC", "config": call(web, undo="#{_vars.token}")["config"]}
    run = await ran(
        client,
        {**call(web, do=True), "compensate": undo},
        {"id": "no", "type": "FAIL", "config": {"message": "x"}},
    )
    assert run["status"] == "FAILED"
    assert [sent(asked) for asked in web.asked] == [{"do": True}, {"undo": "s3cret"}]


async def test_secrets_that_cannot_be_read_fail_the_node_and_say_why(tmp_path: Path, web: Site) -> None:
    for key in (KEY, "B" * 43 + "="):
        settings = Settings.model_validate({"data_dir": str(tmp_path), "secret_key": key})
        async with (
            opened(settings) as house,
            httpx.AsyncClient(
                transport=httpx.ASGITransport(house.api), base_url="http://127.0.0.1:8080"
            ) as client,
        ):
            if key == KEY:
                await client.post("/api/secrets", json={"name": "token", "value": "s3cret"})
                continue
            run = await ran(client, call(web, token="#{_vars.token}"))
    assert run["error"]["type"] == "UnreadableSecrets"
    assert "MUSTER_SECRET_KEY" in run["error"]["message"]
    assert web.asked == []
