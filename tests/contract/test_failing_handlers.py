"""What goes wrong around a handler fails its node, or its compensation, and says what it was."""

import pytest

from engine_house import House, Told, chain, node
from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.model.json import JsonObject
from muster.store.database import Database


class Impatient(Told):
    """Gives up by itself."""

    async def tell(self, params: JsonObject, call: Call) -> Done | Failure:
        raise TimeoutError


async def test_a_compensation_whose_config_fails_is_told_and_the_others_are_done(database: Database) -> None:
    told = Told(answers=[Done(), Done(), Failure("Refused", "not today")])
    house = House(database, told)
    first = {"type": "TELL", "config": {"say": "undo a"}}
    broken = {"type": "TELL", "config": {"say": "#{1 / 0}"}}
    await house.define(chain(node("a", compensate=first), node("b", compensate=broken), node("c")))
    execution = await house.run()
    row = await house.row(execution)
    assert (row["status"], told.said) == ("FAILED", ["a", "b", "c", "undo a"])
    assert "undoing b failed" in str(row["error_message"])
    journal = await house.journal(execution)
    assert [status for name, key, status in journal if key] == ["failed", "compensated"]


@pytest.mark.parametrize("limit", [None, 60.0])
async def test_a_timeout_of_the_handler_is_not_said_to_be_the_nodes(
    database: Database, limit: float | None
) -> None:
    house = House(database, Impatient())
    await house.define(chain(node("a", timeout=limit, retry={"maxAttempts": 1})))
    row = await house.row(await house.run())
    assert (row["status"], row["error_type"]) == ("FAILED", "Timeout")
    assert row["error_message"] == "a ran into a timeout of its handler"
