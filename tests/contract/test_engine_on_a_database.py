"""Executions from start to end, through the real store, on every database."""

import asyncio

import pytest
from sqlalchemy import Connection
from sqlalchemy.util import await_only

from engine_house import House, Told, chain, node
from muster.engine.handlers import Done
from muster.engine.journal import SignalKind
from muster.engine.owned import NewExecution, Progress
from muster.engine.ports import Lost
from muster.engine.state import Failure
from muster.model.workflow import Definition, Edge
from muster.store.database import Database


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> House:
    return House(database, told)


async def test_an_execution_runs_its_nodes_in_order_and_completes(house: House, told: Told) -> None:
    await house.define(chain(node("a"), node("b", "SET", config={"n": "#{n + 1}"}), node("c")))
    execution = await house.run(n=1)
    row = await house.row(execution)
    assert told.said == ["a", "c"]
    assert (row["status"], row["owner"], row["resume_at"]) == ("COMPLETED", None, None)
    assert row["context"] == {"n": 2}
    assert row["completed_at"] is not None
    assert await house.journal(execution) == [
        ("a", "", "completed"),
        ("b", "", "completed"),
        ("c", "", "completed"),
    ]


async def test_a_fork_joins_once(house: House, told: Told) -> None:
    nodes = tuple(node(name) for name in "abcd")
    edges = tuple(Edge(*pair) for pair in ("ab", "ac", "bd", "cd"))
    await house.define(Definition("diamond", nodes, edges))
    await house.run()
    assert sorted(str(said) for said in told.said) == ["a", "b", "c", "d"]
    assert told.said[-1] == "d"


async def test_a_failure_is_kept_with_the_node_that_failed(house: House, told: Told) -> None:
    told.answers = [Done(), Failure("Refused", "not today")]
    await house.define(chain(node("a"), node("b"), node("c")))
    row = await house.row(await house.run())
    assert (row["status"], row["current_node_id"]) == ("FAILED", "b")
    assert (row["error_type"], row["error_message"]) == ("Refused", "not today")
    assert told.said == ["a", "b"]


async def test_a_failure_that_may_pass_is_tried_again(house: House, told: Told) -> None:
    told.answers = [Failure("Busy", "later", retryable=True)]
    await house.define(chain(node("a", retry={"maxAttempts": 2, "initialDelay": 0.01})))
    row = await house.row(await house.run())
    assert row["status"] == "COMPLETED"
    assert len(told.did) == 2
    assert told.did[0][0] == told.did[1][0], "a repeat carries the same key"


async def test_a_long_pause_is_taken_up_when_it_is_due(house: House, told: Told) -> None:
    await house.define(chain(node("a", "SLEEP", config={"seconds": 3600}), node("b")))
    execution = await house.run()
    assert (await house.row(execution))["status"] == "PAUSED"
    assert await house.instance.take_due() == 0, "never early"
    await house.pass_time(hours=1)
    assert await house.instance.take_due() == 1
    await house.instance.ended(execution)
    row = await house.row(execution)
    assert row["status"] == "COMPLETED"
    assert row["resumed_by"] == house.instance.name.owner
    assert told.said == ["b"]


async def test_each_item_is_journaled_and_a_retry_repeats_only_what_failed(house: House, told: Told) -> None:
    told.answers = [Done("ok 1"), Failure("Busy", "later", retryable=True), Done("ok 3")]
    each = {"on": "#{people}", "forEach": {"say": "#{item}", "concurrency": 1}}
    await house.define(chain(node("a", config=each, retry={"initialDelay": 0.01})))
    execution = await house.run(people=["x", "y", "z"])
    assert told.said == ["x", "y", "z", "y"]
    assert (await house.row(execution))["status"] == "COMPLETED"
    assert await house.journal(execution) == [
        ("a", "0", "completed"),
        ("a", "1", "completed"),
        ("a", "2", "completed"),
        ("a", "", "completed"),
    ]


async def test_who_restarts_takes_back_what_it_held_and_repeats_no_journaled_effect(
    database: Database, told: Told
) -> None:
    before = House(database, told, "here")
    await before.define(chain(node("a"), node("b"), node("c")))
    told.hangs_at = "b"
    execution = await before.start()
    await told.hanging.wait()
    told.hangs_at = None
    after = House(database, told, "here")
    after.programs = before.programs
    assert await House(database, told, "there").instance.take_back() == 0, "another instance's"
    assert await after.instance.take_back() == 1
    await after.instance.ended(execution)
    assert told.said == ["a", "b", "b", "c"], "a was journaled; b, which had no result, is done again"
    assert (await after.row(execution))["status"] == "COMPLETED"


