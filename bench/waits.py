"""Executions parked on events, then one event each: resumed a second, and how long each took.

    python bench/waits.py [EXECUTIONS] [BATCH]

Events come in batches, as a consumer brings them. PostgreSQL is the one that `scripts/services.py` starts, or
`TEST_POSTGRES_URL`.
"""

import asyncio
import statistics
import sys
import time
import tracemalloc
import uuid

from sqlalchemy import select

from muster.engine.attempt import Attempts
from muster.engine.drive import Driver
from muster.engine.event_waits import Arrived, Source
from muster.engine.handlers import Handlers
from muster.engine.instance import Instance, Name
from muster.engine.program import compile_program
from muster.engine.state import Failure
from muster.model.json import JsonObject
from muster.model.workflow import Definition, Node
from muster.nodes.ports import HttpAnswer, HttpRequest
from muster.nodes.wait_events import TYPE
from muster.nodes.waiting_for_events import WaitForEvents
from muster.store.database import Database
from muster.store.event_wait_records import EventWaitRepository
from muster.store.executions import ExecutionRepository
from muster.store.migrations import migrate
from muster.store.open import open_database
from muster.store.tables import execution_wait_states, workflow_execution
from support.engine import LEASE, Engine, postgres_database

TOPIC = "answers"
CONFIG: JsonObject = {"kafkaEvent": {"topic": TOPIC, "filter": {"done": True}}, "timeout": 3600}
W, E = execution_wait_states.c, workflow_execution.c


class NoService:
    async def send(self, request: HttpRequest) -> HttpAnswer | Failure:
        raise AssertionError("nothing is called here")


class Waiting(Engine):
    """An engine whose one node waits for a message."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        executions = ExecutionRepository(database, self.committer, LEASE)
        self.waits = EventWaitRepository(database, self.committer, "bench")
        wait = WaitForEvents(NoService(), self.waits, lambda: str(uuid.uuid4()), "http://here")
        attempts = Attempts(
            Handlers({}, {}, {}, {"WAIT_EVENTS": wait}), executions, self.clock, lambda: 1.0, LEASE
        )
        driver = Driver(executions, attempts, self.clock, lambda: 1.0)
        name = Name("bench", self.ids.new())
        self.instance = Instance(name, executions, driver, self._find_program, self.clock, LEASE)
        node = Node("wait", "wait_events", CONFIG, is_start=True)
        self._program = compile_program(Definition("bench", (node,), ()), {"WAIT_EVENTS": TYPE})


async def main(count: int, batch: int) -> None:
    async with postgres_database() as url:
        database = open_database(url)
        await migrate(database)
        engine = Waiting(database)
        await database.write(engine._save)
        running = asyncio.create_task(engine.instance.run())
        await park(engine, 100)  # what is made once is made before anything is measured
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        await park(engine, count)
        held = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        await resume(engine, count, batch)
        print(f"memory per parked wait: {held / count:,.0f} bytes")  # what it is for
        await engine.instance.leave(0)
        running.cancel()
        await asyncio.wait([running])
        await engine.committer.close()
        await database.close()


async def park(engine: Waiting, count: int) -> None:
    for start in range(0, count, 500):
        await asyncio.gather(*(engine.start({}) for _ in range(start, min(start + 500, count))))
    await engine.until("WAITING", count)


async def resume(engine: Waiting, count: int, batch: int) -> None:
    ids = select(W.execution_id, W.correlation_id).where(W.status == "waiting").limit(count)
    rows = await engine.database.read(lambda connection: connection.execute(ids).all())
    events = [Arrived(Source.KAFKA, *row, {"done": True}, TOPIC) for row in rows]
    sent: dict[str, float] = {}
    began, cpu, at = time.perf_counter(), time.process_time(), time.time()
    for start in range(0, len(events), batch):
        part = events[start : start + batch]
        sent.update(dict.fromkeys((event.execution_id for event in part), time.time()))
        await engine.waits.receive(part)
        engine.instance.look_now()
    await engine.until("COMPLETED", len(events))
    took, used = time.perf_counter() - began, time.process_time() - cpu
    ended = select(E.id, E.completed_at).where(E.status == "COMPLETED")
    done = await engine.database.read(lambda connection: connection.execute(ended).all())
    late = sorted(row.completed_at.timestamp() - sent.get(row.id, at) for row in done)
    p50, p99 = statistics.median(late), late[int(len(late) * 0.99)]
    print(  # what it is for
        f"{len(events)} waits, events in batches of {batch}: {len(events) / took:,.0f} resumed a second, "
        f"{used / len(events) * 1e3:.2f} ms of CPU each; event to end p50 {p50 * 1e3:.0f} ms, "
        f"p99 {p99 * 1e3:.0f} ms"
    )


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:]]
    asyncio.run(main(*(numbers + [10_000, 500][len(numbers) :])))
