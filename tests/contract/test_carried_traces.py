"""The trace that an execution was started in is kept with it: whoever goes on with it goes on with that."""

import pytest

from engine_house import House, Told, chain, node
from muster.engine.handlers import Call, Done
from muster.engine.owned import NewExecution
from muster.model.json import JsonObject
from muster.store.database import Database
from waiting_house import E, Waiting

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Heard:
    """An effect that keeps what would go along with all that it sends."""

    def __init__(self) -> None:
        self.traces: list[str | None] = []

    async def __call__(self, params: JsonObject, call: Call) -> Done:
        self.traces.append(call.traceparent)
        return Done()


async def start(house: House, new: NewExecution) -> str:
    await house.instance.start(new._replace(trace=TRACE))
    await house.instance.ended(new.id)
    return new.id


def new_one(house: House, owner: str | None) -> NewExecution:
    return NewExecution(house.ids.new(), "w1", 1, "", owner, {}, house.clock.now())


async def test_an_execution_that_another_instance_resumes_is_of_the_same_trace(database: Database) -> None:
    definition = chain(node("a"), node("b", "SLEEP", config={"seconds": 60}), node("c"))
    one, other, heard = House(database, Told()), House(database, Told(), "there"), Heard()
    one.effects["TELL"] = other.effects["TELL"] = heard
    await one.define(definition)
    await other.define_again(definition)
    execution = await start(one, new_one(one, one.instance.name.owner))
    assert (await one.row(execution))["trace_parent"] == TRACE
    await other.pass_time(seconds=61)
    await other.instance.take_due()
    await other.instance.ended(execution)
    assert heard.traces == [TRACE, TRACE]


async def test_one_that_only_computes_keeps_its_trace(database: Database) -> None:
    house = House(database, Told())
    await house.define(chain(node("a", "SET", config={"n": 1})))
    execution = await start(house, new_one(house, house.instance.name.owner))
    row = await house.row(execution)
    assert (row["status"], row["trace_parent"]) == ("COMPLETED", TRACE)


@pytest.mark.parametrize("given", [TRACE, None])
async def test_a_child_is_of_its_parents_trace(database: Database, given: str | None) -> None:
    house, heard = Waiting(database), Heard()
    house.effects["TELL"] = heard
    await house.save("child", {"id": "a", "type": "TELL"})
    await house.save("parent", {"id": "p", "type": "SUB_WORKFLOW", "config": {"workflow": "child"}})
    found = await house.workflows.get("", "parent")
    assert found is not None
    assert found.active_version_id is not None
    owner, at = house.instance.name.owner, house.clock.now()
    new = NewExecution(house.ids.new(), found.id, found.active_version_id, "", owner, {}, at, trace=given)
    await house.instance.start(new)
    await house.instance.ended(new.id)
    await house.settle()
    [child] = await house.rows(E.parent_execution_id == new.id)
    assert (child.trace_parent, heard.traces) == (given, [given])
