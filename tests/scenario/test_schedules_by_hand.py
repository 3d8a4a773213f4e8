"""What people do to schedules by hand: guarded against each other, refused where it makes no sense."""

from typing import Any

import pytest

from api_for_tests import Client

SCHEDULE = "/api/workflow/schedule"
DAILY = {"scheduleType": "CRON", "cronExpression": "30 2 * * *", "timezone": "Europe/Berlin"}


@pytest.fixture
async def workflow(client: Client) -> str:
    document = {"workflow": {"key": "w", "name": "w", "nodes": [{"id": "a", "type": "NOOP"}]}}
    made = await client.post("/api/workflow", json=document)
    assert made.status_code == 201, made.text
    return "w"


@pytest.fixture
async def schedule(client: Client, workflow: str) -> dict[str, Any]:
    answer = await client.post(SCHEDULE, json={"workflowId": workflow, **DAILY})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def audited(client: Client, schedule: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """What was done and its details, newest first."""
    query = {"entityType": "workflow_schedule", "entityId": schedule["id"]}
    items = (await client.get("/api/audit", params=query)).json()["items"]
    return [(each["action"], each["details"]) for each in items]


@pytest.mark.parametrize("action", ["run", "activate", "deactivate"])
async def test_a_body_that_cannot_be_meant_does_nothing(
    client: Client, schedule: dict[str, Any], action: str
) -> None:
    path = f"{SCHEDULE}/{schedule['id']}"
    unknown = await client.post(f"{path}/{action}", json={"reson": "tidy"})
    assert unknown.status_code == 422
    assert unknown.json()["errors"][0]["pointer"] == "/reson"
    broken = await client.post(
        f"{path}/{action}", content=b"{bad", headers={"content-type": "application/json"}
    )
    assert broken.status_code == 400
    assert (await client.get("/api/workflow/executions")).json()["items"] == []
    assert (await client.get(path)).json() == schedule


async def test_what_is_done_by_hand_is_audited_with_its_reason(
    client: Client, schedule: dict[str, Any]
) -> None:
    path = f"{SCHEDULE}/{schedule['id']}"
    begun = (await client.post(f"{path}/run", json={"reason": "r"})).json()
    span = {"from": "2026-03-10", "to": "2026-03-11", "reason": "f"}
    assert (await client.post(f"{path}/backfill", json=span)).status_code == 202
    await client.post(f"{path}/backfill", json={**span, "reason": ""})
    await client.post(f"{path}/deactivate", json={"reason": "off"})
    await client.post(f"{path}/activate")
    filled = {"from": "2026-03-09T23:00:00Z", "to": "2026-03-11T22:59:59.999999Z"}
    assert await audited(client, schedule) == [
        ("activate", {}),
        ("deactivate", {"reason": "off"}),
        ("backfill", {**filled, "started": 0}),
        ("backfill", {**filled, "started": 2, "reason": "f"}),
        ("run", {"executionId": begun["executionId"], "reason": "r"}),
        ("create", {}),
    ]


async def test_a_day_without_a_time_is_filled_to_its_end(client: Client, schedule: dict[str, Any]) -> None:
    span = {"from": "2026-03-10", "to": "2026-03-10"}
    filled = await client.post(f"{SCHEDULE}/{schedule['id']}/backfill", json=span)
    assert [each["scheduledTime"] for each in filled.json()["results"]] == ["2026-03-10T01:30:00Z"]


async def test_nothing_starts_an_archived_workflow_by_the_clock(
    client: Client, schedule: dict[str, Any]
) -> None:
    path = f"{SCHEDULE}/{schedule['id']}"
    assert (await client.delete("/api/workflow/w")).status_code == 204
    refused = [
        await client.post(SCHEDULE, json={"workflowId": "w", **DAILY}),
        await client.post(f"{path}/activate"),
        await client.put(path, json={**DAILY, "status": "ACTIVE"}),
    ]
    assert [(each.status_code, each.json()["code"]) for each in refused] == [(409, "CONFLICT")] * 3
    assert all("archived" in each.json()["detail"] for each in refused)
    assert len((await client.get(SCHEDULE)).json()["items"]) == 1
    assert (await client.get(path)).json()["status"] == "INACTIVE"
    assert (await client.put(path, json=DAILY)).status_code == 200


async def test_nobody_undoes_what_they_have_not_seen(client: Client, schedule: dict[str, Any]) -> None:
    path = f"{SCHEDULE}/{schedule['id']}"
    seen = (await client.get(path)).headers["etag"]
    assert (seen, schedule["version"]) == ('"1"', 1)
    first = await client.put(path, json={**DAILY, "misfire": "skip"}, headers={"if-match": seen})
    assert (first.status_code, first.headers["etag"]) == (200, '"2"')
    second = await client.put(path, json=DAILY, headers={"if-match": seen})
    assert (second.status_code, second.json()["code"]) == (412, "STALE_VERSION")
    assert second.headers["etag"] == '"2"'
    assert (await client.get(path)).json()["misfire"] == "skip"
    assert (await client.put(path, json=DAILY, headers={"if-match": "*"})).headers["etag"] == '"3"'
    assert (await client.post(f"{path}/deactivate")).headers["etag"] == '"4"'
    assert (await client.put(path, json=DAILY, headers={"if-match": "x"})).status_code == 400


async def test_a_change_that_does_not_speak_of_it_leaves_it_switched_off(
    client: Client, schedule: dict[str, Any]
) -> None:
    path = f"{SCHEDULE}/{schedule['id']}"
    await client.post(f"{path}/deactivate")
    kept = (await client.put(path, json={**DAILY, "cronExpression": "0 3 * * *"})).json()
    assert (kept["status"], kept["nextRunAt"], kept["cronExpression"]) == ("INACTIVE", None, "0 3 * * *")
    on = (await client.put(path, json={**DAILY, "status": "ACTIVE"})).json()
    assert (on["status"], on["nextRunAt"]) == ("ACTIVE", schedule["nextRunAt"])
    still = (await client.put(path, json=DAILY)).json()
    assert still["status"] == "ACTIVE"
