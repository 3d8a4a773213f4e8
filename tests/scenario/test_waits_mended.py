"""Waits for events over HTTP when something is wrong with them, and as they are followed."""

import asyncio
import json
from typing import Any

import polling
from api_for_tests import Client
from scenario.test_executions_api import until
from scenario.test_waits_api import CALLBACK, ids, waiting

MILLION = 1_000_000


def headers(execution: str, wait: dict[str, Any]) -> dict[str, str]:
    named = {"X-Execution-Id": execution, "X-Correlation-Id": wait["correlationId"]}
    return {**named, "Content-Type": "application/json"}


async def test_a_callback_that_nobody_can_read_is_refused_and_kept_as_a_near_miss(client: Client) -> None:
    execution, wait = await waiting(client)
    broken = await client.post(CALLBACK, content=b'{"half": "', headers=headers(execution, wait))
    assert broken.status_code == 400, broken.text
    [missed] = (await client.get("/api/near-misses")).json()["items"]
    assert (missed["reason"], missed["waitId"], missed["payload"]) == ("UNPARSABLE", wait["id"], '{"half": "')
    stranger = {**headers(execution, wait), "X-Correlation-Id": "nobody", "X-Execution-Id": "nobody"}
    assert (await client.post(CALLBACK, content=b"{", headers=stranger)).status_code == 400
    assert len((await client.get("/api/near-misses")).json()["items"]) == 1


async def test_a_callback_of_a_million_characters_reaches_the_context_whole(client: Client) -> None:
    execution, wait = await waiting(client, aggregationStrategy="any")
    text = "".join(str(number % 10) for number in range(MILLION))
    body = {**ids(execution, wait), "event_name": "paid", "text": text}
    assert (await client.post(CALLBACK, json=body)).json()["accepted"] is True
    kept = (await until(client, execution, "COMPLETED"))["context"]["paid"]["text"]
    assert (await client.get(kept["$large"]["href"])).json() == text


async def test_a_wait_whose_time_was_over_is_tried_anew_from_the_dead_letters(client: Client) -> None:
    execution, wait = await waiting(client, timeout=2)
    await until(client, execution, "FAILED")
    letters = (await client.get("/api/dead-letters")).json()["items"]
    [letter] = [each for each in letters if each["key"] == execution]
    again = await client.post(f"/api/dead-letters/{letter['id']}/redrive", json={"reason": "they are back"})
    assert again.status_code == 200, again.text

    async def anew() -> bool:
        [kept] = (await client.get("/api/waits", params={"execution": execution})).json()["items"]
        return bool(kept["correlationId"] != wait["correlationId"])

    await polling.until(anew)
    late = await client.post(CALLBACK, json={**ids(execution, wait), "event_name": "paid"})
    assert late.json()["accepted"] is False


async def test_a_follower_hears_what_is_needed_what_came_and_until_when(client: Client) -> None:
    execution, wait = await waiting(client)
    following = asyncio.create_task(client.get(f"/api/workflow/executions/{execution}/events"))
    await asyncio.sleep(0)
    for name in ("paid", "sent"):
        await client.post(CALLBACK, json={**ids(execution, wait), "event_name": name})
    told = [line for line in (await following).text.split("\n\n") if "event: wait" in line]
    waits = [json.loads(line.partition("data: ")[2]) for line in told]
    assert waits, "it was told at least how the wait stood"
    assert all(each["id"] == wait["id"] and each["expiresAt"] for each in waits)
    for each in waits:
        assert sorted([*each["neededEvents"], *each["receivedEvents"]]) == ["paid", "sent"]
