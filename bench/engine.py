"""Five trivial durable steps: Muster beside DBOS on the same database, in turns, in one run.

    python bench/engine.py [--rounds 3] [--seconds 3] [--in-flight 64] [--on postgres|sqlite] [--brief]

Both journal every step before the next begins. For PostgreSQL it prints besides: the share of what plain
batched inserts reach here, commits per execution, starting over HTTP one by one, one execution alone, and
what 100,000 finished executions in the tables change. DBOS has an environment of its own (`make
.venv-dbos/.done`); PostgreSQL is at TEST_POSTGRES_URL, or the one that `scripts/services.py` starts.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import uvloop
from sqlalchemy.schema import CreateTable

from committer import STEPS, asyncpg_writer, in_batches, started_postgres
from muster.app.build import House, opened
from muster.app.garbage import look_rarely
from muster.app.load import load
from muster.engine.control import Start
from muster.model.access import Caller, How, Role
from peers.http_calls import starting_over_http
from support.five_steps import FIVE_STEPS

HERE = Path(__file__).parent
DBOS_PYTHON = HERE.parent / ".venv-dbos" / "bin" / "python"
ME = Caller("bench", frozenset({Role.ADMIN}), None, How.LOOPBACK)
FINISHED = 100_000
ROWS_OF_ONE = 7  # it begins, five steps, it ends


class Dbos:
    """The other one, in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def ask(self, **command: object) -> dict[str, object]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        line = await self._process.stdout.readline()
        if not line:
            sys.exit("DBOS has ended")
        answer: dict[str, object] = json.loads(line)
        return answer


@asynccontextmanager
async def dbos_on(url: str) -> AsyncIterator[Dbos]:
    if not DBOS_PYTHON.exists():
        sys.exit("DBOS is not installed: make .venv-dbos/.done")
    script = HERE / "peers" / "dbos_steps.py"
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(DBOS_PYTHON, script, url, stdin=pipe, stdout=pipe)
    try:
        yield Dbos(process)
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def muster_on(url: str | None, folder: Path) -> AsyncIterator[House]:
    environment = {"MUSTER_PLUGINS": "support.five_steps", "MUSTER_DATA_DIR": str(folder)}
    if url:
        environment["DB_URL"] = url
    settings = load(environment, {}, folder).settings
    async with opened(settings) as house:
        await house.library.create(FIVE_STEPS, ME)
        look_rarely()  # as a server does
        yield house


async def one(house: House) -> None:
    begun = await house.control.start(Start("five-steps", {"number": 0}), ME)
    came = await house.control.wait(begun.id, ME, 60)
    assert came.status == "COMPLETED", came
    assert isinstance(came.output, dict)
    assert came.output["number"] == 5


async def rate(run: Callable[[], Awaitable[None]], seconds: float, in_flight: int) -> float:
    """Completed a second, with so many in flight at any time."""
    started, done = time.perf_counter(), 0

    async def keep_going() -> None:
        nonlocal done
        while time.perf_counter() - started < seconds:
            await run()
            done += 1

    await asyncio.gather(*(keep_going() for _ in range(in_flight)))
    return done / (time.perf_counter() - started)


async def alone(house: House, times: int) -> list[float]:
    took = []
    for _ in range(times):
        started = time.perf_counter()
        await one(house)
        took.append(time.perf_counter() - started)
    return took


def in_milliseconds(took: list[float]) -> str:
    ordered = sorted(took)
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return f"p50 {statistics.median(ordered) * 1e3:6.1f} ms, p99 {p99 * 1e3:6.1f} ms"


def median_rate(rates: list[float]) -> float:
    return statistics.median(rates)


@asynccontextmanager
async def fresh(server: str) -> AsyncIterator[str]:
    """An empty database on the server."""
    name = f"bench_{uuid.uuid4().hex[:12]}"
    admin = await asyncpg.connect(server)
    await admin.execute(f'CREATE DATABASE "{name}"')
    try:
        yield f"{server.rsplit('/', 1)[0]}/{name}"
    finally:
        await admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
        await admin.close()


async def commits(connection: asyncpg.Connection) -> int:
    """Transactions of the whole database that changed something: its commits that wrote to the log."""
    await connection.execute("SELECT pg_stat_clear_snapshot()")
    query = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
    return int(await connection.fetchval(query))


async def fill(url: str) -> None:
    """As if so many executions had finished here before."""
    connection = await asyncpg.connect(url)
    await connection.execute(
        f"""
        INSERT INTO workflow_execution (id, workflow_id, workflow_version_id, status, given, context, state,
            output, fence, takeovers, started_at, completed_at, updated_at)
        SELECT 'old-' || n, w.id, w.active_version_id, 'COMPLETED', '{{"number": 0}}', '{{"number": 5}}',
            '{{"seq": 5}}', '{{"number": 5}}', 1, 0, now(), now(), now()
        FROM generate_series(1, {FINISHED}) AS n, workflow AS w
        """
    )
    await connection.execute(
        f"""
        INSERT INTO node_execution (execution_id, node_id, visit, item_key, seq, attempt, status, output,
            started_at, completed_at)
        SELECT 'old-' || n, 'step' || s, 1, '', s + 1, 1, 'completed', '{{"number": 1}}', now(), now()
        FROM generate_series(1, {FINISHED}) AS n, generate_series(0, 4) AS s
        """
    )
    await connection.close()


