"""Events a second into a server that runs: as lists over HTTP, by `muster ingest`, and from Kafka.

    python bench/ingest.py [EVENTS] [postgres | sqlite]

From when the first is sent, or the server begins to read, until all of them are committed with their runs,
expectations and counts; beside one insert and one commit an event into `event_raw` alone, on the bare driver,
and beside the same batches into `event_raw` alone.
From Kafka, all that the stages tell is published as well. PostgreSQL and Kafka are those at
TEST_POSTGRES_URL and TEST_KAFKA_BOOTSTRAP, or those that `scripts/services.py` starts.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import orjson
from confluent_kafka import Producer
from sqlalchemy import Connection, func, select

from muster.model.watching import Event
from muster.store.database import Database
from muster.store.tables import stage_aggregate_day
from muster.watch.messages import instant
from peers.http_calls import Connection as HttpConnection
from peers.http_calls import connect, free_port
from triggers import Server, serving
from waits import started, topic_of_ones_own
from watching import CHAIN, NAIVE_SHARE, ONE, RAW, Measured, alone, events, naive, opened

BATCH, CLIENTS = 1_000, 4
MUSTER = Path(sys.executable).with_name("muster")


def written(each: Event) -> dict[str, object]:
    return {
        "eventId": each.event_id,
        "sourceSystem": each.source_system,
        "eventType": each.event_type,
        "eventTime": instant(each.event_time),
        "correlationKey": each.correlation_key,
        "group": each.group,
        "payload": each.payload,
    }


async def counted(database: Database) -> int:
    """How many events have come to a node: they are counted with all that they do."""

    def work(connection: Connection) -> int:
        return int(connection.scalar(select(func.sum(stage_aggregate_day.c.completed))) or 0)

    return await database.read(work)


async def more_than(database: Database, count: int) -> int:
    """How many there are, once it is more than this."""
    while True:
        if (found := await counted(database)) > count:
            return found
        await asyncio.sleep(0.02)


class Rates:
    """Against one commit an event, and against plain batches, in the same run."""

    def __init__(self, naive: float, raw: float) -> None:
        self._naive, self._raw = naive, raw

    async def of(self, name: str, count: int, server: Server, work: Callable[[], Awaitable[object]]) -> None:
        began, cpu = time.perf_counter(), server.cpu()
        await work()
        rate, spent = count / (time.perf_counter() - began), (server.cpu() - cpu) / count * 1e6
        times = f"{rate / self._naive:.1f} times one commit an event, {rate / self._raw:.0%} of event_raw"
        print(f"{name:24} {rate:9,.0f} a second, {times}; {spent:4.0f} µs of the server's process each")


async def over_http(port: int, made: Sequence[Event]) -> None:
    """Lists of a thousand, by several clients; the events of a key go by one of them."""
    parts: list[list[list[dict[str, object]]]] = [[[]] for _ in range(CLIENTS)]
    for each in made:
        part = parts[hash(each.correlation_key) % CLIENTS]
        if len(part[-1]) == BATCH:
            part.append([])
        part[-1].append(written(each))

    async def send(connection: HttpConnection, lists: Sequence[Sequence[dict[str, object]]]) -> None:
        for each in lists:
            status, answer = await connection.post("/ingest", each)
            assert status == 202, answer

    connections = [await connect(port) for _ in parts]
    await asyncio.gather(*map(send, connections, parts))


async def by_command(port: int, file: Path) -> None:
    command = (MUSTER, "ingest", str(file), "--server", f"http://127.0.0.1:{port}")
    ran = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
    assert await ran.wait() == 0


async def measure(kind: str, count: int) -> None:
    print(f"-- {kind}, {count:,} events each")
    async with AsyncExitStack() as stack:
        url, database = await stack.enter_async_context(opened(kind))
        bare = Measured(database)
        await naive(url, bare, count // NAIVE_SHARE)
        await alone(database, bare, count, BATCH)
        rates = Rates(bare.rates[ONE], bare.rates[RAW])
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = free_port()
        settings = {"MUSTER_DATA_DIR": str(folder), "MUSTER_API_RATE_LIMIT": "0", "DB_URL": url}
        async with serving([MUSTER, "serve"], port, MUSTER_PORT=str(port), **settings) as server:
            status, answer = await (await connect(port)).post("/workflows", CHAIN)
            assert status == 201, answer
            await over_http(port, list(events(4_000, BATCH, "warm")))
            made = list(events(count, BATCH, "h"))
            await rates.of("lists over HTTP", count, server, lambda: over_http(port, made))
            file = folder / "events.ndjson"
            lines = (orjson.dumps(written(each)) for each in events(count, BATCH, "f"))
            file.write_bytes(b"\n".join(lines) + b"\n")
            await rates.of("muster ingest", count, server, lambda: by_command(port, file))
        if kind == "postgres":
            await from_kafka(stack, settings, database, rates, count)


async def from_kafka(
    stack: AsyncExitStack, settings: dict[str, str], database: Database, rates: Rates, count: int
) -> None:
    """All of it is there when the server starts: from its first event until its last."""
    brokers = os.environ.get("TEST_KAFKA_BOOTSTRAP") or started("kafka", "TEST_KAFKA_BOOTSTRAP")
    topic = await stack.enter_async_context(topic_of_ones_own(brokers))
    producer = Producer({"bootstrap.servers": brokers, "linger.ms": 5})
    for each in events(count, BATCH, "k"):
        producer.produce(topic, orjson.dumps(written(each)), each.correlation_key.encode())
        producer.poll(0)
    await asyncio.to_thread(producer.flush)
    before, port = await counted(database), free_port()
    more = {
        "KAFKA_BOOTSTRAP_SERVERS": brokers,
        "MUSTER_KAFKA_CONSUMER_GROUP_ID": topic,
        "MUSTER_INGESTION_RAW_TOPIC": topic,
    }
    async with serving([MUSTER, "serve"], port, MUSTER_PORT=str(port), **settings, **more) as server:
        first = await more_than(database, before)
        rest = partial(more_than, database, before + count - 1)
        await rates.of("from Kafka", before + count - first, server, rest)


async def main(count: int, kinds: Sequence[str]) -> None:
    for kind in kinds:
        await measure(kind, count)


if __name__ == "__main__":
    numbers = [int(each.replace("_", "")) for each in sys.argv[1:] if each[0].isdigit()]
    named = [each for each in sys.argv[1:] if not each[0].isdigit()] or ["postgres", "sqlite"]
    asyncio.run(main(numbers[0] if numbers else 40_000, named))
