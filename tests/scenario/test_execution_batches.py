"""Many executions started by one request."""

import pytest

from api_for_tests import Client

HELLO = {"workflow": {"key": "hello", "name": "Hello", "nodes": [{"id": "a", "type": "NOOP", "config": {}}]}}
PATH = "/api/workflow/execute/batch"


async def test_each_is_started_or_says_why_not_in_its_place(client: Client) -> None:
    await client.post("/api/workflow", json=HELLO)
    batch = [
        {"key": "hello", "context": {"n": 1}, "tags": ["a"]},
        {"key": "nowhere"},
        {"key": "hello", "colour": "red"},
        {},
        7,
        {"key": "hello", "version": 9},
        {"key": "hello", "context": {"n": 2}},
    ]
    answer = await client.post(PATH, json=batch)
    assert answer.status_code == 202
    results = answer.json()["results"]
    codes = [result.get("error", {}).get("code") for result in results]
    assert codes == [
        None,
        "NOT_FOUND",
        "INVALID_BODY",
        "INVALID_BODY",
        "INVALID_BODY",
        "NOT_FOUND",
        None,
    ]
    assert results[2]["error"]["errors"][0]["pointer"] == "/colour"
    first = (await client.get(f"/api/workflow/executions/{results[0]['executionId']}")).json()
    assert (first["context"]["n"], first["tags"]) == (1, ["a"])
    listed = (await client.get("/api/workflow/executions")).json()["items"]
    assert {row["id"] for row in listed} == {results[6]["executionId"], results[0]["executionId"]}


async def test_a_thousand_are_started_in_one_request(client: Client) -> None:
    await client.post("/api/workflow", json=HELLO)
    answer = await client.post(PATH, json=[{"key": "hello"}] * 1000)
    ids = {result["executionId"] for result in answer.json()["results"]}
    assert len(ids) == 1000


@pytest.mark.parametrize("body", [[], {}, "x", [{"key": "hello"}] * 1001])
async def test_what_is_no_batch_is_refused(client: Client, body: object) -> None:
    answer = await client.post(PATH, json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_BODY")
