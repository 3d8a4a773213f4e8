"""What is refused about schedules is said to be wrong, with its place."""

from datetime import UTC, datetime, timedelta

import pytest

from api_for_tests import Client

SCHEDULE = "/api/workflow/schedule"
HOURLY = {"workflowId": "w", "scheduleType": "CRON", "cronExpression": "0 * * * *"}


@pytest.fixture(autouse=True)
async def workflow(client: Client) -> None:
    document = {"workflow": {"key": "w", "name": "w", "nodes": [{"id": "a", "type": "NOOP"}]}}
    assert (await client.post("/api/workflow", json=document)).status_code == 201


async def test_what_is_still_to_come_is_not_filled_up(client: Client) -> None:
    made = (await client.post(SCHEDULE, json=HOURLY)).json()
    now = datetime.now(UTC)
    span = {"from": now.isoformat(), "to": (now + timedelta(hours=5)).isoformat()}
    refused = await client.post(f"{SCHEDULE}/{made['id']}/backfill", json=span)
    assert refused.status_code == 422
    assert [each["pointer"] for each in refused.json()["errors"]] == ["/to"]
    listed = await client.get("/api/workflow/executions", params={"trigger": made["id"]})
    assert listed.json()["items"] == []


async def test_nothing_is_filled_up_from_the_beginning_of_the_calendar(client: Client) -> None:
    for zone in ("UTC", "America/New_York", "Asia/Tokyo"):
        made = (await client.post(SCHEDULE, json={**HOURLY, "timezone": zone})).json()
        for first in ("0001-01-01T00:00:00Z", "0001-01-01", "1969-12-31T23:59:59Z"):
            span = {"from": first, "to": "2020-01-01T00:00:00Z"}
            refused = await client.post(f"{SCHEDULE}/{made['id']}/backfill", json=span)
            assert refused.status_code == 422, (zone, first)
            assert [each["pointer"] for each in refused.json()["errors"]] == ["/from"]


async def test_failures_are_counted_up_to_a_thousand(client: Client) -> None:
    most = await client.post(SCHEDULE, json={**HOURLY, "pauseAfterFailures": 1000})
    assert (most.status_code, most.json()["pauseAfterFailures"]) == (201, 1000)
    for more in (1001, 10**12):
        refused = await client.post(SCHEDULE, json={**HOURLY, "pauseAfterFailures": more})
        assert refused.status_code == 422
        assert [each["pointer"] for each in refused.json()["errors"]] == ["/pauseAfterFailures"]
