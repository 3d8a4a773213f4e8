"""Events a second, from a caller's batches to committed runs, expectations and counts; and misses a second.

    python bench/watching.py [EVENTS] [BATCH] [postgres | sqlite]

On PostgreSQL and on SQLite: as events, and as the messages of a topic; by two processes at once (PostgreSQL).
Against the same events with one insert and one commit each into `event_raw` alone, on the bare driver, and
against the same batches into `event_raw` alone. Then the live configuration is replayed over what came, and
over trades that come late, twice, before their time or not at all: it exits with 1 where that differs.

Beside each rate is the processor time of this process, and of the server's for PostgreSQL: on a machine with
other things to do, their sums compare where rates do not. PostgreSQL is the one that `scripts/services.py`
starts, or `TEST_POSTGRES_URL`.
"""

import asyncio
import gc
import os
import sqlite3
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TypeVar, cast

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import orjson
from sqlalchemy import Connection, func, select

from muster.app.garbage import look_rarely
from muster.definitions.limits import Limits
from muster.engine.bus import Batch, Message
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
from muster.store.replaying import HistoryRepository
from muster.store.tables import event_raw, workflow_run
from muster.store.watch_due import DueExpectations
from muster.store.watch_feed import EventFeed
from muster.store.watch_intake import KEY, row_of
from muster.store.watch_rules import Rules
from muster.store.watched_graphs import WatchedGraphs
from muster.store.watched_workflows import WatchedWorkflowRepository
from muster.watch.backtest import Asked, Backtest
from muster.watch.envelope import Bounds
from muster.watch.intake import TopicIntake
from muster.watch.library import WatchedLibrary
from muster.watch.messages import instant
from muster.watch.posting import TopicNames
from muster.watch.stages import Stage
from muster.watch.traffic import DEMO_TRADES, Timed, traffic
from support.engine import postgres_database
from support.spent import spent_by_server

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
CALLER = Caller("bench", frozenset(Role), None, How.LOOPBACK)
NAIVE_SHARE = 10
ONE, RAW, ALL, TOLD = (
    "one commit an event",
    "event_raw alone, in batches",
    "watched, in batches",
    "watched, from messages",
)
MOST_MISSES = 1_000
Part = TypeVar("Part")
AT_ONCE = 3  # batches that are under way


def events(count: int, width: int, prefix: str = "o") -> Iterator[Event]:
    """Keys in waves: all of a wave are ordered, then all are paid, and so on; each in a batch, which comes at
    one moment."""
    at = datetime.now(UTC)
    for wave in range(0, count, width * len(TYPES)):
        for type_ in TYPES:
            at += timedelta(microseconds=1)
            for place in range(width):
                key = f"{prefix}-{wave + place}"
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

    def __init__(self, database: Database) -> None:
        self._database = database
        self.rates: dict[str, float] = {}
        # Seconds of processors, of both, for each.
        self.spent: dict[str, float] = {}

    async def __call__(self, name: str, count: int, work: Callable[[], Awaitable[object]]) -> None:
        gc.collect()
        gc.freeze()  # as a server does
        theirs = await spent_by_server(self._database)
        began, cpu = time.perf_counter(), time.process_time()
        await work()
        took, used = time.perf_counter() - began, time.process_time() - cpu
        theirs = await spent_by_server(self._database) - theirs
        self.rates[name], self.spent[name] = count / took, (used + theirs) / count
        print(  # what it is for
            f"{name:30} {count / took:9,.0f} a second; {used / count * 1e6:6.0f} µs of this process each,"
            f" {theirs / count * 1e6:4.0f} µs of the server's",
            flush=True,
        )


@asynccontextmanager
async def opened(kind: str) -> AsyncIterator[tuple[str, Database]]:
    """A new database of a kind, and its address."""
    if kind == "postgres":
        async with postgres_database() as url:
            database = open_database(url)
            await migrate(database)
            yield url, database
            await database.close()
    else:
        with tempfile.TemporaryDirectory() as folder:
            url = f"sqlite:///{folder}/muster.db"
            database = open_database(url)
            await migrate(database)
            yield url, database
            await database.close()


