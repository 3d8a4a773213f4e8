"""Who stops waiting for a start, a reply or a handler undoes nothing, and leaves nothing without an owner."""

import asyncio
import contextlib
from collections.abc import Sequence

import pytest

from clocks import FakeClock
from command_house import REPLIES, Commanding
from muster.engine.bus import Batch, BusAway, Rejected
from muster.engine.commands import Reply
from muster.engine.consuming import Consumer
from muster.engine.owned import Begun, NewExecution
from muster.engine.ports import NotWritten
from muster.store.database import Database
from polling import until
from unit.engine.test_consuming import HERE, Kept, OneMember, message, topics


@pytest.fixture
def house(database: Database) -> Commanding:
    return Commanding(database)


async def give_up_after_a_turn(asked: "asyncio.Task[object]") -> None:
    await asyncio.sleep(0)  # it has handed over what it wants written
    asked.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asked


async def test_what_a_reply_claimed_goes_on(house: Commanding) -> None:
    execution = await house.command()
    await house.publish(execution)
    await house.take_replies_up()
    correlation = (await house.the_command(execution)).correlation_id
    reply = Reply(correlation, REPLIES, {"exportId": 7})
    await give_up_after_a_turn(asyncio.create_task(house.replies.receive([reply])))
    await until(lambda: has_ended(house, execution))


async def has_ended(house: Commanding, execution: str) -> bool:
    return await house.status(execution) == "COMPLETED"


async def test_what_began_is_under_way(house: Commanding, monkeypatch: pytest.MonkeyPatch) -> None:
    await house.command()
    asked: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    start = house.executions.start

    async def told(new: NewExecution) -> Begun:
        asked.set_result(new.id)
        return await start(new)

    monkeypatch.setattr(house.executions, "start", told)
    starting = asyncio.create_task(house.begin("export", entity="orders"))
    execution = await asked
    await give_up_after_a_turn(starting)
    await until(lambda: waits(house, execution))


async def waits(house: Commanding, execution: str) -> bool:
    rows = await house.commands(execution)
    return bool(rows)


async def test_a_bus_that_cannot_be_told_interrupts_no_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.engine.consuming.HOLD_EVERY", 0.001)

    asked_twice = asyncio.Event()

    class Away(OneMember):
        async def hold(self) -> None:
            self.holds += 1
            if self.holds == 2:
                asked_twice.set()
            raise BusAway("gone for a moment")

    bus = Away(message(HERE, 4))

    async def handler(batch: Batch) -> Sequence[Rejected]:
        await asked_twice.wait()
        return []

    kept = Kept()
    await Consumer(bus, "g", topics, handler, kept, FakeClock(), kept, (NotWritten,)).work()
    assert bus.recorded == {HERE: 5}
