"""What comes from outside and starts executions or wakes them, put together: triggers, events, callbacks."""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from muster.api.metrics import TriggerMetrics
from muster.app.bus import consuming
from muster.app.commands import Commands, receiving_replies
from muster.app.definitions import Definitions
from muster.app.engine import Engine
from muster.app.event_waits import meeting
from muster.app.ground import Ground
from muster.app.wait_metrics import WaitMetrics, counting_waits
from muster.engine.event_waits import Accepted, Arrived
from muster.engine.message_triggers import MessageTriggers
from muster.engine.tracing import Tracer
from muster.engine.triggering import Triggering
from muster.nodes.event_messages import WaitMessages
from muster.nodes.event_waiting import EventWaiting
from muster.nodes.traced import EventSpans, TracedApplies, TracedWaits
from muster.store.applying import Applying
from muster.store.business_keys import BusinessKeys
from muster.store.event_wait_lists import EventWaitLists
from muster.store.event_wait_records import EventWaitRepository
from muster.store.wait_topics import WaitTopics


@dataclass(frozen=True, slots=True)
class Incoming:
    """`retire` says that no further message is to be taken."""

    triggering: Triggering
    waiting: EventWaiting
    retire: Callable[[], None]


@asynccontextmanager
async def taking_in(
    ground: Ground,
    definitions: Definitions,
    engine: Engine,
    event_waits: EventWaitRepository,
    wait_metrics: WaitMetrics,
    commands: Commands,
    tracer: Tracer | None = None,
) -> AsyncIterator[Incoming]:
    """Deal with what comes until the end of the block."""
    database, look_now = ground.database, engine.control.look_now
    instance_id = ground.settings.instance_id
    lists, startables = EventWaitLists(database), definitions.startables
    triggering = Triggering(startables, engine.control, TriggerMetrics(ground.registry).told)
    spans = None if tracer is None else EventSpans(tracer, ground.clock)
    applying = Applying(database, instance_id)
    waiting = EventWaiting(
        event_waits if spans is None else TracedWaits(event_waits, spans),
        lists,
        applying if spans is None else TracedApplies(applying, spans),
        engine.actions.retry,
        look_now,
        wait_metrics,
        ground.clock,
    )

    def heard(taken: Sequence[tuple[Arrived, Accepted]]) -> None:
        wait_metrics.met(taken)
        if spans is not None:
            spans.met(taken)

    keyed = BusinessKeys(database, instance_id, heard)

    async def always() -> Collection[str]:
        return ground.settings.kafka.topics

    wait_messages = WaitMessages(waiting, event_waits, keyed, definitions.limits, ground.clock)
    async with AsyncExitStack() as stack:
        if ground.has_engine:
            await stack.enter_async_context(counting_waits(lists, ground.registry))
            await stack.enter_async_context(meeting(keyed, WaitTopics(database), look_now, ground.lookout))
        consumer = await stack.enter_async_context(
            consuming(
                ground.settings,
                ground.bus,
                ground.settings.kafka.consumer.group_id,
                # In this order: who waits for a message comes before what it starts.
                [wait_messages, MessageTriggers(startables, triggering, ground.clock)],
                [always, wait_messages.topics, definitions.stored_startables.topics],
                database,
                ground.clock,
                ground.messages,
                ground.lookout,
            )
        )
        replies = await stack.enter_async_context(
            receiving_replies(ground, commands, engine.taker, look_now, tracer)
        )

        def retire() -> None:
            consumer.retire()
            replies.retire()

        yield Incoming(triggering, waiting, retire)
