"""Rows of the journal are taken from owners only, whoever else is in the batch."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import Row, select

from clocks import NOON
from engine_house import House, Told, chain, node
from muster.engine.journal import JournalRow
from muster.engine.owned import FIRST_FENCE, Progress
from muster.model.json import Json
from muster.store.database import Database
from muster.store.executions import Progressing
from muster.store.tables import node_execution
from muster.store.types import Unstorable

OTHERS = FIRST_FENCE + 1
LARGE = "x" * 100_000


@pytest.fixture
def house(database: Database) -> House:
    return House(database, Told())


async def begun(house: House) -> str:
    """An execution that hangs in its first node."""
    await house.define(chain(node("a")))
    house.told.hangs_at = "a"
    execution = await house.start()
    await house.told.hanging.wait()
    return execution


def did(execution: str, node_id: str, fence: int = FIRST_FENCE, output: Json = None) -> Progress:
    row = JournalRow(node_id, 1, "", 1, 1, "completed", NOON, NOON, output)
    return Progress(execution, fence, (row,))


async def journal(house: House, execution: str) -> Sequence[Row[Any]]:
    found = select(node_execution).where(node_execution.c.execution_id == execution)
    return await house.database.read(lambda connection: connection.execute(found).all())


async def test_of_two_owners_in_one_batch_only_the_true_one_is_written(house: House) -> None:
    execution = await begun(house)
    batch = [did(execution, "mine", output=1), did(execution, "mine", OTHERS, output=2), did("none", "mine")]
    owned = await house.database.write(lambda c: Progressing().write(c, batch), single=True)
    assert owned == [True, False, False]
    assert [(row.node_id, row.output) for row in await journal(house, execution)] == [("mine", 1)]


async def test_of_several_rows_for_one_place_the_last_is_how_it_stands(house: House) -> None:
    execution = await begun(house)
    batch = [did(execution, "a", output=1), did(execution, "b", output=2), did(execution, "a", output=3)]
    await house.database.write(lambda c: Progressing().write(c, batch), single=True)
    assert sorted((row.node_id, row.output) for row in await journal(house, execution)) == [
        ("a", 3),
        ("b", 2),
    ]


async def test_a_large_output_goes_with_its_row(house: House) -> None:
    execution = await begun(house)
    await house.executions.write(did(execution, "a", output=LARGE))
    [row] = await journal(house, execution)
    assert isinstance(row.output, dict), "it is kept aside"
    assert row.aside == [["output"]]


async def test_a_text_that_no_database_holds_is_refused_with_its_reason(house: House) -> None:
    execution = await begun(house)
    with pytest.raises(Unstorable, match="too long"):
        await house.executions.write(did(execution, "a" * 1000))
    with pytest.raises(Unstorable, match="NUL"):
        await house.executions.write(did(execution, "a\0"))
    with pytest.raises(Unstorable, match="surrogate"):
        await house.executions.write(did(execution, "a\ud800"))
    assert await journal(house, execution) == []