async def main(count: int, batch: int, kinds: Sequence[str]) -> bool:
    """Whether every replay was as it had been."""
    look_rarely()
    same = True
    for kind in kinds:
        print(f"-- {kind}, {count:,} events by {batch:,}")  # what it is for
        async with opened(kind) as (url, database):
            measured, graphs = Measured(database), WatchedGraphs()
            await naive(url, measured, count // NAIVE_SHARE)
            await alone(database, measured, count, batch)
            await watch(database)
            ways = 2 if kind == "postgres" else 1
            await watched(database, measured, graphs, count, batch, ways)
            # The events of the plain inserts beside it were never watched.
            since = await database.read(_watched_since)
            same &= await replayed(database, measured, count, "orders", since)
            same &= await realistic(database, measured, graphs, count, batch)
            await told(database, measured, graphs, count, batch, ways)
            one, raw = measured.rates[ONE], measured.rates[RAW]
            for name in (ALL, TOLD):
                rate = measured.rates[name]
                print(f"{name}: {rate / one:.1f} times one commit an event, {rate / raw:.0%} of event_raw")
            if kind == "postgres":
                await by_two(url, measured, count, batch)
            await misses(database, measured, graphs, count // 4)
    return same


async def watch(database: Database) -> None:
    library = WatchedLibrary(WatchedWorkflowRepository(database), TimeOrderedIds(SystemClock()))
    await library.create(CHAIN, CALLER)


async def naive(url: str, measured: Measured, count: int) -> None:
    made = list(events(count, 500))[:count]
    names = [name for name in row_of(made[0]) if name != "workflow_keys"]
    values = [[_plain(row_of(each)[name], url) for name in names] for each in made]
    if url.startswith("sqlite"):
        places = ", ".join("?" * len(names))
        bare = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        bare.execute("PRAGMA synchronous = FULL")

        async def work() -> None:
            for row in values:
                bare.execute(f"INSERT INTO event_raw ({', '.join(names)}) VALUES ({places})", row)

        await measured(ONE, count, work)
        bare.close()
        return
    connection = await asyncpg.connect(url)
    places = ", ".join(f"${number}" for number in range(1, len(names) + 1))
    statement = await connection.prepare(f"INSERT INTO event_raw ({', '.join(names)}) VALUES ({places})")

    async def each_by_itself() -> None:
        for row in values:
            await statement.fetch(*row)

    await measured(ONE, count, each_by_itself)
    await connection.close()


def _plain(value: object, url: str) -> object:
    if isinstance(value, dict):
        return orjson.dumps(value).decode()
    return value.isoformat() if isinstance(value, datetime) and url.startswith("sqlite") else value


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


class Feed:
    """What takes events in, as in a server."""

    def __init__(self, database: Database, graphs: WatchedGraphs, ways: int) -> None:
        self._committers = [GroupCommitter(database) for _ in range(ways)]
        rules = Rules(graphs)
        self.events = EventFeed(database, self._committers, rules, tuple(Stage), TopicNames(), lambda: ())

    async def close(self) -> None:
        for committer in self._committers:
            await committer.close()


async def all_of(work: Callable[[Part], Awaitable[object]], parts: Sequence[Part]) -> None:
    """Do this to all parts, a few at a time."""
    waiting: set[asyncio.Future[object]] = set()
    for part in parts:
        if len(waiting) >= AT_ONCE:
            _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        waiting.add(asyncio.ensure_future(work(part)))
    await asyncio.gather(*waiting)


async def watched(
    database: Database, measured: Measured, graphs: WatchedGraphs, count: int, batch: int, ways: int
) -> None:
    feed, made = Feed(database, graphs, ways), list(events(count, batch))
    parts = [made[start : start + batch] for start in range(0, len(made), batch)]
    await measured(ALL, len(made), lambda: all_of(feed.events.take, parts))
    await feed.close()


class Unseen:
    def took(self, events: int, duplicates: int, unmatched: int, how: str) -> None:
        assert not duplicates
        assert not unmatched

    def refused(self, events: int, how: str) -> None:
        raise AssertionError(f"{events} were refused")


async def told(
    database: Database, measured: Measured, graphs: WatchedGraphs, count: int, batch: int, ways: int
) -> None:
    """As messages of `events.raw`: with all that reading them takes."""
    feed = Feed(database, graphs, ways)
    handler = TopicIntake(feed.events, Bounds(), SystemClock(), Limits(), Unseen())
    messages = [_message(place, each) for place, each in enumerate(events(count, batch, "t"))]
    parts = [Batch(messages[start : start + batch]) for start in range(0, len(messages), batch)]
    await measured(TOLD, len(messages), lambda: all_of(handler, parts))
    await feed.close()


def _message(place: int, event: Event) -> Message:
    value = {
        "eventId": event.event_id,
        "sourceSystem": event.source_system,
        "eventType": event.event_type,
        "eventTime": instant(event.event_time),
        "correlationKey": event.correlation_key,
        "group": event.group,
        "payload": event.payload,
    }
    key = event.correlation_key.encode()
    return Message("events.raw", 0, place, key, orjson.dumps(value), (), event.event_time)


async def replayed(
    database: Database, measured: Measured, count: int, key: str, since: datetime | None = None
) -> bool:
    """What came, through the version that watched it: whether there is nothing to report."""
    library = WatchedLibrary(WatchedWorkflowRepository(database), TimeOrderedIds(SystemClock()))
    backtest = Backtest(library, HistoryRepository(database), SystemClock())
    differs: list[bool] = []

    async def work() -> None:
        found = await backtest.run(Asked(key, since=since), CALLER, 10 * count)
        differs.append(found.report.differs or found.report.events < count)

    name = f"replayed, {key}"
    await measured(name, count, work)
    share = measured.rates[name] / measured.rates[ALL]
    print(f"{name}: {'DIFFERS' if differs[0] else 'no difference'}, at {share:.1f} times the live rate")
    return not differs[0]


async def realistic(
    database: Database, measured: Measured, graphs: WatchedGraphs, count: int, batch: int
) -> bool:
    """Trades with their usual mishaps, which happened before now: watched, missed, and replayed."""
    library = WatchedLibrary(WatchedWorkflowRepository(database), TimeOrderedIds(SystemClock()))
    await library.create(DEMO_TRADES, CALLER)
    timed = list(traffic(50.0, 4711, count // len(TYPES)))
    first = datetime.now(UTC) - timedelta(seconds=timed[-1].at + 60)
    made = [_traded(each, first) for each in timed]
    feed = Feed(database, graphs, 1)
    for start in range(0, len(made), batch):
        await feed.events.take(made[start : start + batch])
    due = due_of(database, graphs)
    while await due.fire(MOST_MISSES):
        pass
    await feed.close()
    return await replayed(database, measured, len({each.event_id for each in made}), "demo-trades")


def _traded(timed: Timed, first: datetime) -> Event:
    told, at = timed.event, first + timedelta(seconds=timed.at)
    return Event(
        source_system=str(told["sourceSystem"]),
        event_id=str(told["eventId"]),
        event_type=str(told["eventType"]),
        event_time=at,
        received_at=at,
        correlation_key=str(told["correlationKey"]),
        group=cast("JsonObject", told["group"]),
        payload=cast("JsonObject", told["payload"]),
    )


def due_of(database: Database, graphs: WatchedGraphs) -> DueExpectations:
    none, week = timedelta(0), timedelta(days=7)
    stages = frozenset(Stage)
    return DueExpectations(database, graphs, "bench", stages, TopicNames(), lambda: (), none, week)


def _watched_since(connection: Connection) -> datetime:
    found: datetime = connection.execute(select(func.min(workflow_run.c.started_at))).scalar_one()
    return found


# --- two processes -----------------------------------------------------------------------------------------


async def by_two(url: str, measured: Measured, count: int, batch: int) -> None:
    """Half of the events each; from when both are ready until both are done."""
    alone_took = await _children(url, 1, count, batch)
    both_took = await _children(url, 2, count, batch)
    print(
        f"in processes of their own: one {count / alone_took:,.0f} a second, two {count / both_took:,.0f}:"
        f" {alone_took / both_took:.2f} times"
    )


async def _children(url: str, number: int, count: int, batch: int) -> float:
    children = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, __file__, "child", url, f"c{number}{place}", str(count // number), str(batch)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for place in range(number)
    ]
    pipes = [(child.stdin, child.stdout) for child in children]
    for _, answer in pipes:
        assert answer is not None
        await answer.readline()
    began = time.perf_counter()
    for go, _ in pipes:
        assert go is not None
        go.write(b"go\n")
    await asyncio.gather(*(child.wait() for child in children))
    return time.perf_counter() - began


async def child(url: str, prefix: str, count: int, batch: int) -> None:
    look_rarely()
    database = open_database(url)
    feed, made = Feed(database, WatchedGraphs(), 2), list(events(count, batch, prefix))
    parts = [made[start : start + batch] for start in range(0, len(made), batch)]
    await feed.events.take(list(events(1, 1, f"{prefix}-first")))
    print("ready", flush=True)
    sys.stdin.readline()
    await all_of(feed.events.take, parts)
    os._exit(0)  # all is durable


# --- misses ------------------------------------------------------------------------------------------------


async def misses(database: Database, measured: Measured, graphs: WatchedGraphs, count: int) -> None:
    feed = Feed(database, graphs, 1)
    long_ago = datetime.now(UTC) - timedelta(days=1)
    for start in range(0, count, 1_000):
        await feed.events.take(
            [
                Event("shop", uuid.uuid4().hex, TYPES[0], long_ago, long_ago, f"m-{start + place}")
                for place in range(1_000)
            ]
        )
    due = due_of(database, graphs)

    async def work() -> None:
        while await due.fire(MOST_MISSES):
            pass

    await measured("misses", count, work)
    await feed.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        asyncio.run(child(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])))
    else:
        numbers = [int(each.replace("_", "")) for each in sys.argv[1:] if each[0].isdigit()]
        named = [each for each in sys.argv[1:] if not each[0].isdigit()] or ["postgres", "sqlite"]
        count, size = numbers + [40_000, 1_000][len(numbers) :]
        sys.exit(0 if asyncio.run(main(count, size, named)) else 1)
