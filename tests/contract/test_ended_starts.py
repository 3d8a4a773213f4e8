"""What only computes has ended before it is written, and is written once."""

import logging

import pytest
from sqlalchemy import func, select

from engine_house import House, Told, chain, node
from muster.engine.owned import Begun, NewExecution
from muster.engine.state import ExecutionStatus
from muster.model.once import once
from muster.store.database import Database
from muster.store.tables import node_execution, workflow_execution

LARGE = "x" * 100_000


@pytest.fixture
def house(database: Database) -> House:
    return House(database, Told())


def setting(name: str, **fields: object) -> object:
    return node(name, "SET", config=fields)


def new(house: House, key: str | None = None, **context: object) -> NewExecution:
    own = None if key is None else once("", "w1", ["trigger", key])
    owner = house.instance.name.owner
    return NewExecution(house.ids.new(), "w1", 1, "", owner, context, house.clock.now(), once=own)


async def count(house: House, table: object = workflow_execution) -> int:
    wanted = select(func.count()).select_from(table)
    return await house.database.read(lambda connection: connection.scalar(wanted))


@pytest.mark.parametrize("key", [None, "u1"])
@pytest.mark.parametrize("text", ["", LARGE])
async def test_it_has_ended_when_its_start_is_answered(house: House, key: str | None, text: str) -> None:
    await house.define(chain(setting("a", one=1), setting("b", two="#{one + 1}", text="#{text}")))
    start = new(house, key, text=text)
    assert await house.instance.start(start) == Begun(start.id, ExecutionStatus.RUNNING)
    row = await house.row(start.id)
    assert row["status"] == "COMPLETED"
    assert [row[name] for name in ("owner", "lease_until", "resume_at")] == [None, None, None]
    assert row["completed_at"] is not None
    assert row["checkpoint_seq"] == 2
    assert [(name, status) for name, _, status, *_ in await house.journal(start.id)] == [
        ("a", "completed"),
        ("b", "completed"),
    ]
    assert house.instance.driving == 0


async def test_what_it_was_started_with_is_kept_beside_what_it_came_to(house: House) -> None:
    await house.define(chain(setting("a", one="#{one + 1}")))
    start = new(house, one=1)
    await house.instance.start(start)
    row = await house.row(start.id)
    assert (row["given"], row["context"]) == ({"one": 1}, {"one": 2})


async def test_a_repeat_writes_nothing(house: House) -> None:
    await house.define(chain(setting("a", one=1)))
    first = new(house, "u1")
    await house.instance.start(first)
    found = await house.instance.start(new(house, "u1"))
    assert (found.id, found.duplicate) == (first.id, True)
    assert (await count(house), await count(house, node_execution)) == (1, 1)


async def test_one_whose_answer_was_lost_is_left_as_it_is(house: House) -> None:
    await house.define(chain(setting("a", one=1)))
    start = new(house)
    await house.instance.start(start)
    assert await house.instance.start(start) == Begun(start.id, ExecutionStatus.RUNNING)
    assert (await count(house), await count(house, node_execution)) == (1, 1)


async def test_what_reaches_outside_is_begun_first(house: House) -> None:
    await house.define(chain(setting("a", one=1), node("b")))
    house.told.pauses_at = "b"
    start = new(house)
    await house.instance.start(start)
    assert (await house.row(start.id))["status"] == "RUNNING"
    house.told.go_on.set()
    await house.instance.ended(start.id)
    assert (await house.row(start.id))["status"] == "COMPLETED"


async def test_what_fails_is_begun_first_and_leaves_its_letter(house: House) -> None:
    await house.define(chain(setting("a", one="#{nothing.there}")))
    start = new(house)
    await house.instance.start(start)
    await house.instance.ended(start.id)
    assert (await house.row(start.id))["status"] == "FAILED"


async def test_what_takes_many_steps_is_begun_first(house: House) -> None:
    await house.define(chain(*(setting(name, n=name) for name in ("a", *(f"n{n}" for n in range(120))))))
    start = new(house)
    await house.instance.start(start)
    assert house.instance.driving == 1
    await house.instance.ended(start.id)
    assert (await house.row(start.id))["context"] == {"n": "n119"}


async def test_a_repeat_is_not_heard_in_the_log(house: House, caplog: pytest.LogCaptureFixture) -> None:
    await house.define(chain(node("a", "LOG", config={"message": "here"})))
    with caplog.at_level(logging.INFO):
        for start in (new(house, "u1"), new(house, "u1")):
            await house.instance.start(start)
            await house.instance.ended(start.id)
    assert [record.message for record in caplog.records].count("here") == 1
