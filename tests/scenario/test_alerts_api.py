"""Alerts, incidents, the wallboard and items over HTTP, from events that come in."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from api_for_tests import Client
from muster.model.access import Role
from polling import until
from scenario.test_watched_workflows_api import create, trade

LISTENER = {
    "workflow": {
        "name": "Tell",
        "key": "tell",
        "nodes": [
            {
                "id": "alert",
                "type": "TRIGGER",
                "config": {"triggerType": "alert", "filter": {"severity": "amber"}},
            },
            {"id": "end", "type": "NOOP"},
        ],
        "routing": [{"fromNodeId": "alert", "toNodeId": "end", "type": "goto"}],
    }
}


async def ingest(client: Client, *keys: str, type_: str = "TRADE_INGEST", region: str = "NY") -> None:
    """Trades of an hour ago: what follows them was due long since."""
    at = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    group = {"book": "EQD", "region": region}
    events = [{"eventType": type_, "eventTime": at, "correlationKey": key, "group": group} for key in keys]
    answer = await client.post("/ingest", json=events)
    assert answer.status_code == 202, answer.text


async def alerts(client: Client, query: str = "") -> list[dict[str, Any]]:
    answer = await client.get(f"/alerts{query}")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


async def missed(client: Client, *keys: str) -> list[dict[str, Any]]:
    await create(client, trade())
    await ingest(client, *keys)

    async def all_there() -> list[dict[str, Any]] | None:
        found = await alerts(client, "?limit=200")
        return found if len(found) == len(keys) else None

    return await until(all_there)


async def test_an_alert_goes_through_its_life_with_roles_and_audit_rows(
    client: Client, holding: Callable[..., Any]
) -> None:
    [alert] = await missed(client, "TR1")
    assert (alert["reason"], alert["severity"], alert["state"], alert["node"]) == (
        "EXPECTED_MISSED",
        "amber",
        "open",
        "sys2-verify",
    )
    assert alert["dedupeKey"] == f"{alert['workflowVersionId']}:sys2-verify:TR1"
    path = f"/alerts/{alert['id']}"
    viewer = await holding("viewer")
    assert (await viewer.post(f"{path}/ack", json={"reason": "x"})).status_code == 403
    acked = await client.post(f"{path}/ack", json={"reason": "on it"})
    assert (acked.status_code, acked.json()["state"]) == (200, "ack")
    again = await client.post(f"{path}/ack", json={"reason": "again"})
    assert (again.status_code, again.json()["code"]) == (409, "CONFLICT")
    past = await client.post(f"{path}/suppress", json={"until": "2020-01-01T00:00:00Z"})
    assert (past.status_code, past.json()["errors"][0]["pointer"]) == (422, "/until")
    later = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert (await client.post(f"{path}/suppress", json={"until": later})).json()["state"] == "suppressed"
    assert (await client.post(f"{path}/resolve")).json()["state"] == "resolved"
    assert (await client.post(f"{path}/ack", json={"reason": "x"})).status_code == 409
    assert (await client.post(f"{path}/reopen", json={})).json()["state"] == "open"
    assert (await client.post("/alerts/999999/ack", json={"reason": "x"})).status_code == 404
    entries = (await client.get(f"/api/audit?entityType=alert&entityId={alert['id']}")).json()["items"]
    assert [(entry["action"], entry["details"]["from"], entry["details"]["to"]) for entry in entries] == [
        ("reopen", "resolved", "open"),
        ("resolve", "suppressed", "resolved"),
        ("suppress", "ack", "suppressed"),
        ("ack", "open", "ack"),
    ]
    assert entries[-1]["details"]["reason"] == "on it"


# How an alert that is open gets into a state, and where each action leads from there; None: it is refused.
TO: dict[str, str | None] = {"open": None, "ack": "ack", "suppressed": "suppress", "resolved": "resolve"}
LEADS: dict[str, dict[str, str | None]] = {
    "open": {"ack": "ack", "suppress": "suppressed", "resolve": "resolved", "reopen": None},
    "ack": {"ack": None, "suppress": "suppressed", "resolve": "resolved", "reopen": "open"},
    "suppressed": {"ack": "ack", "suppress": None, "resolve": "resolved", "reopen": "open"},
    "resolved": {"ack": None, "suppress": None, "resolve": None, "reopen": "open"},
}
MAY = {"operator", "editor", "admin"}


async def test_every_transition_is_made_by_those_who_may_and_by_nobody_else(
    client: Client, holding: Callable[..., Any]
) -> None:
    callers = {role.value: await holding(role.value) for role in Role}
    made = [(role, state, action) for role in callers for state in LEADS for action in LEADS[state]]
    found = await missed(client, *(f"TR{number}" for number in range(len(made))))
    for alert, (role, state, action) in zip(found, made, strict=True):
        path, steps = f"/alerts/{alert['id']}", 0
        if before := TO[state]:
            assert (await client.post(f"{path}/{before}", json={"reason": "so"})).json()["state"] == state
            steps += 1
        answer = await callers[role].post(f"{path}/{action}", json={"reason": "because"})
        leads = LEADS[state][action]
        expected = 403 if role not in MAY else 409 if leads is None else 200
        assert answer.status_code == expected, (role, state, action, answer.text)
        if expected == 200:
            assert answer.json()["state"] == leads
            steps += 1
        entries = (await client.get(f"/api/audit?entityType=alert&entityId={alert['id']}")).json()["items"]
        assert len(entries) == steps
        if expected == 200:
            told = entries[0]["details"]
            assert (entries[0]["action"], told["from"], told["to"]) == (action, state, leads)
            assert told["reason"] == "because"


async def test_alerts_are_filtered_and_acted_on_in_bulk(client: Client) -> None:
    await missed(client, "TR1", "TR2", "XX3")
    assert [alert["correlationKey"] for alert in await alerts(client, "?q=TR&severity=amber")] == [
        "TR2",
        "TR1",
    ]
    assert await alerts(client, "?workflow=none") == []
    assert (await client.get("/alerts?state=gone")).status_code == 400
    body = {"action": "ack", "filter": {"workflow": "trade-lifecycle", "q": "TR"}, "reason": "known"}
    done = (await client.post("/alerts/bulk", json=body)).json()
    assert (done["done"], done["refused"], done["more"]) == (2, 0, False)
    ids = [alert["id"] for alert in await alerts(client)]
    done = (await client.post("/alerts/bulk", json={"action": "ack", "ids": [*ids, 999_999]})).json()
    assert (done["done"], done["refused"]) == (1, 3)
    assert {result["state"] for result in done["results"]} == {"ack", None}
    past = {"action": "suppress", "ids": ids, "until": "2020-01-01T00:00:00Z"}
    refused = await client.post("/alerts/bulk", json=past)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/until")
    neither = await client.post("/alerts/bulk", json={"action": "ack"})
    assert (neither.status_code, neither.json()["errors"][0]["pointer"]) == (422, "/filter")


async def test_a_silent_source_starts_one_execution_of_who_listens(client: Client) -> None:
    assert (await client.post("/api/workflow", json=LISTENER)).status_code == 201
    await missed(client, *(f"TR{n}" for n in range(40)))

    async def told() -> dict[str, Any] | None:
        [incident] = (await client.get("/api/incidents?state=open")).json()["items"] or [{"notifiedAt": None}]
        return incident if incident["notifiedAt"] else None

    incident = await until(told)
    assert (incident["count"], incident["workflowKey"], incident["severity"]) == (
        40,
        "trade-lifecycle",
        "amber",
    )
    assert len(await alerts(client, f"?incident={incident['id']}&limit=200")) == 40
    [execution] = (await client.get("/api/workflow/executions?workflow=tell")).json()["items"]
    context = (await client.get(f"/api/workflow/executions/{execution['id']}")).json()["context"]
    assert (context["incidentId"], context["workflowKey"], context["node"], context["reason"]) == (
        incident["id"],
        "trade-lifecycle",
        "sys2-verify",
        "EXPECTED_MISSED",
    )


async def test_the_wallboard_counts_and_an_item_shows_its_timeline(client: Client) -> None:
    await missed(client, "TR/1")
    [workflow] = (await client.get("/wallboard")).json()["workflows"]
    assert (workflow["key"], workflow["status"]) == ("trade-lifecycle", "amber")
    [group] = workflow["groups"]
    assert group["group"] == {"book": "EQD", "region": "NY"}
    nodes = {tile["node"]: tile for tile in group["nodes"]}
    assert (nodes["ingest"]["completed"], nodes["ingest"]["recent"][0]["completed"]) == (1, 1)
    assert (nodes["sys2-verify"]["inFlight"], nodes["sys2-verify"]["late"]) == (2, 2)
    buckets = await client.get(
        f"/workflows/{workflow['versionId']}/aggregates?groupHash={group['groupHash']}"
    )
    assert {(each["node"], each["group"]["book"]) for each in buckets.json()["items"]} == {
        ("ingest", "EQD"),
        ("sys2-verify", "EQD"),
    }
    nowhere = await client.get("/workflows/999999/aggregates")
    assert nowhere.status_code == 404
    item = (await client.get("/items/TR/1")).json()
    assert (item["status"], len(item["events"]), len(item["expectations"])) == ("amber", 1, 2)
    assert [alert["reason"] for alert in item["alerts"]] == ["EXPECTED_MISSED"]
    assert item["expectations"][0]["countdownSec"] < 0
    assert (await client.get("/items/NOPE")).status_code == 404
    assert (await client.get("/items/TR/1?workflowVersionId=999999")).status_code == 404
    found = (await client.get("/items?q=TR&status=amber&workflow=trade-lifecycle")).json()["items"]
    assert [each["correlationKey"] for each in found] == ["TR/1"]
