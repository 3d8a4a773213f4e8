"""Workers that wait for tasks: called when there are some, in their order, whoever offers them."""

import asyncio
from datetime import timedelta

from contract.test_external_tasks import Workers
from engine_house import Told
from muster.engine.external_tasks import Complete, Taken
from muster.model.access import Caller, How, Role
from muster.nodes.working import Fetch, Topic, Working
from muster.store.database import Database
from polling import until

ADA = Caller("ada", frozenset({Role.PRODUCER}), None, How.TOKEN)
WANTED = Fetch("ada", (Topic("t", timedelta(minutes=1)),), 10)
LONG = 3600.0


def working(house: Workers) -> Working:
    return Working(house.tasks, house.lists, lambda: None)


async def has_asked(worker: Working, count: int) -> None:
    """Until so many wait, having found nothing."""

    async def waits() -> bool:
        return len(worker._waiting) == count and not any(each.called.is_set() for each in worker._waiting)

    await until(waits)


async def test_a_look_finds_what_another_instance_has_offered(database: Database) -> None:
    here, there = Workers(database, Told()), Workers(database, Told(), "there")
    worker = working(here)
    waiting = asyncio.create_task(worker.fetch(WANTED, ADA, LONG))
    await has_asked(worker, 1)
    execution = await there.offer()

    async def fetched() -> bool:
        await worker.look()
        return waiting.done()

    await until(fetched)
    assert [task.execution_id for task in await waiting] == [execution]
    assert worker._waiting == type(worker._waiting)()


async def test_of_many_who_wait_as_many_are_called_as_there_are_tasks(database: Database) -> None:
    house = Workers(database, Told())
    worker = working(house)
    waiting = [asyncio.create_task(worker.fetch(WANTED, ADA, LONG)) for _ in range(3)]
    await has_asked(worker, 3)
    await house.offer()
    worker.offered("other", 5)
    worker.offered("t", 1)
    done, left = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert (len(done), len(left)) == (1, 2)
    worker.close()
    assert sorted(len(found) for found in await asyncio.gather(*waiting)) == [0, 0, 1]


async def test_what_ends_a_task_wakes_the_engine_and_nothing_else_does(database: Database) -> None:
    house, woken = Workers(database, Told()), list[bool]()
    worker = Working(house.tasks, house.lists, lambda: woken.append(True))
    await house.offer()
    [task] = await worker.fetch(WANTED, ADA)
    assert not isinstance(await worker.report(task.id, Complete("bob", {}, {}), ADA), Taken)
    assert woken == []
    assert isinstance(await worker.report(task.id, Complete("ada", {}, {}), ADA), Taken)
    assert woken == [True]
