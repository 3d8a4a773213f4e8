"""Bulk actions over HTTP: accepted as jobs, looked at, cancelled."""

from typing import Any

import pytest

import polling
from api_for_tests import Client
from scenario.test_dead_letters_api import failed, letters
from scenario.test_executions_api import failing, resting, run, save, show, until

EXECUTIONS, LETTERS = "/api/workflow/executions/bulk", "/api/dead-letters/bulk"
COMPENSATE = "/options/compensate"


async def accepted(client: Client, body: dict[str, Any], path: str = EXECUTIONS) -> dict[str, Any]:
    answer = await client.post(path, json={"reason": "why", **body})
    assert answer.status_code == 202, answer.text
    taken: dict[str, Any] = answer.json()
    return taken


async def finished(client: Client, job_id: str) -> dict[str, Any]:
    async def job() -> dict[str, Any] | None:
        found: dict[str, Any] = (await client.get(f"{EXECUTIONS}/{job_id}")).json()
        return None if found["status"] == "running" else found

    ended = await polling.until(job)
    assert ended["status"] == "completed"
    return ended


async def items(client: Client, job_id: str, query: str = "") -> dict[str, Any]:
    found: dict[str, Any] = (await client.get(f"{EXECUTIONS}/{job_id}/items{query}")).json()
    return found


async def test_failed_executions_are_retried_by_a_filter_with_a_patch(client: Client) -> None:
    await save(client, failing())
    ids = sorted([await failed(client) for _ in range(3)])
    options = {"from": "check", "context": {"good": True}}
    taken = await accepted(
        client,
        {"action": "retry", "filter": {"workflow": "strict", "status": "FAILED"}, "options": options},
    )
    assert taken["total"] == 3
    job = await finished(client, taken["jobId"])
    assert (job["done"], job["pending"], job["refused"]) == (3, 0, 0)
    assert job["filter"] == {"workflow": "strict", "status": "FAILED"}
    first = await items(client, taken["jobId"], "?limit=2")
    rest = await items(client, taken["jobId"], f"?limit=2&cursor={first['nextCursor']}")
    assert [item["itemId"] for item in first["items"] + rest["items"]] == ids
    for execution in ids:
        await until(client, execution, "COMPLETED")
    assert [letter["status"] for letter in await letters(client)] == ["redriven"] * 3
    audit = (await client.get(f"/api/audit?entityType=execution&entityId={ids[0]}")).json()["items"]
    assert [(entry["action"], entry["details"]["reason"]) for entry in audit] == [("retry", "why")]


async def test_executions_are_paused_resumed_replayed_and_cancelled_by_their_ids(client: Client) -> None:
    await save(client, resting(3600))
    ids = [(await run(client, "rest", {}, wait=0.05))["executionId"] for _ in range(2)]
    for action in ("pause", "resume"):
        taken = await accepted(client, {"action": action, "ids": ids})
        assert (await finished(client, taken["jobId"]))["done"] == 2
    taken = await accepted(client, {"action": "replay", "ids": ids})
    await finished(client, taken["jobId"])
    replayed = [item["result"]["executionId"] for item in (await items(client, taken["jobId"]))["items"]]
    assert len({*replayed, *ids}) == 4
    for execution in replayed:
        assert (await show(client, execution))["key"] == "rest"
    taken = await accepted(client, {"action": "cancel", "ids": [*ids, "nowhere"]})
    assert (await finished(client, taken["jobId"]))["refused"] == 1
    [refused] = (await items(client, taken["jobId"], "?status=refused"))["items"]
    assert (refused["itemId"], refused["reason"]) == ("nowhere", "There is no execution 'nowhere'.")
    for execution in ids:
        assert (await until(client, execution, "CANCELLED"))["error"]["message"] == "why"


async def test_letters_are_dealt_with_in_bulk(client: Client) -> None:
    await save(client, failing())
    for _ in range(3):
        await failed(client)
    first = (await letters(client))[0]["id"]
    taken = await accepted(client, {"action": "dismiss", "ids": [first, 987654]}, LETTERS)
    assert (await finished(client, taken["jobId"]))["refused"] == 1
    filtered = {"action": "redrive", "filter": {"status": "open", "source": "strict"}}
    taken = await accepted(client, filtered, LETTERS)
    job = await finished(client, taken["jobId"])
    assert (job["target"], job["action"], job["total"], job["done"]) == ("dead_letter", "redrive", 2, 2)


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        (EXECUTIONS, {"action": "retry"}, "/filter"),
        (EXECUTIONS, {"action": "retry", "filter": {}}, "/filter"),
        (EXECUTIONS, {"action": "retry", "filter": {"workflow": "x"}, "ids": ["y"]}, "/filter"),
        (EXECUTIONS, {"action": "redrive", "ids": ["x"]}, "/action"),
        (EXECUTIONS, {"action": "pause", "ids": []}, "/ids"),
        (
            EXECUTIONS,
            {"action": "pause", "ids": ["x"], "options": {"compensate": True}},
            "/options/compensate",
        ),
        (EXECUTIONS, {"action": "pause", "ids": ["x"], "options": {"version": 2}}, "/options"),
        (EXECUTIONS, {"action": "pause", "filter": {"colour": "red"}}, "/filter/colour"),
        (LETTERS, {"action": "retry", "ids": [1]}, "/action"),
    ],
)
async def test_an_order_that_cannot_be_meant_so_is_refused(
    client: Client, path: str, body: dict[str, Any], pointer: str
) -> None:
    answer = await client.post(path, json=body)
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


async def test_a_job_ends_once_and_is_its_tenants_own(client: Client, holding: Any) -> None:
    taken = await accepted(client, {"action": "pause", "ids": ["nowhere"]})
    await finished(client, taken["jobId"])
    path = f"{EXECUTIONS}/{taken['jobId']}"
    assert (await client.post(f"{path}/cancel")).status_code == 409
    assert (await client.get(f"{EXECUTIONS}/nowhere")).status_code == 404
    stranger = await holding("operator", institute="elsewhere")
    assert (await stranger.get(path)).status_code == 404
    viewer = await holding("viewer")
    assert (await viewer.get(path)).status_code == 200
    assert (await viewer.post(EXECUTIONS, json={"action": "pause", "ids": ["x"]})).status_code == 403
    own = await accepted(stranger, {"action": "pause", "ids": ["nowhere"]})
    assert (await finished(stranger, own["jobId"]))["refused"] == 1


async def test_a_filter_has_what_the_list_has(client: Client) -> None:
    document = (await client.get("/openapi.json")).json()
    for path, shape in (
        ("/api/workflow/executions", "ExecutionFilter"),
        ("/api/dead-letters", "LetterFilter"),
    ):
        listed = {parameter["name"] for parameter in document["paths"][path]["get"]["parameters"]}
        fields = document["components"]["schemas"][shape]["properties"].keys()
        assert listed - {"cursor", "limit"} == set(fields)
