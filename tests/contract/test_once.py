"""Of several starts with one key one begins, on every database."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, update

from engine_house import House, Told, chain, node
from muster.engine.owned import Begun, NewExecution
from muster.engine.ports import NotWritten
from muster.engine.state import ExecutionStatus
from muster.model.once import Once, once
from muster.model.problems import AuthorError
from muster.store.database import CommitUnknown, Database
from muster.store.tables import idempotency_key, workflow_execution
from waiting_house import Waiting

K = idempotency_key.c
KEY = once("", "w1", ("trigger", "t1", "userId", "7"))
RUNNING, FAILED = ExecutionStatus.RUNNING, ExecutionStatus.FAILED


@pytest.fixture
async def house(database: Database) -> House:
    return await defined(database, "here")


async def defined(database: Database, name: str) -> House:
    house = House(database, Told(), name)
    await house.define(chain(node("a", "ASK")))
    return house


def new(house: House, key: Once | None = KEY) -> NewExecution:
    owner = house.instance.name.owner
    return NewExecution(house.ids.new(), "w1", 1, "", owner, {}, house.clock.now(), once=key)


async def count(database: Database, table: Any = workflow_execution) -> int:
    counted = select(func.count()).select_from(table)
    return await database.read(lambda connection: connection.execute(counted).scalar_one())


async def end(house: House, execution: str, status: ExecutionStatus) -> None:
    ended = update(workflow_execution).where(workflow_execution.c.id == execution)
    await house.database.write(lambda connection: connection.execute(ended.values(status=status.value)))


async def expire(house: House, key: Once = KEY) -> None:
    past = house.clock.now() - timedelta(minutes=1)
    expired = update(idempotency_key).where(K.hash == key.hash).values(expires_at=past)
    await house.database.write(lambda connection: connection.execute(expired))


async def test_the_first_begins_and_the_second_is_told_of_it(house: House) -> None:
    first, second = new(house), new(house)
    assert await house.executions.start(first) == Begun(first.id, RUNNING)
    assert await house.executions.start(second) == Begun(first.id, RUNNING, duplicate=True)
    assert await count(house.database) == 1
    assert (await house.row(first.id))["idempotency_key"] == "trigger_t1_userId_7"


async def test_of_one_batch_the_first_begins(house: House) -> None:
    starts = [new(house, key) for key in (KEY, None, KEY, once("", "w1", ("trigger", "t2")), KEY)]
    begun = await asyncio.gather(*map(house.executions.start, starts))
    first = starts[0].id
    assert [(each.id, each.duplicate) for each in begun] == [
        (first, False),
        (starts[1].id, False),
        (first, True),
        (starts[3].id, False),
        (first, True),
    ]
    assert await count(house.database) == 3


async def test_the_instance_drives_the_first_alone(house: House) -> None:
    begun = [await house.instance.start(new(house)) for _ in range(3)]
    assert [each.duplicate for each in begun] == [False, True, True]
    await house.instance.ended(begun[0].id)
    assert (await house.row(begun[0].id))["status"] == "WAITING"
    assert await count(house.database) == 1


async def test_a_duplicate_is_told_how_the_first_is(house: House) -> None:
    first = new(house)
    await house.executions.start(first)
    await end(house, first.id, ExecutionStatus.COMPLETED)
    again = await house.executions.start(new(house))
    assert again == Begun(first.id, ExecutionStatus.COMPLETED, duplicate=True)


async def test_a_start_whose_answer_got_lost_is_no_duplicate_of_itself(house: House) -> None:
    first = new(house)
    await house.executions.start(first)
    assert await house.executions.start(first) == Begun(first.id, RUNNING)
    other = new(house)
    both = await asyncio.gather(house.executions.start(other), house.executions.start(first))
    assert both == [Begun(first.id, RUNNING, duplicate=True), Begun(first.id, RUNNING)]
    assert await count(house.database) == 1


async def test_an_expired_key_is_taken_over_by_one(house: House) -> None:
    first = new(house)
    await house.executions.start(first)
    await expire(house)
    later = [new(house) for _ in range(3)]
    begun = await asyncio.gather(*map(house.executions.start, later))
    assert [each.id for each in begun] == [later[0].id] * 3
    assert [each.duplicate for each in begun] == [False, True, True]
    assert await count(house.database) == 2


async def test_a_key_that_expires_later_is_not_taken_over(house: House) -> None:
    later = replace(KEY, expires_at=house.clock.now() + timedelta(days=1))
    first = new(house, later)
    await house.executions.start(first)
    assert (await house.executions.start(new(house, later))).id == first.id


@pytest.mark.parametrize("ended", [FAILED, ExecutionStatus.CANCELLED])
async def test_a_failed_one_is_tried_again_where_that_is_wanted(house: House, ended: ExecutionStatus) -> None:
    first, again = new(house), replace(KEY, retry_failed=True)
    await house.executions.start(first)
    assert (await house.executions.start(new(house, again))).id == first.id
    await end(house, first.id, ended)
    assert await house.executions.start(new(house)) == Begun(first.id, ended, duplicate=True)
    starts = [new(house, key) for key in (KEY, again, again)]
    begun = await asyncio.gather(*map(house.executions.start, starts))
    assert [(each.id, each.duplicate) for each in begun] == [
        (starts[1].id, True),
        (starts[1].id, False),
        (starts[1].id, True),
    ]


async def test_one_that_completed_is_not_tried_again(house: House) -> None:
    again = replace(KEY, retry_failed=True)
    first = new(house, again)
    await house.executions.start(first)
    await end(house, first.id, ExecutionStatus.COMPLETED)
    assert (await house.executions.start(new(house, again))).duplicate


async def test_a_key_outlives_its_execution(house: House) -> None:
    first = new(house)
    await house.executions.start(first)
    gone = workflow_execution.delete().where(workflow_execution.c.id == first.id)
    await house.database.write(lambda connection: connection.execute(gone))
    again = await house.executions.start(new(house, replace(KEY, retry_failed=True)))
    assert again == Begun(first.id, ExecutionStatus.COMPLETED, duplicate=True)


async def test_what_comes_under_a_limit_is_started_once_too(database: Database) -> None:
    house = Waiting(database)
    await house.save("w", {"id": "ask", "type": "ASK", "config": {}}, concurrency={"limit": 1})
    found = await house.workflows.get("", "w")
    assert found is not None
    assert found.active_version_id is not None
    keys = [once("", "w", ("trigger", name)) for name in ("x", "y", "x", "y")]
    starts = [new(house, key)._replace(workflow_id="w", version_id=found.active_version_id) for key in keys]
    begun = [await house.instance.start(each) for each in starts]
    assert [(each.status, each.duplicate) for each in begun[:2]] == [
        (ExecutionStatus.RUNNING, False),
        (ExecutionStatus.QUEUED, False),
    ]
    assert [(each.id, each.duplicate) for each in begun[2:]] == [(starts[0].id, True), (starts[1].id, True)]
    assert await count(database) == 2
    await house.settle()


async def test_a_key_without_a_hash_is_only_noted(house: House) -> None:
    unique = Once("b2c1", None)
    starts = [new(house, unique), new(house, unique)]
    begun = await asyncio.gather(*map(house.executions.start, starts))
    assert [each.duplicate for each in begun] == [False, False]
    assert (await house.row(starts[0].id))["idempotency_key"] == "b2c1"
    assert await count(house.database, idempotency_key) == 0


async def test_keys_of_other_tenants_and_workflows_are_others(house: House) -> None:
    keys = [once("", "w1", ("a",)), once("t", "w1", ("a",)), once("", "w2", ("a",))]
    begun = [await house.executions.start(new(house, key)) for key in keys]
    assert [each.duplicate for each in begun] == [False, False, False]


@pytest.mark.parametrize("taking_over", [None, "expired", "failed"])
async def test_instances_that_start_at_once_agree(database: Database, taking_over: str | None) -> None:
    houses = [House(database, Told(), f"i{number}") for number in range(4)]
    await houses[0].define(chain(node("a", "ASK")))
    keys = [once("", "w1", ("k", str(number)), retry_failed=True) for number in range(5)]
    if taking_over:
        for key in keys:
            before = new(houses[0], key)
            await houses[0].executions.start(before)
            if taking_over == "expired":
                await expire(houses[0], key)
            else:
                await end(houses[0], before.id, FAILED)
    before_all = await count(database)

    async def start(house: House, shift: int) -> list[tuple[str, Begun]]:
        mine = [new(house, keys[(number + shift) % 5]) for number in range(25)]
        begun = await asyncio.gather(*map(house.executions.start, mine))
        return [(start.once.key if start.once else "", each) for start, each in zip(mine, begun, strict=True)]

    answers = [answer for each in await asyncio.gather(*map(start, houses, range(4))) for answer in each]
    assert await count(database) == before_all + 5
    for key in keys:
        of_key = [begun for name, begun in answers if name == key.key]
        assert len({begun.id for begun in of_key}) == 1
        assert [begun.duplicate for begun in of_key].count(False) == 1
        assert len(of_key) == 20


async def test_neither_key_nor_execution_is_there_without_the_other(house: House) -> None:
    # Its key can be written, the execution cannot.
    with pytest.raises(AuthorError, match="NUL"):
        await house.executions.start(new(house)._replace(context={"text": "\0"}))
    assert await count(house.database, idempotency_key) == 0
    assert not (await house.executions.start(new(house))).duplicate


async def test_a_lost_answer_to_the_commit_leaves_one(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    write = house.database.write

    async def write_and_lose_the_answer(work: Any, *, single: bool = False) -> Any:
        await write(work, single=single)
        raise CommitUnknown("lost")

    first = new(house)
    with monkeypatch.context() as patch:
        patch.setattr(house.database, "write", write_and_lose_the_answer)
        with pytest.raises(NotWritten):
            await house.executions.start(first)
    assert (await house.executions.start(new(house))).id == first.id
    assert await count(house.database) == 1


# --- messages that were signed: each starts one execution at most, whatever its key is -----------------


def message(house: House, name: str, key: Once | None = None) -> NewExecution:
    return new(house, key)._replace(delivery=once("", "w1", ("delivery", "t1", name)))


async def test_a_message_starts_one_execution_whatever_its_key_is(house: House) -> None:
    first = message(house, "m1", once("", "w1", ("trigger", "t1", "900")))
    assert await house.executions.start(first) == Begun(first.id, RUNNING)
    for key in (None, once("", "w1", ("trigger", "t1", "960")), Once("a-uuid", None)):
        begun = await house.executions.start(message(house, "m1", key))
        assert begun == Begun(first.id, RUNNING, duplicate=True)
    other = message(house, "m2")
    assert (await house.executions.start(other)).id == other.id
    assert await count(house.database) == 2
    assert await count(house.database, idempotency_key) == 3, "a key that was not got is nobody's"


async def test_a_message_whose_key_was_taken_stays_with_who_had_it(house: House) -> None:
    first = new(house)
    await house.executions.start(first)
    for key in (KEY, once("", "w1", ("trigger", "t1", "later"))):
        begun = await house.executions.start(message(house, "m1", key))
        assert begun == Begun(first.id, RUNNING, duplicate=True)
    assert await count(house.database) == 1


async def test_of_one_batch_of_messages_each_starts_once(house: House) -> None:
    holder = new(house)
    await house.executions.start(holder)
    starts = [
        message(house, "m1", KEY),
        message(house, "m1", None),
        message(house, "m2", once("", "w1", ("trigger", "t2"))),
        message(house, "m2", KEY),
        message(house, "m3", once("", "w1", ("trigger", "t2"))),
        message(house, "m4"),
    ]
    begun = await asyncio.gather(*map(house.executions.start, starts))
    second, last = starts[2].id, starts[5].id
    assert [each.id for each in begun] == [holder.id, holder.id, second, second, second, last]
    assert [each.duplicate for each in begun] == [True, True, False, True, True, False]
    assert await count(house.database) == 3


async def test_a_message_may_begin_anew_what_failed_if_it_may(house: House) -> None:
    first = message(house, "m1")
    await house.executions.start(first)
    await end(house, first.id, FAILED)
    assert (await house.executions.start(message(house, "m1"))).duplicate
    again = message(house, "m1")
    assert again.delivery is not None
    again = again._replace(delivery=replace(again.delivery, retry_failed=True))
    assert await house.executions.start(again) == Begun(again.id, RUNNING)
