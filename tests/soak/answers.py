"""Waits: executions that go on once both of their events have come, over a callback and by a message."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from sqlalchemy import select

from muster.store.database import Unavailable
from muster.store.tables import execution_wait_states
from polling import until
from soak.ground import PARTITIONS, Ground
from soak.samples import Tally, ended
from torture.answering import TOPIC, Answering, Answers, Ids
from torture.judge import Verdict
from torture.moving import start_all
from torture.offsets import Offsets
from torture.waiting import KEY, judge, workflow

W = execution_wait_states.c
TOGETHER, PAUSE = 20, 2.0


class Waits:
    def __init__(self, ground: Ground, group: str) -> None:
        self._ground = ground
        self._answers = Answers(ground.chance("answers"))
        self._answering = Answering(ground.instances, ground.bus)
        self._begun = 0
        self.offsets = Offsets(ground.brokers, group, TOPIC, PARTITIONS, ground.database, self._answering)

    async def prepare(self) -> None:
        await self._ground.door.ask("POST", "/api/workflow", workflow())

    async def keep_on(self) -> None:
        """Some at a time: they are begun, wait, and are answered while others are begun."""
        async with asyncio.TaskGroup() as answering:
            while not self._ground.over.is_set():
                if self._ground.has_room(KEY):
                    fresh = self._answers.prepare(await self._begin_some())
                    answering.create_task(self._answering.answer_all(fresh))
                await self._ground.rest(PAUSE)

    async def _begin_some(self) -> list[Ids]:
        wanted = range(self._begun, self._begun + TOGETHER)
        await start_all(KEY, wanted, self._ground.instances)
        self._begun += TOGETHER
        return sorted(await until(self._new_waits, every=0.3))

    async def _new_waits(self) -> list[Ids] | None:
        """Those that nobody has answered yet, once all that were begun wait."""
        with suppress(Unavailable):
            rows = await self._ground.database.read(
                lambda connection: connection.execute(select(W.execution_id, W.correlation_id)).all()
            )
            if len(rows) >= self._begun:
                return [(row[0], row[1]) for row in rows if (row[0], row[1]) not in self._answers.rightful]
        return None

    async def left(self) -> Sequence[str]:
        return await self.offsets.behind()

    async def judge(self, verdict: Verdict) -> Tally:
        verdict.expect_none(
            self.offsets.ahead, "messages are behind the group's position, and not in the database"
        )
        rows = await judge(verdict, self._begun, self._ground.database, self._answers, self._answering)
        samples = ended([(self._answered(ids), rows[ids[0]].completed_at) for ids in self._answers.rightful])
        done = sum(row.status == "COMPLETED" for row in rows.values())
        return Tally("waits (two answers each)", self._begun, done, samples)

    def _answered(self, ids: Ids) -> float:
        """When the later of its two was sent."""
        return max(self._answering.begun[number] for number in self._answers.rightful[ids].values())
