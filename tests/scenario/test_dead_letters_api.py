"""Dead letters over HTTP: listed, tried again, let be."""

import asyncio
from typing import Any

from api_for_tests import Client
from scenario.test_executions_api import failing, run, save, until


async def letters(client: Client, query: str = "") -> list[dict[str, Any]]:
    answer = await client.get(f"/api/dead-letters{query}")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


async def failed(client: Client, why: str = "too late") -> str:
    result = await run(client, "strict", {"good": False, "why": why})
    assert result["status"] == "FAILED"
    execution: str = result["executionId"]
    return execution


async def test_a_letter_is_redriven_from_an_earlier_node_with_a_patch_and_only_once(client: Client) -> None:
    await save(client, failing())
    execution = await failed(client)
    [letter] = await letters(client)
    assert (letter["kind"], letter["source"], letter["key"]) == ("execution", "strict", execution)
    assert (letter["errorType"], letter["errorMessage"]) == ("Failed", "not good: too late")
    assert letter["value"]["nodeId"] == "stop"
    assert [attempt["attempt"] for attempt in letter["attempts"]] == [1]
    path = f"/api/dead-letters/{letter['id']}"
    body = {"reason": "mended", "from": "check", "context": {"good": True}}
    redriven = await client.post(f"{path}/redrive", json=body)
    assert (redriven.status_code, redriven.json()["status"]) == (200, "redriven")
    await until(client, execution, "COMPLETED")
    for action in ("redrive", "dismiss"):
        refused = await client.post(f"{path}/{action}", json={"reason": "again"})
        assert (refused.status_code, refused.json()["code"]) == (409, "CONFLICT")
    audit = await client.get(f"/api/audit?entityType=dead_letter&entityId={letter['id']}")
    assert [(entry["action"], entry["details"]["reason"]) for entry in audit.json()["items"]] == [
        ("redrive", "mended")
    ]


async def test_of_several_redrives_at_once_one_is_answered_yes(client: Client) -> None:
    await save(client, failing())
    await failed(client)
    [letter] = await letters(client)
    path = f"/api/dead-letters/{letter['id']}"
    answers = await asyncio.gather(
        *(client.post(f"{path}/redrive", json={"reason": str(n)}) for n in range(3)),
        *(client.post(f"{path}/dismiss", json={"reason": str(n)}) for n in range(3)),
    )
    assert sorted(answer.status_code for answer in answers) == [200, *[409] * 5]


async def test_letters_are_filtered_and_paged(client: Client) -> None:
    await save(client, failing())
    for why in "abc":
        await failed(client, why)
    everything = await letters(client)
    assert [letter["errorMessage"] for letter in everything] == ["not good: c", "not good: b", "not good: a"]
    dismissed = await client.post(f"/api/dead-letters/{everything[1]['id']}/dismiss", json={"reason": "no"})
    assert dismissed.json()["resolvedAt"] is not None
    assert len(await letters(client, "?status=open&kind=execution&source=strict")) == 2
    assert len(await letters(client, "?status=dismissed")) == 1
    assert await letters(client, "?source=other") == []
    assert await letters(client, "?to=2000-01-01T00:00:00Z") == []
    assert len(await letters(client, "?from=2000-01-01T00:00:00Z")) == 3
    first = (await client.get("/api/dead-letters?limit=2")).json()
    second = (await client.get(f"/api/dead-letters?limit=2&cursor={first['nextCursor']}")).json()
    assert first["items"] + second["items"] == await letters(client)
    assert second["nextCursor"] is None


async def test_what_is_not_there_is_said(client: Client, holding: Any) -> None:
    await save(client, failing())
    await failed(client)
    [letter] = await letters(client)
    assert (await client.get("/api/dead-letters/987654")).status_code == 404
    assert (await client.get("/api/dead-letters/x")).status_code == 400
    stranger = await holding("operator", institute="elsewhere")
    assert await letters(stranger) == []
    assert (await stranger.post(f"/api/dead-letters/{letter['id']}/dismiss")).status_code == 404
    viewer = await holding("viewer")
    assert (await viewer.post(f"/api/dead-letters/{letter['id']}/dismiss")).status_code == 403
    unknown = await client.post(f"/api/dead-letters/{letter['id']}/redrive", json={"node": "check"})
    assert unknown.status_code == 422
    nowhere = await client.post(f"/api/dead-letters/{letter['id']}/redrive", json={"from": "nowhere"})
    assert (nowhere.status_code, nowhere.json()["detail"]) == (409, "That version has no node nowhere.")
    assert (await client.get(f"/api/dead-letters/{letter['id']}")).json()["status"] == "open"


async def test_actions_by_hand_are_audited_with_their_reason(client: Client) -> None:
    await save(client, failing())
    execution = await failed(client)
    path = f"/api/workflow/executions/{execution}"
    assert (await client.post(f"{path}/retry", json={"reason": "r1"})).status_code == 200
    await until(client, execution, "FAILED")
    replayed = await client.post(f"{path}/replay", json={"reason": "r2"})
    audit = (await client.get(f"/api/audit?entityType=execution&entityId={execution}")).json()["items"]
    assert [(entry["action"], entry["details"]["reason"]) for entry in audit] == [
        ("replay", "r2"),
        ("retry", "r1"),
    ]
    assert audit[0]["details"]["newExecutionId"] == replayed.json()["executionId"]
