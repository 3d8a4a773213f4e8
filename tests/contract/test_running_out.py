"""A wait whose time is over is closed before it is woken, whenever exactly that is noticed."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from clocks import NOON
from engine_house import House, Told, chain, node
from muster.engine.handlers import Done, Outcome, Suspend, Visit
from muster.engine.journal import Signal
from muster.engine.openings import Closing
from muster.engine.state import Phase
from muster.model.execution import NodeStatus
from muster.model.json import Json
from muster.store.database import Database
from polling import until

TICK = timedelta(milliseconds=10)


class Ticking:
    """A clock that moves on by a tick whenever it is read."""

    def __init__(self) -> None:
        self.time = NOON

    def now(self) -> datetime:
        self.time += TICK
        return self.time


@pytest.mark.parametrize("ticks", range(1, 9))
async def test_nothing_is_woken_by_its_time_that_others_may_still_answer(
    database: Database, monkeypatch: pytest.MonkeyPatch, ticks: int
) -> None:
    house, happened = House(database, Told(), clock=Ticking()), list[str]()
    expire = house.executions.expire

    async def noted(execution_id: str, fence: int, closing: Closing) -> Sequence[Signal]:
        happened.append("closed")
        return await expire(execution_id, fence, closing)

    async def wait(visit: Visit) -> tuple[Outcome, Json]:
        if visit.call.woken:
            happened.append("woken")
            return Done(), None
        due = visit.call.now + ticks * TICK
        return Suspend(Phase.WAITING, NodeStatus.WAITING_FOR_TASK, due, correlation="c"), None

    monkeypatch.setattr(house.executions, "expire", noted)
    house.openers["ASK"] = wait
    await house.define(chain(node("a", "ASK")))
    execution = await house.run()

    async def is_over() -> bool:
        """What has parked is taken up when it is due."""
        await house.instance.take_due()
        await house.instance.ended(execution)
        return (await house.row(execution))["status"] == "COMPLETED"

    await until(is_over)
    assert happened == ["closed", "woken"]
