"""Watched workflows over HTTP: saved, changed, checked."""

import asyncio
import copy
from collections.abc import Callable
from typing import Any

from api_for_tests import Client
from watched_trade import TRADE


def trade(**changes: object) -> dict[str, Any]:
    return {**copy.deepcopy(TRADE), **changes}


async def create(client: Client, document: dict[str, Any]) -> dict[str, Any]:
    answer = await client.post("/workflows", json=document)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_workflow_is_saved_and_its_key_is_then_taken(client: Client) -> None:
    made = await create(client, trade())
    assert (made["key"], made["version"], made["warnings"]) == ("trade-lifecycle", 1, [])
    again = await client.post("/workflows", json=trade())
    assert (again.status_code, again.json()["code"]) == (409, "TAKEN")
    read = (await client.get("/workflows/trade-lifecycle")).json()
    assert (read["id"], read["versionId"], read["createdBy"]) == (made["id"], made["versionId"], "ops")
    assert read["definition"] == TRADE
    assert [each["key"] for each in (await client.get("/workflows?q=TRADE")).json()["items"]] == [made["key"]]
    assert (await client.get("/workflows?q=none")).json()["items"] == []


async def test_of_many_who_save_under_one_key_one_does(client: Client) -> None:
    answers = await asyncio.gather(*(client.post("/workflows", json=trade()) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [201, *[409] * 4]


async def test_a_further_version_is_active_at_once_and_the_first_stays(client: Client) -> None:
    first = await create(client, trade())
    changed = trade(groupDimensions=["book"])
    del changed["key"]
    put = await client.put("/workflows/trade-lifecycle", json=changed, headers={"If-Match": '"1"'})
    assert (put.status_code, put.json()["version"], put.headers["etag"]) == (200, 2, '"2"')
    stale = await client.put("/workflows/trade-lifecycle", json=changed, headers={"If-Match": '"1"'})
    assert (stale.status_code, stale.json()["code"]) == (412, "STALE_VERSION")
    read = (await client.get("/workflows/trade-lifecycle")).json()
    assert (read["version"], read["versionId"]) == (2, put.json()["versionId"])
    versions = (await client.get("/workflows/trade-lifecycle/versions")).json()["items"]
    assert [(each["version"], each["definition"]["groupDimensions"]) for each in versions] == [
        (2, ["book"]),
        (1, ["book", "region"]),
    ]
    assert versions[1]["versionId"] == first["versionId"]
    assert (await client.put("/workflows/none", json=changed)).status_code == 404
    moved = await client.put("/workflows/trade-lifecycle", json=trade(key="other"))
    assert (moved.status_code, moved.json()["errors"][0]["code"]) == (422, "KEY_CHANGED")


async def test_all_that_is_wrong_is_said_at_once_and_where(client: Client) -> None:
    wrong = trade(key="not a key")
    wrong["graph"]["nodes"] += [
        {"key": "again", "eventType": "SYS3_ACK"},
        {"key": "lost", "eventType": "LOST"},
    ]
    wrong["graph"]["edges"] += [
        {"from": "sys3-ack", "to": "sys3-akc", "maxLatencySec": 1},
        {"from": "ingest", "to": "again"},
        {"from": "again", "to": "ingest", "maxLatencySec": 1},
    ]
    verdict = await client.post("/workflows/validate", json=wrong)
    assert (verdict.status_code, verdict.json()["valid"]) == (200, False)
    found = {(each["code"], each["pointer"]) for each in verdict.json()["errors"]}
    assert found == {
        ("INVALID_KEY", "/key"),
        ("DUPLICATE_EVENT_TYPE", "/graph/nodes/4/eventType"),
        ("UNKNOWN_NODE", "/graph/edges/3/to"),
        ("NO_DEADLINE", "/graph/edges/4"),
        ("UNREACHABLE", "/graph/nodes/5"),
        ("CYCLE", "/graph/edges"),
    }
    refused = await client.post("/workflows", json=wrong)
    assert (refused.status_code, refused.json()["code"]) == (422, "INVALID_DEFINITION")
    assert {(each["code"], each["pointer"]) for each in refused.json()["errors"]} == found
    assert (await client.get("/workflows")).json()["items"] == []


async def test_a_bad_deadline_is_named_and_a_good_graph_is_valid(client: Client) -> None:
    late = trade()
    late["graph"]["edges"][2]["absoluteDeadline"] = "25:00"
    verdict = (await client.post("/workflows/validate", json=late)).json()
    assert [each["pointer"] for each in verdict["errors"]] == ["/graph/edges/2/absoluteDeadline"]
    assert (await client.post("/workflows/validate", json=TRADE)).json() == {
        "valid": True,
        "errors": [],
        "warnings": [],
    }


async def test_what_is_watched_is_not_run_and_what_is_run_is_not_watched(client: Client) -> None:
    made = await create(client, trade())
    for path in (f"/api/workflow/{made['id']}", "/api/workflow/trade-lifecycle"):
        assert (await client.get(path)).status_code == 404
    body = {"key": "trade-lifecycle", "context": {}}
    assert (await client.post("/api/workflow/execute", json=body)).status_code == 404
    run = {"workflow": {"key": "run", "name": "x", "nodes": [{"id": "a", "type": "NOOP"}]}}
    assert (await client.post("/api/workflow", json=run)).status_code == 201
    assert (await client.get("/workflows/run")).status_code == 404
    taken = {"workflow": {"key": "trade-lifecycle", "nodes": [{"id": "a", "type": "NOOP"}], "name": "x"}}
    assert (await client.post("/api/workflow", json=taken)).status_code == 409


async def test_a_tenant_sees_and_saves_its_own(client: Client, holding: Callable[..., Any]) -> None:
    mine, other = await holding("editor", institute="A"), await holding("editor", institute="B")
    await create(mine, trade())
    assert (await other.get("/workflows/trade-lifecycle")).status_code == 404
    await create(other, trade())
    foreign = await mine.post("/workflows", json=trade(key="x", instituteId="B"))
    assert (foreign.status_code, foreign.json()["errors"][0]["code"]) == (422, "FOREIGN_TENANT")
    viewer = await holding("viewer", institute="A")
    assert (await viewer.post("/workflows", json=trade(key="y"))).status_code == 403
    assert (await viewer.post("/workflows/validate", json=trade())).status_code == 200
