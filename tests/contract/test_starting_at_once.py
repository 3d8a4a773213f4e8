"""Starts with keys are a single statement on PostgreSQL, and what it cannot decide is looked at again."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Engine, event, func, select

from clocks import NOON
from engine_house import House, Told, chain, node
from muster.engine.owned import Begun, NewExecution
from muster.engine.state import ExecutionStatus
from muster.model.once import once
from muster.store.database import Database
from muster.store.tables import workflow_execution

KEY = once("", "w1", ["trigger", "u1"])
LARGE = "x" * 100_000


@pytest.fixture
async def house(database: Database) -> House:
    house = House(database, Told())
    await house.define(chain(node("a")))
    return house


@contextmanager
def statements() -> Iterator[list[str]]:
    said: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        said.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield said
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def new(house: House, name: str = "u1", **context: object) -> NewExecution:
    key = once("", "w1", ["trigger", name])
    return NewExecution(house.ids.new(), "w1", 1, "", "here/1", context, house.clock.now(), once=key)


async def test_new_keys_and_their_executions_are_one_statement(house: House) -> None:
    with statements() as said:
        begun = await asyncio.gather(*(house.executions.start(new(house, f"u{n}")) for n in range(20)))
    assert not any(each.duplicate for each in begun)
    if house.database.dialect_name == "postgresql":
        assert len(said) == 1


async def test_repeats_are_one_statement_too(house: House) -> None:
    first = await house.executions.start(new(house))
    with statements() as said:
        begun = await asyncio.gather(*(house.executions.start(new(house)) for _ in range(20)))
    assert set(begun) == {Begun(first.id, ExecutionStatus.RUNNING, duplicate=True)}
    if house.database.dialect_name == "postgresql":
        assert len(said) == 1


async def test_a_repeat_writes_neither_key_nor_execution(house: House) -> None:
    await house.executions.start(new(house))
    repeat = new(house)
    assert (await house.executions.start(repeat)).duplicate
    found = select(func.count()).select_from(workflow_execution)
    assert await house.database.read(lambda connection: connection.scalar(found)) == 1


async def test_of_a_batch_with_old_and_new_keys_each_gets_its_answer(house: House) -> None:
    first = new(house)
    await house.executions.start(first)
    others = [new(house, "u2"), new(house), new(house, "u2"), new(house, "u3", text=LARGE), new(house, "u3")]
    begun = await asyncio.gather(*map(house.executions.start, others))
    assert [each.duplicate for each in begun[:3]] == [False, True, True]
    assert [each.id for each in begun[:3]] == [others[0].id, first.id, others[0].id]
    # Whichever of the last two began, the other is told of it.
    assert {each.id for each in begun[3:]} <= {others[3].id, others[4].id}
    assert sorted(each.duplicate for each in begun[3:]) == [False, True]


async def test_a_large_context_is_begun_as_well(house: House) -> None:
    large = new(house, "u4", text=LARGE)
    assert await house.executions.start(large) == Begun(large.id, ExecutionStatus.RUNNING)
    assert (await house.row(large.id))["aside"] is not None


async def test_an_expired_key_is_looked_at_again(house: House) -> None:
    gone = replace(KEY, expires_at=NOON - timedelta(days=1))
    first = new(house)._replace(once=gone)
    await house.executions.start(first)
    second = new(house)
    assert (await house.executions.start(second)).id == second.id
