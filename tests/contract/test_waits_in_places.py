"""Waits for events where workflows branch and nest, and events of every size and kind."""

import json
from datetime import UTC, datetime

import pytest

from event_house import DONE, END, KAFKA_EVENT, TOPIC, Awaiting
from muster.definitions.limits import Limits
from muster.engine.bus import Batch, Headers, Message
from muster.model.json import Json, JsonObject
from muster.nodes.event_messages import WaitMessages
from muster.store.business_keys import BusinessKeys
from muster.store.database import Database
from muster.store.tables import workflow_execution

MILLION = 1_000_000


@pytest.fixture
def house(database: Database) -> Awaiting:
    return Awaiting(database)


@pytest.fixture
def handle(house: Awaiting) -> WaitMessages:
    return WaitMessages(house.waits, house.waits, BusinessKeys(house.database, "here"), Limits(), house.clock)


def wait(name: str, **facts: Json) -> JsonObject:
    config: JsonObject = {"kafkaEvent": KAFKA_EVENT, "outputMapping": {"kafkaEvent": name}}
    return {"id": name, "type": "wait_events", "config": config, **facts}


def message(value: Json | bytes, headers: Headers = ()) -> Batch:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Batch([Message(TOPIC, 0, 0, None, raw, headers, datetime.now(UTC))])


async def test_each_of_parallel_paths_waits_for_its_own_event(house: Awaiting) -> None:
    fork = {
        "id": "fork",
        "type": "TELL",
        "config": {"say": "fork"},
        "routing": [{"type": "goto", "targetNodeId": each} for each in ("left", "right")],
    }
    join = [{"type": "goto", "targetNodeId": "end"}]
    nodes = [fork, wait("left", routing=join), wait("right", routing=join), END]
    await house.save_document("fork", {"key": "fork", "name": "fork", "nodes": nodes})
    execution = await house.begin("fork")
    await house.settle()
    left, right = await house.wait_rows(execution)
    assert left.correlation_id != right.correlation_id
    assert await house.message(execution, {**DONE, "n": 2}, correlation=right.correlation_id) == "accepted"
    await house.settle()
    assert await house.status(execution) == "WAITING"
    assert await house.message(execution, {**DONE, "n": 1}, correlation=left.correlation_id) == "accepted"
    await house.settle()
    row = await house.row(execution)
    assert row["status"] == "COMPLETED"
    context = row["context"]
    assert isinstance(context, dict)
    assert (context[left.node_id]["n"], context[right.node_id]["n"]) == (1, 2)
    assert house.told.said == ["fork", "end"]


async def test_a_child_waits_and_its_parent_goes_on_with_what_came(house: Awaiting) -> None:
    await house.save("child", wait("answer"), END)
    call = {"id": "call", "type": "SUB_WORKFLOW", "config": {"workflow": "child"}}
    await house.save("parent", call, {"id": "after", "type": "TELL", "config": {"say": "after"}})
    parent = await house.begin("parent")
    await house.settle()
    [child] = await house.rows(workflow_execution.c.parent_execution_id == parent)
    assert await house.status(parent) == "WAITING"
    assert await house.message(child.id, {**DONE, "n": 7}) == "accepted"
    await house.settle()
    assert (await house.status(child.id), await house.status(parent)) == ("COMPLETED", "COMPLETED")
    assert house.told.said == ["end", "after"]


async def test_an_event_of_a_million_characters_reaches_the_context_whole(house: Awaiting) -> None:
    execution = await house.wait_for(apiCall=None)
    text = "ä" * (MILLION // 2) + "x" * (MILLION // 2)
    assert await house.message(execution, {**DONE, "text": text}) == "accepted"
    await house.settle()
    assert await house.status(execution) == "COMPLETED"
    assert (await house.wait_row(execution)).kafka_event_data["text"] == text


@pytest.mark.parametrize("wrong", [7, None, True, ["a"], {"a": 1}, ""], ids=repr)
async def test_a_message_with_ids_of_other_types_is_nobodys_event(
    house: Awaiting, handle: WaitMessages, wrong: Json
) -> None:
    execution = await house.wait_for(apiCall=None)
    correlation = (await house.wait_row(execution)).correlation_id
    for ids in ({"execution_id": wrong, "correlation_id": correlation}, {"execution_id": execution}):
        assert await handle(message({**DONE, **ids})) == []
    assert (await house.wait_row(execution)).received_events == []
    assert await house.status(execution) == "WAITING"


async def test_what_nobody_can_read_is_a_near_miss_where_its_headers_say_whose_it_is(
    house: Awaiting, handle: WaitMessages
) -> None:
    execution = await house.wait_for(apiCall=None)
    correlation = (await house.wait_row(execution)).correlation_id
    headers = (("x-execution-id", execution.encode()), ("X-Correlation-Id", correlation.encode()))
    [rejected] = await handle(message(b'{"half": \x00', headers))
    assert rejected.type == "UNPARSABLE", "it is a dead letter all the same"
    assert await house.misses() == ["UNPARSABLE"]
    assert (await house.wait_row(execution)).near_misses == 1
    [rejected] = await handle(message(b'{"half":'))
    assert await house.misses() == ["UNPARSABLE"], "without ids it is nobody's"
    assert await house.message(execution) == "accepted", "nothing has changed for the one that is right"
