"""Firing triggers over HTTP: starts that are recognised by a key, acknowledged when they are durable.

    python bench/triggers.py [--rounds 3] [--seconds 3] [--clients 1,32] [--on postgres|sqlite]

Each request starts a workflow of three nodes; beside it, in turns, requests that repeat one that was there
before, and the bare web framework's answers to the same request: a no-op, the same bytes, JSON as its manual
has it, and on PostgreSQL the same bytes after it has made one row of them, which is the least that durable
means. (A no-op is a function that the framework calls and whose answer it writes; bytes go past most of it.)
Besides requests a second it prints what the server's process spent on each, since a machine that is shared
tells more by that. PostgreSQL is at TEST_POSTGRES_URL, or the one that `scripts/services.py` starts.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import uvloop

from committer import started_postgres
from peers.http_calls import Connection, connect, free_port, until_ready

HERE = Path(__file__).parent
TICKS = os.sysconf("SC_CLK_TCK")
NODES = [{"id": f"node{number}", "type": "NOOP", "config": {}} for number in range(3)]
WORKFLOW = {"workflow": {"name": "Three nodes", "key": "three-nodes", "nodes": NODES}}
TRIGGER = {
    "workflowId": "three-nodes",
    "path": "bench",
    "idempotencyGenerationSetting": {"strategy": "CONTEXT_BASED", "contextFields": ["userId"]},
}
FIRE = "/api/workflow/trigger/bench"


class Turn(NamedTuple):
    per_second: float
    p99: float
    cpu: float  # milliseconds of the server's for each request


class Server:
    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process, self.port = process, port

    def cpu(self) -> float:
        """Seconds that its process has used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


@asynccontextmanager
async def serving(command: list[str | Path], port: int, **environment: str) -> AsyncIterator[Server]:
    silent = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *command, env={**os.environ, **environment}, stdout=silent, stderr=silent
    )
    try:
        await until_ready(port)
        yield Server(process, port)
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def database(on: str, folder: str) -> AsyncIterator[dict[str, str]]:
    if on == "sqlite":
        yield {}
        return
    url = os.environ.get("TEST_POSTGRES_URL") or started_postgres()
    name = f"bench_{uuid.uuid4().hex[:12]}"
    server = await asyncpg.connect(url)
    await server.execute(f"CREATE DATABASE {name}")
    try:
        yield {"DB_URL": f"{url.rpartition('/')[0]}/{name}"}
    finally:
        await server.execute(f"DROP DATABASE {name} WITH (FORCE)")
        await server.close()


async def turn(
    server: Server, path: str, bodies: Iterator[object], status: int, seconds: float, clients: int
) -> Turn:
    connections = [await connect(server.port) for _ in range(clients)]
    took: list[float] = []
    began, cpu = time.perf_counter(), server.cpu()

    async def keep_going(connection: Connection) -> None:
        while (asked := time.perf_counter()) - began < seconds:
            found, answer = await connection.post(path, next(bodies))
            assert found == status, answer
            took.append(time.perf_counter() - asked)

    await asyncio.gather(*map(keep_going, connections))
    passed = time.perf_counter() - began
    p99 = statistics.quantiles(took, n=100)[98]
    return Turn(len(took) / passed, p99 * 1000, (server.cpu() - cpu) / len(took) * 1000)


async def measure(options: argparse.Namespace) -> None:
    web, port = free_port(), free_port()
    muster = Path(sys.executable).with_name("muster")
    with tempfile.TemporaryDirectory() as folder:
        async with (
            database(options.on, folder) as where,
            serving([sys.executable, HERE / "peers" / "bare_web.py", str(web), *where.values()], web) as bare,
            serving(
                [muster, "serve"],
                port,
                MUSTER_PORT=str(port),
                MUSTER_DATA_DIR=folder,
                MUSTER_API_RATE_LIMIT="0",
                **where,
            ) as ours,
        ):
            await _prepare(ours.port)
            for clients in options.clients:
                await _compare(bare, ours, clients, options)


async def _prepare(port: int) -> None:
    connection = await connect(port)
    for path, document in (("/api/workflow", WORKFLOW), ("/api/workflow/triggers", TRIGGER)):
        status, answer = await connection.post(path, document)
        assert status == 201, answer
    assert (await connection.post(FIRE, {"userId": "twice"}))[0] == 202


_numbers = count()


def _new() -> Iterator[object]:
    for number in _numbers:
        yield {"userId": f"user-{number}", "orderId": "0b5f7e66", "amount": 12.5, "items": ["a", "b"]}


def _again() -> Iterator[object]:
    while True:
        yield {"userId": "twice", "orderId": "0b5f7e66", "amount": 12.5, "items": ["a", "b"]}


async def _compare(bare: Server, ours: Server, clients: int, options: argparse.Namespace) -> None:
    kinds: dict[str, tuple[Server, str, Callable[[], Iterator[object]], int]] = {
        "bare no-op": (bare, "/nothing", _new, 202),
        "its bytes": (bare, "/bytes", _new, 202),
        "its JSON": (bare, "/json", _new, 202),
        **({"and one row": (bare, "/row", _new, 202)} if options.on == "postgres" else {}),
        "fired": (ours, FIRE, _new, 202),
        "duplicates": (ours, FIRE, _again, 200),
    }
    turns: dict[str, list[Turn]] = {name: [] for name in kinds}
    for round in range(options.rounds + 1):
        for name, (server, path, bodies, status) in kinds.items():
            found = await turn(server, path, bodies(), status, options.seconds, clients)
            if round:  # the first is for warming up
                turns[name].append(found)
    print(f"\n{options.on}, {clients} client(s)")
    middles = {name: _middle(several) for name, several in turns.items()}
    nothing, plain = middles["bare no-op"], middles["its bytes"]
    for name, (rate, p99, cpu) in middles.items():
        shares = f"{rate / nothing.per_second:5.0%} of the no-op, {rate / plain.per_second:5.0%} of the bytes"
        by_cpu = f"by CPU {nothing.cpu / cpu:5.0%} and {plain.cpu / cpu:5.0%}"
        print(f"  {name:11} {rate:7.0f}/s   p99 {p99:6.2f} ms   {cpu:6.3f} ms CPU each   {shares}; {by_cpu}")


def _middle(several: list[Turn]) -> Turn:
    return Turn(*(statistics.median(values) for values in zip(*several, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Triggers fired over HTTP, a second.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--clients", default="1,32")
    parser.add_argument("--on", choices=["postgres", "sqlite"], default="postgres")
    options = parser.parse_args()
    options.clients = [int(number) for number in options.clients.split(",")]
    uvloop.run(measure(options))


if __name__ == "__main__":
    main()
