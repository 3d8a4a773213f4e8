"""Schedules over HTTP: made, looked at, switched, run, filled up; and fired by the built application."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from api_for_tests import Client
from polling import until

SCHEDULE = "/api/workflow/schedule"
LOG = {"id": "a", "type": "NOOP"}
DAILY = {
    "scheduleType": "CRON",
    "cronExpression": "30 2 * * *",
    "timezone": "Europe/Berlin",
    "startDate": "2024-01-01T00:00:00",
}


@pytest.fixture
async def workflow(client: Client) -> str:
    document = {"workflow": {"key": "w", "name": "w", "nodes": [LOG]}}
    made = await client.post("/api/workflow", json=document)
    assert made.status_code == 201, made.text
    identity: str = made.json()["id"]
    return identity


async def made(client: Client, **fields: object) -> dict[str, Any]:
    answer = await client.post(SCHEDULE, json={"workflowId": "w", **DAILY, **fields})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_schedule_is_made_read_changed_and_deleted(client: Client, workflow: str) -> None:
    schedule = await made(client, misfire="skip")
    assert (schedule["workflowId"], schedule["origin"], schedule["status"]) == (workflow, "api", "ACTIVE")
    assert datetime.fromisoformat(schedule["nextRunAt"]) > datetime.now(UTC)
    path = f"{SCHEDULE}/{schedule['id']}"
    assert (await client.get(path)).json() == schedule
    listed = (await client.get(SCHEDULE, params={"workflow": "w", "status": "ACTIVE"})).json()
    assert listed["items"] == [schedule]
    changed = await client.put(path, json={"type": "INTERVAL", "intervalMinutes": 60})
    assert (changed.json()["scheduleType"], changed.json()["misfire"]) == ("INTERVAL", "fire_once")
    audited = await client.get(
        "/api/audit", params={"entityType": "workflow_schedule", "entityId": schedule["id"]}
    )
    assert [each["action"] for each in audited.json()["items"]] == ["replace", "create"]
    assert (await client.delete(path)).status_code == 204
    assert (await client.get(path)).status_code == 404
    assert (await client.delete(path)).status_code == 404


async def test_next_times_have_the_zones_offset_before_and_after_saving(
    client: Client, workflow: str
) -> None:
    asked = {**DAILY, "count": 2, "after": "2026-03-28T12:00:00"}
    answer = await client.post(f"{SCHEDULE}/next", json=asked)
    assert answer.json() == {"next": ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]}
    schedule = await made(client)
    saved = (await client.get(f"{SCHEDULE}/{schedule['id']}/next", params={"count": 3})).json()["next"]
    unsaved = (await client.post(f"{SCHEDULE}/next", json={**DAILY, "count": 3})).json()["next"]
    assert saved == unsaved
    assert datetime.fromisoformat(saved[0]) == datetime.fromisoformat(schedule["nextRunAt"])


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"scheduleType": "CRON"}, ""),
        ({**DAILY, "cronExpression": "61 * * * *"}, "/cronExpression"),
        ({**DAILY, "timezone": "Europe/Berlim"}, "/timezone"),
        ({**DAILY, "cronn": 1}, "/cronn"),
        ({**DAILY, "count": 1000}, "/count"),
        ({**DAILY, "count": "3"}, "/count"),
        ({**DAILY, "after": "yesterday"}, "/after"),
        ({**DAILY, "after": 7}, "/after"),
        ({**DAILY, "endDate": "2023-01-01"}, "/endDate"),
        ([], ""),
    ],
)
async def test_what_is_wrong_with_a_schedule_is_named(client: Client, body: object, pointer: str) -> None:
    answer = await client.post(f"{SCHEDULE}/next", json=body)
    assert answer.status_code == 422
    assert [each["pointer"] for each in answer.json()["errors"]] == [pointer]


async def test_a_schedule_needs_a_workflow_that_is_there(client: Client, workflow: str) -> None:
    assert (await client.post(SCHEDULE, json=DAILY)).json()["errors"][0]["pointer"] == "/workflowId"
    assert (await client.post(SCHEDULE, json={**DAILY, "workflowId": "nobody"})).status_code == 404
    schedule = await made(client)
    other = {"workflow": {"key": "other", "name": "other", "nodes": [LOG]}}
    await client.post("/api/workflow", json=other)
    moved = await client.put(f"{SCHEDULE}/{schedule['id']}", json={**DAILY, "workflowId": "other"})
    assert moved.status_code == 422
    same = await client.put(f"{SCHEDULE}/{schedule['id']}", json={**DAILY, "workflowId": "w"})
    assert same.status_code == 200


async def test_a_schedule_is_switched_off_and_on(client: Client, workflow: str) -> None:
    schedule = await made(client)
    path = f"{SCHEDULE}/{schedule['id']}"
    off = (await client.post(f"{path}/deactivate")).json()
    assert (off["status"], off["nextRunAt"]) == ("INACTIVE", None)
    assert (await client.post(f"{path}/deactivate")).status_code == 200
    on = (await client.post(f"{path}/activate")).json()
    assert (on["status"], on["nextRunAt"]) == ("ACTIVE", schedule["nextRunAt"])
    over = await made(client, startDate="2020-01-01", endDate="2020-02-01")
    assert (over["status"], over["nextRunAt"]) == ("INACTIVE", None)
    assert (await client.post(f"{SCHEDULE}/{over['id']}/activate")).status_code == 409


async def test_a_schedule_is_run_by_hand_and_filled_up(client: Client, workflow: str) -> None:
    schedule = await made(client, overlap="allow")
    path = f"{SCHEDULE}/{schedule['id']}"
    begun = await client.post(f"{path}/run")
    assert begun.status_code == 202
    found = (await client.get(f"/api/workflow/executions/{begun.json()['executionId']}")).json()
    assert found["context"]["_trigger"]["reason"] == "manual"
    assert (await client.get(path)).json()["lastRunAt"] is not None
    span = {"from": "2026-03-28T00:00:00", "to": "2026-03-30T23:59:59"}
    filled = await client.post(f"{path}/backfill", json=span)
    assert filled.status_code == 202
    results = filled.json()["results"]
    assert [each["scheduledTime"] for each in results] == [
        "2026-03-28T01:30:00Z",
        "2026-03-29T01:00:00Z",
        "2026-03-30T00:30:00Z",
    ]
    again = (await client.post(f"{path}/backfill", json=span)).json()["results"]
    assert [each["executionId"] for each in again] == [each["executionId"] for each in results]
    assert all(each["duplicate"] for each in again)
    listed = await client.get("/api/workflow/executions", params={"trigger": schedule["id"]})
    assert len(listed.json()["items"]) == 4
    backwards = await client.post(f"{path}/backfill", json={"from": "2026-03-02", "to": "2026-03-01"})
    assert backwards.status_code == 422
    many = await made(client, cronExpression="* * * * *")
    too_many = await client.post(f"{SCHEDULE}/{many['id']}/backfill", json=span)
    assert too_many.status_code == 409


async def test_the_application_fires_what_is_due(client: Client, workflow: str) -> None:
    since = datetime.now(UTC)
    schedule = await made(client, cronExpression="* * * * * *", overlap="allow")

    async def fired() -> list[Any]:
        found = await client.get("/api/workflow/executions", params={"trigger": schedule["id"]})
        items: list[Any] = found.json()["items"]
        return items if len(items) >= 2 else []

    first = (await until(fired))[-1]
    key = first["idempotencyKey"]
    assert key.startswith(f"schedule_{schedule['id']}_")
    assert datetime.fromisoformat(key.rpartition("_")[2]) >= since - timedelta(seconds=1)

    async def has_run() -> bool:
        return (await client.get(f"{SCHEDULE}/{schedule['id']}")).json()["lastRunAt"] is not None

    await until(has_run)
    metrics = (await client.get("/metrics")).text
    assert 'muster_schedule_occurrences_total{outcome="started"}' in metrics
    assert "muster_schedule_late_seconds_count" in metrics


async def test_who_may_do_what_with_schedules(client: Client, workflow: str, holding: Any) -> None:
    schedule = await made(client)
    path = f"{SCHEDULE}/{schedule['id']}"
    viewer, operator, editor = await holding("viewer"), await holding("operator"), await holding("editor")
    assert (await viewer.get(path)).status_code == 200
    assert (await viewer.post(f"{SCHEDULE}/next", json=DAILY)).status_code == 200
    assert (await viewer.post(f"{path}/deactivate")).status_code == 403
    assert (await operator.post(f"{path}/deactivate")).status_code == 200
    assert (await operator.put(path, json=DAILY)).status_code == 403
    assert (await operator.post(SCHEDULE, json={**DAILY, "workflowId": "w"})).status_code == 403
    assert (await editor.put(path, json=DAILY)).status_code == 200
    foreign = await holding("editor", institute="ACME")
    assert (await foreign.get(path)).status_code == 404
    assert (await foreign.get(SCHEDULE)).json()["items"] == []
