"""The nodes that only compute or rest, in executions from start to end, as authors write them."""

from typing import cast

import pytest

from engine_house import House, Told
from muster.model.json import JsonObject
from muster.store.database import Database


@pytest.fixture
def house(database: Database) -> House:
    return House(database, Told())


async def ran(house: House, *nodes: JsonObject, **context: object) -> JsonObject:
    """One node after the other, to the end: the execution's row."""
    await house.define_document({"name": "A chain", "nodes": [*nodes]})
    return cast(JsonObject, await house.row(await house.run(**context)))


async def test_a_transform_sets_its_fields_in_the_context(house: House) -> None:
    node: JsonObject = {
        "nodeType": "TRANSFORM",
        "configJson": {
            "transformations": [
                {"field": "fullName", "expression": "#{item.firstName + ' ' + item.lastName}"},
                {"field": "isExpiring", "expression": "#{item.remainingDays <= 7}"},
            ]
        },
    }
    ada = {"firstName": "Ada", "lastName": "Lovelace", "remainingDays": 7}
    row = await ran(house, node, **ada)
    assert (row["status"], row["error_message"]) == ("COMPLETED", None)
    assert row["context"] == {**ada, "fullName": "Ada Lovelace", "isExpiring": True}


async def test_a_switch_chooses_for_the_contexts_item_and_a_list_is_processed(house: House) -> None:
    choose: JsonObject = {
        "id": "choose",
        "type": "DATA_PROCESSOR",
        "config": {
            "dataProcessorType": "SWITCH",
            "config": {
                "on": "#{item.status}",
                "cases": {"ACTIVE": {"action": "send_reminder"}, "EXPIRED": {"action": "send_renewal"}},
                "default": {"action": "send_general"},
            },
        },
    }
    copy: JsonObject = {
        "id": "copy",
        "type": "DATA_PROCESSOR",
        "config": {
            "dataProcessorType": "ITERATOR",
            "config": {"on": "#{userList}", "forEach": {"eval": "#{item}", "operation": "ITERATOR"}},
            "output": "copied",
        },
    }
    row = await ran(house, choose, copy, item={"status": "EXPIRED"}, userList=[{"id": 1}, {"id": 2}])
    state, context = cast(JsonObject, row["state"]), cast(JsonObject, row["context"])
    assert cast(JsonObject, state["outputs"])["choose"] == [{"action": "send_renewal"}]
    assert context["copied"] == [{"id": 1}, {"id": 2}]


async def test_a_trigger_started_by_hand_gives_its_context_to_the_nodes_after_it(house: House) -> None:
    trigger: JsonObject = {
        "nodeType": "TRIGGER",
        "configJson": {
            "triggerType": "webhook",
            "endpoint": "/api/workflow/trigger",
            "authentication": "HMAC",
        },
    }
    say: JsonObject = {"type": "LOG", "config": {"message": "Order #{_trigger.orderId}"}}
    row = await ran(house, trigger, {"type": "NOOP"}, {**say, "id": "say"}, orderId=7)
    assert row["context"] == {"orderId": 7, "_trigger": {"orderId": 7}}
    assert cast(JsonObject, cast(JsonObject, row["state"])["outputs"])["say"] == {"message": "Order 7"}


async def test_fail_ends_the_execution_with_its_message(house: House) -> None:
    failing: JsonObject = {"id": "no", "type": "FAIL", "config": {"message": "Order #{orderId} was refused"}}
    row = await ran(house, {"type": "NOOP"}, failing, {"type": "NOOP"}, orderId=7)
    assert (row["status"], row["current_node_id"]) == ("FAILED", "no")
    assert (row["error_type"], row["error_message"]) == ("Failed", "Order 7 was refused")


async def test_a_delay_parks_the_execution_until_it_is_due(house: House) -> None:
    rest: JsonObject = {"id": "rest", "type": "delay", "data": {"duration": "#{n}", "unit": "seconds"}}
    after: JsonObject = {
        "type": "TRANSFORM",
        "config": {"transformations": [{"field": "n", "expression": 0}]},
    }
    await house.define_document({"name": "A rest", "nodes": [rest, after]})
    execution = await house.run(n=3600)
    parked = await house.row(execution)
    assert (parked["status"], parked["current_node_id"]) == ("PAUSED", "rest")
    assert await house.instance.take_due() == 0, "never early"
    await house.pass_time(hours=1)
    assert await house.instance.take_due() == 1
    await house.instance.ended(execution)
    row = await house.row(execution)
    assert (row["status"], row["context"]) == ("COMPLETED", {"n": 0})


async def test_a_delay_that_is_past_or_short_does_not_park(house: House) -> None:
    past: JsonObject = {"type": "delay", "config": {"until": "#{startDate}"}}
    short: JsonObject = {"type": "DELAY", "config": {"duration": 10, "unit": "milliseconds"}}
    assert (await ran(house, past, short, startDate="2020-01-01"))["status"] == "COMPLETED"


async def test_a_delay_that_cannot_be_understood_fails_the_execution(house: House) -> None:
    row = await ran(house, {"id": "rest", "type": "delay", "config": {"duration": "#{n}"}}, n="soon")
    assert (row["status"], row["error_type"]) == ("FAILED", "BadParameter")
    assert str(row["error_message"]).startswith("`duration`: ")
