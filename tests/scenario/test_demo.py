"""The demo as it is loaded, and workflows that run on it from the query to the last update."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from api_for_tests import Client
from muster.app.build import House, opened
from muster.app.demo import load_demo
from muster.app.demo_workflows import demo_workflows
from muster.app.settings import Settings
from muster.kit.clock import SystemClock
from muster.nodes.demo import ACTIONS, QUERIES, demo_actions, demo_queries
from muster.nodes.sql import check_action, check_query
from muster.store.demo_database import make_demo_database
from muster.store.open import FILE_NAME, sqlite_database

RENEWALS = {
    "workflow": {
        "name": "Subscription Renewal Workflow",
        "schedule": {"type": "CRON", "expression": "0 9 * * MON-FRI"},
        "nodes": [
            {
                "type": "QUERY",
                "config": {"prebuiltKey": "getExpiringSubscriptions", "params": {"daysAhead": 7}},
            },
            {
                "type": "SEND_EMAIL",
                "config": {
                    "on": "#{expiringSubscriptions}",
                    "forEach": {
                        "operation": "SWITCH",
                        "on": "#{item.remainingDays}",
                        "cases": {
                            "1": {"subject": "URGENT: Subscription expires tomorrow", "body": "1 day"},
                            "7": {"subject": "Subscription expires in 7 days", "body": "7 days"},
                        },
                    },
                },
            },
            {
                "type": "ACTION",
                "config": {
                    "actionType": "dbUpdateRemainingDays",
                    "on": "#{expiringSubscriptions}",
                    "forEach": {"eval": "#{item}", "operation": "ITERATOR"},
                },
            },
        ],
    }
}
EVERYTHING = (
    {"data source demo"}
    | {f"query {key}" for key in QUERIES}
    | {f"action {key}" for key in ACTIONS}
    | {f"workflow {key}" for key in demo_workflows()}
)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with opened(Settings.model_validate({"data_dir": str(tmp_path)})) as found:
        yield found


@pytest.fixture
async def loaded(house: House, tmp_path: Path) -> list[str]:
    """What loading made, beside the server that runs."""
    return await load(tmp_path)


async def load(folder: Path) -> list[str]:
    database = sqlite_database(folder / FILE_NAME)
    try:
        return await load_demo(database, SystemClock(), folder, "ada")
    finally:
        await database.close()


def asked(folder: Path, sql: str) -> list[Any]:
    with sqlite3.connect(folder / "demo.db") as connection:
        found = connection.execute(sql).fetchall()
    connection.close()
    return found


async def ran(client: Client, document: object) -> dict[str, Any]:
    made = await client.post("/api/workflow", json=document)
    assert made.status_code == 201, made.text
    return await started(client, made.json()["key"])


async def started(client: Client, key: str) -> dict[str, Any]:
    """What came of one of the workflows."""
    started = await client.post("/api/workflow/execute", params={"wait": "10"}, json={"key": key})
    assert started.status_code == 200, started.text
    answer = await client.get(f"/api/workflow/executions/{started.json()['executionId']}")
    found: dict[str, Any] = answer.json()
    assert found["status"] == "COMPLETED", found["error"]
    return found


async def test_loading_registers_everything_once_and_a_second_time_nothing(
    loaded: list[str], client: Client, tmp_path: Path
) -> None:
    assert set(loaded) == EVERYTHING
    listed = {row["key"]: row["resultKey"] for row in (await client.get("/api/queries")).json()["items"]}
    assert listed == QUERIES
    before = (tmp_path / "demo.db").read_bytes()
    assert await load(tmp_path) == []
    assert (tmp_path / "demo.db").read_bytes() == before


def test_what_the_demo_registers_is_what_anybody_might() -> None:
    now = SystemClock().now()
    assert [problem for query in demo_queries(now) for problem in check_query(query)] == []
    assert [problem for action in demo_actions(now) for problem in check_action(action)] == []


@pytest.mark.usefixtures("loaded")
async def test_new_enrollments_are_welcomed_and_confirmed(client: Client, tmp_path: Path) -> None:
    run = await started(client, "student-enrollment-workflow")
    assert len(run["context"]["newEnrollments"]) == 5
    assert run["context"]["newEnrollments"][0]["courseName"]
    counts = [node["output"].get("succeeded") for node in run["nodes"]]
    assert counts == [None, 5, 5]
    assert asked(tmp_path, "SELECT DISTINCT status FROM enrollments") == [("CONFIRMED",)]


@pytest.mark.usefixtures("loaded")
async def test_who_has_a_day_or_a_week_left_is_reminded(client: Client, tmp_path: Path) -> None:
    run = await ran(client, RENEWALS)
    left = [each["remainingDays"] for each in run["context"]["expiringSubscriptions"]]
    assert left == [1, 3, 7, 7]
    mails = run["nodes"][1]["output"]
    assert (mails["total"], mails["succeeded"], mails["skipped"]) == (4, 3, 1)
    noted = "SELECT remaining_days FROM subscriptions WHERE remaining_days IS NOT NULL ORDER BY id"
    assert asked(tmp_path, noted) == [(1,), (3,), (7,), (7,)]


@pytest.mark.usefixtures("loaded")
async def test_users_are_notified_on_both_channels(client: Client) -> None:
    run = await started(client, "multi-channel-notification")
    assert len(run["context"]["users"]) == 5
    assert [node["output"].get("succeeded") for node in run["nodes"]] == [None, 5, 5]


@pytest.mark.usefixtures("loaded")
async def test_an_institutes_new_students_are_welcomed_and_nobody_elses(
    client: Client, tmp_path: Path
) -> None:
    run = await started(client, "wf_123")
    students = run["context"]["newStudents"]
    assert {each["instituteId"] for each in students} == {"inst_456"}
    active = "SELECT institute_id, status, count(*) FROM students GROUP BY 1, 2 ORDER BY 1, 2"
    assert asked(tmp_path, active) == [
        ("inst_123", "ACTIVE", 1),
        ("inst_123", "NEW", 2),
        ("inst_456", "ACTIVE", 3),
    ]


async def test_without_the_demo_its_queries_are_named_as_missing(client: Client) -> None:
    made = await client.post("/api/workflow", json=demo_workflows()["student-enrollment-workflow"])
    body = {"workflowId": made.json()["id"]}
    ended = (await client.post("/api/workflow/execute", params={"wait": "10"}, json=body)).json()
    assert ended["status"] == "FAILED"
    assert "no query `getNewEnrollments` is registered" in str(ended["error"])


def test_a_demo_database_that_is_there_is_left_alone(tmp_path: Path) -> None:
    today = SystemClock().now().date()
    first = make_demo_database(tmp_path, today)
    before = first.read_bytes()
    assert make_demo_database(tmp_path, today + timedelta(days=1)) == first
    assert first.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["demo.db"]


async def test_two_who_load_at_once_register_everything_once_between_them(
    house: House, tmp_path: Path
) -> None:
    one, two = await asyncio.gather(load(tmp_path), load(tmp_path))
    assert len(one) + len(two) == len(set(one + two)) == len(EVERYTHING)
