"""What an execution is found by is written when it changes, and only then, on every database."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from muster.engine.journal import SignalKind
from muster.model.execution import Wanted
from muster.model.stored import Page
from muster.store.database import Database
from muster.store.execution_records import ExecutionRecords
from waiting_house import Waiting


@pytest.fixture
def house(database: Database) -> Waiting:
    return Waiting(database)


@contextmanager
def statements() -> Iterator[list[str]]:
    said: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        said.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield said
    finally:
        event.remove(Engine, "before_cursor_execute", note)


async def found(house: Waiting, text: str) -> list[str]:
    rows, _ = await ExecutionRecords(house.database).list(None, Wanted(text=text), Page(10, None))
    return [row.id for row in rows]


async def test_a_park_that_changes_nothing_writes_no_terms(house: Waiting) -> None:
    asks = [{"id": name, "type": "ASK", "config": {}} for name in ("one", "two")]
    named = {"id": "set", "type": "SET", "config": {"order": "#{_nodes.two.answer}"}}
    last = {"id": "three", "type": "ASK", "config": {}}
    await house.save("w", *asks, named, last, search=["order"])
    execution = await house.begin("w", order="A-17")
    await house.settle()
    with statements() as said:
        await answer(house, execution, "one", None)
    assert not [each for each in said if "execution_search" in each]
    assert await found(house, "a-17") == [execution]
    await answer(house, execution, "two", "B-18")
    assert (await found(house, "a-17"), await found(house, "b-18")) == ([], [execution])


async def answer(house: Waiting, execution: str, node: str, value: str | None) -> None:
    answered = {"node": node, "visit": 1, "answer": value}
    await house.signal(execution, SignalKind.ANSWER, answered)
    await house.settle()
