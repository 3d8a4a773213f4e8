"""How late delays end: many due in one second, and some spread over ten, beside DBOS in the same run.

    python bench/delays.py [--together 5000] [--spread 1000] [--parked 100000] [--dbos 1000] [--no-redis]
    python bench/delays.py --only together   # or spread, large, idle: some of it

Late is from the due time to the start of the next node, by the database's clock; a delay that ended early
would be a mistake. A bare timer with one question to the database says what this machine allows at this
moment. Everything is done without a Redis and with one, and for each it prints resumes a second, and what a
resume takes: processor time, statements, those among them that only read, bytes that the database answers,
and, with Redis, the share that found its context there; then the same with contexts of 8 KB, for which a
cache is there. Without Redis contexts come with the claim, which is no statement that only reads: what is
saved by a cache shows in the bytes. In the end it prints what an idle instance costs with so many executions
parked, without a Redis and with one. PostgreSQL and Redis are at TEST_POSTGRES_URL and TEST_REDIS_URL, or
those that `scripts/services.py` starts.
"""

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import httpx
import uvloop

from engine import DBOS_PYTHON, HERE, ME, fresh
from muster.app.build import House, opened
from muster.app.load import load
from muster.engine.control import Start
from muster.model.json import JsonObject
from muster.store.open import open_database
from support.asked import Asked, counted
from support.engine import postgres_database, started
from support.spent import spent_by_server

