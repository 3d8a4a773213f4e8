"""A thousand schedules that come due in the same second, and four servers that look: each fires once.

    python bench/schedules.py [--schedules 1000] [--servers 4] [--ahead 10]

Four `muster serve` on one PostgreSQL, each a process of its own. It prints how long after the schedules'
second their executions were begun, by the clock of this machine, and had ended, by the database's. Where
something else runs beside it that says more about the machine. PostgreSQL is at TEST_POSTGRES_URL, or the one
that `scripts/services.py` starts.
"""

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import uvloop
from sqlalchemy import Connection

from muster.model.schedule import ScheduleOrigin
from muster.model.workflow import Schedule
from muster.store.dialect import insert_rows, now
from muster.store.open import open_database
from muster.store.schedule_rows import new_row
from muster.store.tables import workflow_schedule
from peers.http_calls import connect, free_port
from triggers import database, serving

WORKFLOW = {"workflow": {"name": "w", "key": "w", "nodes": [{"id": "a", "type": "NOOP"}]}}
FOUND = """SELECT trigger_id, started_at, completed_at, resumed_by, status
           FROM workflow_execution WHERE trigger_id IS NOT NULL"""
PATIENCE = 300.0


async def measure(options: argparse.Namespace) -> None:
    muster = Path(sys.executable).with_name("muster")
    async with AsyncExitStack() as stack:
        where = await stack.enter_async_context(database("postgres", ""))
        ports = [free_port() for _ in range(options.servers)]
        for number, port in enumerate(ports):
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            command = serving(
                [muster, "serve"],
                port,
                MUSTER_PORT=str(port),
                MUSTER_DATA_DIR=folder,
                INSTANCE_ID=f"bench-{number}",
                **where,
            )
            await stack.enter_async_context(command)
        status, made = await (await connect(ports[0])).post("/api/workflow", WORKFLOW)
        assert status == 201, made
        assert isinstance(made, dict)
        at = await _put_schedules(where["DB_URL"], made["id"], options)
        rows = await _all_ended(where["DB_URL"], options.schedules)
    fired = Counter(row["trigger_id"] for row in rows)
    assert len(rows) == len(fired) == options.schedules, "each once"
    assert {row["status"] for row in rows} == {"COMPLETED"}
    _tell("begun", [row["started_at"] - at for row in rows])
    _tell("ended", [row["completed_at"] - at for row in rows])


async def _put_schedules(url: str, workflow_id: str, options: argparse.Namespace) -> datetime:
    """All for the same second of every day, which is about to come."""
    opened = open_database(url)

    def work(connection: Connection) -> datetime:
        at = now(connection)
        due = (at + timedelta(seconds=options.ahead)).replace(microsecond=0)
        daily = Schedule("CRON", cron_expression=f"{due.second} {due.minute} {due.hour} * * *")
        origin = ScheduleOrigin.API
        ids = [f"bench-{number}" for number in range(options.schedules)]
        insert_rows(
            connection, workflow_schedule, [new_row(each, workflow_id, "", origin, daily, at) for each in ids]
        )
        return due

    due = await opened.write(work)
    await opened.close()
    return due


async def _all_ended(url: str, wanted: int) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(url)
    loop = asyncio.get_running_loop()
    give_up = loop.time() + PATIENCE
    rows: list[asyncpg.Record] = []
    while sum(row["completed_at"] is not None for row in rows) < wanted:
        assert loop.time() < give_up, f"{len(rows)} of {wanted} have begun"
        await asyncio.sleep(1.0)
        rows = await connection.fetch(FOUND)
    await connection.close()
    return rows


def _tell(what: str, late: list[timedelta]) -> None:
    seconds = sorted(each.total_seconds() for each in late)
    middle, ninety_nine = seconds[len(seconds) // 2], seconds[len(seconds) * 99 // 100]
    print(
        f"{len(seconds)} {what}: late p50 {middle:.3f} s, p99 {ninety_nine:.3f} s, most {seconds[-1]:.3f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Schedules that come due in the same second.")
    parser.add_argument("--schedules", type=int, default=1000)
    parser.add_argument("--servers", type=int, default=4)
    parser.add_argument("--ahead", type=float, default=10.0)
    uvloop.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
