"""What is missed is missed once: many expectations come due within a minute, while the instances that look
for them are killed and started again.

Each fires once, with one alert and one count; and it prints how late they were.
"""

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import httpx
from sqlalchemy import Connection, Row, func, select

from databases import fresh_database
from muster.model.watching import Event
from muster.store.database import Database
from muster.store.open import open_database
from muster.store.tables import (
    alert,
    expectation,
    stage_aggregate,
    stage_aggregate_day,
    stage_aggregate_hour,
)
from torture.instances import MusterProcess
from torture.judge import Verdict
from torture.nursery import Nursery
from torture.own_postgres import own_postgres
from torture.torture import count_logs, end_all, kill_all
from watch_house import WatchHouse

A, E = alert.c, expectation.c
LATENCY = timedelta(seconds=600)
BATCH = 1_000
# So many events a second are sent at least, also where others use the machine.
SLOWEST = 1_000
PATIENCE = 600
WATCHED = {
    "key": "missing",
    "graph": {
        "nodes": [{"key": "sent", "eventType": "SENT", "start": True}, {"key": "seen", "eventType": "SEEN"}],
        "edges": [{"from": "sent", "to": "seen", "maxLatencySec": LATENCY.seconds}],
    },
}


@dataclass(frozen=True, slots=True)
class Silence:
    """So many are expected, all of them within so many seconds; an instance is killed every so often."""

    seed: int
    count: int
    seconds: float = 60.0
    instances: int = 4
    every: float = 4.0


async def miss_all(silence: Silence) -> Verdict:
    """Let it happen, and say what was found."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="muster-missing-")))
        postgres = stack.enter_context(own_postgres())
        url = await stack.enter_async_context(fresh_database("postgres", postgres.url))
        nursery = Nursery()
        stack.callback(nursery.close)
        settings = {"DB_URL": url, "MUSTER_LOG_LEVEL": "warning", "MUSTER_LOG_FORMAT": "json"}
        names = [f"instance-{number}" for number in range(silence.instances)]
        instances = [MusterProcess(name, nursery, folder, settings) for name in names]
        stack.callback(kill_all, instances)
        await _begin(instances)
        database = open_database(url)
        stack.push_async_callback(database.close)
        first = await _send(silence, database)
        killed = await _storm(silence, instances, database, first)
        verdict = Verdict()
        _judge(verdict, silence, await database.read(_expectations))
        await _judge_counts(verdict, silence, database)
        await asyncio.gather(*(instance.ready_at_last() for instance in instances))
        await end_all(verdict, instances)
        verdict.numbers |= {"seed": silence.seed, "instances killed": killed}
        count_logs(verdict, instances)
        return verdict


async def _begin(instances: Sequence[MusterProcess]) -> None:
    for instance in instances:
        instance.start()
        await instance.ready()
    async with httpx.AsyncClient(timeout=30) as client:
        made = await client.post(f"{instances[0].url}/workflows", json=WATCHED)
        assert made.status_code == 201, made.text


async def _send(silence: Silence, database: Database) -> datetime:
    """What is never answered; when the first of it is due."""
    first = datetime.now(UTC) + timedelta(seconds=5 + silence.count / SLOWEST)
    house = WatchHouse(database)
    apart = timedelta(seconds=silence.seconds) / silence.count
    for start in range(0, silence.count, BATCH):
        now = datetime.now(UTC)
        await house.take(
            *(
                Event("s", f"e{n}", "SENT", first + n * apart - LATENCY, now, f"k{n}")
                for n in range(start, min(start + BATCH, silence.count))
            )
        )
    await house.close()
    return first


async def _storm(
    silence: Silence, instances: Sequence[MusterProcess], database: Database, first: datetime
) -> int:
    """Kill one after the other from shortly before the first is due, until all have fired."""
    chance, killed = Random(silence.seed), 0
    await asyncio.sleep(max(0.0, (first - datetime.now(UTC)).total_seconds() - 1))
    left = select(func.count()).where(E.status == "pending")
    async with asyncio.timeout(silence.seconds + PATIENCE):
        while await database.read(lambda connection: connection.scalar(left)):
            victim = chance.choice(instances)
            victim.kill()
            killed += 1
            victim.start()
            await asyncio.sleep(silence.every)
    return killed


def _expectations(connection: Connection) -> Sequence[Row[Any]]:
    return connection.execute(select(E.id, E.status, E.due_at, E.fired_at, E.lock_owner)).all()


def _judge(verdict: Verdict, silence: Silence, rows: Sequence[Row[Any]]) -> None:
    verdict.expect_none([] if len(rows) == silence.count else [len(rows)], "expectations there should not be")
    verdict.expect_none([row.id for row in rows if row.status != "fired"], "expectations have not fired")
    late = sorted((row.fired_at - row.due_at).total_seconds() for row in rows if row.fired_at is not None)
    verdict.expect_none([each for each in late if each < 0], "expectations have fired too early")
    if late:
        verdict.numbers |= {
            "expectations": len(rows),
            "late, p50": f"{late[len(late) // 2]:.3f} s",
            "late, p99": f"{late[len(late) * 99 // 100]:.3f} s",
            "late, at most": f"{late[-1]:.3f} s",
            "instances that let some fire": len({row.lock_owner for row in rows}),
        }


async def _judge_counts(verdict: Verdict, silence: Silence, database: Database) -> None:
    odd = select(A.dedupe_key).where(A.count != 1)
    verdict.expect_none(
        await database.read(lambda connection: connection.scalars(odd).all()), "alerts were triggered twice"
    )
    opened = select(func.count()).select_from(alert)
    wanted = {"alerts": (await database.read(lambda connection: connection.scalar(opened)), silence.count)}
    for table in (stage_aggregate, stage_aggregate_hour, stage_aggregate_day):
        for name in ("late", "in_flight"):
            summed = select(func.sum(table.c[name]))
            found = await database.read(lambda connection, chosen=summed: connection.scalar(chosen))
            wanted[f"{name} in {table.name}"] = (int(found or 0), silence.count)
    verdict.expect_none(
        [f"{what}: {found}, not {right}" for what, (found, right) in wanted.items() if found != right],
        "counts are wrong",
    )
