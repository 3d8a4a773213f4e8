"""A line of the log says in fields whom it is about, and nothing of what the execution is about."""

import logging

import pytest

from engine_house import House, Told, chain, node
from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.engine.tracing import own_trace_id
from muster.model.json import JsonObject
from muster.store.database import Database

MARK = "acmesmarkofitsown"


class Mistaken(Told):
    """Quotes what it was given."""

    async def tell(self, params: JsonObject, call: Call) -> Done | Failure:
        raise ValueError(f"cannot deal with\n{params['say']}")


def fields_of(record: logging.LogRecord, *names: str) -> tuple[object, ...]:
    return tuple(getattr(record, name, None) for name in names)


async def test_a_handler_that_raised_is_told_by_its_kind_and_place_without_its_words(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    house = House(database, Mistaken())
    await house.define(chain(node("a", config={"say": MARK}, retry={"maxAttempts": 1})))
    execution = await house.run()
    (line,) = [each for each in caplog.records if "raised" in each.getMessage()]
    assert line.getMessage() == f"execution {execution}, node a: its handler raised ValueError"
    assert fields_of(line, "execution_id", "node_id", "trace_id") == (execution, "a", own_trace_id(execution))
    (place,) = fields_of(line, "exception")
    assert "in tell\n" in str(place)
    assert str(place).endswith("ValueError")
    assert MARK not in repr(line.__dict__)


async def test_an_item_that_cannot_be_stored_is_told_without_its_key(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    told = Told(answers=[Done(f"{MARK}\0")])
    house = House(database, told)
    each: JsonObject = {"on": "#{xs}", "say": "#{item}", "onItemError": "continue"}
    await house.define(chain(node("a", config=each, item_key="#{item}")))
    execution = await house.run(xs=[MARK])
    assert ("a", MARK, "failed") in await house.journal(execution)
    (line,) = [each for each in caplog.records if "cannot be stored" in each.getMessage()]
    assert fields_of(line, "execution_id", "node_id") == (execution, "a")
    assert MARK not in repr(line.__dict__)


async def test_one_that_was_taken_over_is_told_with_its_ids(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "muster.engine")
    told = Told(pauses_at="a")
    house = House(database, told)
    await house.define(chain(node("a"), node("b")))
    execution = await house.start()
    await told.hanging.wait()
    heir = House(database, told, "heir")
    await heir.executions.end_leases("heir/next", "here/")
    assert await heir.executions.claim_abandoned("heir/next", 10, 0)
    told.go_on.set()
    await house.instance.ended(execution)
    (line,) = [each for each in caplog.records if "taken over" in each.getMessage()]
    assert fields_of(line, "execution_id", "trace_id") == (execution, own_trace_id(execution))
