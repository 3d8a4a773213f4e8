"""All kinds of work at once on four real instances, while everything that they stand on goes wrong; then all
calms down, and what is there is held against what was sent."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Coroutine, Sequence, Set
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import func, select

from databases import fresh_database
from muster.store.open import open_database
from muster.store.self_check import SelfCheck
from muster.store.tables import dead_letter
from polling import PATIENCE
from soak.answers import Waits
from soak.clockwork import Clockwork
from soak.commands import COMMANDS, REPLIES, Commands
from soak.faults import Fault
from soak.ground import PARTITIONS, Door, Ground, PatientBus, Work
from soak.orders import Orders
from soak.readers import Readers
from soak.samples import Memory, Sample, Tally
from soak.services import far, near, services_of
from soak.storm import Services, Storm
from soak.table import Stretch, part, table
from soak.told import TOPIC as EVENTS
from soak.told import Told
from stand_ins.http_site import site
from stand_ins.mail_server import mail_server
from torture.alarms import alarms, arm
from torture.answering import TOPIC as ANSWERS
from torture.chaos import Chaos
from torture.instances import MusterProcess
from torture.judge import Verdict
from torture.nursery import Nursery
from torture.offsets import make_topic
from torture.outside import Sink
from torture.torture import Watch, calm, count_logs, end_all, kill_all

GROUP = "soak"
LOOK_SECONDS = 1.0
# The storm ends before the work does, so that some of it is begun on what is well again.
QUIET_SECONDS = 5.0
VERIFY_SECONDS = 120.0
MOST_GROWTH = 1.5
MOST_SLOWING = 3.0
SLACK_SECONDS = 2.0
FEWEST_COMPARED = 20


@dataclass(frozen=True, slots=True)
class Soak:
    """For so many seconds; something goes wrong every so many. The last `distant` instances are far away."""

    seed: int
    seconds: float
    instances: int = 4
    distant: int = 2
    lease: float = 3.0
    every: float = 4.0


@dataclass
class Soaking:
    """Everything that takes part."""

    plan: Soak
    ground: Ground
    storm: Storm
    chaos: Chaos
    watch: Watch
    memory: Memory
    waits: Waits
    commands: Commands
    clockwork: Clockwork
    readers: Readers
    works: Sequence[Work]

    async def work(self) -> Stretch:
        """Everything at once: from when to when it was begun."""
        beside = [
            self.chaos.supervise(),
            self.watch.keep(),
            self.memory.keep(),
            self.waits.offsets.keep(),
            self.ground.count_what_is_under_way(),
        ]
        began, plan = time.time(), self.plan
        async with running(beside), asyncio.TaskGroup() as group:
            for work in self.works:
                group.create_task(work.keep_on())
            group.create_task(self._end_in_time())
            raging = plan.seconds - QUIET_SECONDS
            group.create_task(self.storm.rage(plan.seed, plan.instances, plan.lease, plan.every, raging))
        return Stretch(began, began + plan.seconds)

    async def _end_in_time(self) -> None:
        await asyncio.sleep(self.plan.seconds)
        self.ground.over.set()

    async def calm_down(self, verdict: Verdict) -> None:
        """Until all has ended, and nothing has still to come."""
        supervising = asyncio.create_task(self.chaos.supervise())
        try:
            left = await self._left(self.clockwork)
            await self.clockwork.stop()
        finally:
            supervising.cancel()
        live = await calm(self.ground.instances, self.chaos, self.ground.database)
        left += [f"{live} executions have not ended"] if live else []
        for work in self.works:
            left += await self._left(work)
        verdict.expect_none(left, "things had still to come in the end")

    async def _left(self, work: Work) -> list[str]:
        give_up = time.monotonic() + PATIENCE
        while True:
            left = [*await work.left()]
            if not left or time.monotonic() > give_up:
                return left
            await asyncio.sleep(LOOK_SECONDS)

    async def judge(self, verdict: Verdict) -> list[Tally]:
        database = self.ground.database
        found = [await work.judge(verdict) for work in self.works]
        verdict.expect_none(await alarms(database), "alarms of the database")
        verdict.expect_none(self.watch.lost, "executions were looked after by nobody")
        verdict.expect_none(await SelfCheck(database).unattended(), "executions that nobody would look at")
        kinds = (
            select(dead_letter.c.kind, func.count()).where(dead_letter.c.kind != "message").group_by("kind")
        )
        others = await database.read(lambda connection: connection.execute(kinds).all())
        verdict.expect_none(others, "kinds of dead letters should not be there")
        return [*found, self.readers.heard()]


class Soaked(NamedTuple):
    """What was found; the faults that were given, of those that can be here; and the table."""

    verdict: Verdict
    given: Set[Fault]
    possible: Set[Fault]
    table: str


async def soak(plan: Soak) -> Soaked:
    """Let it happen."""
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(services_of())
        for topic in (ANSWERS, COMMANDS, REPLIES, EVENTS):
            await make_topic(services.kafka.address, topic, PARTITIONS)
        url = await stack.enter_async_context(fresh_database("postgres", services.postgres.url))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="muster-soak-")))
        nursery = Nursery()
        stack.callback(nursery.close)
        sink = Sink()
        web = await stack.enter_async_context(site(sink.answer))
        post = await stack.enter_async_context(mail_server())
        instances = _instances(plan, services, url, post.port, nursery, folder)
        stack.callback(kill_all, instances)
        for instance in instances:
            instance.start()
            await instance.ready()
        database = open_database(url)
        stack.push_async_callback(database.close)
        await arm(database)
        bus = PatientBus({"bootstrap.servers": services.kafka.address, "delivery.timeout.ms": 300_000})
        stack.push_async_callback(bus.close)
        door = Door(instances)
        stack.push_async_callback(door.client.aclose)
        ground = Ground(instances, database, bus, services.kafka.address, door, plan.seed)
        waits, commands, clockwork = Waits(ground, GROUP), Commands(ground), Clockwork(ground)
        readers = Readers(ground)
        stack.callback(waits.offsets.close)
        works = [Orders(ground, web, sink, post), waits, commands, Told(ground), clockwork, readers]
        chaos = Chaos(instances, services.postgres)
        storm, memory = Storm(services, chaos), Memory(instances)
        everything = Soaking(
            plan, ground, storm, chaos, Watch(database), memory, waits, commands, clockwork, readers, works
        )
        verdict = Verdict()
        for work in works:
            await work.prepare()
        async with running([commands.reply(), *(each.follow() for each in readers.followers)]):
            stretch = await everything.work()
            await everything.calm_down(verdict)
        tallies = await everything.judge(verdict)
        await _verify_by_command(verdict, nursery, folder, url)
        await end_all(verdict, instances)
        count_logs(verdict, instances)
        verdict.expect_none(grown(stretch, memory.eldest), "instances that have grown")
        memories = {"the instance never ended": memory.eldest, "the others": memory.others}
        verdict.expect_none(slowed(stretch, tallies), "kinds of work that have become slower")
        faults = {str(fault): (storm.given[fault], storm.lasted[fault]) for fault in sorted(Fault)}
        given = {fault for fault, times in storm.given.items() if times}
        return Soaked(verdict, given, services.possible, table(stretch, tallies, memories, faults))


def grown(stretch: Stretch, memory: Sequence[Sample]) -> list[str]:
    """Whether an instance that works on has more in memory in the last third than it takes to warm up."""
    first, last = (part(each, 0.5) for each in (stretch.first_third(memory), stretch.last_third(memory)))
    if first is None or last is None or last <= first * MOST_GROWTH:
        return []
    return [f"from {first:.0f} to {last:.0f} MiB"]


def slowed(stretch: Stretch, works: Sequence[Tally]) -> list[str]:
    """The kinds of work of which the middle one took much longer in the last third than in the first, more
    than faults explain that happen to come then."""
    found = []
    for work in works:
        first, last = stretch.first_third(work.samples), stretch.last_third(work.samples)
        if min(len(first), len(last)) < FEWEST_COMPARED:
            continue
        before, after = part(first, 0.5), part(last, 0.5)
        if before is not None and after is not None and after > MOST_SLOWING * before + SLACK_SECONDS:
            found.append(f"{work.name}: from {before:.3f} s to {after:.3f} s")
    return found


def _instances(
    plan: Soak, services: Services, url: str, mail_port: int, nursery: Nursery, folder: Path
) -> list[MusterProcess]:
    common = {
        "MUSTER_KAFKA_CONSUMER_GROUP_ID": GROUP,
        "MUSTER_KAFKA_CLIENT": "session.timeout.ms=6000,heartbeat.interval.ms=1000",
        "MUSTER_API_RATE_LIMIT": "0",
        "MUSTER_ENGINE_LEASE": str(plan.lease),
        "MUSTER_ENGINE_SHUTDOWN_GRACE": "5",
        "MUSTER_HTTP_ALLOWED_NETWORKS": "127.0.0.0/8",
        "MUSTER_SMTP_HOST": "127.0.0.1",
        "MUSTER_SMTP_PORT": str(mail_port),
        "MUSTER_SMTP_SECURITY": "none",
        "MUSTER_SMTP_RATE": "1000",
        "MUSTER_WATCH_OUTAGE_GRACE": "5",
        "MUSTER_LOG_LEVEL": "warning",
        "MUSTER_LOG_FORMAT": "json",
    }
    near_ones = plan.instances - plan.distant
    places = [near(services, url)] * near_ones + [far(services, url)] * plan.distant
    return [
        MusterProcess(f"instance-{number}", nursery, folder, {**common, **place})
        for number, place in enumerate(places)
    ]


async def _verify_by_command(verdict: Verdict, nursery: Nursery, folder: Path, url: str) -> None:
    """As an operator would: it leaves the last two minutes out, which were counted anew already."""
    log = folder / "verify.log"
    asked = nursery.child(["monitor", "verify"], {"DB_URL": url}, folder, log)
    code = await asyncio.to_thread(asked.wait, VERIFY_SECONDS)
    verdict.expect_none([log.read_text()] if code else [], "`muster monitor verify` is not content")


@asynccontextmanager
async def running(beside: Sequence[Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """These, while the block runs; it ends where one of them fails."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in beside]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
