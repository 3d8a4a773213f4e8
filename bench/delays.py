"""How late delays end: many due in one second, and some spread over ten, beside DBOS in the same run.

    python bench/delays.py [--together 5000] [--spread 1000] [--parked 100000] [--no-dbos]

Late is from the due time to the start of the next node, by the database's clock; a delay that ended early
would be a mistake. A bare timer with one question to the database says what this machine allows at this
moment. Prints besides: resumes a second, processor time and statements for each, how many found their context
in the cache, and what an idle instance costs with so many executions parked. PostgreSQL is at
TEST_POSTGRES_URL, or the one that `scripts/services.py` starts; with a Redis at TEST_REDIS_URL, everything is
done once more with it.
"""

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import httpx
import uvloop
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from engine import DBOS_PYTHON, HERE, ME, fresh
from muster.app.build import House, opened
from muster.app.load import load
from muster.engine.control import Start
from muster.model.json import JsonObject
from muster.store import open as store_open
from support.engine import postgres_database

AT_ONCE = 250
IDLE_SECONDS = 20.0
# Until the first is due all of them have to be parked: DBOS, which starts slowest, has to have that time too.
HEAD_START, DBOS_HEAD_START = 20.0, 60.0
DBOS_BEARS = 1_000
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
METRIC = re.compile(r"^muster_cache_(hits|misses)_total(?:\{[^}]*\})? ([0-9.e+]+)$", re.MULTILINE)
UNFINISHED = "SELECT count(*) FROM workflow_execution WHERE completed_at IS NULL"
LATE = """
SELECT extract(epoch FROM n.started_at - (e.given ->> 'due')::timestamptz)::float8
FROM node_execution n JOIN workflow_execution e ON e.id = n.execution_id WHERE n.node_id = 'next'
"""


class Statements:
    """What goes to the database from this process."""

    def __init__(self) -> None:
        self.count = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        made, counter = store_open.server_engine, self

        def counting(*given: Any, **options: Any) -> AsyncEngine:
            engine = made(*given, **options)
            event.listen(engine.sync_engine, "before_cursor_execute", counter.note)
            return engine

        store_open.server_engine = counting
        try:
            yield
        finally:
            store_open.server_engine = made

    def note(self, *_: object) -> None:
        self.count += 1


@asynccontextmanager
async def muster_on(url: str, folder: Path, redis: str | None = None) -> AsyncIterator[House]:
    environment = {"MUSTER_DATA_DIR": str(folder), "DB_URL": url}
    if redis:
        environment["REDIS_URL"] = redis
    async with opened(load(environment, {}, folder).settings) as house:
        await house.library.create(DELAYS, ME)
        yield house


async def park(house: House, dues: list[datetime]) -> None:
    for start in range(0, len(dues), AT_ONCE):
        part = dues[start : start + AT_ONCE]
        await asyncio.gather(
            *(house.control.start(Start("delays", {"due": due.isoformat()}), ME) for due in part)
        )


async def late(
    house: House, connection: asyncpg.Connection, rests: list[float], statements: Statements
) -> tuple[list[float], str]:
    """How late each was; and what resuming took, from the first due time to the last end."""
    await connection.execute("TRUNCATE workflow_execution, node_execution CASCADE")
    began = datetime.now(UTC) + timedelta(seconds=HEAD_START)
    await park(house, [began + timedelta(seconds=rest) for rest in rests])
    left = (began - datetime.now(UTC)).total_seconds()
    if left < 0:
        sys.exit(f"parking took {-left:.0f} s too long on this machine")
    await asyncio.sleep(left)
    before, processor = statements.count, time.process_time()
    while await connection.fetchval(UNFINISHED):
        await connection.execute("SELECT pg_sleep(0.2)")
    used = (time.process_time() - processor) / len(rests)
    each = (statements.count - before) / len(rests)
    took = await connection.fetchval("SELECT max(completed_at) FROM workflow_execution") - began
    found = sorted(row[0] for row in await connection.fetch(LATE))
    return found, (
        f"{len(rests) / took.total_seconds():6.0f} resumes/s   {used * 1e3:5.2f} ms of a processor and"
        f" {each:5.2f} statements for each"
    )


def shown(found: list[float]) -> str:
    early = sum(1 for each in found if each < 0)
    p50, p99 = (found[int(len(found) * part)] * 1e3 for part in (0.5, 0.99))
    return f"p50 {p50:8.1f} ms   p99 {p99:8.1f} ms   most {found[-1] * 1e3:8.1f} ms   early {early}"


async def bare(connection: asyncpg.Connection, rests: list[float]) -> list[float]:
    """How late the answer to one question is, asked when it is time: as many as one connection bears."""
    loop, found = asyncio.get_running_loop(), list[float]()
    began = loop.time() + 0.5
    for rest in rests:
        await asyncio.sleep(max(began + rest - loop.time(), 0))
        await connection.fetchval("SELECT clock_timestamp()")
        found.append(loop.time() - began - rest)
    return sorted(found)


