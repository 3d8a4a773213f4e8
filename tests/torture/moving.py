"""Pause here, resume anywhere: executions that rest three times, while the instances that they rest and
resume on are killed, frozen beyond their lease and restarted one after the other, and Redis is in trouble.

Each delay resumes once, by some instance; none is short; nothing is lost.
"""

import asyncio
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import httpx
from sqlalchemy import Connection, Row, select

from databases import fresh_database
from muster.store.database import Database, Unavailable
from muster.store.open import open_database
from muster.store.self_check import SelfCheck
from muster.store.tables import node_execution, workflow_execution
from own_redis import OwnRedis, own_redis
from torture.alarms import alarms, arm
from torture.chaos import Chaos, blows, rolls
from torture.instances import MusterProcess
from torture.judge import Verdict
from torture.nursery import Nursery
from torture.own_postgres import own_postgres
from torture.ownership import note_owners, takings
from torture.torture import begin, calm, count_logs, end_all, kill_all

E, J = workflow_execution.c, node_execution.c
RESTS = {"first": timedelta(seconds=1.5), "second": timedelta(seconds=2), "third": timedelta(seconds=1.2)}
TAKEN_OVER_WITHIN = timedelta(seconds=5)
# Machines that four instances fill begin the next one late.
GENEROUSLY = 2
BATCH = 200
STARTED_AT_ONCE = 4
MOST_TRIES = 400


@dataclass(frozen=True, slots=True)
class Journey:
    """So many executions on so many instances; something goes wrong every so many seconds, and when the parts
    `rolls` are done all are restarted one after the other. It may be said to be too late only where the
    machine has nothing else to do: `punctual`."""

    seed: int
    executions: int
    instances: int = 4
    lease: float = 3.0
    every: float = 1.0
    redis: bool = True
    punctual: bool = False
    rolls: tuple[float, ...] = (1 / 3, 2 / 3)


def workflow() -> dict[str, Any]:
    nodes: list[dict[str, Any]] = []
    for name, rest in RESTS.items():
        config = {"duration": rest / timedelta(milliseconds=1), "unit": "milliseconds"}
        field = {"transformations": [{"field": name, "expression": "#{order * 2}"}]}
        nodes.append({"id": name, "type": "delay", "config": config})
        nodes.append({"id": f"after_{name}", "type": "TRANSFORM", "config": field})
    return {"workflow": {"key": "moving", "name": "Moving", "nodes": nodes}}