async def test_an_owner_that_was_overtaken_writes_nothing_more(database: Database, told: Told) -> None:
    house = House(database, told)
    await house.define(chain(node("a", "SLEEP", config={"seconds": 3600})))
    execution = await house.run()
    with pytest.raises(Lost):
        await house.executions.write(Progress(execution_id=execution, fence=99, rows=()))


async def test_a_parked_execution_is_cancelled_by_a_signal(house: House, told: Told) -> None:
    await house.define(chain(node("a", "SLEEP", config={"seconds": 3600}), node("b")))
    execution = await house.run()
    assert await house.signal(execution, SignalKind.CANCEL, {"reason": "no longer"})
    assert await house.instance.take_due() == 1, "a signal makes a parked execution due"
    await house.instance.ended(execution)
    row = await house.row(execution)
    assert (row["status"], row["error_message"]) == ("CANCELLED", "no longer")
    assert told.said == []
    assert not await house.signal(execution, SignalKind.CANCEL, {}), "it has ended"


async def test_a_running_execution_is_held_between_nodes_and_goes_on_when_released(
    house: House, told: Told
) -> None:
    await house.define(chain(node("a"), node("b")))
    told.pauses_at = "a"
    execution = await house.start()
    await told.hanging.wait()
    await house.signal(execution, SignalKind.HOLD, {})
    assert await house.instance.take_signals() == 1
    told.go_on.set()
    await house.instance.ended(execution)
    assert (await house.row(execution))["status"] == "PAUSED"
    assert told.said == ["a"]
    await house.signal(execution, SignalKind.RELEASE, {})
    await house.instance.take_due()
    await house.instance.ended(execution)
    assert (await house.row(execution))["status"] == "COMPLETED"
    assert told.said == ["a", "b"]


async def test_a_signal_that_comes_before_its_owner_parks_is_not_lost(house: House, told: Told) -> None:
    told.pauses_at = "a"
    await house.define(chain(node("a"), node("b", "SLEEP", config={"seconds": 3600})))
    execution = await house.start()
    await told.hanging.wait()
    await house.signal(execution, SignalKind.CANCEL, {})
    told.go_on.set()
    # Its owner has not looked for signals, and parks: the execution is due at once.
    await house.instance.ended(execution)
    assert await house.instance.take_due() == 1
    await house.instance.ended(execution)
    assert (await house.row(execution))["status"] == "CANCELLED"


async def test_an_answer_reaches_the_visit_that_waits_for_it(house: House, told: Told) -> None:
    await house.define(chain(node("a", "ASK", config={}), node("b", config={"say": "#{_nodes.a.answer}"})))
    execution = await house.run()
    assert (await house.row(execution))["status"] == "WAITING"
    answer = {"node": "a", "visit": 1, "answer": "yes"}
    await house.signal(execution, SignalKind.ANSWER, answer)
    await house.instance.take_due()
    await house.instance.ended(execution)
    assert told.said == ["yes"]


async def test_what_brings_its_owners_down_again_and_again_is_parked_as_failed(
    database: Database, told: Told
) -> None:
    first = House(database, told)
    await first.define(chain(node("a"), node("b")))
    told.hangs_at = "b"
    execution = await first.start()
    await told.hanging.wait()
    for _ in range(6):
        house = House(database, told)
        house.programs = first.programs
        assert await house.instance.take_back() == 1
    await house.instance.ended(execution)
    row = await house.row(execution)
    assert (row["status"], row["error_type"], row["current_node_id"]) == ("FAILED", "Poisoned", "b")
    assert told.said == ["a", *["b"] * 6], "the sixth owner did not run it again"


async def test_what_is_being_written_is_held_on_to_as_well(database: Database, told: Told) -> None:
    if database.dialect_name == "sqlite":
        return  # it has one writer at a time
    house = House(database, told)
    await house.define(chain(node("a")))
    told.hangs_at = "a"
    execution = await house.start()
    await told.hanging.wait()
    locked, done = asyncio.Event(), asyncio.Event()

    def write(connection: Connection) -> None:
        connection.exec_driver_sql("SELECT 1 FROM workflow_execution FOR UPDATE")
        locked.set()
        await_only(done.wait())

    writing = asyncio.create_task(database.write(write))
    await locked.wait()
    renewing = asyncio.create_task(house.executions.renew(house.instance.name.owner, [execution]))
    await asyncio.wait([renewing], timeout=0.1)  # the time for whoever passes over what is locked
    done.set()
    assert list(await renewing) == [execution]
    await writing


async def test_starting_again_after_a_lost_answer_is_harmless(house: House) -> None:
    await house.define(chain(node("a", "SLEEP", config={"seconds": 3600})))
    owner = house.instance.name.owner
    new = NewExecution(house.ids.new(), "w1", 1, "", owner, {}, house.clock.now())
    await house.executions.start(new)
    await house.executions.start(new)
    assert (await house.row(new.id))["fence"] == 1
