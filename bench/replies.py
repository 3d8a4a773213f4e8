"""Executions that have sent commands over Kafka, then one reply each: from a reply on its topic to a resumed
execution.

    python bench/replies.py [--commands 5000] [--rate 500] [--seconds 10]

Commands go out through the outbox until all are sent; then replies come all at once, for the rate, and then
at a steady one, for how long each takes. Resumed is when the node after the command began. PostgreSQL is at
TEST_POSTGRES_URL and Kafka at TEST_KAFKA_BOOTSTRAP, or those that `scripts/services.py` starts.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import uvloop
from confluent_kafka import Producer

from engine import fresh
from peers.http_calls import connect, free_port
from support.engine import postgres_database
from triggers import serving
from waits import PARKED_TOGETHER, Ids, Send, Waiting, started, topic_of_ones_own

KEY = "replies"
WARM = 500
SENT = "SELECT workflow_instance_id, correlation_id FROM workflow_kafka_commands WHERE status = 'SENT'"


class Commanding(Waiting):
    """The same, for executions that wait for replies."""

    async def park(self, count: int) -> list[Ids]:
        began = time.perf_counter()
        connection = await connect(self._server.port)
        for first in range(0, count, PARKED_TOGETHER):
            body = [{"key": KEY, "context": {}}] * min(PARKED_TOGETHER, count - first)
            status, answer = await connection.post("/api/workflow/execute/batch", body)
            assert status == 202, answer
        rows: Sequence[asyncpg.Record] = ()
        while len(rows) < count:
            await asyncio.sleep(0.05)
            rows = await self._database.fetch(SENT)
        print(
            f"  {count / (time.perf_counter() - began):7,.0f} executions a second started and commands sent"
        )
        return [(str(row[0]), str(row[1])) for row in rows]


@asynccontextmanager
async def replies(brokers: str, topic: str) -> AsyncIterator[Send]:
    producer = Producer({"bootstrap.servers": brokers, "linger.ms": 1})

    async def send(ids: Ids) -> None:
        _, correlation = ids
        headers: list[tuple[str, str | bytes | None]] = [("X-Correlation-ID", correlation.encode())]
        producer.produce(topic, b'{"exportId": "e1"}', correlation.encode(), headers=headers)
        producer.poll(0)

    yield send
    await asyncio.to_thread(producer.flush)


def workflow(commands: str, replies: str) -> dict[str, object]:
    config = {
        "commandTopic": commands,
        "replyTopic": replies,
        "command": {"type": "EXPORT_DATA", "payload": {"format": "CSV"}},
        "timeout": "1h",
        "outputMapping": {"exportId": "$.exportId"},
    }
    nodes = [{"id": "send", "type": "KAFKA_COMMAND", "config": config}, {"id": "next", "type": "NOOP"}]
    return {"workflow": {"key": KEY, "name": KEY, "nodes": nodes}}


async def run(options: argparse.Namespace) -> None:
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
                DB_URL=url,
                KAFKA_BOOTSTRAP_SERVERS=brokers,
                MUSTER_KAFKA_CONSUMER_GROUP_ID=sent,
            )
        )
        status, answer = await (await connect(port)).post("/api/workflow", workflow(sent, answered))
        assert status == 201, answer
        database = await asyncpg.connect(url)
        stack.push_async_callback(database.close)
        send = await stack.enter_async_context(replies(brokers, answered))
        commanding = Commanding(server, database, KEY, send)
        await commanding.hear_of_ends(url, stack)
        await commanding.together(await commanding.park(WARM))  # what is made once is made before
        if options.commands:
            _, told = await commanding.together(await commanding.park(options.commands))
            print(f"  {told}")
        if options.seconds:
            parked = await commanding.park(int(options.rate * options.seconds))
            print(f"  at {options.rate:g} a second: {await commanding.steadily(parked, options.rate)}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Replies to commands, and executions that they resume.")
    parser.add_argument("--commands", type=int, default=5_000)
    parser.add_argument("--rate", type=float, default=500.0)
    parser.add_argument("--seconds", type=float, default=10.0)
    uvloop.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