AT_ONCE = 250
IDLE_SECONDS = 20.0
# Until the first is due all of them have to be parked: DBOS, which starts slowest, has to have that time too.
HEAD_START, DBOS_STARTS_A_SECOND = 20.0, 15.0
LARGE = 8_000
DELAYS: JsonObject = {
    "workflow": {
        "key": "delays",
        "name": "Delays",
        "nodes": [
            {"id": "rest", "type": "delay", "config": {"until": "#{due}"}},
            {"id": "next", "type": "NOOP"},
        ],
    }
}
METRIC = re.compile(r"^muster_cache_(hits|misses|stale)_total(?:\{[^}]*\})? ([0-9.e+]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Workload:
    """Executions that are due so many seconds after the first one, with contexts of so many bytes."""

    name: str
    rests: list[float]
    size: int = 0


UNFINISHED = "SELECT count(*) FROM workflow_execution WHERE completed_at IS NULL"
LATE = """
SELECT extract(epoch FROM n.started_at - (e.given ->> 'due')::timestamptz)::float8
FROM node_execution n JOIN workflow_execution e ON e.id = n.execution_id WHERE n.node_id = 'next'
"""


@asynccontextmanager
async def muster_on(url: str, folder: Path, redis: str | None = None) -> AsyncIterator[House]:
    environment = {"MUSTER_DATA_DIR": str(folder), "DB_URL": url}
    if redis:
        environment["REDIS_URL"] = redis
    async with opened(load(environment, {}, folder).settings) as house:
        await house.library.create(DELAYS, ME)
        yield house


async def park(house: House, dues: list[datetime], size: int) -> None:
    filler = "x" * size
    for start in range(0, len(dues), AT_ONCE):
        part = dues[start : start + AT_ONCE]
        contexts: list[JsonObject] = [{"due": due.isoformat(), "filler": filler} for due in part]
        await asyncio.gather(*(house.control.start(Start("delays", context), ME) for context in contexts))


async def late(
    house: House, connection: asyncpg.Connection, workload: Workload, asked: Asked
) -> tuple[list[float], str]:
    """How late each was; and what resuming took, from the first due time to the last end."""
    rests = workload.rests
    began = datetime.now(UTC) + timedelta(seconds=HEAD_START)
    await park(house, [began + timedelta(seconds=rest) for rest in rests], workload.size)
    left = (began - datetime.now(UTC)).total_seconds()
    if left < 0:
        sys.exit(f"parking took {-left:.0f} s too long on this machine")
    await asyncio.sleep(left)
    before, processor = asked.now(), time.process_time()
    while await connection.fetchval(UNFINISHED):
        await connection.execute("SELECT pg_sleep(0.2)")
    used, took = (time.process_time() - processor) / len(rests), asked.since(before)
    ended = await connection.fetchval("SELECT max(completed_at) FROM workflow_execution")
    found = sorted(row[0] for row in await connection.fetch(LATE))
    return found, (
        f"{len(rests) / (ended - began).total_seconds():6.0f} resumes/s   each {used * 1e3:5.2f} ms of a"
        f" processor, {took.statements / len(rests):5.3f} statements, {took.reads / len(rests):5.3f} of them"
        f" only read, {took.answered / len(rests):6.0f} bytes from the database (claims bring contexts, too)"
    )


def shown(found: list[float]) -> str:
    early = sum(1 for each in found if each < 0)
    p50, p99 = (found[int(len(found) * part)] * 1e3 for part in (0.5, 0.99))
    return f"p50 {p50:8.1f} ms   p99 {p99:8.1f} ms   most {found[-1] * 1e3:8.1f} ms   early {early}"


async def bare(connection: asyncpg.Connection, rests: list[float]) -> list[float]:
    """How late the answer to one question is, asked when it is time: as many as one connection bears."""
    found = list[float]()
    began = time.monotonic() + 0.5
    for rest in rests:
        # The loop may wake it a millisecond early, which is nobody's answer.
        await asyncio.sleep(max(began + rest - time.monotonic(), 0) + 0.001)
        await connection.fetchval("SELECT clock_timestamp()")
        found.append(time.monotonic() - began - rest)
    return sorted(found)


async def from_the_cache(house: House) -> str:
    """Of the contexts that were wanted, those that were at hand."""
    transport = httpx.ASGITransport(house.api)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        told = (await client.get("/metrics")).text
    counts = {name: float(value) for name, value in METRIC.findall(told)}
    hits, wanted = counts.get("hits", 0.0), sum(counts.values())
    return f"{hits / wanted:.1%}" if wanted else "none"


async def idle(url: str, folder: Path, parked: int, redis: str | None) -> None:
    """What an instance costs that has nothing to do, with so many executions parked."""
    with counted() as asked:
        async with muster_on(url, folder, redis):
            connection = await asyncpg.connect(url)
            await connection.execute(
                f"""
                INSERT INTO workflow_execution (id, workflow_id, workflow_version_id, status, given, context,
                    state, resume_at, fence, started_at, updated_at)
                SELECT 'parked-' || n, w.id, w.active_version_id, 'PAUSED', '{{}}', '{{}}', '{{}}',
                    now() + interval '1 hour' + n * interval '1 second', 1, now(), now()
                FROM generate_series(1, {parked}) AS n, workflow AS w
                """
            )
            await connection.close()
            database = open_database(url)
            await asyncio.sleep(3)
            server = await spent_by_server(database)
            before, processor = asked.now(), time.process_time()
            await asyncio.sleep(IDLE_SECONDS)
            share = (time.process_time() - processor) / IDLE_SECONDS
            a_second = asked.since(before).statements / IDLE_SECONDS
            server = (await spent_by_server(database) - server) / IDLE_SECONDS
            await database.close()
            print(
                f"\nidle{', Redis' if redis else ''}, {parked:,} parked   {a_second:5.1f} queries/s"
                f"   {share:6.2%} of a processor here, {server:6.2%} in PostgreSQL"
            )


async def dbos_late(url: str, rests: list[float]) -> list[float] | None:
    """None: it has given up."""
    pipe = asyncio.subprocess.PIPE
    script = HERE / "peers" / "dbos_delays.py"
    process = await asyncio.create_subprocess_exec(
        DBOS_PYTHON, script, url, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, limit=1 << 24
    )
    assert process.stdin is not None
    assert process.stdout is not None
    # It has to have started all of them by then; how fast that is depends on nothing but how many they are.
    head_start = max(60.0, len(rests) / DBOS_STARTS_A_SECOND)
    asked = {"run": "delays", "rests": [rest + head_start for rest in rests]}
    process.stdin.write(json.dumps(asked).encode() + b"\n")
    line = await process.stdout.readline()
    with suppress(ProcessLookupError):
        process.terminate()
    await process.wait()
    if not line:
        return None
    found = json.loads(line)
    if found["started"] > head_start:
        print("  (DBOS had not started all of them when the first was due)")
    return sorted(found["late"])


def workloads(options: argparse.Namespace) -> list[Workload]:
    together, spread = options.together, options.spread
    over_ten = [10 * n / spread for n in range(spread)]
    found = {
        "together": Workload(f"{together:,} due in one second", [n / together for n in range(together)]),
        "spread": Workload(f"{spread:,} spread over ten", over_ten),
        "large": Workload(f"{spread:,} spread over ten, of 8 KB", over_ten, LARGE),
    }
    return [workload for name, workload in found.items() if options.only in (None, name)]


async def compare(options: argparse.Namespace, server: str, redis: str | None) -> None:
    for workload in workloads(options):
        print(f"\n{workload.name}")
        ours = await measured(server, workload, None)
        if redis:
            await measured(server, workload, redis)
        if options.dbos and not workload.size:
            await beside_dbos(server, workload.rests, ours, options.dbos)


async def measured(server: str, workload: Workload, redis: str | None) -> float:
    """The 99th percentile of how late they were."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = await stack.enter_async_context(fresh(server))
        connection = await asyncpg.connect(url)
        stack.push_async_callback(connection.close)
        asked = stack.enter_context(counted())
        house = await stack.enter_async_context(muster_on(url, folder, redis))
        found, cost = await late(house, connection, workload, asked)
        if redis is None:
            print(f"  bare timer     {shown(await bare(connection, workload.rests))}")
        print(f"  Muster{', Redis' if redis else '':8} {shown(found)}")
        print(f"    {cost}")
        if redis is not None:
            print(f"    {await from_the_cache(house)} of the resumes were served from the cache")
        return found[int(len(found) * 0.99)]


async def beside_dbos(server: str, rests: list[float], ours: float, most: int) -> None:
    """With no more than DBOS bears: its workflows sleep in the memory of one process."""
    fewer = rests[:: max(len(rests) // most, 1)]
    async with fresh(server) as url:
        theirs = await dbos_late(url, fewer)
    if theirs is None:
        print(f"  DBOS, {len(fewer):,}    has given up")
        return
    print(f"  DBOS, {len(fewer):,}    {shown(theirs)}")
    print(f"    DBOS's p99 is {theirs[int(len(theirs) * 0.99)] / max(ours, 1e-4):.1f} times Muster's")


async def run(options: argparse.Namespace) -> None:
    redis = None if options.no_redis else await asyncio.to_thread(redis_address)
    async with postgres_database() as url:
        await compare(options, url, redis)
        if options.only not in (None, "idle"):
            return
        for one in [None, redis] if redis else [None]:
            with tempfile.TemporaryDirectory() as folder:
                async with fresh(url) as empty:
                    await idle(empty, Path(folder), options.parked, one)


def redis_address() -> str:
    return os.environ.get("TEST_REDIS_URL") or started("redis", "TEST_REDIS_URL")


def main() -> None:
    parser = argparse.ArgumentParser(description="How late delays end, beside DBOS.")
    parser.add_argument("--together", type=int, default=5_000)
    parser.add_argument("--spread", type=int, default=1_000)
    parser.add_argument("--parked", type=int, default=100_000)
    parser.add_argument("--dbos", type=int, default=1_000, help="so many of them at most on DBOS; 0: none")
    parser.add_argument("--no-redis", action="store_true", help="only without one")
    parser.add_argument("--only", choices=("together", "spread", "large", "idle"), help="some of it")
    options = parser.parse_args()
    if options.dbos and not DBOS_PYTHON.exists():
        sys.exit("DBOS is not installed: make .venv-dbos/.done")
    uvloop.run(run(options))


if __name__ == "__main__":
    main()