async def from_the_cache(house: House) -> str:
    """Of the contexts that were wanted, those that were at hand."""
    transport = httpx.ASGITransport(house.api)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        told = (await client.get("/metrics")).text
    counts = {name: float(value) for name, value in METRIC.findall(told)}
    hits, misses = counts.get("hits", 0.0), counts.get("misses", 0.0)
    return f"{hits / (hits + misses):.0%}" if hits + misses else "none"


async def idle(url: str, folder: Path, parked: int) -> None:
    """What an instance costs that has nothing to do, with so many executions parked."""
    statements = Statements()
    with statements.counted():
        async with muster_on(url, folder):
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
            await asyncio.sleep(3)
            before, processor = statements.count, time.process_time()
            await asyncio.sleep(IDLE_SECONDS)
            asked = (statements.count - before) / IDLE_SECONDS
            share = (time.process_time() - processor) / IDLE_SECONDS
            print(f"  idle, {parked:,} parked   {asked:5.1f} statements/s   {share:6.2%} of a processor")


async def dbos_late(url: str, rests: list[float]) -> list[float] | None:
    """None: it has given up."""
    pipe = asyncio.subprocess.PIPE
    script = HERE / "peers" / "dbos_delays.py"
    process = await asyncio.create_subprocess_exec(
        DBOS_PYTHON, script, url, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, limit=1 << 24
    )
    assert process.stdin is not None
    assert process.stdout is not None
    asked = {"run": "delays", "rests": [rest + DBOS_HEAD_START for rest in rests]}
    process.stdin.write(json.dumps(asked).encode() + b"\n")
    line = await process.stdout.readline()
    with suppress(ProcessLookupError):
        process.terminate()
    await process.wait()
    if not line:
        return None
    found = json.loads(line)
    if found["started"] > DBOS_HEAD_START:
        print("  (DBOS had not started all of them when the first was due)")
    return sorted(found["late"])


async def compare(options: argparse.Namespace, server: str) -> None:
    workloads = {
        f"{options.together:,} due in one second": [n / options.together for n in range(options.together)],
        f"{options.spread:,} spread over ten": [10 * n / options.spread for n in range(options.spread)],
    }
    redis = os.environ.get("TEST_REDIS_URL")
    for name, rests in workloads.items():
        print(f"\n{name}")
        ours = 0.0
        for cache in (None, redis) if redis else (None,):
            statements = Statements()
            async with AsyncExitStack() as stack:
                stack.enter_context(statements.counted())
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                url = await stack.enter_async_context(fresh(server))
                house = await stack.enter_async_context(muster_on(url, folder, cache))
                connection = await asyncpg.connect(url)
                stack.push_async_callback(connection.close)
                found, cost = await late(house, connection, rests, statements)
                ours = ours or found[int(len(found) * 0.99)]
                if cache is None:
                    print(f"  bare timer     {shown(await bare(connection, rests))}")
                print(f"  Muster{', Redis' if cache else '':8} {shown(found)}")
                if cache is not None:
                    print(f"    {await from_the_cache(house)} of the contexts came from the cache")
                print(f"    {cost}")
        if not options.no_dbos:
            await beside_dbos(server, rests, ours)


async def beside_dbos(server: str, rests: list[float], ours: float) -> None:
    """With no more than DBOS bears: its workflows sleep in the memory of one process."""
    fewer = rests[:: max(len(rests) // DBOS_BEARS, 1)]
    async with fresh(server) as url:
        theirs = await dbos_late(url, fewer)
    if theirs is None:
        print(f"  DBOS, {len(fewer):,}    has given up")
        return
    print(f"  DBOS, {len(fewer):,}    {shown(theirs)}")
    print(f"    DBOS's p99 is {theirs[int(len(theirs) * 0.99)] / max(ours, 1e-4):.1f} times Muster's")


async def run(options: argparse.Namespace) -> None:
    async with postgres_database() as url:
        await compare(options, url)
        with tempfile.TemporaryDirectory() as folder:
            async with fresh(url) as empty:
                await idle(empty, Path(folder), options.parked)


def main() -> None:
    parser = argparse.ArgumentParser(description="How late delays end, beside DBOS.")
    parser.add_argument("--together", type=int, default=5_000)
    parser.add_argument("--spread", type=int, default=1_000)
    parser.add_argument("--parked", type=int, default=100_000)
    parser.add_argument("--no-dbos", action="store_true", help="Muster alone")
    options = parser.parse_args()
    if not options.no_dbos and not DBOS_PYTHON.exists():
        sys.exit("DBOS is not installed: make .venv-dbos/.done")
    uvloop.run(run(options))


if __name__ == "__main__":
    main()
