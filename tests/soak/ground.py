"""What every kind of work stands on: the instances and their services, a door to ask at, and whether it is
time to stop."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any, Protocol

import httpx
from sqlalchemy import Connection, func, select

from muster.bus.kafka import KafkaBus
from muster.engine.bus import BusAway, Outgoing, Place, UnknownTopic
from muster.store.database import Database, Unavailable
from muster.store.tables import workflow, workflow_execution
from soak.samples import Tally
from torture.instances import MusterProcess
from torture.judge import ENDED, Verdict

PARTITIONS = 4
CALL_SECONDS = 10.0
MOST_TRIES = 1_200
AGAIN = (429, 503)
# With more than that of a workflow under way nobody begins another: work is measured, and no queue.
MOST_AT_ONCE = 100


class Work(Protocol):
    """One kind of work."""

    async def prepare(self) -> None:
        """Before the first of it, while all is calm."""

    async def keep_on(self) -> None:
        """Begin some, again and again, until it is over; and bring to its end what was begun."""

    async def left(self) -> Sequence[str]:
        """What has still to come of it in the end, besides executions that have not ended."""
        ...

    async def judge(self, verdict: Verdict) -> Tally:
        """Hold what there is against what was sent."""
        ...


class PatientBus(KafkaBus):
    """Whoever publishes with it waits until Kafka is there again. It fails only where a message was not
    taken at all, so that none is there twice: a message itself is tried for longer than any fault lasts."""

    async def publish(self, messages: Sequence[Outgoing]) -> Sequence[tuple[Place, int]]:
        return [await self._publish_one(each) for each in messages]

    async def _publish_one(self, message: Outgoing) -> tuple[Place, int]:
        for _ in range(MOST_TRIES):
            with suppress(BusAway, UnknownTopic):  # one that just starts knows of no topic yet
                [place] = await super().publish([message])
                return place
            await asyncio.sleep(0.2)
        raise AssertionError(f"Kafka never took a message for {message.topic}")


class Door:
    """Asks some instance, and another if there is no answer, until there is one."""

    def __init__(self, instances: Sequence[MusterProcess]) -> None:
        self._instances, self._chance = instances, Random()
        self.client = httpx.AsyncClient(
            timeout=CALL_SECONDS, limits=httpx.Limits(max_connections=None, max_keepalive_connections=64)
        )

    def any(self) -> str:
        return self._chance.choice(self._instances).url

    async def ask(self, method: str, path: str, body: object = None) -> Any:
        """What it answers: whoever asks has made sure that it may be asked twice."""
        for _ in range(MOST_TRIES):
            with suppress(httpx.TransportError):
                answer = await self.client.request(method, f"{self.any()}{path}", json=body)
                if answer.status_code not in AGAIN:
                    assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
                    return answer.json()
            await asyncio.sleep(0.2)
        raise AssertionError(f"{method} {path} was never answered")


@dataclass
class Ground:
    instances: Sequence[MusterProcess]
    database: Database
    bus: KafkaBus
    brokers: str
    door: Door
    seed: int
    over: asyncio.Event = field(default_factory=asyncio.Event)
    under_way: Mapping[str, int] = field(default_factory=dict)

    def chance(self, name: str) -> Random:
        return Random(f"{self.seed}/{name}")

    async def count_what_is_under_way(self) -> None:
        """Until cancelled."""
        while True:
            with suppress(Unavailable):
                self.under_way = await self.database.read(_live)
            await asyncio.sleep(1.0)

    def has_room(self, workflow: str) -> bool:
        return self.under_way.get(workflow, 0) < MOST_AT_ONCE

    async def paced(
        self, rate: float, clients: int, act: Callable[[int], Awaitable[None]], workflow: str = ""
    ) -> None:
        """`act` with the next number, about so often a second, by so many at once, until it is over, as long
        as its workflow has not too many under way."""
        numbers = count()
        loop = asyncio.get_running_loop()

        async def go_on() -> None:
            while not self.over.is_set():
                began = loop.time()
                if self.has_room(workflow):
                    await act(next(numbers))
                await self.rest(max(began + clients / rate - loop.time(), 0.01))

        async with asyncio.TaskGroup() as everybody:
            for _ in range(clients):
                everybody.create_task(go_on())

    async def rest(self, seconds: float) -> None:
        """So long, or until it is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.over.wait()


def _live(connection: Connection) -> dict[str, int]:
    """How many executions of each workflow have not ended."""
    joined = workflow_execution.join(workflow, workflow.c.id == workflow_execution.c.workflow_id)
    chosen = select(workflow.c.key, func.count()).select_from(joined)
    rows = connection.execute(
        chosen.where(workflow_execution.c.status.not_in(ENDED)).group_by(workflow.c.key)
    )
    return {row[0]: row[1] for row in rows}
