"""Undoing with a command: sent once for each attempt, whoever goes down meanwhile."""

import asyncio
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from muster.engine.commands import OPEN, CommandStatus
from muster.engine.handlers import Call, Done
from muster.engine.lines import about_call
from muster.engine.ports import NotWritten
from muster.engine.state import Failure
from muster.kit.backoff import until_it_works
from muster.kit.ids import derived_id
from muster.model.json import Json, JsonObject
from muster.nodes.commanding import Outbound, made_command
from muster.nodes.message_schemas import MessageSchemas

# Correlation ids of compensations are made from what they undo: who undoes it again after a crash finds them.
NAMESPACE = uuid.UUID("6f1d2c1e-8a57-4b52-9c63-2f2f1f0b7a11")
FIRST_LOOK, LAST_LOOK = 0.05, 1.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SentCommand:
    """A command as it stands."""

    id: str
    correlation_id: str
    command_topic: str
    reply_topic: str
    status: CommandStatus
    reply: Json = None
    error: str | None = None


class SentCommands(Protocol):
    """Commands that executions send to undo others. All of it raises `NotWritten`."""

    async def of_visit(self, execution_id: str, node: str, visit: int) -> SentCommand | None:
        """The last command that a visit sent, and that undoes nothing itself."""
        ...

    async def send(self, execution_id: str, fence: int, outbound: Outbound) -> SentCommand:
        """Keep a command with its message, unless it is there: then it is answered as it stands. Raises
        `Lost`: the fence has moved on."""
        ...

    async def look(self, command_id: str) -> SentCommand:
        """How it stands; if its time is over, that is so from now on."""
        ...


class CompensatingCommand:
    """An `Effect`. `sent` lets whoever publishes look at once."""

    def __init__(self, schemas: MessageSchemas, commands: SentCommands, sent: Callable[[], None]) -> None:
        self._schemas, self._commands, self._sent = schemas, commands, sent

    async def __call__(self, params: JsonObject, call: Call) -> Done | Failure:
        tell = partial(_tell_away, call, None)
        original = await until_it_works(
            lambda: self._commands.of_visit(call.execution_id, call.node_id, call.visit), NotWritten, tell
        )
        made = await self._made(params, call, original)
        if isinstance(made, Failure):
            return made
        kept = await until_it_works(
            lambda: self._commands.send(call.execution_id, call.fence, made), NotWritten, tell
        )
        self._sent()
        if params.get("waitForReply") is not True:
            return Done({"commandId": kept.id, "correlationId": kept.correlation_id})
        return _outcome(await self._answered(kept, partial(_tell_away, call, kept.correlation_id)))

    async def _made(self, params: JsonObject, call: Call, original: SentCommand | None) -> Outbound | Failure:
        """The command of this attempt: the same whenever it is made again."""
        topics: JsonObject = {}
        if original is not None:
            topics = {"commandTopic": original.command_topic, "replyTopic": original.reply_topic}
        if "topic" in params:
            topics["commandTopic"] = params["topic"]
        name = f"{call.key}:{call.attempt}"
        return await made_command(
            self._schemas,
            {**topics, **params},
            call,
            str(uuid.uuid5(NAMESPACE, name)),
            derived_id(call.execution_id, name),
            original.correlation_id if original else "",
        )

    async def _answered(self, kept: SentCommand, tell: Callable[[Exception], None]) -> SentCommand:
        pause = FIRST_LOOK
        while kept.status in OPEN:
            await asyncio.sleep(pause)
            pause = min(2 * pause, LAST_LOOK)
            looking = partial(self._commands.look, kept.id)
            kept = await until_it_works(looking, NotWritten, tell)
        return kept


def _outcome(kept: SentCommand) -> Done | Failure:
    match kept.status:
        case CommandStatus.REPLY_RECEIVED:
            return Done(kept.reply)
        case CommandStatus.TIMEOUT:
            return Failure("Timeout", kept.error or "no reply came", retryable=True)
        case _:
            return Failure("CommandError", kept.error or "the reply is an error", retryable=True)


def _tell_away(call: Call, correlation: str | None, away: Exception) -> None:
    ids = about_call(call, correlation)
    log.warning("a command that undoes another cannot be kept yet: %s", away, extra=ids)
