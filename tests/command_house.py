"""An engine for tests of commands: what it sends is put on a bus by hand, and replies come in any order."""

import json
import uuid
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import select, update

from engine_house import LEASE
from muster.definitions.limits import Limits
from muster.engine.bus import Batch, Headers, Message, Rejected
from muster.engine.commands import CORRELATION_ID, REFERENCE
from muster.model.json import Json, JsonObject
from muster.nodes.command_replies import ReplyMessages
from muster.nodes.commanding import CommandNode
from muster.nodes.compensating import CompensatingCommand
from muster.schemas.messages import SchemaMessages
from muster.store.command_replies import ReplyRepository
from muster.store.command_sending import SentCommandRepository
from muster.store.commands import note_sent
from muster.store.database import Database
from muster.store.outbox import decode_headers
from muster.store.tables import dead_letter, node_execution, outbox_message, workflow_kafka_commands
from waiting_house import Waiting

K = workflow_kafka_commands.c
O = outbox_message.c  # noqa: E741  # as tables are called everywhere
COMMANDS, REPLIES, DLQ = "export-commands", "export-replies", "export-commands-dlq"
CONFIG: JsonObject = {
    "commandTopic": COMMANDS,
    "replyTopic": REPLIES,
    "command": {"type": "EXPORT_DATA", "payload": {"entityType": "#{entity}", "format": "CSV"}},
    "timeout": "300s",
    "outputMapping": {"exportId": "$.exportId", "downloadUrl": "$.downloadUrl"},
}
END: JsonObject = {"id": "end", "type": "TELL", "config": {"say": "end"}}


class Counted:
    """Who counts, and remembers."""

    def __init__(self) -> None:
        self.replies: list[tuple[str, str]] = []
        self.latencies: list[timedelta] = []
        self.timeouts: list[str] = []
        self.made: list[str] = []
        self.counts: list[tuple[str, int]] = []

    def received(self, topic: str, status: str, latency: timedelta | None) -> None:
        self.replies.append((topic, status))
        self.latencies += [] if latency is None else [latency]

    def timed_out(self, topic: str) -> None:
        self.timeouts.append(topic)

    def sent(self, topics: Mapping[str, int]) -> None:
        self.counts += topics.items()

    buried = sent

    async def make(self, topics: Collection[str]) -> None:
        self.made += topics

    @property
    def statuses(self) -> list[str]:
        return [status for _, status in self.replies]


class Commanding(Waiting):
    def __init__(self, database: Database, name: str = "here") -> None:
        super().__init__(database, name=name)
        self.counted = Counted()
        # Nothing is registered, and nothing is in files.
        schemas = SchemaMessages(None, None, Limits(), None)  # type: ignore[arg-type]
        self.replies = ReplyRepository(database, self.committer, LEASE)
        self.looks, self.schemas = 0, schemas
        self.handle = ReplyMessages(self.replies, schemas, self.counted, self.look)
        node = CommandNode(
            schemas, lambda: str(uuid.uuid4()), "workflow-commands-dlq", self.counted, self.counted
        )
        self.openers["KAFKA_COMMAND"] = self.wakers["KAFKA_COMMAND"] = node
        self.sent = SentCommandRepository(database)
        self.effects["KAFKA_COMMAND"] = CompensatingCommand(schemas, self.sent, lambda: None)
        self.offset = 0

    def look(self) -> None:
        self.looks += 1

    async def take_replies_up(self) -> None:
        """Let whoever receives replies go on with their executions, as in a process of its own."""
        await self.instance.take_back()
        self.replies = ReplyRepository(self.database, self.committer, LEASE, self.instance)
        self.handle = ReplyMessages(self.replies, self.schemas, self.counted, self.look)

    async def command(self, name: str = "export", /, node: JsonObject | None = None, **config: Any) -> str:
        """Save a workflow that sends a command, and begin it: the execution's id."""
        whole = {each: value for each, value in {**CONFIG, **config}.items() if value is not None}
        await self.save(name, {"id": "send", "type": "KAFKA_COMMAND", "config": whole, **(node or {})}, END)
        return await self.begin_command(name)

    async def begin_command(self, key: str = "export") -> str:
        execution = await self.begin(key, entity="orders")
        await self.instance.ended(execution)
        return execution

    async def commands(self, execution: str) -> list[Any]:
        """Rows of its commands, oldest first."""
        wanted = select(workflow_kafka_commands).where(K.workflow_instance_id == execution)
        return await self.all(wanted.order_by(K.created_at, K.attempt))

    async def the_command(self, execution: str) -> Any:
        return (await self.commands(execution))[-1]

    async def all(self, wanted: Any) -> list[Any]:
        return list(await self.database.read(lambda connection: connection.execute(wanted).all()))

    async def outgoing(self, topic: str = COMMANDS) -> list[Any]:
        return await self.all(select(outbox_message).where(O.topic == topic).order_by(O.id))

    async def letters(self, kind: str = "command") -> list[Any]:
        wanted = select(dead_letter).where(dead_letter.c.kind == kind)
        return await self.all(wanted.order_by(dead_letter.c.id))

    async def warnings(self, execution: str) -> list[str]:
        """What its nodes have warned of."""
        warned = select(node_execution.c.warnings).where(node_execution.c.execution_id == execution)
        return [told for row in await self.all(warned) for told in row.warnings or ()]

    async def publish(self, *executions: str, ago: timedelta = timedelta()) -> None:
        """Say that the bus has the commands of these."""
        rows = [row for execution in executions for row in await self.commands(execution)]
        fresh = [row.id for row in rows if row.sent_at is None]
        at = self.clock.now() - ago
        await self.database.write(lambda connection: note_sent(connection, fresh, at))

    async def reply(
        self, execution: str, value: Json = None, *headers: tuple[str, str], topic: str = REPLIES
    ) -> list[Rejected]:
        """A reply to the last command of an execution."""
        correlation = (await self.the_command(execution)).correlation_id
        return await self.deliver(
            value or {"exportId": 7}, (CORRELATION_ID, correlation), *headers, topic=topic
        )

    async def deliver(
        self, value: Json | bytes, *headers: tuple[str, str], topic: str = REPLIES
    ) -> list[Rejected]:
        return list(await self.handle(Batch([self.message(value, *headers, topic=topic)])))

    def message(self, value: Json | bytes, *headers: tuple[str, str], topic: str = REPLIES) -> Message:
        self.offset += 1
        raw = value if isinstance(value, bytes) else json.dumps(value).encode()
        given: Headers = tuple((name, text.encode()) for name, text in headers)
        return Message(topic, 0, self.offset, None, raw, given, datetime.now(UTC) + timedelta(days=1))

    async def status(self, execution: str) -> str:
        return str((await self.row(execution))["status"])

    async def context(self, execution: str) -> JsonObject:
        context = (await self.row(execution))["context"]
        assert isinstance(context, dict)
        return context

    async def run_out(self) -> None:
        """Let the time of every command that was sent be over, and whoever is due go on."""
        past = datetime(2000, 1, 1, tzinfo=UTC)
        gone = update(workflow_kafka_commands).where(K.timeout_at.is_not(None)).values(timeout_at=past)
        await self.database.write(lambda connection: connection.execute(gone))
        await self.pass_time(hours=1)
        await self.settle()


def headers_of(row: Any) -> dict[str, str]:
    """The headers of a message in the outbox."""
    return {name: value.decode() for name, value in decode_headers(row.headers)}


def command_id_of(row: Any) -> str:
    return str(row.reference).removeprefix(REFERENCE)
