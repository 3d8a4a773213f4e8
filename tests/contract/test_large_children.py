"""What children come to is handed to their parents by the rules for large values, on every database."""

from typing import Any

import pytest
from sqlalchemy import Connection, select

from engine_house import Told
from muster.engine import sizes
from muster.engine.journal import SignalKind
from muster.engine.state import Failure
from muster.kit.clock import SystemClock
from muster.store.child_items import ChildItems
from muster.store.database import Database
from muster.store.dialect import insert_rows
from muster.store.tables import execution_signal, large_value, node_execution
from waiting_house import Waiting

BIG = "x" * 100_000
J = node_execution.c
S = execution_signal.c
REST: dict[str, Any] = {"id": "rest", "type": "ASK", "config": {}}
NOOP: dict[str, Any] = {"id": "a", "type": "NOOP", "config": {}}


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> Waiting:
    return Waiting(database, told)


def sub(**config: Any) -> dict[str, Any]:
    return {"id": "call", "type": "SUB_WORKFLOW", "config": {"workflow": "child", **config}}


def tell(say: str) -> dict[str, Any]:
    return {"id": "b", "type": "TELL", "config": {"say": say}}


async def rows_of(house: Waiting, *columns: Any) -> list[Any]:
    wanted = select(*columns)
    return list(await house.database.read(lambda connection: connection.execute(wanted).all()))


async def let_end(house: Waiting, child: str) -> None:
    """Let a child run to its end, and leave its parent where it is."""
    await house.signal(child, SignalKind.ANSWER, {"node": "rest", "visit": 1, "answer": None})
    assert await house.instance.take_due() == 1
    await house.instance.ended(child)


@pytest.mark.parametrize("head", [{"output": {"text": "#{text}", "n": 1}}, {}], ids=["made", "the context"])
async def test_a_large_answer_is_kept_aside_with_who_it_is_for(
    house: Waiting, told: Told, head: dict[str, Any]
) -> None:
    await house.save("child", REST, **head)
    await house.save("parent", sub(input={"text": "#{big}", "n": 1}), tell("#{text.length() + n}"))
    parent = await house.begin("parent", big=BIG)
    await house.settle()
    [child] = await house.children(parent)
    await let_end(house, child.id)
    [signal] = await rows_of(house, S.payload, S.aside)
    assert signal.aside == [["payload", "answer", "output", "text"]]
    assert signal.payload["answer"]["output"]["n"] == 1
    assert len(str(signal.payload)) < 1000
    other = Waiting(house.database, told, "there")
    await other.settle()
    assert ((await house.row(parent))["status"], told.said) == ("COMPLETED", [len(BIG) + 1])
    held = {row.execution_id for row in await rows_of(house, large_value.c.execution_id)}
    assert held == {parent, child.id}


async def test_large_outputs_of_a_lists_children_have_marks_in_its_summary(house: Waiting) -> None:
    await house.save("child", NOOP, output={"text": "#{item == 1 ? big : 'small'}"})
    each = {"input": {"item": "#{item}", "big": "#{big}"}}
    await house.save("parent", sub(on="#{numbers}", forEach=each))
    parent = await house.begin("parent", big=BIG, numbers=[1, 2])
    await house.settle()
    row: Any = await house.row(parent)
    summary = row["state"]["outputs"]["call"]
    digest = row["context"]["big"]["$large"]["sha256"]
    href = f"/api/workflow/executions/{parent}/values/{digest}"
    mark = {"$large": {"size": len(BIG) + 2, "sha256": digest, "href": href}}
    assert summary["results"] == [{"text": mark}, {"text": "small"}]
    assert "rest" not in summary
    kept = {
        row.item_key: (row.output, row.aside) for row in await rows_of(house, J.item_key, J.output, J.aside)
    }
    assert kept["0"][1] == [["output", "text"]]
    assert len(str(kept["0"][0])) < 1000


@pytest.mark.parametrize("on", [None, "#{numbers}"])
async def test_what_is_too_large_to_be_handed_on_is_an_error_that_no_retry_mends(
    house: Waiting, monkeypatch: pytest.MonkeyPatch, on: str | None
) -> None:
    await house.save("child", REST)
    given = {"input": {"one": "#{big}", "two": "#{big}"}}
    listed = {"on": on, "forEach": given} if on else given
    node = sub(**listed) | {"retry": {"maxAttempts": 3, "initialDelay": 0}}
    await house.save("parent", node)
    parent = await house.begin("parent", big=BIG, numbers=[1])
    await house.settle()
    [child] = await house.children(parent)
    monkeypatch.setattr(sizes, "LARGEST", 150_000)
    monkeypatch.setattr(sizes, "SURELY_SMALL", 150_000)
    await let_end(house, child.id)
    await house.settle()
    row = await house.row(parent)
    assert row["status"] == "FAILED"
    assert "the child: its output is 200," in str(row["error_message"])
    assert len(await house.children(parent)) == 1, "it was not tried again"
    if on is None:
        assert row["error_type"] == "ValueTooLarge"


async def test_of_many_outputs_a_summary_keeps_what_fits(database: Database) -> None:
    at = SystemClock().now()

    def put(connection: Connection) -> None:
        row = {"execution_id": "e", "node_id": "call", "visit": 1, "attempt": 1, "started_at": at}
        rows = [
            {**row, "item_key": str(place), "seq": -1 - place, "status": "completed", "output": "x" * 60_000}
            for place in range(150)
        ]
        insert_rows(connection, node_execution, rows)

    await database.write(put)
    children = await ChildItems(database).of("e", "call", 1, 1000)
    assert children.counts == {"completed": 150}
    assert 100 < len(children.results) < 140


async def test_an_item_that_is_too_large_is_not_started_again_with_the_others(
    house: Waiting, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "LARGEST", 150_000)
    monkeypatch.setattr(sizes, "SURELY_SMALL", 150_000)
    told.answers = [Failure("Busy", "503")]
    big: dict[str, Any] = {"text": "#{n == 1 ? text + text : 'small'}"}
    await house.save("child", {"id": "b", "type": "TELL", "config": {"say": "#{n}"}}, output=big)
    each = {"concurrency": 1, "input": {"n": "#{item}", "text": "#{text}"}}
    node = sub(on="#{numbers}", forEach=each) | {"retry": {"maxAttempts": 3, "initialDelay": 0}}
    await house.save("parent", node)
    parent = await house.begin("parent", text=BIG, numbers=[2, 1])
    await house.settle()
    row = await house.row(parent)
    assert told.said == [2, 1, 2]
    assert (row["status"], row["error_type"]) == ("FAILED", "ItemsFailed")
