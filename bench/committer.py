"""Durable single-row writes a second through the group committer.

Against one commit for each write on a single connection, and against plain inserts in batches as large as the
callers are many; both on the bare driver, with the committer's statement. Every contender's turn is short and
the turns alternate, so that whatever else the machine does meets all of them; the medians are printed. The
loop is uvloop, as in `muster serve`.

    python bench/committer.py [--seconds 0.7] [--rounds 7] [--callers 1,16,64,256]

PostgreSQL is at TEST_POSTGRES_URL, or the one that `scripts/services.py` starts.
"""

import argparse
import asyncio
import os
import shlex
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import uvloop
from sqlalchemy import Column, Connection, MetaData, Table, Text

from muster.store.committer import GroupCommitter, Locks
from muster.store.database import Database
from muster.store.dialect import insert_rows
from muster.store.open import open_database

STEPS = Table(
    "bench_step",
    MetaData(),
    Column("id", Text, primary_key=True),
    Column("execution", Text, nullable=False),
    Column("node", Text, nullable=False),
    Column("output", Text, nullable=False),
)
OUTPUT = '{"status": "shipped", "parcels": 3, "carrier": "north"}'
ON_POSTGRES = "INSERT INTO bench_step SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])"
ON_SQLITE = "INSERT INTO bench_step VALUES (:id, :execution, :node, :output)"

Row = dict[str, str]
Contender = Callable[[float], Awaitable[int]]  # works for so many seconds, answers how much it wrote


def new_row() -> Row:
    return {"id": uuid.uuid4().hex, "execution": "execution", "node": "node", "output": OUTPUT}


class Steps:
    key_may_repeat = True
    locks = Locks.NOTHING
    is_single_statement = True

    def write(self, connection: Connection, items: Sequence[Row]) -> Sequence[None]:
        insert_rows(connection, STEPS, items)
        return [None] * len(items)


def through_committer(database: Database, callers: int) -> Contender:
    async def run(seconds: float) -> int:
        committer = GroupCommitter(database)
        until = time.perf_counter() + seconds
        kind = Steps()

        async def call(key: int) -> int:
            written = 0
            while time.perf_counter() < until:
                await committer.submit(kind, new_row(), key)
                written += 1
            return written

        written = await asyncio.gather(*(call(key) for key in range(callers)))
        await committer.close()
        return sum(written)

    return run


def in_batches(write: Callable[[list[Row]], Awaitable[None]], size: int) -> Contender:
    async def run(seconds: float) -> int:
        until = time.perf_counter() + seconds
        written = 0
        while time.perf_counter() < until:
            await write([new_row() for _ in range(size)])
            written += size
        return written

    return run


def asyncpg_writer(connection: asyncpg.Connection) -> Callable[[list[Row]], Awaitable[None]]:
    async def write(rows: list[Row]) -> None:
        arrays = [[row[name] for row in rows] for name in ("id", "execution", "node", "output")]
        await connection.execute(ON_POSTGRES, *arrays)

    return write


def sqlite_writer(connection: sqlite3.Connection) -> Callable[[list[Row]], Awaitable[None]]:
    async def write(rows: list[Row]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(ON_SQLITE, rows)
        connection.execute("COMMIT")

    return write


async def rates(contenders: dict[str, Contender], seconds: float, rounds: int) -> dict[str, float]:
    """The median rate of each, in turns."""
    measured: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            started = time.perf_counter()
            written = await run(seconds)
            measured[name].append(written / (time.perf_counter() - started))
    return {name: statistics.median(all_of_them) for name, all_of_them in measured.items()}


async def measure(
    title: str,
    database: Database,
    write: Callable[[list[Row]], Awaitable[None]],
    options: argparse.Namespace,
) -> None:
    print(f"\n{title}\n{'callers':>8} {'committer/s':>12} {'one commit/s':>13} {'batched/s':>10}", end="")
    print(f" {'vs one':>7} {'vs batched':>11}")
    for callers in options.callers:
        contenders = {
            "committer": through_committer(database, callers),
            "alone": in_batches(write, 1),
            "batched": in_batches(write, callers),
        }
        found = await rates(contenders, options.seconds, options.rounds)
        ours, alone, batched = found["committer"], found["alone"], found["batched"]
        print(f"{callers:>8} {ours:>12,.0f} {alone:>13,.0f} {batched:>10,.0f}", end="")
        print(f" {ours / alone:>6.1f}x {ours / batched:>10.0%}", flush=True)


async def on_sqlite(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        database = open_database(f"sqlite:///{path}")
        await database.write(STEPS.create)
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")
        await measure("SQLite, synchronous=FULL", database, sqlite_writer(connection), options)
        connection.close()
        await database.close()


async def on_postgres(options: argparse.Namespace) -> None:
    url = os.environ.get("TEST_POSTGRES_URL") or started_postgres()
    connection = await asyncpg.connect(url)
    fsync = await connection.fetchval("SHOW fsync")
    if fsync != "on":
        sys.exit("this PostgreSQL runs with fsync=off: what it calls durable is not")
    await connection.execute("DROP TABLE IF EXISTS bench_step")
    database = open_database(url)
    await database.write(STEPS.create)
    await measure("PostgreSQL, fsync on", database, asyncpg_writer(connection), options)
    await database.write(STEPS.drop)
    await database.close()
    await connection.close()


def started_postgres() -> str:
    script = Path(__file__).parents[1] / "scripts" / "services.py"
    up = subprocess.run(
        [sys.executable, script, "up", "postgres"], capture_output=True, text=True, check=True
    )
    words = [word for line in up.stdout.splitlines() for word in shlex.split(line)]
    return next(word.partition("=")[2] for word in words if word.startswith("TEST_POSTGRES_URL="))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Durable single-row writes a second.")
    parser.add_argument("--seconds", type=float, default=0.7, help="how long each turn lasts")
    parser.add_argument("--rounds", type=int, default=7, help="how many turns each contender has")
    parser.add_argument("--callers", default="1,16,64,256", help="how many callers write at the same time")
    parser.add_argument("--on", choices=["sqlite", "postgres"], help="only this database")
    options = parser.parse_args(arguments)
    options.callers = [int(number) for number in options.callers.split(",")]
    if options.on != "postgres":
        uvloop.run(on_sqlite(options))
    if options.on != "sqlite":
        uvloop.run(on_postgres(options))


if __name__ == "__main__":
    main()
