"""Watching, put together: how events come in, and what lets misses fire."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from muster.app.bus import TROUBLE
from muster.app.ground import Ground
from muster.app.settings import Settings
from muster.app.watch_keeping import keeping
from muster.app.watch_metrics import StandingGauges, WatchMetrics
from muster.app.watch_topics import own_topics, read_since, stages_of, topic_names, wanted_topics
from muster.definitions.limits import Limits
from muster.engine.bus import BusAway, Handler, dead_letter_topic
from muster.engine.consuming import Consumer
from muster.engine.lookout import AHEAD, SELDOM, Sight
from muster.engine.tracing import SpanKind, Tracer
from muster.kit.clock import Clock
from muster.kit.loop import Loop
from muster.kit.tasks import ended
from muster.store.bus_leases import subscribed_topics
from muster.store.committer import GroupCommitter
from muster.store.message_letters import RejectedMessages
from muster.store.positions import ConsumerPositions
from muster.store.watch_due import DueExpectations
from muster.store.watch_feed import EventFeed
from muster.store.watch_kept import KeptRuns
from muster.store.watch_presence import WatchPresence
from muster.store.watch_rules import Rules
from muster.store.watch_settling import SettledAlerts
from muster.store.watch_stages import AggregateStage, AlertStage
from muster.store.watch_standing import WatchStanding
from muster.store.watch_starts import ExpectedStarts
from muster.store.watched_graphs import WatchedGraphs
from muster.watch.attendance import Attendance
from muster.watch.envelope import NORMALIZED_FIELDS, Bounds
from muster.watch.intake import Away, Intake, TopicIntake, never_away
from muster.watch.ports import Events
from muster.watch.stages import Stage
from muster.watch.traced import TracedEvents, TracedStage

ABANDON_EVERY = 60.0
LOOK_AGAIN = 1.0
LOOK_FOR_STARTS, LOOK_FOR_FIRST = 5.0, 10.0
STARTS_AT_ONCE = 100
SETTLED_AT_ONCE = 1_000
SETTLE_MORE, SETTLE_AGAIN = 0.2, 2.0


@dataclass(frozen=True, slots=True)
class Watching:
    """`retire` says that no further message is to be taken."""

    intake: Intake
    due: DueExpectations
    retire: Callable[[], None]


@asynccontextmanager
async def opened_watching(ground: Ground, tracer: Tracer | None = None) -> AsyncIterator[Watching]:
    """Take events in, and watch until the end of the block if this instance has the role `watch`."""
    settings, stages = ground.settings, stages_of(ground.settings)
    metrics, subscribed, seen = WatchMetrics(ground.registry), set[str](), Seen(tracer, ground.clock)
    async with AsyncExitStack() as stack:
        parts = _parts(ground, stack, lambda: wanted_topics(settings, subscribed))
        sent = seen.events(parts.feed, "ingest", SpanKind.SERVER)
        most, is_open = settings.ingestion.max_concurrent_requests, Stage.INGEST in stages
        intake = Intake(sent, bounds_of(settings), ground.clock, ground.ids, most, metrics, is_open=is_open)
        if not settings.kafka.bootstrap_servers:
            await stack.enter_async_context(_noticing(ground, subscribed))
        if "watch" not in settings.roles:
            yield Watching(intake, parts.due, lambda: None)
            return
        first = _first(stages)
        attendance = None if first is None else _attendance(ground, first)
        away = never_away if attendance is None else attendance.absence
        consumers = [
            await stack.enter_async_context(_reading(ground, topic, handler))
            for topic, handler in _handlers(ground, parts.feed, seen, metrics, away)
        ]
        if attendance is not None:
            beat = partial(attendance.beat, consumers[0].member)
            await stack.enter_async_context(_looping("presence", beat))
        await _passes(ground, stack, parts, metrics, away)

        def retire() -> None:
            for consumer in consumers:
                consumer.retire()

        yield Watching(intake, parts.due, retire)


@dataclass(frozen=True, slots=True)
class _Parts:
    """What events and the clock do."""

    feed: EventFeed
    due: DueExpectations
    starts: ExpectedStarts


def _parts(ground: Ground, stack: AsyncExitStack, wanted: Callable[[], Collection[str]]) -> _Parts:
    settings, database = ground.settings, ground.database
    topics, stages, graphs, at_hand = topic_names(settings), stages_of(settings), WatchedGraphs(), KeptRuns()
    committers = [GroupCommitter(database) for _ in range(1 if ground.is_alone else 2)]
    for committer in committers:
        stack.push_async_callback(committer.close)
    rules = Rules(graphs, timedelta(days=settings.watch.event_retention_days), at_hand)
    due = DueExpectations(
        database,
        graphs,
        settings.instance_id,
        stages,
        topics,
        wanted,
        timedelta(seconds=settings.watch.outage_grace),
        timedelta(seconds=settings.watch.abandon_after),
        at_hand,
    )
    return _Parts(
        EventFeed(database, committers, rules, stages, topics, wanted),
        due,
        ExpectedStarts(database, graphs, stages, topics, wanted),
    )


def _handlers(
    ground: Ground, feed: EventFeed, seen: "Seen", metrics: WatchMetrics, away: Away
) -> Iterator[tuple[str, Handler]]:
    """The topics that are read here, the one by which events come first, and who deals with them."""
    settings, database, clock = ground.settings, ground.database, ground.clock
    topics, stages, bounds = topic_names(settings), stages_of(settings), bounds_of(settings)
    if Stage.INGEST in stages:
        told = seen.events(feed, "ingest", SpanKind.CONSUMER)
        yield topics.raw, TopicIntake(told, bounds, clock, Limits(), metrics, absence=away)
    if _begins(Stage.RULE, Stage.INGEST, stages):
        told = seen.events(feed, "evaluate", SpanKind.CONSUMER)
        handler = TopicIntake(told, bounds, clock, Limits(), metrics, NORMALIZED_FIELDS)
        yield settings.ruleengine.normalized_topic, handler
    if _begins(Stage.AGGREGATE, Stage.RULE, stages):
        yield topics.evaluated, seen.stage(AggregateStage(database), "aggregate")
    if _begins(Stage.ALERT, Stage.RULE, stages):
        yield topics.triggered, seen.stage(AlertStage(database), "alert")


async def _passes(
    ground: Ground, stack: AsyncExitStack, parts: _Parts, metrics: WatchMetrics, away: Away
) -> None:
    """Do what the clock asks for, as long as the stack is open."""
    settings, database, stages = ground.settings, ground.database, stages_of(ground.settings)
    if Stage.RULE in stages and settings.ruleengine.scheduler_enabled:
        await stack.enter_async_context(_firing(ground, parts.due, metrics, away))
        await stack.enter_async_context(_expecting(ground, parts.starts))
    if _begins(Stage.ALERT, Stage.RULE, stages):
        await stack.enter_async_context(_settling(SettledAlerts(database)))
    gauges = StandingGauges(WatchStanding(database), ground.registry)
    for loop in (*keeping(ground, stages, _loop), _loop("what is expected", gauges.measure)):
        await stack.enter_async_context(_running(loop))


@dataclass(frozen=True, slots=True)
class Seen:
    """Lets a tracer see what comes, if there is one."""

    tracer: Tracer | None
    clock: Clock

    def events(self, events: Events, verb: str, kind: SpanKind) -> Events:
        return events if self.tracer is None else TracedEvents(events, self.tracer, self.clock, verb, kind)

    def stage(self, handler: Handler, verb: str) -> Handler:
        return handler if self.tracer is None else TracedStage(handler, self.tracer, self.clock, verb)


def _first(stages: Collection[Stage]) -> Stage | None:
    """The stage by which events get to the rules here."""
    return next((stage for stage in (Stage.INGEST, Stage.RULE) if stage in stages), None)


def _begins(stage: Stage, before: Stage, stages: Collection[Stage]) -> bool:
    """Whether a stage runs here, and the one before it does not: then it reads that one's topic."""
    return stage in stages and before not in stages


