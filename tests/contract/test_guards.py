"""What keeps two owners apart, and what was done from being undone: each of these is there for a guard."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import Connection, select, update
from sqlalchemy.exc import OperationalError
from sqlalchemy.util import await_only

from clocks import NOON, ShiftedClock
from engine_house import House, Told, chain, node
from muster.engine.actions import Note, Reopened
from muster.engine.handlers import Call, Done
from muster.engine.owned import NewExecution, Progress
from muster.engine.state import Failure
from muster.kit.clock import SystemClock
from muster.model.json import JsonObject
from muster.model.stored import AuditEntry
from muster.store.acts import ExecutionActs
from muster.store.database import Database
from muster.store.dialect import lock_rows
from muster.store.execution_records import ExecutionRecords
from muster.store.tables import workflow_execution
from polling import until

E = workflow_execution.c
NOTE = Note(AuditEntry("execution", "", "retry", "somebody"))


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> House:
    return House(database, told)


def hours_ahead(hours: int) -> ShiftedClock:
    clock = ShiftedClock()
    clock.ahead = timedelta(hours=hours)
    return clock


def another(house: House, name: str, clock: ShiftedClock | None = None) -> House:
    other = House(house.database, house.told, name, clock)
    other.programs = house.programs
    return other


async def hanging(house: House) -> str:
    """An execution that this house owns and drives, and that will not end."""
    await house.define(chain(node("a")))
    house.told.hangs_at = "a"
    execution = await house.start()
    await house.told.hanging.wait()
    return execution


async def test_what_an_effect_did_is_durable_before_the_next_one_begins(database: Database) -> None:
    seen: list[object] = []

    class Looking(Told):
        async def tell(self, params: JsonObject, call: Call) -> Done | Failure:
            seen.append(await house.journal(call.execution_id))
            return Done()

    house = House(database, Looking())
    await house.define(chain(node("a"), node("b")))
    await house.run()
    assert seen == [[], [("a", "", "completed")]]


async def test_starting_again_changes_nothing_of_what_has_come_further(house: House) -> None:
    await house.define(chain(node("a", "SLEEP", config={"seconds": 3600})))
    owner = house.instance.name.owner
    new = NewExecution(house.ids.new(), "w1", 1, "", owner, {}, house.clock.now())
    await house.instance.start(new)
    await house.instance.ended(new.id)
    before = await house.row(new.id)
    await house.executions.start(new)
    assert await house.row(new.id) == before


@pytest.mark.parametrize(("owners", "others"), [(0, 0), (-2, 2), (2, -2)])
async def test_nobody_takes_over_before_the_lease_has_run_out(
    database: Database, told: Told, owners: int, others: int
) -> None:
    """Whatever their machines take for the time: their clocks are so many hours ahead."""
    house = House(database, told, clock=hours_ahead(owners))
    execution = await hanging(house)
    there = another(house, "there", hours_ahead(others))
    assert await there.instance.take_abandoned() == 0
    await house.instance.renew()
    assert await there.instance.take_abandoned() == 0
    over = SystemClock().now() - timedelta(seconds=1)
    expired = update(workflow_execution).where(E.id == execution).values(lease_until=over)
    await house.database.write(lambda connection: connection.execute(expired))
    assert await there.instance.take_abandoned() == 1
    elsewhere = another(house, "elsewhere", hours_ahead(owners))
    assert await elsewhere.instance.take_abandoned() == 0, "it has a new lease"


async def test_what_is_due_is_taken_only_where_nobody_has_it(house: House) -> None:
    execution = await hanging(house)
    due = update(workflow_execution).where(E.id == execution).values(resume_at=NOON)
    await house.database.write(lambda connection: connection.execute(due))
    assert await another(house, "there").instance.take_due() == 0


async def test_nobody_renews_what_is_another_s(house: House) -> None:
    execution = await hanging(house)
    there = another(house, "there")
    assert list(await there.executions.renew(there.instance.name.owner, [execution])) == []
    assert list(await house.executions.renew(house.instance.name.owner, [execution])) == [execution]


async def test_nobody_takes_back_from_itself(house: House) -> None:
    execution = await hanging(house)
    assert await house.instance.take_back() == 0
    assert (await house.row(execution))["fence"] == 1


async def test_of_two_who_try_an_execution_again_one_does(house: House, told: Told) -> None:
    await house.define(chain(node("a")))
    told.answers = [Failure("Refused", "no")]
    execution = await house.run()
    acts = ExecutionActs(house.committer)
    before = await ExecutionRecords(house.database).get(None, execution)
    assert before is not None
    again = Reopened(before, 1, {}, before.state)
    assert await acts.reopen(again, NOTE)
    assert not await acts.reopen(again, NOTE), "it is live"
    live = await ExecutionRecords(house.database).get(None, execution)
    assert live is not None
    assert not await acts.reopen(Reopened(live, 1, {}, live.state), NOTE), "it has not ended"
    told.answers = [Failure("Refused", "no")]
    assert await house.instance.take_due() == 1
    await house.instance.ended(execution)
    assert (await house.row(execution))["status"] == "FAILED"
    assert not await acts.reopen(again, NOTE), "it has ended again since"


async def test_rows_are_locked_in_the_order_of_their_keys(house: House) -> None:
    if house.database.dialect_name == "sqlite":
        return  # it has one writer at a time
    await house.define(chain(node("a")))
    names = ["e1", "e2", "e3"]
    for name in names:
        await house.executions.start(NewExecution(name, "w1", 1, "", "nobody/1", {}, house.clock.now()))
    locked, free = asyncio.Event(), asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        holding = tasks.create_task(hold_the_second(house, locked, free))
        await locked.wait()
        wanted = tasks.create_task(
            house.database.write(
                lambda connection: lock_rows(
                    connection, workflow_execution, "id", list(reversed(names)), ("id",)
                )
            )
        )

        async def one_is_locked() -> list[str] | None:
            left = await house.database.read(free_rows)
            return left if len(left) < 2 else None

        left = await until(one_is_locked)
        free.set()
        await asyncio.gather(holding, wanted)
    assert left == ["e3"], "who waits for the second has the first, and not the third"


async def hold_the_second(house: House, locked: asyncio.Event, free: asyncio.Event) -> None:
    def work(connection: Connection) -> None:
        connection.execute(select(E.id).where(E.id == "e2").with_for_update())
        locked.set()
        await_only(free.wait())

    await house.database.write(work)


def free_rows(connection: Connection) -> list[str]:
    found = select(E.id).order_by(E.id).with_for_update(skip_locked=True)
    return list(connection.scalars(found))


async def test_an_item_that_is_refused_once_has_still_happened(house: House, told: Told) -> None:
    await house.define(chain(node("a", config={"on": "#{{1}}", "say": "a"})))
    write, refusals = house.executions.write, [OperationalError("a statement", None, Exception("tired"))]

    async def refusing_once(progress: Progress) -> None:
        if refusals:
            raise refusals.pop()
        await write(progress)

    house.executions.write = refusing_once  # type: ignore[method-assign]  # the store has a bad day
    execution = await house.run()
    assert await house.journal(execution) == [("a", "0", "completed"), ("a", "", "completed")]
    assert told.said == ["a"]


async def test_what_is_given_up_is_not_run_again(house: House, told: Told) -> None:
    execution = await hanging(house)
    six = update(workflow_execution).where(E.id == execution).values(takeovers=6)
    await house.database.write(lambda connection: connection.execute(six))
    calls = len(told.did)
    assert await another(house, "here").instance.take_back() == 1

    async def has_failed() -> bool:
        return (await house.row(execution))["status"] == "FAILED"

    await until(has_failed)
    assert (await house.row(execution))["error_type"] == "Poisoned"
    assert len(told.did) == calls