async def batched_inserts(url: str, seconds: float, size: int) -> float:
    """Rows a second that a bare driver inserts in batches of this size."""
    connection = await asyncpg.connect(url)
    await connection.execute(str(CreateTable(STEPS)))
    started = time.perf_counter()
    written = await in_batches(asyncpg_writer(connection), size)(seconds)
    await connection.execute("DROP TABLE bench_step")
    await connection.close()
    return written / (time.perf_counter() - started)


async def on_postgres(options: argparse.Namespace) -> None:
    server = os.environ.get("TEST_POSTGRES_URL") or started_postgres()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ours, filled, theirs = [await stack.enter_async_context(fresh(server)) for _ in range(3)]
        house = await stack.enter_async_context(muster_on(ours, folder / "ours"))
        old_house = await stack.enter_async_context(muster_on(filled, folder / "filled"))
        dbos = await stack.enter_async_context(dbos_on(theirs))
        statistics_of = await asyncpg.connect(ours)
        stack.push_async_callback(statistics_of.close)
        await fill(filled)
        seconds, in_flight = options.seconds, options.in_flight
        for warm in (house, old_house):
            await rate(partial(one, warm), 1, in_flight)
        await dbos.ask(run="rate", seconds=1, in_flight=in_flight)
        rates: dict[str, list[float]] = {"ours": [], "filled": [], "theirs": [], "inserts": []}
        per_execution = []
        for _ in range(options.rounds):
            before = await commits(statistics_of)
            rates["ours"].append(await rate(lambda: one(house), seconds, in_flight))
            await asyncio.sleep(1.2)  # backends tell their figures once a second
            per_execution.append((await commits(statistics_of) - before) / (rates["ours"][-1] * seconds))
            rates["filled"].append(await rate(lambda: one(old_house), seconds, in_flight))
            their = await dbos.ask(run="rate", seconds=seconds, in_flight=in_flight)
            rates["theirs"].append(float(str(their["rate"])))
            rates["inserts"].append(await batched_inserts(ours, 1, in_flight))
        report("PostgreSQL", rates, in_flight)
        limit = median_rate(rates["inserts"]) / ROWS_OF_ONE
        print(f"  share of batched inserts        {median_rate(rates['ours']) / limit:8.0%}")
        print(f"  transactions per execution      {statistics.median(per_execution):8.2f}")
        change = median_rate(rates["filled"]) / median_rate(rates["ours"]) - 1
        print(f"  with {FINISHED:,} finished        {median_rate(rates['filled']):8.0f}/s ({change:+.0%})")
        if options.brief:
            return
        mine = await alone(house, 200)
        their = await dbos.ask(run="alone", times=100)
        their_seconds = [float(second) for second in their["seconds"]]  # type: ignore[attr-defined]  # its own
        print(f"  one alone, Muster   {in_milliseconds(mine)}")
        print(f"  one alone, DBOS     {in_milliseconds(their_seconds)}")
    async with fresh(server) as url:
        found = await starting_over_http(url, seconds, in_flight, FIVE_STEPS)
        print(f"  over HTTP, one by one           {found:8.0f}/s")


async def on_sqlite(options: argparse.Namespace) -> None:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        house = await stack.enter_async_context(muster_on(None, folder / "ours"))
        dbos = await stack.enter_async_context(dbos_on(f"sqlite:///{folder / 'dbos.db'}"))
        rates: dict[str, list[float]] = {"ours": [], "theirs": []}
        for _ in range(options.rounds):
            rates["ours"].append(await rate(lambda: one(house), options.seconds, options.in_flight))
            their = await dbos.ask(run="rate", seconds=options.seconds, in_flight=options.in_flight)
            rates["theirs"].append(float(str(their["rate"])))
        report("SQLite", rates, options.in_flight)


def report(title: str, rates: dict[str, list[float]], in_flight: int) -> None:
    ours, theirs = median_rate(rates["ours"]), median_rate(rates["theirs"])
    print(f"\n{title}, five durable steps, {in_flight} in flight")
    print(f"  Muster {ours:8.0f}/s   DBOS {theirs:8.1f}/s   ratio {ours / theirs:6.1f}x", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Five durable steps, beside DBOS.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--on", choices=["sqlite", "postgres"], help="only this database")
    parser.add_argument("--brief", action="store_true", help="rates only")
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    if options.on != "sqlite":
        uvloop.run(on_postgres(options))
    if options.on != "postgres":
        uvloop.run(on_sqlite(options))


if __name__ == "__main__":
    main()