@asynccontextmanager
async def _noticing(ground: Ground, subscribed: set[str]) -> AsyncIterator[None]:
    """Know which topics of the embedded bus somebody reads, until the end of the block."""

    async def look() -> float:
        since = read_since(ground.settings, ground.clock.now())
        found = await ground.database.read(partial(subscribed_topics, since=since), single=True)
        subscribed.clear()
        subscribed.update(found & set(own_topics(topic_names(ground.settings))))
        return LOOK_AGAIN

    async with _looping("subscribed topics", look):
        yield


def bounds_of(settings: Settings) -> Bounds:
    ingestion = settings.ingestion
    return Bounds(ingestion.max_payload_size, ingestion.max_group_size, ingestion.default_source_system)


@asynccontextmanager
async def _reading(ground: Ground, topic: str, handler: Handler) -> AsyncIterator[Consumer]:
    """Read a topic until the end of the block. It has a group of its own: what triggers read from the same
    topic, they read for themselves."""
    settings = ground.settings
    raw = topic == settings.ingestion.raw_topic

    async def topics() -> Collection[str]:
        return (topic,)

    consumer = Consumer(
        ground.bus,
        f"{settings.kafka.consumer.group_id}-watch",
        topics,
        handler,
        RejectedMessages(ground.database),
        ground.clock,
        ground.messages,
        TROUBLE,
        None if raw else ConsumerPositions(ground.database),
        (lambda _: settings.ingestion.dlq_topic) if raw else dead_letter_topic,
    )
    running = asyncio.create_task(_made_and_read(ground, topic, consumer))
    try:
        yield consumer
    finally:
        with suppress(TimeoutError, BusAway, *TROUBLE):
            async with asyncio.timeout(settings.engine.shutdown_grace):
                await consumer.stop()
        await _ended(running)


