"""Executions parked on events, then one event each: by callback and by Kafka, beside DBOS in the same run.

    python bench/waits.py [--parked 10000] [--rate 500] [--seconds 10] [--by callback,kafka] [--dbos 1000]

Each execution waits for one event and then does a last node; resumed is when that is done and committed, as
another connection sees it (the database tells of each with its commit). Events come all at once, for the
rate, and then at a steady one; of both it prints how long each took from when it was sent, and of the rate
how many times DBOS's it is. Besides it prints what the server's process spent on each, since a machine that
is shared tells more by that, and by how much it grew for each parked wait. DBOS's workflows receive what is
sent to them; 10,000 of them it does not bear (its pool of connections runs out after ten minutes), so there
are fewer, and the more there are the slower it is.
PostgreSQL is at TEST_POSTGRES_URL, and Kafka at TEST_KAFKA_BOOTSTRAP, or those that `scripts/services.py`
starts.
"""

import argparse
import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TypeAlias

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import uvloop
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from engine import DBOS_PYTHON, HERE, fresh
from peers.http_calls import Connection, connect, free_port
from support.engine import postgres_database
from triggers import Server, serving

CLIENTS = 64
PARTITIONS = 8
PARKED_TOGETHER = 500
WARM = 1_000
CALLBACK = "/api/internal/callbacks/external-service"
OPEN = "SELECT execution_id, correlation_id FROM execution_wait_states WHERE status = 'waiting'"
UNFINISHED = "SELECT count(*) FROM workflow_execution WHERE completed_at IS NULL"
# What is told with a commit is told once it is there for everybody.
TELL_ENDS = """
CREATE FUNCTION tell_end() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_notify('ended', NEW.id); RETURN NULL; END $$;
CREATE TRIGGER tell_end AFTER UPDATE ON workflow_execution FOR EACH ROW
WHEN (OLD.completed_at IS NULL AND NEW.completed_at IS NOT NULL) EXECUTE FUNCTION tell_end()
"""

Ids: TypeAlias = tuple[str, str]
Send: TypeAlias = Callable[[Ids], Awaitable[None]]


class Waiting:
    """A server, its database, and a door by which its events come."""

    def __init__(self, server: Server, database: asyncpg.Connection, key: str, send: Send) -> None:
        self._server, self._database, self._key, self._send = server, database, key, send
        self._ended: dict[str, float] = {}

    async def hear_of_ends(self, url: str, stack: AsyncExitStack) -> None:
        await self._database.execute(TELL_ENDS)
        listening = await asyncpg.connect(url)
        stack.push_async_callback(listening.close)
        await listening.add_listener("ended", self.has_ended)

    def has_ended(self, _: object, __: int, ___: str, execution: object) -> None:
        """It is committed."""
        self._ended[str(execution)] = time.time()

    async def park(self, count: int) -> list[Ids]:
        connection = await connect(self._server.port)
        for first in range(0, count, PARKED_TOGETHER):
            body = [{"key": self._key, "context": {}}] * min(PARKED_TOGETHER, count - first)
            status, answer = await connection.post("/api/workflow/execute/batch", body)
            assert status == 202, answer
        rows: Sequence[asyncpg.Record] = ()
        while len(rows) < count:
            await asyncio.sleep(0.1)
            rows = await self._database.fetch(OPEN)
        return [(row[0], row[1]) for row in rows]

    async def grown(self, count: int) -> tuple[list[Ids], float]:
        """Park, and say by how many bytes the process has grown for each."""
        before = _resident(self._server)
        parked = await self.park(count)
        return parked, (_resident(self._server) - before) / count

    async def together(self, parked: Sequence[Ids]) -> tuple[float, str]:
        """All events at once, as many under way as there are clients: how many a second, and in words."""
        sent: dict[str, float] = {}
        began, cpu, left = time.perf_counter(), self._server.cpu(), iter(parked)

        async def keep_sending() -> None:
            for ids in left:
                sent[ids[0]] = time.time()
                await self._send(ids)

        await asyncio.gather(*(keep_sending() for _ in range(CLIENTS)))
        await self._until_all_ended()
        rate = len(parked) / (time.perf_counter() - began)
        told = f"{await self._late(sent)}   {self._each(cpu, parked)}"
        return rate, f"{rate:7,.0f} resumed a second   {told}"

    async def steadily(self, parked: Sequence[Ids], rate: float) -> str:
        """So many events a second: how long each took."""
        sent: dict[str, float] = {}
        began, cpu, sending = time.time(), self._server.cpu(), set[asyncio.Task[None]]()
        for number, ids in enumerate(parked):
            await asyncio.sleep(max(began + number / rate - time.time(), 0))
            # Counted from when it should have been sent: a sender that is held up hides nothing.
            sent[ids[0]] = began + number / rate
            task = asyncio.ensure_future(self._send(ids))
            sending.add(task)
            task.add_done_callback(sending.discard)
        await asyncio.gather(*sending)
        await self._until_all_ended()
        return f"{await self._late(sent)}   {self._each(cpu, parked)}"

    async def _late(self, sent: Mapping[str, float]) -> str:
        while True:  # what was told last may still be on its way
            if sent.keys() <= self._ended.keys():
                break
            await asyncio.sleep(0.01)
        late = sorted(self._ended[execution] - at for execution, at in sent.items())
        p50, p99 = (late[int(len(late) * part)] * 1e3 for part in (0.5, 0.99))
        return f"event to resumed p50 {p50:7.1f} ms   p99 {p99:7.1f} ms"

    def _each(self, cpu: float, parked: Sequence[Ids]) -> str:
        return f"{(self._server.cpu() - cpu) / len(parked) * 1e3:5.2f} ms CPU each"

    async def _until_all_ended(self) -> None:
        while await self._database.fetchval(UNFINISHED):
            await self._database.execute("SELECT pg_sleep(0.05)")


