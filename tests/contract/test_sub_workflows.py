"""Workflows that are steps of others, on every database."""

import asyncio
from typing import Any

import pytest

from engine_house import Told
from muster.engine.journal import SignalKind
from muster.store.database import Database
from waiting_house import E, Waiting


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> Waiting:
    return Waiting(database, told)


def sub(**config: Any) -> dict[str, Any]:
    on_error = config.pop("onError", None)
    node = {"id": "call", "type": "SUB_WORKFLOW", "config": {"workflow": "child", **config}}
    return node | ({"onError": on_error} if on_error else {})


def tell(node_id: str, say: str) -> dict[str, Any]:
    return {"id": node_id, "type": "TELL", "config": {"say": say}}


FAIL = {"id": "stop", "type": "FAIL", "config": {"message": "no #{n}"}}


async def test_a_child_runs_by_itself_and_its_output_comes_back(house: Waiting, told: Told) -> None:
    await house.save("child", tell("a", "#{n}"), output={"doubled": "#{n * 2}"})
    await house.save("parent", sub(input={"n": "#{start}"}), tell("b", "#{doubled}"))
    parent = await house.begin("parent", start=21)
    await house.settle()
    assert told.said == [21, 42]
    row = await house.row(parent)
    assert (row["status"], row["context"]["doubled"]) == ("COMPLETED", 42)
    [child] = await house.children(parent)
    assert (child.status, child.depth, child.workflow_id) == ("COMPLETED", 1, "child")


async def test_a_parent_waits_without_an_owner(house: Waiting) -> None:
    await house.save("child", {"id": "a", "type": "delay", "config": {"duration": 3600}})
    await house.save("parent", sub())
    parent = await house.begin("parent")
    await house.settle()
    row = await house.row(parent)
    assert (row["status"], row["owner"], row["resume_at"]) == ("WAITING", None, None)
    assert await house.journal(parent) == [("call", "", "waiting_for_reply")]


async def test_a_failed_child_fails_the_node_with_its_error(house: Waiting) -> None:
    await house.save("child", FAIL)
    await house.save("parent", sub(input={"n": 1}))
    parent = await house.begin("parent")
    await house.settle()
    row = await house.row(parent)
    [child] = await house.children(parent)
    assert (row["status"], row["error_type"]) == ("FAILED", "Failed")
    assert row["error_message"] == f"no 1 (execution {child.id})"


async def test_on_error_holds_for_a_failed_child(house: Waiting, told: Told) -> None:
    await house.save("child", FAIL)
    await house.save("parent", sub(input={"n": 1}, onError="continue"), tell("b", "#{_error.type}"))
    parent = await house.begin("parent")
    await house.settle()
    assert (await house.row(parent))["status"] == "COMPLETED"
    assert told.said == ["Failed"]


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({"workflow": "nobody"}, "UnknownWorkflow"),
        ({"version": 7}, "UnknownVersion"),
        ({"input": "#{1}"}, "BadParameter"),
    ],
)
async def test_what_cannot_be_started_fails_at_once(
    house: Waiting, config: dict[str, Any], error: str
) -> None:
    await house.save("child", tell("a", "x"))
    await house.save("parent", {**sub(**config), "retry": {"maxAttempts": 3}})
    parent = await house.begin("parent")
    await house.settle()
    row = await house.row(parent)
    assert (row["status"], row["error_type"]) == ("FAILED", error)
    assert await house.children(parent) == []


async def test_a_detached_child_goes_its_own_way(house: Waiting, told: Told) -> None:
    await house.save("child", FAIL)
    await house.save("parent", sub(mode="detach", input={"n": 1}), tell("b", "on"))
    parent = await house.begin("parent")
    await house.settle()
    [child] = await house.children(parent)
    assert (child.status, (await house.row(parent))["status"]) == ("FAILED", "COMPLETED")
    assert told.said == ["on"]


