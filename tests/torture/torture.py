"""Real processes, real crashes: instances are killed, frozen and restarted, the database too, under load.

Whatever was accepted has to be completed in the end; no effect may be lost, or happen under two keys.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from databases import fresh_database
from muster.store.database import Database, Unavailable
from muster.store.open import open_database
from muster.store.self_check import SelfCheck
from stand_ins.http_site import site
from stand_ins.mail_server import mail_server
from torture.alarms import alarms, arm
from torture.chaos import Chaos, blows, outages
from torture.instances import MusterProcess
from torture.judge import Verdict, judge, live, most_takeovers
from torture.nursery import Nursery
from torture.outside import Callers, Sink, mails, workflow
from torture.own_postgres import OwnPostgres, own_postgres

MOST_LOOKS, CALM_LOOKS = 600, 6
CLIENTS = 32
MOST_AT_ONCE = 400
# So that nothing but the file's one owner can let SQLite's executions go on.
NEVER = 3600.0


@dataclass(frozen=True, slots=True)
class Plan:
    """So many executions; fewer, if there are `seconds` and they are over before."""

    seed: int
    executions: int
    seconds: float | None = None
    sqlite: bool = False
    lease: float = 3.0

    @property
    def instances(self) -> int:
        return 1 if self.sqlite else 3


async def torture(plan: Plan) -> Verdict:
    """Let it happen, and say what was found."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="muster-torture-")))
        postgres = None if plan.sqlite else stack.enter_context(own_postgres())
        url = await stack.enter_async_context(_database(folder, postgres))
        sink = Sink()
        web = await stack.enter_async_context(site(sink.answer))
        post = await stack.enter_async_context(mail_server())
        settings = settings_of(plan, url, post.port)
        nursery = Nursery()
        stack.callback(nursery.close)
        names = [f"instance-{number}" for number in range(plan.instances)]
        instances = [MusterProcess(name, nursery, folder, settings) for name in names]
        stack.callback(kill_all, instances)
        await begin(instances, workflow(web.url("").rstrip("/")))
        database = open_database(url)
        stack.push_async_callback(database.close)
        await arm(database)
        chaos, callers = Chaos(instances, postgres), Callers(instances, sink, MOST_AT_ONCE)
        watch = Watch(database)
        await _storm(plan, chaos, callers, watch)
        left = await calm(instances, chaos, database)
        verdict = await judge(database, callers.accepted, sink, mails(post))
        verdict.expect_none(await alarms(database), "alarms of the database")
        verdict.expect_none(watch.lost, "executions were looked after by nobody")
        verdict.numbers["most takeovers without progress that were seen"] = watch.takeovers
        verdict.expect_none([left] if left else [], "times there was something left in the end")
        await end_all(verdict, instances)
        _count(verdict, plan, chaos, callers, instances)
        return verdict


@asynccontextmanager
async def _database(folder: Path, postgres: OwnPostgres | None) -> AsyncIterator[str]:
    if postgres is None:
        yield f"sqlite:///{folder / 'muster.db'}"
        return
    async with fresh_database("postgres", postgres.url) as url:
        yield url


def settings_of(plan: Plan, url: str, mail_port: int) -> dict[str, str]:
    return {
        "DB_URL": url,
        "MUSTER_ENGINE_LEASE": str(NEVER if plan.sqlite else plan.lease),
        "MUSTER_ENGINE_SHUTDOWN_GRACE": "5",
        "MUSTER_HTTP_ALLOWED_NETWORKS": "127.0.0.0/8",
        "MUSTER_SMTP_HOST": "127.0.0.1",
        "MUSTER_SMTP_PORT": str(mail_port),
        "MUSTER_SMTP_SECURITY": "none",
        "MUSTER_SMTP_RATE": "1000",
        "MUSTER_LOG_LEVEL": "warning",
        "MUSTER_LOG_FORMAT": "json",
    }


async def begin(instances: Sequence[MusterProcess], document: dict[str, object]) -> None:
    for instance in instances:
        instance.start()
        await instance.ready()
    async with httpx.AsyncClient(timeout=30) as client:
        made = await client.post(f"{instances[0].url}/api/workflow", json=document)
        assert made.status_code == 201, made.text


class Watch:
    """Looks every second for executions that nobody looks after."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.lost: list[str] = []
        self.takeovers = 0

    async def keep(self) -> None:
        """Until cancelled."""
        while True:
            with suppress(Unavailable):
                self.lost += await SelfCheck(self._database).unattended()
                self.takeovers = max(self.takeovers, await most_takeovers(self._database))
            await asyncio.sleep(0.5)


async def _storm(plan: Plan, chaos: Chaos, callers: Callers, watch: Watch) -> None:
    """Everything at once."""
    strikes = blows(plan.seed, plan.instances, plan.lease)
    ends = [] if plan.sqlite else outages(plan.seed)
    supervising = asyncio.create_task(chaos.supervise())
    watching = asyncio.create_task(watch.keep())
    try:
        await asyncio.gather(
            chaos.rage(strikes, ends, callers.done),
            callers.call(plan.executions, None if plan.seconds is None else plan.seconds * 0.9, CLIENTS),
        )
    finally:
        for task in (watching, supervising):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def calm(instances: Sequence[MusterProcess], chaos: Chaos, database: Database) -> int:
    """Everybody is up and left in peace until all has ended: how many have not. What a frozen instance was
    asked for, by callers that have long gone, may begin even now: so it has to stay calm for a while."""
    supervising = asyncio.create_task(chaos.supervise())
    await asyncio.gather(*(instance.ready_at_last() for instance in instances))
    left = calm = 0
    for _ in range(MOST_LOOKS):
        left = await live(database)
        calm = 0 if left else calm + 1
        if calm == CALM_LOOKS:
            break
        await asyncio.sleep(0.5)
    supervising.cancel()
    return left


async def end_all(verdict: Verdict, instances: Sequence[MusterProcess]) -> None:
    codes = await asyncio.gather(*(instance.end() for instance in instances))
    verdict.expect_none([code for code in codes if code], "instances ended with an error")


def kill_all(instances: Sequence[MusterProcess]) -> None:
    for instance in instances:
        instance.kill()


def _count(
    verdict: Verdict, plan: Plan, chaos: Chaos, callers: Callers, instances: Sequence[MusterProcess]
) -> None:
    count_logs(verdict, instances)
    starting = sorted(callers.seconds)
    verdict.numbers |= {
        "seed": plan.seed,
        "blows": {str(blow): times for blow, times in chaos.struck.items()},
        "starts of instances": sum(instance.starts for instance in instances),
        "answers to callers": dict(callers.answers),
        "seconds to accept, p99": f"{starting[int(len(starting) * 0.99)]:.3f}" if starting else "",
    }


def count_logs(verdict: Verdict, instances: Sequence[MusterProcess]) -> None:
    lines = [line for instance in instances for line in instance.log.read_text().splitlines()]
    verdict.numbers |= {
        "lines in the logs": len(lines),
        "stack traces in the logs": sum("Traceback" in line for line in lines),
    }
    verdict.expect_none(
        [line[:200] + " … " + line[-700:] for line in lines if "Traceback" in line],
        "stack traces in the logs",
    )