async def _made_and_read(ground: Ground, topic: str, consumer: Consumer) -> None:
    """The topics are ours, so they are made where they are not there."""
    while True:
        try:
            await ground.bus.make({topic, *own_topics(topic_names(ground.settings))})
            break
        except (BusAway, *TROUBLE):
            await asyncio.sleep(LOOK_AGAIN)
    await consumer.run()


def _attendance(ground: Ground, stage: Stage) -> Attendance:
    settings = ground.settings
    grace = timedelta(seconds=settings.watch.outage_grace)
    return Attendance(WatchPresence(ground.database, stage, settings.instance_id, grace))


@asynccontextmanager
async def _firing(
    ground: Ground, due: DueExpectations, metrics: WatchMetrics, away: Away
) -> AsyncIterator[None]:
    rules = ground.settings.ruleengine
    most, pause = rules.scheduler_poll_limit, rules.scheduler_interval_ms / 1_000

    async def fire() -> int:
        await away()  # before that is known, what was due in our absence looks like any other
        fired = await due.fire(most)
        metrics.fired(fired)
        return fired

    async def abandon() -> float:
        abandoned = await due.abandon(most)
        metrics.abandoned(abandoned)
        return 0.0 if abandoned else ABANDON_EVERY

    async with _while_near(ground, Sight.MISSES, fire, pause), _looping("abandoned misses", abandon):
        yield


@asynccontextmanager
async def _settling(alerts: SettledAlerts) -> AsyncIterator[None]:
    """Resolve alerts whose event has come, until the end of the block."""

    async def look() -> float:
        return SETTLE_MORE if await alerts.look(SETTLED_AT_ONCE) else SETTLE_AGAIN

    async with _looping("alerts that resolve", look):
        yield


@asynccontextmanager
async def _expecting(ground: Ground, starts: ExpectedStarts) -> AsyncIterator[None]:
    """Expect runs to begin by the clock, until the end of the block."""

    async def look() -> float:
        return LOOK_FOR_STARTS if await starts.look() else LOOK_FOR_FIRST

    async def begin() -> int:
        return await starts.open(STARTS_AT_ONCE)

    async with _looping("expected starts", look), _while_near(ground, Sight.STARTS, begin, LOOK_AGAIN):
        yield


@asynccontextmanager
async def _while_near(
    ground: Ground, sight: Sight, work: Callable[[], Awaitable[int]], pause: float
) -> AsyncIterator[None]:
    """Until the end of the block do what is due: with these pauses while something is due soon, and again at
    once as long as there is more."""
    now = asyncio.get_running_loop().time
    near = now()

    async def go() -> float:
        if await work():
            return 0.0
        return pause if now() < near else max(pause, SELDOM)

    def seen() -> None:
        nonlocal near
        near = now() + AHEAD.total_seconds()
        loop.wake()

    loop = Loop(sight, go, (*TROUBLE, BusAway))
    ground.lookout.watch(sight, seen)
    async with _running(loop):
        yield


@asynccontextmanager
async def _looping(name: str, work: Callable[[], Awaitable[float]]) -> AsyncIterator[None]:
    async with _running(_loop(name, work)):
        yield


def _loop(name: str, work: Callable[[], Awaitable[float]]) -> Loop:
    return Loop(name, work, (*TROUBLE, BusAway))


@asynccontextmanager
async def _running(loop: Loop) -> AsyncIterator[None]:
    running = asyncio.create_task(loop.run())
    try:
        yield
    finally:
        await _ended(running)


async def _ended(running: "asyncio.Task[None]") -> None:
    await ended(running)
