"""Schedules where something is at odds: a day that is not over, a zone that is gone."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest

from api_for_tests import Client
from muster.definitions import wall_clock

SCHEDULE = "/api/workflow/schedule"
DAILY = {"workflowId": "w", "scheduleType": "CRON", "cronExpression": "0 0 * * *", "status": "INACTIVE"}


@pytest.fixture(autouse=True)
async def workflow(client: Client) -> None:
    document = {"workflow": {"key": "w", "name": "w", "nodes": [{"id": "a", "type": "NOOP"}]}}
    assert (await client.post("/api/workflow", json=document)).status_code == 201


async def test_a_range_that_ends_today_is_filled_until_now(client: Client) -> None:
    made = (await client.post(SCHEDULE, json=DAILY)).json()
    today = datetime.now(UTC).date()
    span = {"from": f"{today - timedelta(days=1)}", "to": f"{today}"}
    filled = await client.post(f"{SCHEDULE}/{made['id']}/backfill", json=span)
    assert filled.status_code == 202, filled.text
    times = [each["scheduledTime"][:10] for each in filled.json()["results"]]
    assert times[:2] == [f"{today - timedelta(days=1)}", f"{today}"]


async def test_a_range_that_ends_on_a_later_day_is_refused(client: Client) -> None:
    made = (await client.post(SCHEDULE, json=DAILY)).json()
    today = datetime.now(UTC).date()
    span = {"from": f"{today}", "to": f"{today + timedelta(days=2)}"}
    refused = await client.post(f"{SCHEDULE}/{made['id']}/backfill", json=span)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/to")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "next", None),
        ("POST", "run", {}),
        ("POST", "activate", {}),
        ("POST", "backfill", {"from": "2026-03-01T00:00:00", "to": "2026-03-02"}),
        ("POST", "backfill", {"from": "2026-03-01T00:00:00Z", "to": "2026-03-02T00:00:00Z"}),
    ],
)
async def test_a_zone_that_is_gone_is_told(
    client: Client, monkeypatch: pytest.MonkeyPatch, method: str, path: str, body: object
) -> None:
    made = (await client.post(SCHEDULE, json={**DAILY, "timezone": "Europe/Kyiv"})).json()
    monkeypatch.setattr(wall_clock, "ZoneInfo", known_before)
    answer = await client.request(method, f"{SCHEDULE}/{made['id']}/{path}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (409, "CONFLICT")
    assert "'Europe/Kyiv'" in answer.json()["detail"]
    assert (await client.get(f"{SCHEDULE}/{made['id']}")).status_code == 200
    mended = await client.put(f"{SCHEDULE}/{made['id']}", json={**DAILY, "timezone": "Europe/Kiev"})
    assert mended.status_code == 200


def known_before(name: str) -> ZoneInfo:
    """On a machine whose zones are older."""
    if name == "Europe/Kyiv":
        raise ZoneInfoNotFoundError(name)
    return ZoneInfo(name)
