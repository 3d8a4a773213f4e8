"""Starts that callers may repeat: `Idempotency-Key`."""

import asyncio

import pytest

from api_for_tests import Client

PATH = "/api/workflow/execute"
NOOP = {"id": "a", "type": "NOOP", "config": {}}
HELLO = {"workflow": {"key": "hello", "name": "Hello", "output": "hello #{name}", "nodes": [NOOP]}}
KEY = {"Idempotency-Key": "order-7"}


@pytest.fixture
async def hello(client: Client) -> Client:
    await client.post("/api/workflow", json=HELLO)
    return client


async def listed(client: Client) -> list[dict[str, object]]:
    return (await client.get("/api/workflow/executions")).json()["items"]


async def test_a_start_that_is_repeated_is_told_of_the_first(hello: Client) -> None:
    first = await hello.post(PATH, json={"key": "hello", "context": {"name": "Ada"}}, headers=KEY)
    assert first.status_code == 202
    again = await hello.post(PATH, json={"key": "hello", "context": {"name": "Bob"}}, headers=KEY)
    assert again.status_code == 200
    started = first.json()["executionId"]
    assert again.json() == {"executionId": started, "status": "SKIPPED", "reason": "DUPLICATE"}
    shown = (await hello.get(f"/api/workflow/executions/{started}")).json()
    assert (shown["idempotencyKey"], shown["context"]["name"]) == ("order-7", "Ada")
    assert len(await listed(hello)) == 1


async def test_who_waits_gets_the_result_of_the_first(hello: Client) -> None:
    body = {"key": "hello", "context": {"name": "Ada"}}
    first = (await hello.post(f"{PATH}?wait=60", json=body, headers=KEY)).json()
    again = await hello.post(f"{PATH}?wait=60", json=body, headers=KEY)
    assert again.status_code == 200
    assert again.json() == {
        "executionId": first["executionId"],
        "status": "SKIPPED",
        "reason": "DUPLICATE",
        "result": first,
    }
    assert first["output"] == "hello Ada"


async def test_a_hundred_at_once_begin_one(hello: Client) -> None:
    starts = (hello.post(PATH, json={"key": "hello"}, headers=KEY) for _ in range(100))
    answers = await asyncio.gather(*starts)
    assert sorted(answer.status_code for answer in answers) == [200] * 99 + [202]
    assert len({answer.json()["executionId"] for answer in answers}) == 1
    assert len(await listed(hello)) == 1


async def test_the_key_may_be_in_the_body(hello: Client) -> None:
    first = await hello.post(PATH, json={"key": "hello", "idempotencyKey": "order-7"})
    assert first.status_code == 202
    again = await hello.post(PATH, json={"key": "hello", "idempotencyKey": "order-7"}, headers=KEY)
    assert again.json()["reason"] == "DUPLICATE"
    other = await hello.post(PATH, json={"key": "hello", "idempotencyKey": "order-8"}, headers=KEY)
    assert (other.status_code, other.json()["errors"][0]["pointer"]) == (422, "/idempotencyKey")


async def test_a_key_is_the_same_in_the_header_and_in_the_body_whatever_letters_it_has(hello: Client) -> None:
    header = {"Idempotency-Key": "ключ".encode()}
    first = await hello.post(PATH, json={"key": "hello"}, headers=header)
    again = await hello.post(PATH, json={"key": "hello", "idempotencyKey": "ключ"}, headers=header)
    inside = await hello.post(PATH, json={"key": "hello", "idempotencyKey": "ключ"})
    waiting = await hello.post(f"{PATH}?wait=0", json={"key": "hello"}, headers=header)
    told = {answer.json()["executionId"] for answer in (first, again, inside, waiting)}
    assert told == {first.json()["executionId"]}
    [shown] = await listed(hello)
    assert shown["idempotencyKey"] == "ключ"


