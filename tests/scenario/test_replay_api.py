"""Replays over HTTP: what a version or a draft would have made of the events that came."""

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

from api_for_tests import Client
from watched_trade import TRADE

GROUP = {"book": "EQD", "region": "NY"}


async def a_trade(client: Client, key: str = "TR1") -> None:
    """That is late by any deadline of less than ten minutes, and on time by others. It comes at once, so
    that nothing is missed meanwhile."""
    now = datetime.now(UTC)
    steps = [("TRADE_INGEST", now - timedelta(minutes=10)), ("SYS2_VERIFIED", now), ("SYS2_VERIFIED", now)]
    events = [
        {
            "eventType": type_,
            "eventTime": at.isoformat(),
            "correlationKey": key,
            "workflowKey": "trade-lifecycle",
            "group": GROUP,
        }
        for type_, at in steps
    ]
    answered = await client.post("/ingest", json=events)
    assert answered.status_code == 202, answered.text


def patient() -> dict[str, Any]:
    """The trade's graph, with an hour for everything."""
    graph = deepcopy(TRADE["graph"])
    for edge in graph["edges"]:
        edge.pop("absoluteDeadline", None)
        edge["maxLatencySec"] = 3600
    return dict(graph)


async def replay(client: Client, **body: Any) -> dict[str, Any]:
    answered = await client.post("/replay", json={"workflow": "trade-lifecycle", **body})
    assert answered.status_code == 200, answered.text
    found: dict[str, Any] = answered.json()
    return found


async def test_a_draft_says_what_would_have_been_different(client: Client) -> None:
    assert (await client.post("/workflows", json=TRADE)).status_code == 201
    await a_trade(client)
    told = await replay(client, graph=patient())
    assert (told["workflow"], told["version"], told["events"], told["truncated"]) == (
        "trade-lifecycle",
        None,
        3,
        False,
    )
    assert told["differs"] is True
    assert (told["alerts"]["now"], told["alerts"]["replayed"]) == (1, 0)
    assert {each["correlationKey"] for each in told["alerts"]["onlyNow"]} == {"TR1"}
    items = (await client.get("/items/TR1")).json()
    assert items["status"] == "amber", "nothing is written"


async def test_a_version_is_replayed_by_its_number_and_over_a_stretch_of_time(client: Client) -> None:
    assert (await client.post("/workflows", json=TRADE)).status_code == 201
    await a_trade(client)
    changed = {**deepcopy(TRADE), "graph": patient()}
    put = await client.put("/workflows/trade-lifecycle", json=changed)
    assert put.status_code == 200, put.text
    assert (await replay(client))["version"] == 2
    first = await replay(client, version=1)
    assert (first["version"], first["runs"]["differences"]) == (1, 0)
    second = await replay(client, version=2)
    assert second["alerts"]["replayed"] == 0
    later = datetime.now(UTC) + timedelta(hours=1)
    none = await replay(client, **{"from": later.isoformat()})
    assert (none["events"], none["runs"]["now"], none["differs"]) == (0, 0, False)


async def test_what_cannot_be_replayed_is_said(client: Client) -> None:
    assert (await client.post("/workflows", json=TRADE)).status_code == 201

    async def refused(status: int, **body: Any) -> dict[str, Any]:
        answered = await client.post("/replay", json={"workflow": "trade-lifecycle", **body})
        assert answered.status_code == status, answered.text
        found: dict[str, Any] = answered.json()
        return found

    both = await refused(422, version=1, graph=patient())
    assert both["errors"][0]["pointer"] == "/graph"
    times = {"from": "2026-06-10T08:00:00Z", "to": "2026-06-10T07:00:00Z"}
    assert (await refused(422, **times))["errors"][0]["pointer"] == "/to"
    assert (await refused(422, **{"from": "yesterday"}))["errors"][0]["pointer"] == "/from"
    assert (await refused(404, version=9))["code"] == "NOT_FOUND"
    assert (await refused(404, workflow="another"))["code"] == "NOT_FOUND"
    circle = patient()
    circle["edges"].append({"from": "sys4-settle", "to": "ingest", "maxLatencySec": 1})
    assert "CYCLE" in {each["code"] for each in (await refused(422, graph=circle))["errors"]}
