"""The order table over HTTP: of a config, and of a saved node. Real executions do what it says."""

from typing import Any

import pytest

from api_for_tests import Client
from scenario.test_executions_api import until
from scenario.test_waits_api import CALLBACK, EVENTS, ids, waiting

PATH = "/api/workflow/order-table"


async def told(client: Client, **body: Any) -> dict[str, Any]:
    answer = await client.post(PATH, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize("strategy", ["any", "all"])
async def test_real_executions_end_as_the_table_says(client: Client, strategy: str) -> None:
    table = await told(client, config={"events": EVENTS, "aggregationStrategy": strategy})
    assert table["dependsOnOrder"] is (strategy == "any")
    complete = [row for row in table["rows"] if not row["timedOut"]]
    assert len(complete) == 2
    for row in complete:
        execution, wait = await waiting(client, aggregationStrategy=strategy)
        for name in row["arrivals"]:
            sent = await client.post(CALLBACK, json={**ids(execution, wait), "event_name": name})
            assert sent.json()["accepted"]
        ended = await until(client, execution, "COMPLETED")
        assert [name for name in ("paid", "sent") if name in ended["context"]] == sorted(row["arrivals"])
        assert [name for name in row["unused"] if name in ended["context"]] == []


async def test_a_saved_node_is_found_by_its_workflow_and_version(client: Client) -> None:
    node = {"id": "w", "type": "wait_events", "config": {"events": EVENTS}}
    document = {"workflow": {"key": "wait", "name": "wait", "nodes": [node, {"id": "x", "type": "NOOP"}]}}
    assert (await client.post("/api/workflow", json=document)).status_code == 201
    table = await told(client, workflowId="wait", nodeId="w")
    assert [event["name"] for event in table["events"]] == ["paid", "sent"]
    assert (await told(client, workflowId="wait", nodeId="w", version=1)) == table
    for body, status in (
        ({"workflowId": "wait", "nodeId": "x"}, 422),
        ({"workflowId": "wait", "nodeId": "none"}, 404),
        ({"workflowId": "wait", "nodeId": "w", "version": 9}, 404),
        ({"workflowId": "nobody", "nodeId": "w"}, 404),
    ):
        assert (await client.post(PATH, json=body)).status_code == status, body


async def test_what_cannot_be_told_says_why(client: Client) -> None:
    for body, said in (
        ({}, "either a `config`"),
        ({"config": {}, "workflowId": "x"}, "either a `config`"),
        ({"config": {"events": EVENTS, "timeout": "#{none.such}"}}, "/config"),
        ({"config": {"events": EVENTS, "timeout": "#{1 +}"}}, "ends too early"),
    ):
        answer = await client.post(PATH, json=body)
        assert (answer.status_code, said in answer.text) == (422, True), answer.text


async def test_a_table_takes_its_time_from_expressions_over_a_sample(client: Client) -> None:
    config = {"events": EVENTS, "timeout": "#{limit}", "onTimeout": "continue_with_partial"}
    table = await told(client, config=config, context={"limit": 60})
    over = [row for row in table["rows"] if row["timedOut"]]
    assert {(row["afterSeconds"], row["outcome"]) for row in over} == {(60.0, "goes_on_warned")}


@pytest.mark.parametrize(
    ("config", "pointer", "said"),
    [
        ({"strategy": "SOMETIMES"}, "/config/strategy", "`aggregationStrategy`"),
        (
            {"events": EVENTS, "aggregationStrategy": "SOMETIMES"},
            "/config/aggregationStrategy",
            "required_only",
        ),
        ({"events": EVENTS, "onTimeout": "never"}, "/config/onTimeout", "continue_with_partial"),
        ({"events": [{"source": "callback"}]}, "/config/events/0", "name"),
        ({"kafkaEvent": {}}, "/config/kafkaEvent", "topic"),
        ({"events": EVENTS, "aggregationStrategy": "custom"}, "/config", "requiredEvents"),
        ({"events": EVENTS, "timeout": "soon"}, "/config/timeout", "length of time"),
    ],
)
async def test_a_config_that_could_not_be_saved_is_refused_as_it_would_be_there(
    client: Client, config: dict[str, Any], pointer: str, said: str
) -> None:
    answer = await client.post(PATH, json={"config": config})
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_DEFINITION"), answer.text
    [error] = answer.json()["errors"]
    assert (error["pointer"], said in error["message"]) == (pointer, True), answer.text
    document = {"name": "Waits", "nodes": [{"id": "w", "type": "wait_events", "config": config}]}
    saving = await client.post("/api/workflow", json=document)
    assert saving.status_code == 422
    assert {**error, "pointer": error["pointer"].replace("/config", "/nodes/0/config", 1)} in saving.json()[
        "errors"
    ]


async def test_a_wait_for_nothing_goes_on_at_once(client: Client) -> None:
    table = await told(client, config={})
    assert [(row["arrivals"], row["timedOut"], row["outcome"]) for row in table["rows"]] == [
        ([], False, "goes_on")
    ]
