"""Large values over HTTP: shown by a mark, read by its link, whole where the result was waited for."""

from collections.abc import Awaitable, Callable
from typing import Any

from api_for_tests import Client
from scenario.test_executions_api import until

BIG = "long " * 30_000
DOCUMENT = {
    "workflow": {
        "key": "large",
        "name": "Large",
        "nodes": [
            {
                "id": "measure",
                "type": "TRANSFORM",
                "config": {"transformations": [{"field": "length", "expression": "#{big.length()}"}]},
            }
        ],
    }
}


async def run(client: Client, context: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A finished execution: its id, and what whoever waited was told."""
    assert (await client.post("/api/workflow", json=DOCUMENT)).status_code == 201
    answer = await client.post("/api/workflow/execute?wait=60", json={"key": "large", "context": context})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told["executionId"], told


async def test_a_large_value_is_shown_by_a_mark_and_read_by_its_link(client: Client) -> None:
    execution, told = await run(client, {"big": BIG})
    assert told["output"]["big"] == BIG, "who waits for the result gets it"
    whole = (await client.get(f"/api/workflow/executions/{execution}")).json()
    mark = whole["context"]["big"]["$large"]
    assert mark["size"] == len(BIG) + 2
    assert mark["href"] == f"/api/workflow/executions/{execution}/values/{mark['sha256']}"
    assert whole["output"]["big"]["$large"] == mark
    assert whole["context"]["length"] == len(BIG)
    value = await client.get(mark["href"])
    assert (value.status_code, value.json()) == (200, BIG)
    missing = await client.get(f"/api/workflow/executions/{execution}/values/{'0' * 64}")
    assert missing.status_code == 404


async def test_a_replay_has_values_of_its_own(client: Client) -> None:
    execution, _ = await run(client, {"big": BIG})
    again = (await client.post(f"/api/workflow/executions/{execution}/replay")).json()["executionId"]
    whole = await until(client, again, "COMPLETED")
    assert whole["context"]["length"] == len(BIG)
    assert again in whole["context"]["big"]["$large"]["href"]
    assert (await client.get(whole["context"]["big"]["$large"]["href"])).json() == BIG


async def test_another_institute_reads_none_of_it(
    client: Client, holding: Callable[..., Awaitable[Client]]
) -> None:
    execution, _ = await run(client, {"big": BIG})
    href = (await client.get(f"/api/workflow/executions/{execution}")).json()["context"]["big"]["$large"]
    stranger = await holding("viewer", institute="elsewhere")
    assert (await stranger.get(href["href"])).status_code == 404
    assert (await client.get(href["href"])).status_code == 200