async def test_bytes_that_are_no_utf8_are_a_key_all_the_same(hello: Client) -> None:
    header = {"Idempotency-Key": b"caf\xe9"}
    first, again = [await hello.post(PATH, json={"key": "hello"}, headers=header) for _ in range(2)]
    assert (first.status_code, again.status_code) == (202, 200)


async def test_another_workflows_key_is_another(hello: Client) -> None:
    await hello.post("/api/workflow", json={"workflow": {**HELLO["workflow"], "key": "other"}})
    for key in ("hello", "other"):
        assert (await hello.post(PATH, json={"key": key}, headers=KEY)).status_code == 202


@pytest.mark.parametrize("key", ["", "x" * 256])
async def test_what_is_no_key_is_refused(hello: Client, key: str) -> None:
    answer = await hello.post(PATH, json={"key": "hello"}, headers={"Idempotency-Key": key})
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_PARAMETER")


async def test_two_keys_are_refused(hello: Client) -> None:
    two = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    answer = await hello.post(PATH, json={"key": "hello"}, headers=two)
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_PARAMETER")
    assert await listed(hello) == []


async def test_a_batch_may_be_repeated_as_a_whole(hello: Client) -> None:
    batch = [{"key": "hello"}, {"key": "hello"}, {"key": "hello", "idempotencyKey": "mine"}]
    first = (await hello.post(f"{PATH}/batch", json=batch, headers=KEY)).json()["results"]
    assert [result["status"] for result in first] == ["RUNNING"] * 3
    again = (await hello.post(f"{PATH}/batch", json=[*batch, {"key": "hello"}], headers=KEY)).json()[
        "results"
    ]
    assert [result["status"] for result in again] == ["SKIPPED"] * 3 + ["RUNNING"]
    ids = [result["executionId"] for result in first]
    assert [result["executionId"] for result in again[:3]] == ids
    assert len(set(ids)) == 3


async def test_items_of_one_batch_with_one_key_begin_one(hello: Client) -> None:
    batch = [{"key": "hello", "idempotencyKey": "x"}] * 3
    results = (await hello.post(f"{PATH}/batch", json=batch)).json()["results"]
    assert sorted(result["status"] for result in results) == ["RUNNING", "SKIPPED", "SKIPPED"]
    assert len({result["executionId"] for result in results}) == 1


async def test_a_session_lists_what_a_key_has_begun(hello: Client) -> None:
    first = (await hello.post(PATH, json={"key": "hello"}, headers=KEY)).json()["executionId"]
    await hello.post(PATH, json={"key": "hello"}, headers=KEY)
    await hello.post(PATH, json={"key": "hello"}, headers={"Idempotency-Key": "order-8"})
    answer = await hello.get("/api/workflow/sessions?key=order-7")
    assert [row["id"] for row in answer.json()["items"]] == [first]
    none = await hello.get("/api/workflow/sessions?key=order-7&trigger=t1")
    assert none.json() == {"items": [], "nextCursor": None}
    assert (await hello.get("/api/workflow/sessions")).status_code == 400


async def test_a_session_is_paged_the_first_one_first(hello: Client) -> None:
    await hello.post("/api/workflow", json={"workflow": {**HELLO["workflow"], "key": "other"}})
    ids = [
        (await hello.post(PATH, json={"key": key}, headers=KEY)).json()["executionId"]
        for key in ("hello", "other")
    ]
    page = (await hello.get("/api/workflow/sessions?key=order-7&limit=1")).json()
    rest = (await hello.get(f"/api/workflow/sessions?key=order-7&limit=1&cursor={page['nextCursor']}")).json()
    assert [row["id"] for row in page["items"] + rest["items"]] == ids
    assert rest["nextCursor"] is None


async def test_duplicates_are_counted(hello: Client) -> None:
    for _ in range(3):
        await hello.post(PATH, json={"key": "hello"}, headers=KEY)
    metrics = (await hello.get("/metrics")).text
    assert 'muster_starts_duplicate_total{workflow="hello"} 2.0' in metrics
