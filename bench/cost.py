"""What one of each costs: processor time of Muster and of PostgreSQL, write-ahead log, and room on the disk.

    python bench/cost.py [--count 3000]

On a real server, PostgreSQL and Kafka: an execution of five steps, started in lists and one by one over HTTP;
a wait that a callback meets; a command over Kafka and its reply; a watched event, in lists of 500. Each is
counted from its start to its end. Times are what the processes spent, which a machine that is shared tells
better than rates. `docs/scale.md` goes on from there. PostgreSQL is at TEST_POSTGRES_URL, with nobody else on
it, and Kafka at TEST_KAFKA_BOOTSTRAP, or those that `scripts/services.py` starts.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import uvloop

from engine import fresh
from peers.http_calls import connect, free_port
from replies import KEY as REPLIES
from replies import Commanding, replies
from replies import workflow as commands
from support.engine import postgres_database
from support.five_steps import FIVE_STEPS
from support.spent import spent_by
from triggers import Server, serving
from waits import Waiting, callbacks, started, topic_of_ones_own
from waits import workflow as waits
from watching import CHAIN, TYPES

WARM, TOGETHER, CLIENTS = 300, 500, 16
NOTHING_LEFT = "SELECT count(*) = 0 FROM workflow_execution WHERE completed_at IS NULL"
PROCESSES = "SELECT pid FROM pg_stat_activity"
WRITTEN = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"
ROOM = "SELECT pg_database_size(current_database())"
TICKS = os.sysconf("SC_CLK_TCK")


class Costs:
    """Measures what a piece of work, so many of something, has cost."""

    def __init__(self, server: Server, database: asyncpg.Connection) -> None:
        self._server, self._database = server, database

    async def __call__(self, name: str, count: int, work: Callable[[int], Awaitable[object]]) -> None:
        await self._done(work, WARM)  # what is made once is made before it is measured
        await self._database.execute("CHECKPOINT")
        before = await self._so_far()
        await self._done(work, count)
        await self._database.execute("VACUUM ANALYZE")
        after = await self._so_far()
        ours, theirs, written, room = ((b - a) / count for a, b in zip(before, after, strict=True))
        print(
            f"{name:34} {ours * 1e3:6.2f} ms of Muster {theirs * 1e3:6.2f} ms of PostgreSQL"
            f" {written / 1024:6.1f} KiB of log {room / 1024:6.1f} KiB kept",
            flush=True,
        )

    async def _done(self, work: Callable[[int], Awaitable[object]], count: int) -> None:
        await work(count)
        while not await self._database.fetchval(NOTHING_LEFT):
            await self._database.execute("SELECT pg_sleep(0.1)")

    async def _so_far(self) -> tuple[float, float, float, float]:
        pids = [row[0] for row in await self._database.fetch(PROCESSES)]
        theirs = sum(map(spent_by, pids)) / TICKS
        written = float(await self._database.fetchval(WRITTEN))
        return self._server.cpu(), theirs, written, float(await self._database.fetchval(ROOM))


async def run(count: int) -> None:
    brokers = os.environ.get("TEST_KAFKA_BOOTSTRAP") or started("kafka", "TEST_KAFKA_BOOTSTRAP")
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(fresh(await stack.enter_async_context(postgres_database())))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        sent = await stack.enter_async_context(topic_of_ones_own(brokers))
        answered = await stack.enter_async_context(topic_of_ones_own(brokers))
        port = free_port()
        server = await stack.enter_async_context(
            serving(
                [Path(sys.executable).with_name("muster"), "serve"],
                port,
                MUSTER_PORT=str(port),
                MUSTER_DATA_DIR=folder,
                MUSTER_API_RATE_LIMIT="0",
                MUSTER_PLUGINS="support.five_steps",
                PYTHONPATH=str(Path(__file__).parent),
                DB_URL=url,
                KAFKA_BOOTSTRAP_SERVERS=brokers,
                MUSTER_KAFKA_CONSUMER_GROUP_ID=sent,
            )
        )
        for path, document in (
            ("/api/workflow", FIVE_STEPS),
            ("/api/workflow", waits("callback", "")),
            ("/api/workflow", commands(sent, answered)),
            ("/workflows", CHAIN),
        ):
            status, answer = await (await connect(port)).post(path, document)
            assert status == 201, answer
        database = await asyncpg.connect(url)
        stack.push_async_callback(database.close)
        by_callback = Waiting(server, database, "callback", await stack.enter_async_context(callbacks(port)))
        by_reply = await stack.enter_async_context(replies(brokers, answered))
        commanding = Commanding(server, database, REPLIES, by_reply)
        costs = Costs(server, database)
        await costs("execution of five steps", count, lambda many: _in_lists(port, many))
        await costs("the same, each by a request", count, lambda many: _one_by_one(port, many))
        await costs("execution with a wait, callback", count, lambda many: _met(by_callback, many))
        await costs("execution with a command, reply", count, lambda many: _met(commanding, many))
        await costs("watched event", count * 4, lambda many: _events(port, many))


async def _in_lists(port: int, count: int) -> None:
    connection = await connect(port)
    for first in range(0, count, TOGETHER):
        many = min(TOGETHER, count - first)
        body = [{"key": "five-steps", "context": {"number": 0}}] * many
        status, answer = await connection.post("/api/workflow/execute/batch", body)
        assert status == 202, answer


async def _one_by_one(port: int, count: int) -> None:
    left = iter(range(count))

    async def keep_asking() -> None:
        connection, body = await connect(port), {"key": "five-steps", "context": {"number": 0}}
        for _ in left:
            status, answer = await connection.post("/api/workflow/execute", body)
            assert status < 300, answer

    await asyncio.gather(*(keep_asking() for _ in range(CLIENTS)))


async def _met(waiting: Waiting, count: int) -> None:
    await waiting.together(await waiting.park(count))


async def _events(port: int, count: int) -> None:
    """A key after the other through the whole graph."""
    connection, at, batch = await connect(port), datetime.now(UTC).isoformat(), uuid.uuid4().hex
    for first in range(0, count, TOGETHER):
        body = [
            {
                "eventId": f"{batch}-{place}",
                "sourceSystem": "shop",
                "eventType": TYPES[place % len(TYPES)],
                "eventTime": at,
                "correlationKey": f"{batch}-{place // len(TYPES)}",
                "group": {"shop": f"s{place % 10}"},
                "payload": {"total": 40},
            }
            for place in range(first, min(first + TOGETHER, count))
        ]
        status, answer = await connection.post("/ingest", body)
        assert status == 202, answer


def main() -> None:
    parser = argparse.ArgumentParser(description="What one of each costs.")
    parser.add_argument("--count", type=int, default=3_000)
    uvloop.run(run(parser.parse_args().count))


if __name__ == "__main__":
    main()
