"""Events a second, from a caller's batches to committed runs, expectations and counts; and misses a second.

    python bench/watching.py [EVENTS] [BATCH]

Against the same events with one insert and one commit each into `event_raw` alone, and against the same
batches into `event_raw` alone. PostgreSQL is the one that `scripts/services.py` starts, or
`TEST_POSTGRES_URL`.
"""

import asyncio
import sys
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise

from sqlalchemy import Connection, insert

from muster.kit.clock import SystemClock
from muster.kit.ids import TimeOrderedIds
from muster.model.access import Caller, How, Role
from muster.model.json import JsonObject
from muster.model.watching import Event
from muster.store.committer import GroupCommitter
from muster.store.database import Database
from muster.store.dialect import insert_new
from muster.store.migrations import migrate
from muster.store.open import open_database
from muster.store.tables import event_raw
from muster.store.watch_due import DueExpectations
from muster.store.watch_feed import EventFeed
from muster.store.watch_intake import KEY, row_of
from muster.store.watch_rules import Rules
from muster.store.watched_graphs import WatchedGraphs
from muster.store.watched_workflows import WatchedWorkflowRepository
from muster.watch.library import WatchedLibrary
from muster.watch.posting import TopicNames
from muster.watch.stages import Stage
from support.engine import postgres_database

TYPES = ("ORDERED", "PAID", "PACKED", "SENT")
NODES: list[JsonObject] = [
    {"key": type_.lower(), "eventType": type_, "start": not place, "terminal": place == len(TYPES) - 1}
    for place, type_ in enumerate(TYPES)
]
EDGES: list[JsonObject] = [
    {"from": a.lower(), "to": b.lower(), "maxLatencySec": 3_600} for a, b in pairwise(TYPES)
]
CHAIN: JsonObject = {
    "key": "orders",
    "graph": {"nodes": [*NODES], "edges": [*EDGES]},
    "groupDimensions": ["shop"],
}
NAIVE_SHARE = 10
ONE, RAW, ALL = "one commit an event", "event_raw alone, in batches", "watched, in batches"
MOST_MISSES = 1_000


def events(count: int, width: int) -> Iterator[Event]:
    """Keys in waves: all of a wave are ordered, then all are paid, and so on."""
    at = datetime.now(UTC)
    for wave in range(0, count, width * len(TYPES)):
        for type_ in TYPES:
            for place in range(width):
                key = f"o-{wave + place}"
                yield Event(
                    source_system="shop",
                    event_id=uuid.uuid4().hex,
                    event_type=type_,
                    event_time=at,
                    received_at=at,
                    correlation_key=key,
                    group={"shop": f"s{place % 10}"},
                    payload={"order": key, "total": 40},
                )


class Measured:
    """What took how long."""

    def __init__(self) -> None:
        self.rates: dict[str, float] = {}

    async def __call__(self, name: str, count: int, work: Callable[[], Awaitable[object]]) -> None:
        began, cpu = time.perf_counter(), time.process_time()
        await work()
        took, used = time.perf_counter() - began, time.process_time() - cpu
        self.rates[name] = count / took
        print(  # what it is for
            f"{name:30} {count / took:9,.0f} a second, {used / count * 1e6:6.0f} µs of this process each"
        )


async def main(count: int, batch: int) -> None:
    async with postgres_database() as url:
        database = open_database(url)
        await migrate(database)
        measured = Measured()
        await naive(database, measured, count // NAIVE_SHARE)
        await alone(database, measured, count, batch)
        graphs = WatchedGraphs()
        await watched(database, measured, graphs, count, batch)
        one, raw, all_of_it = (measured.rates[name] for name in (ONE, RAW, ALL))
        print(  # what it is for
            f"watching is {all_of_it / one:.1f} times one commit an event, {all_of_it / raw:.0%} of event_raw"
        )
        await misses(database, measured, graphs, count // 4)
        await database.close()


async def naive(database: Database, measured: Measured, count: int) -> None:
    rows = [row_of(each) for each in events(count, 500)][:count]

    async def work() -> None:
        for row in rows:
            await database.write(partial(_insert, row=row))

    await measured(ONE, count, work)


def _insert(connection: Connection, row: dict[str, object]) -> None:
    connection.execute(insert(event_raw).values(row))


async def alone(database: Database, measured: Measured, count: int, batch: int) -> None:
    made = list(events(count, batch))

    async def write(part: Sequence[Event]) -> None:
        def work(connection: Connection) -> None:
            insert_new(connection, event_raw, [row_of(each) for each in part], KEY)

        await database.write(work)

    async def work() -> None:
        for start in range(0, len(made), batch):
            await write(made[start : start + batch])

    await measured(RAW, len(made), work)


async def watched(
    database: Database, measured: Measured, graphs: WatchedGraphs, count: int, batch: int
) -> None:
    ids = TimeOrderedIds(SystemClock())
    library = WatchedLibrary(WatchedWorkflowRepository(database), ids)
    await library.create(CHAIN, Caller("bench", frozenset(Role), None, How.LOOPBACK))
    committers = [GroupCommitter(database), GroupCommitter(database)]
    feed = EventFeed(database, committers, Rules(graphs), tuple(Stage), TopicNames(), lambda: ())
    made = list(events(count, batch))

    async def work() -> None:
        waiting: set[asyncio.Task[object]] = set()
        for start in range(0, len(made), batch):
            if len(waiting) > 1:
                _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            waiting.add(asyncio.create_task(feed.take(made[start : start + batch])))
        await asyncio.gather(*waiting)

    await measured(ALL, len(made), work)
    for committer in committers:
        await committer.close()


async def misses(database: Database, measured: Measured, graphs: WatchedGraphs, count: int) -> None:
    committers = [GroupCommitter(database)]
    feed = EventFeed(database, committers, Rules(graphs), tuple(Stage), TopicNames(), lambda: ())
    long_ago = datetime.now(UTC) - timedelta(days=1)
    for start in range(0, count, 1_000):
        await feed.take(
            [
                Event("shop", uuid.uuid4().hex, TYPES[0], long_ago, long_ago, f"m-{start + place}")
                for place in range(1_000)
            ]
        )
    due = DueExpectations(
        database, graphs, "bench", tuple(Stage), TopicNames(), lambda: (), timedelta(0), timedelta(days=7)
    )

    async def work() -> None:
        while await due.fire(MOST_MISSES):
            pass

    await measured("misses", count, work)
    await committers[0].close()


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:]]
    asyncio.run(main(*(numbers + [40_000, 1_000][len(numbers) :])))
