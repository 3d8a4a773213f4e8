"""Commands, put together: what their nodes do, who hears of their messages, and how replies reach them."""

import uuid
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from muster.app.bus import consuming
from muster.app.command_metrics import CommandMetrics
from muster.app.ground import Ground
from muster.app.passes import TROUBLE, making
from muster.engine.bus import BusAway
from muster.engine.consuming import Consumer
from muster.engine.lookout import SELDOM, Sight
from muster.engine.outbox import Stream
from muster.engine.programs import Programs
from muster.engine.taker import Taker
from muster.engine.tracing import Tracer
from muster.kit.loop import Loop
from muster.model.json import JsonView
from muster.nodes.command_edits import CommandEdits
from muster.nodes.command_replies import Replies, ReplyMessages
from muster.nodes.commanding import CommandNode
from muster.nodes.compensating import CompensatingCommand
from muster.nodes.message_schemas import MessageSchemas
from muster.nodes.replies_aside import ReturningReplies
from muster.nodes.traced import TracedReplies
from muster.store.command_replies import ReplyRepository
from muster.store.command_sending import CommandSenders, RefusedCommands, SentCommandRepository
from muster.store.execution_records import ExecutionRecords
from muster.store.replies_aside import AsideRepository

LEAVE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Commands:
    """What nodes send commands with and undo them by; `senders` hears what became of their messages."""

    node: CommandNode
    compensating: CompensatingCommand
    senders: CommandSenders
    schemas: MessageSchemas
    metrics: CommandMetrics


def commands_of(ground: Ground, schemas: MessageSchemas) -> Commands:
    metrics = CommandMetrics(ground.registry)
    dlq_topic = ground.settings.workflow.kafka.dlq_topic
    node = CommandNode(schemas, lambda: str(uuid.uuid4()), dlq_topic, metrics, ground.bus)
    written = partial(ground.written.tell, Stream.EXECUTIONS)
    compensating = CompensatingCommand(schemas, SentCommandRepository(ground.database), written)
    return Commands(node, compensating, CommandSenders(metrics), schemas, metrics)


def command_edits(records: ExecutionRecords, programs: Programs, schemas: MessageSchemas) -> CommandEdits:
    """How commands are changed that are sent again."""

    async def config_of(execution_id: str, node_id: str) -> JsonView | None:
        found = await records.get(None, execution_id)
        if found is None:
            return None
        node = (await programs.of(found.row.version_id)).graph.nodes.get(node_id)
        return None if node is None else node.config

    return CommandEdits(config_of, schemas)


@asynccontextmanager
async def receiving_replies(
    ground: Ground,
    commands: Commands,
    taker: Taker,
    look_now: Callable[[], None],
    tracer: Tracer | None = None,
) -> AsyncIterator[Consumer]:
    """Take replies until the end of the block, if this instance has the role `engine`."""
    kafka = ground.settings.workflow.kafka
    lease = timedelta(seconds=ground.settings.engine.lease)
    replies: Replies = ReplyRepository(ground.database, ground.receipts, lease, taker)
    if tracer is not None:
        replies = TracedReplies(replies, tracer, ground.clock)
    aside = AsideRepository(ground.database)
    messages = ReplyMessages(replies, commands.schemas, commands.metrics, look_now, aside)

    async def always() -> Collection[str]:
        return kafka.reply_topics

    refused = RefusedCommands(ground.database)

    async def tell_refused() -> float:
        told = await refused.tell()
        if told:
            look_now()
        return 0.0 if told else SELDOM

    loop = Loop("refused commands", tell_refused, TROUBLE)
    ground.lookout.watch(Sight.REFUSED, loop.wake)
    async with (
        consuming(
            ground.settings,
            ground.bus,
            kafka.reply_group_id,
            [messages],
            [always, messages.topics],
            ground.database,
            ground.clock,
            ground.messages,
            ground.lookout,
        ) as consumer,
        making([loop, _returning(ground, messages, consumer)] if ground.has_engine else [], LEAVE_SECONDS),
    ):
        yield consumer


def _returning(ground: Ground, messages: ReplyMessages, consumer: Consumer) -> Loop:
    """What tries replies again that were set aside, by this instance or another."""
    aside = AsideRepository(ground.database)
    returning = ReturningReplies(aside, messages.again, consumer.bury, ground.clock, TROUBLE, SELDOM)
    loop = Loop("replies set aside", returning.work, (*TROUBLE, BusAway))
    ground.lookout.watch(Sight.ASIDE, loop.wake)
    return loop
