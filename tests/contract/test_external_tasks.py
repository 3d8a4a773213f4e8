"""Workers fetch, lock and complete what EXTERNAL_TASK nodes offer, on every database."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from engine_house import Told
from muster.engine.external_tasks import (
    BusinessError,
    Complete,
    ExtendLock,
    Fail,
    Lock,
    Refusal,
    Refused,
    Report,
    SetRetries,
    Taken,
    Unlock,
    Verdict,
)
from muster.engine.journal import SignalKind
from muster.model.external_task import ExternalTask, TaskStatus
from muster.model.stored import Page
from muster.nodes.external_task import external_task as handler
from muster.nodes.working import Fetch, Reported, TaskFilter, Topic
from muster.store.database import Database
from muster.store.external_task_records import ExternalTaskLists, ExternalTaskRepository
from muster.store.tables import execution_signal, external_task, workflow_execution
from node_calls import call_with
from waiting_house import BY_HAND, Waiting

MINUTE = timedelta(minutes=1)
X = external_task.c


class Workers(Waiting):
    def __init__(self, database: Database, told: Told, name: str = "here") -> None:
        super().__init__(database, told, name)
        self.tasks = ExternalTaskRepository(database, self.committer)
        self.lists = ExternalTaskLists(database)

    async def offer(self, key: str = "w", **config: Any) -> str:
        node = {"id": "work", "type": "EXTERNAL_TASK", "config": {"topic": "t", **config}}
        await self.save(key, node, TELL)
        execution = await self.begin(key, amount=7)
        await self.settle()
        return execution

    async def fetch(self, worker: str, *topics: Topic, most: int = 10, **how: Any) -> Sequence[ExternalTask]:
        return await self.tasks.fetch(Fetch(worker, topics or (Topic("t", MINUTE),), most, **how))

    async def report(self, task: ExternalTask, report: Report) -> Verdict:
        return await self.tasks.report(Reported(task.id, None, report))

    async def task(self, execution: str) -> ExternalTask:
        [found], _ = await self.lists.list(None, Page(10, None), TaskFilter(execution_id=execution))
        return found

    async def let_locks_run_out(self) -> None:
        """As if so much time had passed."""
        ended = update(external_task).values(lock_until=X.created_at)
        await self.database.write(lambda connection: connection.execute(ended))


TELL = {"id": "b", "type": "TELL", "config": {"say": "got #{paid}"}}


def complete(worker: str, **variables: Any) -> Complete:
    return Complete(worker, variables, {})


def is_refused(verdict: Verdict, reason: Refusal) -> bool:
    return isinstance(verdict, Refused) and verdict.reason is reason


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> Workers:
    return Workers(database, told)


async def test_what_a_worker_completes_goes_on_with_its_variables(house: Workers, told: Told) -> None:
    execution = await house.offer(variables={"sum": "#{amount}"}, priority=5, retries=2)
    assert await house.journal(execution) == [("work", "", "waiting_for_task")]
    [task] = await house.fetch("ada")
    assert (task.variables, task.priority, task.retries) == ({"sum": 7}, 5, 2)
    assert (task.worker_id, task.workflow_key, task.workflow_version) == ("ada", "w", 1)
    assert isinstance(await house.report(task, Complete("ada", {"paid": 1}, {"note": "x"})), Taken)
    await house.settle()
    row = await house.row(execution)
    assert (row["status"], told.said) == ("COMPLETED", ["got 1"])
    assert "note" not in row["context"]
    assert row["state"]["outputs"]["work"] == {"paid": 1, "note": "x"}
    assert (await house.task(execution)).status is TaskStatus.COMPLETED


async def test_a_locked_task_is_fetched_again_when_its_lock_is_over(house: Workers, told: Told) -> None:
    execution = await house.offer()
    [task] = await house.fetch("ada")
    assert await house.fetch("bob") == []
    await house.let_locks_run_out()
    late = await house.report(task, complete("ada", paid="late"))
    assert is_refused(late, Refusal.NOT_YOURS)
    [again] = await house.fetch("bob")
    assert (again.id, again.worker_id) == (task.id, "bob")
    assert is_refused(await house.report(task, complete("ada", paid="late")), Refusal.NOT_YOURS)
    assert isinstance(await house.report(again, complete("bob", paid="once")), Taken)
    await house.settle()
    assert told.said == ["got once"]
    assert (await house.row(execution))["status"] == "COMPLETED"


async def test_of_two_completions_one_counts_and_the_other_finds_nothing(house: Workers, told: Told) -> None:
    await house.offer()
    [task] = await house.fetch("ada")
    both = await asyncio.gather(
        house.report(task, complete("ada", paid=1)), house.report(task, complete("ada", paid=2))
    )
    assert sorted(isinstance(each, Taken) for each in both) == [False, True]
    assert any(is_refused(each, Refusal.GONE) for each in both)
    await house.settle()
    assert len(told.said) == 1
    assert is_refused(await house.report(task, complete("ada", paid=3)), Refusal.GONE)


async def test_of_many_workers_each_task_has_one(house: Workers, told: Told) -> None:
    node = {"id": "work", "type": "EXTERNAL_TASK", "config": {"topic": "t"}}
    await house.save("w", node)
    for _ in range(12):
        await house.begin("w")
    await house.settle()
    others = Workers(house.database, told, "there")
    fetched = await asyncio.gather(
        *(each.fetch(f"{name}", most=3) for name in range(4) for each in (house, others))
    )
    # Who comes while others are at it may find nothing; what is left is fetched next.
    fetched += [await house.fetch("last", most=20)]
    ids = [task.id for tasks in fetched for task in tasks]
    assert len(ids) == len(set(ids)) == 12


async def test_an_engine_that_dies_after_the_answer_was_committed_goes_on_elsewhere(
    house: Workers, told: Told
) -> None:
    execution = await house.offer()
    [task] = await house.fetch("ada")
    await house.report(task, complete("ada", paid=1))
    # Nobody here looks any more; the answer is with the execution.
    there = Workers(house.database, told, "there")
    await there.settle()
    assert (await there.row(execution))["status"] == "COMPLETED"
    assert told.said == ["got 1"]


async def test_an_answer_while_the_execution_is_still_owned_is_found_before_it_parks(
    house: Workers, told: Told
) -> None:
    """The task is open before its owner has let go: what is said then is kept as a signal, once."""
    execution = await house.offer()
    [task] = await house.fetch("ada")
    await house.change(execution_is(execution), owner="somebody", lease_until=house.clock.now() + MINUTE)
    await house.report(task, complete("ada", paid=1))
    kept = select(execution_signal).where(execution_signal.c.execution_id == execution)
    [signal] = await house.database.read(lambda connection: connection.execute(kept).all())
    assert (signal.kind, signal.payload["correlation"]) == (SignalKind.ANSWER, task.id)


def execution_is(execution: str) -> Any:
    return workflow_execution.c.id == execution


async def test_a_failure_with_retries_left_is_offered_again_after_a_pause(house: Workers) -> None:
    execution = await house.offer(retries=3)
    [task] = await house.fetch("ada")
    await house.report(task, Fail("ada", "no money", "a trace", 2, MINUTE))
    noted = await house.task(execution)
    assert (noted.retries, noted.error_message, noted.error_details) == (2, "no money", "a trace")
    assert noted.worker_id is None
    assert await house.fetch("bob") == []
    await house.let_locks_run_out()
    [again] = await house.fetch("bob")
    # Who does not say how many are left has one less.
    await house.report(again, Fail("bob", None, None, None, timedelta(0)))
    assert (await house.task(execution)).retries == 1


async def test_a_failure_with_none_left_fails_the_node(house: Workers, told: Told) -> None:
    execution = await house.offer()
    [task] = await house.fetch("ada")
    await house.report(task, Fail("ada", "no money", None, 0, timedelta(0)))
    await house.settle()
    row = await house.row(execution)
    assert (row["status"], row["error_type"], row["error_message"]) == (
        "FAILED",
        "ExternalTaskFailed",
        "no money",
    )
    assert (await house.task(execution)).status is TaskStatus.FAILED


async def test_a_business_error_goes_where_the_node_says_and_takes_its_variables_along(
    house: Workers, told: Told
) -> None:
    node = {
        "id": "work",
        "type": "EXTERNAL_TASK",
        "config": {"topic": "t"},
        "onError": {"goto": "b"},
    }
    say = {"id": "b", "type": "TELL", "config": {"say": "#{_error.type}: #{_error.details.left}"}}
    await house.save("w", node, say)
    execution = await house.begin("w")
    await house.settle()
    [task] = await house.fetch("ada")
    await house.report(task, BusinessError("ada", "POOR", "not enough", {"left": 3}))
    await house.settle()
    assert ((await house.row(execution))["status"], told.said) == ("COMPLETED", ["POOR: 3"])


async def test_a_lock_is_extended_given_back_and_taken_by_its_holder_alone(house: Workers) -> None:
    execution = await house.offer()
    [task] = await house.fetch("ada", Topic("t", timedelta(seconds=10)))
    first = task.lock_until
    assert first is not None
    await house.report(task, ExtendLock("ada", timedelta(hours=1)))
    longer = (await house.task(execution)).lock_until
    assert longer is not None
    assert longer > first
    assert is_refused(await house.report(task, ExtendLock("bob", MINUTE)), Refusal.NOT_YOURS)
    assert is_refused(await house.report(task, Lock("bob", MINUTE)), Refusal.NOT_YOURS)
    await house.report(task, Unlock())
    assert is_refused(await house.report(task, complete("ada")), Refusal.NOT_YOURS)
    assert isinstance(await house.report(task, Lock("bob", MINUTE)), Taken)
    assert (await house.task(execution)).worker_id == "bob"


async def test_retries_are_set_by_hand_and_none_fails_the_node(house: Workers) -> None:
    execution = await house.offer()
    [task] = await house.fetch("ada")
    await house.report(task, SetRetries(9))
    assert (await house.task(execution)).retries == 9
    await house.report(task, SetRetries(0))
    await house.settle()
    assert (await house.row(execution))["status"] == "FAILED"


async def test_a_task_that_nobody_completes_in_time(house: Workers) -> None:
    execution = await house.offer(timeout="1h")
    [task] = await house.fetch("ada", Topic("t", timedelta(days=1)))
    await house.pass_time(hours=1)
    await house.settle()
    row = await house.row(execution)
    assert (row["status"], row["error_type"]) == ("FAILED", "Timeout")
    assert (await house.task(execution)).status is TaskStatus.EXPIRED
    assert is_refused(await house.report(task, complete("ada")), Refusal.GONE)


async def test_what_is_cancelled_is_offered_to_nobody(house: Workers) -> None:
    execution = await house.offer()
    await house.actions.cancel(execution, BY_HAND)
    await house.settle()
    assert (await house.task(execution)).status is TaskStatus.CANCELLED
    assert await house.fetch("ada") == []


async def test_workers_get_what_they_ask_for(house: Workers) -> None:
    first = await house.offer("one", topic="a", priority=1, variables={"colour": "red", "n": 1})
    second = await house.offer("two", topic="b", priority=9, variables={"colour": "blue", "n": 1})
    third = await house.offer("three", topic="b", priority=5, variables={"colour": "red", "n": True})

    async def got(*topics: Topic, **how: Any) -> list[str]:
        found = await house.fetch("ada", *topics, **how)
        for task in found:
            await house.report(task, Unlock())
        return [task.execution_id for task in found]

    a, b = Topic("a", MINUTE), Topic("b", MINUTE)
    assert await got(a, b) == [second, third, first]
    assert await got(a, b, by_priority=False) == [first, second, third]
    assert await got(a, b, by_priority=False, newest_first=True) == [third, second, first]
    assert await got(a, b, most=1) == [second]
    assert await got(Topic("b", MINUTE, workflow_keys=("three",))) == [third]
    assert await got(Topic("b", MINUTE, institute_ids=("X",))) == []
    assert await got(Topic("b", MINUTE, having={"colour": "red"}), a) == [third, first]
    assert await got(Topic("b", MINUTE, having={"n": 1})) == [second]
    assert await got(Topic("b", MINUTE, business_key="none")) == []
    assert await got(a, institute_id="X") == []
    assert await got(Topic("c", MINUTE)) == []


async def test_who_does_not_say_for_how_long_has_it_for_as_long_as_the_node_says(
    house: Workers,
) -> None:
    await house.offer(lockDuration="1h")
    [task] = await house.fetch("ada", Topic("t"))
    assert task.lock_until is not None
    assert timedelta(minutes=59) < task.lock_until - task.created_at


async def test_tasks_are_listed_counted_and_read(house: Workers) -> None:
    first, second = await house.offer("one", topic="a"), await house.offer("two", topic="b", priority=3)
    [task] = await house.fetch("ada", Topic("b", MINUTE))
    lists = house.lists

    async def listed(**wanted: Any) -> list[str]:
        found, _ = await lists.list(None, Page(10, None), TaskFilter(**wanted))
        assert await lists.count(None, TaskFilter(**wanted)) == len(found)
        return [each.execution_id for each in found]

    assert await listed() == [second, first]
    assert await listed(locked=True) == await listed(worker="ada") == await listed(topic="b") == [second]
    assert await listed(locked=False) == await listed(workflow_key="one") == [first]
    assert await listed(has_retries=False) == await listed(status=TaskStatus.FAILED) == []
    assert await listed(priority_from=1) == await listed(ids=(task.id,)) == [second]
    assert await listed(priority_to=1) == [first]
    assert await listed(lock_ends_after=task.created_at) == [second]
    assert await listed(lock_ends_before=task.created_at) == []
    ordered = await lists.range(None, TaskFilter(), [("taskPriority", False)], 0, 1)
    assert [each.execution_id for each in ordered] == [first]
    assert await lists.topics(None) == ["a", "b"]
    assert await lists.topics("X") == []
    assert await lists.get("X", task.id) is None
    assert await lists.get(None, "\0") is None
    assert await house.tasks.free(["a", "b", "c"]) == {"a": 1}


def test_a_node_says_what_is_wrong_with_its_parameters() -> None:
    for params, name in [
        ({"topic": ""}, "topic"),
        ({"topic": "t", "priority": "high"}, "priority"),
        ({"topic": "t", "variables": 3}, "variables"),
        ({"topic": "t", "lockDuration": "soon"}, "lockDuration"),
        ({"topic": "t", "retries": True}, "retries"),
    ]:
        failure = handler(params, call_with())  # type: ignore[arg-type]
        assert name in failure.message  # type: ignore[union-attr]