def _resident(server: Server) -> int:
    told = Path(f"/proc/{server.process.pid}/smaps_rollup").read_text()
    found = re.search(r"^Pss:\s+(\d+) kB", told, re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


# --- doors ---------------------------------------------------------------------------------------------


@asynccontextmanager
async def callbacks(port: int) -> AsyncIterator[Send]:
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(CLIENTS):
        free.put_nowait(await connect(port))

    async def send(ids: Ids) -> None:
        connection = await free.get()
        body = {"execution_id": ids[0], "correlation_id": ids[1], "ok": True}
        try:
            status, answer = await connection.post(CALLBACK, body)
        except (asyncio.IncompleteReadError, ConnectionError):
            # The server has closed it meanwhile, since nothing came.
            connection = await connect(port)
            status, answer = await connection.post(CALLBACK, body)
        assert (status, answer) == (200, {"accepted": True, "reason": None}), answer
        free.put_nowait(connection)

    yield send


@asynccontextmanager
async def messages(brokers: str, topic: str) -> AsyncIterator[Send]:
    producer = Producer({"bootstrap.servers": brokers, "linger.ms": 1})

    async def send(ids: Ids) -> None:
        body = {"execution_id": ids[0], "correlation_id": ids[1], "ok": True}
        producer.produce(topic, json.dumps(body).encode(), ids[0].encode())
        producer.poll(0)

    yield send
    await asyncio.to_thread(producer.flush)


@asynccontextmanager
async def topic_of_ones_own(brokers: str) -> AsyncIterator[str]:
    admin, name = AdminClient({"bootstrap.servers": brokers}), f"bench-{uuid.uuid4().hex[:12]}"
    await asyncio.to_thread(admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result)
    try:
        yield name
    finally:
        await asyncio.to_thread(admin.delete_topics([name])[name].result)


# --- the run -------------------------------------------------------------------------------------------


async def measure(by: str, server_url: str, options: argparse.Namespace) -> float:
    """How many resumed a second; 0: that was not asked for."""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(fresh(server_url))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        port, more, topic = free_port(), dict[str, str](), ""
        if by == "kafka":
            brokers = os.environ.get("TEST_KAFKA_BOOTSTRAP") or started("kafka", "TEST_KAFKA_BOOTSTRAP")
            topic = await stack.enter_async_context(topic_of_ones_own(brokers))
            more = {"KAFKA_BOOTSTRAP_SERVERS": brokers, "MUSTER_KAFKA_CONSUMER_GROUP_ID": topic}
        muster = Path(sys.executable).with_name("muster")
        server = await stack.enter_async_context(
            serving(
                [*shlex.split(options.under), muster, "serve"],
                port,
                MUSTER_PORT=str(port),
                MUSTER_DATA_DIR=folder,
                MUSTER_API_RATE_LIMIT="0",
                DB_URL=url,
                **more,
            )
        )
        door = messages(brokers, topic) if by == "kafka" else callbacks(port)
        send = await stack.enter_async_context(door)
        status, answer = await (await connect(port)).post("/api/workflow", workflow(by, topic))
        assert status == 201, answer
        database = await asyncpg.connect(url)
        stack.push_async_callback(database.close)
        waiting = Waiting(server, database, by, send)
        await waiting.hear_of_ends(url, stack)
        await waiting.together(await waiting.park(WARM))  # what is made once is made before it is measured
        return await compare(waiting, by, options)


def workflow(by: str, topic: str) -> dict[str, object]:
    callback: dict[str, object] = {"events": [{"name": "answer", "source": "callback"}]}
    config = {"kafkaEvent": {"topic": topic}} if by == "kafka" else callback
    wait = {"id": "wait", "type": "wait_events", "config": {**config, "timeout": 3600}}
    return {"workflow": {"key": by, "name": by, "nodes": [wait, {"id": "next", "type": "NOOP"}]}}


async def compare(waiting: Waiting, by: str, options: argparse.Namespace) -> float:
    rate = 0.0
    if options.parked:
        parked, grown = await waiting.grown(options.parked)
        rate, told = await waiting.together(parked)
        print(f"  {by:10} {told}   {grown:,.0f} bytes for each parked")
    if options.seconds:
        parked = await waiting.park(int(options.rate * options.seconds))
        print(f"  {by:10} at {options.rate:g} a second: {await waiting.steadily(parked, options.rate)}")
    return rate


async def beside_dbos(server_url: str, count: int, rates: Mapping[str, float]) -> None:
    """So many on DBOS, whose workflows wait in the memory of one process; and how many times its rate those
    of ours are."""
    pipe = asyncio.subprocess.PIPE
    async with fresh(server_url) as url:
        process = await asyncio.create_subprocess_exec(
            DBOS_PYTHON,
            HERE / "peers" / "dbos_waits.py",
            url,
            stdin=pipe,
            stdout=pipe,
            stderr=asyncio.subprocess.DEVNULL,
        )
        told, _ = await process.communicate(json.dumps({"run": "waits", "count": count}).encode() + b"\n")
        with suppress(ProcessLookupError):
            process.terminate()
    if not told:
        print(f"  DBOS       has given up at {count:,}")
        return
    found = json.loads(told)
    p50, p99 = found["p50"] * 1e3, found["p99"] * 1e3
    print(
        f"  DBOS       {found['rate']:7,.0f} resumed a second   {found['cpu'] * 1e3:5.2f} ms CPU each   "
        f"p50 {p50:,.0f} ms   p99 {p99:,.0f} ms   of {count:,}"
    )
    for by, rate in rates.items():
        print(f"  {by:10} {rate / found['rate']:7,.1f} times DBOS's rate at {count:,}")


def started(service: str, variable: str) -> str:
    script = HERE.parent / "scripts" / "services.py"
    up = subprocess.run([sys.executable, script, "up", service], capture_output=True, text=True, check=True)
    words = [word for line in up.stdout.splitlines() for word in shlex.split(line)]
    return next(word.partition("=")[2] for word in words if word.startswith(f"{variable}="))


async def run(options: argparse.Namespace) -> None:
    async with postgres_database() as url:
        rates = {by: await measure(by, url, options) for by in options.by.split(",")}
        for count in options.dbos:
            await beside_dbos(url, count, {by: rate for by, rate in rates.items() if rate})


def main() -> None:
    parser = argparse.ArgumentParser(description="Parked executions, resumed by events.")
    parser.add_argument("--parked", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=500.0)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--by", default="callback,kafka")
    parser.add_argument("--under", default="", help="a command that runs the server: a profiler, say")
    parser.add_argument("--dbos", default="1000,5000", help="how many waits on DBOS, in turns; empty: none")
    options = parser.parse_args()
    options.dbos = [int(count) for count in options.dbos.split(",") if count]
    if options.dbos and not DBOS_PYTHON.exists():
        sys.exit("DBOS is not installed: make .venv-dbos/.done")
    uvloop.run(run(options))


if __name__ == "__main__":
    main()