async def test_a_workflow_that_starts_itself_comes_to_an_end(house: Waiting) -> None:
    await house.save("child", sub())
    first = await house.begin("child")
    await house.settle()
    row = await house.row(first)
    assert (row["status"], row["error_type"]) == ("FAILED", "TooDeep")
    assert [each.depth for each in await house.rows()] == list(range(11))


async def test_a_list_has_a_child_for_each_item_and_so_many_at_once(house: Waiting, told: Told) -> None:
    await house.save("child", {"id": "ask", "type": "ASK", "config": {}}, output="#{n * 10}")
    each = {"concurrency": 2, "input": {"n": "#{item}"}}
    await house.save("parent", sub(on="#{numbers}", forEach=each), tell("b", "#{_nodes.call.results}"))
    parent = await house.begin("parent", numbers=[1, 2, 3, 4, 5])
    await house.settle()
    for expected in (2, 2, 2, 2, 1):
        waiting = await house.rows(E.parent_execution_id == parent, E.status == "WAITING")
        assert len(waiting) == expected
        answer = {"node": "ask", "visit": 1, "answer": None}
        await house.signal(waiting[0].id, SignalKind.ANSWER, answer)
        await house.settle()
    assert (await house.row(parent))["status"] == "COMPLETED"
    assert told.said == [[10, 20, 30, 40, 50]]
    assert await house.journal(parent) == [
        *[("call", str(place), "completed") for place in (4, 3, 2, 1, 0)],
        ("call", "", "completed"),
        ("b", "", "completed"),
    ]


async def test_a_list_that_is_empty_is_done(house: Waiting) -> None:
    await house.save("child", tell("a", "x"))
    await house.save("parent", sub(on="#{numbers}"))
    parent = await house.begin("parent", numbers=[])
    await house.settle()
    row = await house.row(parent)
    assert row["status"] == "COMPLETED"
    assert row["state"]["outputs"]["call"]["total"] == 0


async def test_a_list_says_what_failed_and_a_retry_starts_only_that_again(house: Waiting, told: Told) -> None:
    await house.save("child", tell("a", "#{n}"), {**FAIL, "type": "TELL", "config": {"say": "#{1 / n}"}})
    await house.save("parent", {**sub(on="#{numbers}", input={"n": "#{item}"}), "onError": "continue"})
    parent = await house.begin("parent", numbers=[1, 0, 2])
    await house.settle()
    row = await house.row(parent)
    assert row["status"] == "COMPLETED"
    assert row["context"]["_error"]["type"] == "ItemsFailed"
    assert "1 of 3 items failed" in row["context"]["_error"]["message"]
    statuses = {key: status for node, key, status in await house.journal(parent) if key}
    assert statuses == {"0": "completed", "1": "failed", "2": "completed"}


async def test_a_list_that_stops_starts_nothing_after_a_failure(house: Waiting) -> None:
    await house.save("child", FAIL)
    each = {"concurrency": 1, "input": {"n": "#{item}"}}
    await house.save("parent", sub(on="#{numbers}", forEach=each, onItemError="stop"))
    parent = await house.begin("parent", numbers=[1, 2, 3])
    await house.settle()
    assert (await house.row(parent))["error_type"] == "ItemsFailed"
    assert [child.status for child in await house.children(parent)] == ["FAILED", "CANCELLED", "CANCELLED"]


async def test_cancelling_a_parent_cancels_the_children_that_it_waits_for(house: Waiting, told: Told) -> None:
    undo = {"type": "TELL", "config": {"say": "undone"}}
    did = {**tell("a", "did"), "compensate": undo}
    await house.save("child", did, {"id": "ask", "type": "ASK", "config": {}})
    each = {"concurrency": 2, "input": {"n": "#{item}"}}
    await house.save("parent", sub(on="#{numbers}", forEach=each))
    parent = await house.begin("parent", numbers=[1, 2, 3])
    await house.settle()
    payload = {"reason": "no longer", "compensate": True}
    assert await house.signal(parent, SignalKind.CANCEL, payload)
    await house.settle()
    assert (await house.row(parent))["status"] == "CANCELLED"
    children = await house.children(parent)
    assert [child.status for child in children] == ["CANCELLED"] * 3
    assert told.said == ["did", "did", "undone", "undone"], "the third had not begun"


