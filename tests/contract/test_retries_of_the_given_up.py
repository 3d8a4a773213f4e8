"""An execution that was given up while it was being undone goes on being undone, on every database."""

from typing import Any

import pytest

from engine_house import Told
from muster.engine.actions import Retry
from muster.store.database import Database
from waiting_house import BY_HAND, E, Waiting


def undoable(node_id: str) -> dict[str, Any]:
    undo = {"type": "TELL", "config": {"say": f"undo {node_id}"}}
    return {"id": node_id, "type": "TELL", "config": {"say": node_id}, "compensate": undo}


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> Waiting:
    return Waiting(database, told)


async def given_up(house: Waiting, told: Told, *nodes: dict[str, Any]) -> str:
    """An execution whose last compensation brought down everybody who tried it."""
    await house.save("w", undoable("a"), undoable("b"), *nodes)
    told.hangs_at = "undo b"
    execution = await house.begin("w")
    await told.hanging.wait()
    await house.change(E.id == execution, owner="here/gone", takeovers=5)
    await house.instance.take_back()
    await house.instance.ended(execution)
    row = await house.row(execution)
    assert (row["status"], row["error_type"]) == ("FAILED", "Poisoned")
    told.hangs_at = None
    told.did.clear()
    return execution


async def test_a_retry_goes_on_undoing_it(house: Waiting, told: Told) -> None:
    fails = {"id": "c", "type": "FAIL", "config": {"message": "no"}}
    execution = await given_up(house, told, fails)
    await house.actions.retry(execution, BY_HAND, Retry())
    await house.settle()
    row = await house.row(execution)
    assert told.said == ["undo b", "undo a"]
    assert (row["status"], row["error_type"], row["error_message"]) == ("FAILED", "Failed", "no")


async def test_from_a_node_that_is_named_it_goes_forward(house: Waiting, told: Told) -> None:
    fails = {"id": "c", "type": "FAIL", "config": {"message": "no"}}
    execution = await given_up(house, told, fails)
    await house.actions.retry(execution, BY_HAND, Retry(node="c"))
    await house.settle()
    assert told.said == ["undo b", "undo a"]
    assert ("c", "", "failed") in await house.journal(execution)