async def move(journey: Journey) -> Verdict:
    """Let it happen, and say what was found."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="muster-moving-")))
        postgres = stack.enter_context(own_postgres())
        redis = stack.enter_context(own_redis()) if journey.redis else None
        url = await stack.enter_async_context(fresh_database("postgres", postgres.url))
        nursery = Nursery()
        stack.callback(nursery.close)
        settings = _settings(journey, url, redis)
        names = [f"instance-{number}" for number in range(journey.instances)]
        instances = [MusterProcess(name, nursery, folder, settings) for name in names]
        stack.callback(kill_all, instances)
        await begin(instances, workflow())
        database = open_database(url)
        stack.push_async_callback(database.close)
        await arm(database)
        await note_owners(database)
        chaos, watch = Chaos(instances, postgres), Watch(database, journey.executions)
        trouble = Trouble(redis, journey.seed) if redis else None
        await _storm(journey, chaos, watch, instances, trouble)
        left = await calm(instances, chaos, database)
        verdict = Verdict()
        verdict.expect_none([left] if left else [], "times there was something left in the end")
        verdict.expect_none(watch.lost, "executions were looked after by nobody")
        verdict.expect_none(await alarms(database), "alarms of the database")
        journal = await database.read(_journal)
        _judge(verdict, journey, await database.read(_executions), journal)
        taken = await takings(database)
        _judge_spread(verdict, taken)
        _judge_lateness(verdict, journey, journal, taken)
        await end_all(verdict, instances)
        verdict.numbers |= {
            "seed": journey.seed,
            "blows": {str(blow): times for blow, times in chaos.struck.items()},
            "blows to Redis": dict(trouble.struck) if trouble else "there is none",
            "starts of instances": sum(instance.starts for instance in instances),
        }
        count_logs(verdict, instances)
        return verdict


def _settings(journey: Journey, url: str, redis: OwnRedis | None) -> dict[str, str]:
    found = {
        "DB_URL": url,
        "MUSTER_ENGINE_LEASE": str(journey.lease),
        "MUSTER_ENGINE_SHUTDOWN_GRACE": "5",
        "MUSTER_LOG_LEVEL": "warning",
        "MUSTER_LOG_FORMAT": "json",
    }
    return found if redis is None else {**found, "REDIS_URL": redis.url}


class Watch:
    """How far it is; and, at any moment, whether somebody looks after everything."""

    def __init__(self, database: Database, wanted: int) -> None:
        self._database, self._wanted = database, wanted
        self._ended = 0
        self.lost: list[str] = []

    def done(self) -> float:
        return self._ended / self._wanted

    async def keep(self) -> None:
        """Until cancelled."""
        ended = select(E.id).where(E.completed_at.is_not(None))
        while True:
            with suppress(Unavailable):
                self.lost += await SelfCheck(self._database).unattended()
                self._ended = len(await self._database.read(lambda one: one.execute(ended).all()))
            await asyncio.sleep(0.5)


async def _storm(
    journey: Journey,
    chaos: Chaos,
    watch: Watch,
    instances: Sequence[MusterProcess],
    trouble: "Trouble | None",
) -> None:
    strikes = (
        replace(strike, at=strike.at * journey.every)
        for strike in blows(journey.seed, journey.instances, journey.lease)
    )
    beside = [chaos.supervise(), watch.keep(), *([trouble.make()] if trouble else [])]
    tasks = [asyncio.create_task(each) for each in beside]
    try:
        await asyncio.gather(
            chaos.rage(strikes, rolls(journey.rolls), watch.done),
            start_all("moving", range(journey.executions), instances),
        )
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Trouble:
    """Redis is emptied, frozen, or killed and started again with nothing in it."""

    def __init__(self, redis: OwnRedis, seed: int) -> None:
        self._redis, self._chance = redis, Random(f"{seed}/redis")
        self.struck: Counter[str] = Counter()

    async def make(self) -> None:
        """Until cancelled."""
        chance = self._chance
        while True:
            await asyncio.sleep(chance.uniform(1.0, 3.0))
            blow = chance.choice(["emptied", "killed", "frozen"])
            self.struck[blow] += 1
            if blow == "emptied":
                await asyncio.to_thread(self._redis.flush)
                continue
            strike, mend = (
                (self._redis.kill, self._redis.start)
                if blow == "killed"
                else (self._redis.freeze, self._redis.thaw)
            )
            await asyncio.to_thread(strike)
            await asyncio.sleep(chance.uniform(0.1, 1.5))
            await asyncio.to_thread(mend)


async def start_all(key: str, wanted: Sequence[int], instances: Sequence[MusterProcess]) -> None:
    """Each under a key of its own, so that whoever was not answered may ask again."""
    chance, room = Random(), asyncio.Semaphore(STARTED_AT_ONCE)

    async def start(orders: Sequence[int]) -> None:
        body = [
            {"key": key, "context": {"order": order}, "idempotencyKey": f"order {order}"} for order in orders
        ]
        async with room, httpx.AsyncClient(timeout=30) as client:
            for _ in range(MOST_TRIES):
                with suppress(httpx.TransportError):
                    target = chance.choice(instances).url
                    answer = await client.post(f"{target}/api/workflow/execute/batch", json=body)
                    if answer.status_code == 202 and all(
                        "error" not in one for one in answer.json()["results"]
                    ):
                        return
                await asyncio.sleep(0.1)
        raise AssertionError("a batch was never accepted")

    batches = [wanted[first : first + BATCH] for first in range(0, len(wanted), BATCH)]
    await asyncio.gather(*(start(each) for each in batches))


def _executions(connection: Connection) -> dict[str, Row[Any]]:
    columns = (E.id, E.status, E.error_type, E.error_message, E.given, E.context, E.fence, E.resumed_by)
    return {row.id: row for row in connection.execute(select(*columns))}


def _journal(connection: Connection) -> Sequence[Row[Any]]:
    columns = (J.execution_id, J.node_id, J.visit, J.status, J.started_at, J.completed_at)
    return connection.execute(select(*columns)).all()


def _judge(
    verdict: Verdict, journey: Journey, rows: Mapping[str, Row[Any]], journal: Sequence[Row[Any]]
) -> None:
    badly = [f"{row.id} {row.status} {row.error_type}" for row in rows.values() if row.status != "COMPLETED"]
    verdict.expect_none(badly, "executions did not complete")
    orders = Counter(row.given["order"] for row in rows.values())
    verdict.expect_none([each for each in range(journey.executions) if orders[each] != 1], "not begun once")
    wrong = [
        row.id
        for row in rows.values()
        if any(row.context.get(name) != row.given["order"] * 2 for name in RESTS)
    ]
    verdict.expect_none(wrong, "executions came to something else")
    visits = Counter((row.execution_id, row.node_id, row.visit, row.status) for row in journal)
    nodes = [name for rest in RESTS for name in (rest, f"after_{rest}")]
    wanted = {(one, name, 1, "completed") for one in rows for name in nodes}
    verdict.expect_none(sorted(wanted - visits.keys()), "visits are not journaled as completed")
    verdict.expect_none(sorted(visits.keys() - wanted), "journal rows should not be there")
    spread = Counter(_place(str(row.resumed_by)) for row in rows.values())
    takes = sum(row.fence for row in rows.values()) - len(rows) * (len(RESTS) + 1)
    verdict.numbers |= {
        "executions": len(rows),
        "last resumed by": dict(sorted(spread.items())),
        "taken up again, timers apart": takes,
    }


def _judge_spread(verdict: Verdict, taken: Sequence[Row[Any]]) -> None:
    """Where executions went on whose time had come, and how often that was not where they had rested."""
    spread, moved, last = Counter[str](), 0, dict[str, str]()
    for row in taken:
        place = _place(row.owner)
        if row.was_owner is None:
            spread[place] += 1
            moved += last.get(row.execution_id, place) != place
        last[row.execution_id] = place
    verdict.expect_none([1] if len(spread) < 2 or not moved else [], "places did all the resuming")
    verdict.numbers |= {
        "resumes by place": dict(sorted(spread.items())),
        "resumes elsewhere than the time before": moved,
    }


def _place(owner: str) -> str:
    """Without its incarnation."""
    return owner.partition("/")[0]


def _judge_lateness(
    verdict: Verdict, journey: Journey, journal: Sequence[Row[Any]], taken: Sequence[Row[Any]]
) -> None:
    """Nobody waits longer than for its delay, and for each owner that it lost meanwhile the time that taking
    over takes: a lease, and five seconds."""
    takeover = timedelta(seconds=journey.lease) + TAKEN_OVER_WITHIN
    losses: dict[str, list[datetime]] = defaultdict(list)
    for row in taken:
        if row.was_owner is not None:
            losses[row.execution_id].append(row.at)
    rested = [row for row in journal if row.node_id in RESTS and row.completed_at]
    late: list[float] = []
    too_late: list[str] = []
    for row in rested:
        due = row.started_at + RESTS[row.node_id]
        lost = sum(due <= at <= row.completed_at for at in losses[row.execution_id])
        late.append((row.completed_at - due).total_seconds())
        if row.completed_at - due > takeover * max(lost, 1):
            too_late.append(f"{row.execution_id} {row.node_id} {late[-1]:.1f} s, {lost} owners lost")
    late.sort()
    verdict.expect_none([seconds for seconds in late if seconds < 0], "delays were short")
    if journey.punctual:
        verdict.expect_none(too_late, "delays took longer than taking over does")
        verdict.expect_none(_left_for_long(taken), "executions were taken over late")
    waited = sorted(float(row.waited) for row in taken if row.was_owner is not None)
    verdict.numbers |= {
        "delays resumed": len(rested),
        "seconds late: half, p99, most": _parts(late),
        "seconds from a lease's end to its takeover": _parts(waited),
        **_by_takeovers(taken),
        "later than takeovers explain": len(too_late),
    }


def _left_for_long(taken: Sequence[Row[Any]]) -> list[str]:
    """Those that were taken over late after their leases had ended. From the second time in a row on they are
    suspects, which wait for their turn."""
    most = TAKEN_OVER_WITHIN.total_seconds() * GENEROUSLY
    first = [row for row in taken if row.was_owner is not None and row.takeovers == 1]
    return [f"{row.execution_id} {row.waited:.1f} s" for row in first if float(row.waited) > most]


def _by_takeovers(taken: Sequence[Row[Any]]) -> dict[str, str]:
    """The same apart for each time that one was taken over in a row: suspects wait for their turn."""
    waited: dict[int, list[float]] = defaultdict(list)
    for row in taken:
        if row.was_owner is not None:
            waited[row.takeovers].append(float(row.waited))
    return {
        f"  of {len(found):,}, at takeover {takeovers} in a row": _parts(sorted(found))
        for takeovers, found in sorted(waited.items())
    }


def _parts(seconds: Sequence[float]) -> str:
    return ", ".join(f"{_part(seconds, part):.2f}" for part in (0.5, 0.99, 1.0))


def _part(seconds: Sequence[float], part: float) -> float:
    return seconds[min(int(len(seconds) * part), len(seconds) - 1)] if seconds else 0.0