async def test_a_parent_whose_time_is_over_cancels_its_child_and_fails(house: Waiting) -> None:
    await house.save("child", {"id": "ask", "type": "ASK", "config": {}})
    await house.save("parent", sub(timeout=3600))
    parent = await house.begin("parent")
    await house.settle()
    assert (await house.row(parent))["status"] == "WAITING"
    await house.pass_time(hours=1)
    await house.settle()
    row = await house.row(parent)
    assert (row["status"], row["error_type"]) == ("FAILED", "Timeout")
    assert [child.status for child in await house.children(parent)] == ["CANCELLED"]


async def test_a_retried_parent_starts_another_child(house: Waiting, told: Told) -> None:
    await house.save("child", {"id": "a", "type": "TELL", "config": {"say": "#{1 / n}"}})
    once_more = {"retry": {"maxAttempts": 2, "initialDelay": 0.01}}
    await house.save("parent", {**sub(input={"n": 0}), **once_more})
    parent = await house.begin("parent")
    await house.settle()
    children = await house.children(parent)
    assert [child.status for child in children] == ["FAILED", "FAILED"]
    assert (await house.row(parent))["status"] == "FAILED"


async def test_an_answer_that_comes_before_the_parent_parks_is_not_lost(house: Waiting, told: Told) -> None:
    """Beside the sub-workflow an effect runs, so that its parent is owned when the child ends."""
    await house.save("child", tell("a", "child"))
    start = {"id": "start", "type": "NOOP", "config": {}}
    fork = {**start, "routing": [{"type": "goto", "targetNodeId": to} for to in ("call", "long")]}
    document = {"key": "parent", "name": "p", "nodes": [fork, sub(), tell("long", "long")]}
    await house.save_document("parent", document)
    told.pauses_at = "long"
    parent = await house.begin("parent")
    await told.hanging.wait()

    async def child_has_ended() -> bool:
        return [child.status for child in await house.children(parent)] == ["COMPLETED"]

    await house.until(child_has_ended)
    assert (await house.row(parent))["owner"] is not None
    told.go_on.set()
    await house.settle()
    assert (await house.row(parent))["status"] == "COMPLETED"
    assert sorted(str(said) for said in told.said) == ["child", "long"]


async def test_a_child_is_opened_once_though_its_owner_writes_twice(house: Waiting, told: Told) -> None:
    await house.save("child", tell("a", "once"))
    await house.save("parent", sub())
    write = house.executions.write

    async def twice(progress: Any) -> None:
        await write(progress)
        if progress.opens:
            await house.settle_children(progress.execution_id)
            await write(progress)

    house.executions.write = twice  # type: ignore[method-assign]  # the answer to the first one got lost
    parent = await house.begin("parent")
    await house.settle()
    assert told.said == ["once"]
    assert (await house.row(parent))["status"] == "COMPLETED"


async def test_who_takes_over_while_a_list_is_opened_starts_no_item_twice(
    database: Database, told: Told
) -> None:
    before, after = Waiting(database, told), Waiting(database, told)
    await before.save("child", tell("a", "#{item}"))
    await before.save("parent", sub(on="#{numbers}"))
    write = before.executions.write

    async def until_the_first_batch(progress: Any) -> None:
        await write(progress)
        if progress.opens:
            told.hanging.set()
            await asyncio.Event().wait()

    before.executions.write = until_the_first_batch  # type: ignore[method-assign]  # a crash
    parent = await before.begin("parent", numbers=[1, 2, 3])
    await told.hanging.wait()
    assert len(await after.children(parent)) == 3
    assert await after.instance.take_back() == 1
    await after.settle()
    assert (await after.row(parent))["status"] == "COMPLETED"
    assert sorted(told.said) == [1, 2, 3]
