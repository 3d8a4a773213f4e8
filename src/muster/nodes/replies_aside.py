"""Replies whose schema cannot be had just now are set aside, so that they keep nobody else waiting.

Which registry is asked, a workflow says: one that does not answer must not hold up the replies to others. So
whoever reads replies waits for registries only briefly, and for one that is known to be away not at all; what
cannot be read then is kept as it came, and tried again by a pass of its own.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Hashable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from muster.engine.bus import Message, Rejected
from muster.kit.clock import Clock
from muster.model.json import Json, JsonObject
from muster.nodes.message_schemas import SchemaAway

AWAY = "SCHEMA_AWAY"
# For how long a batch of replies may wait for registries, all in all.
BRIEFLY = 1.0
# Who has not answered for so long is away.
SHOWN_AFTER = BRIEFLY / 2
# For how long one that is away is not asked for the sake of a batch; cached schemas go on working.
SPARED = 60.0
TAKEN_AT_ONCE = 200
# What could not be read for so long is a dead letter, from where it can be sent again.
LONGEST = timedelta(days=1)

log = logging.getLogger(__name__)


class Aside(NamedTuple):
    """A message that was set aside, and when."""

    id: int
    message: Message
    since: datetime


class AsideMessages(Protocol):
    """Messages that were set aside. Raises `NotWritten`."""

    async def put(self, messages: Sequence[Message]) -> None:
        """Durable when this returns; a message that is there is not put a second time."""
        ...

    async def take(self, most: int) -> Sequence[Aside]:
        """Those that it is time for, oldest first; nobody else is given them for a while."""
        ...

    async def done(self, ids: Collection[int]) -> None: ...


class Tried(NamedTuple):
    """What became of messages that were set aside: rejected, or still not to be read. The others are done."""

    rejected: Sequence[Rejected]
    away: Sequence[Message]


class Registries:
    """Which registries did not answer of late."""

    def __init__(self) -> None:
        self._away: dict[Hashable, float] = {}

    async def ask_briefly(self, schema: JsonObject, until: float, reading: Coroutine[Any, Any, Json]) -> Json:
        """What was read with the schema, by then, in the time of the loop. Raises `SchemaAway`."""
        clock = asyncio.get_running_loop().time
        name, now = registry_of(schema), clock()
        patience = 0.0 if self._away.get(name, now) > now else max(0.0, until - now)
        try:
            # What needs nobody's answer is done at once, however short the time is.
            async with asyncio.timeout(patience):
                return await reading
        except (TimeoutError, SchemaAway) as away:
            told = str(away) or "it does not answer in time"
            # Who had hardly any time left, or none, has shown nothing by not answering in it.
            if patience and (isinstance(away, SchemaAway) or clock() - now >= SHOWN_AFTER):
                self._spare(name, now)
                log.warning("a schema registry is away; replies that need it are set aside: %s", told)
            raise SchemaAway(told) from away

    def _spare(self, name: Hashable, now: float) -> None:
        known = {each: until for each, until in self._away.items() if until > now}
        self._away = {**known, name: now + SPARED}

    def answered(self, schema: JsonObject) -> None:
        self._away.pop(registry_of(schema), None)


def registry_of(schema: JsonObject) -> Hashable:
    """What schemas have in common that come from one registry."""
    return str(schema.get("type")), str(schema.get("registry"))


class ReturningReplies:
    """The pass over replies that were set aside. `again` is `ReplyMessages.again`; `bury` makes dead letters
    of what is rejected. `trouble` is what says that the store is away. It comes again after `seldom` seconds,
    unless it is told sooner."""

    def __init__(
        self,
        aside: AsideMessages,
        again: Callable[[Sequence[Message]], Awaitable[Tried]],
        bury: Callable[[Sequence[Rejected]], Awaitable[None]],
        clock: Clock,
        trouble: tuple[type[Exception], ...],
        seldom: float,
    ) -> None:
        self._aside, self._again, self._bury = aside, again, bury
        self._clock, self._trouble, self._seldom = clock, trouble, seldom

    async def work(self) -> float:
        taken = await self._aside.take(TAKEN_AT_ONCE)
        if not taken:
            return self._seldom
        tried = await self._tried([each.message for each in taken])
        given_up = self._given_up(taken, {message.name for message in tried.away})
        await self._bury([*tried.rejected, *given_up])
        away = {message.name for message in tried.away} - {each.message.name for each in given_up}
        await self._aside.done([each.id for each in taken if each.message.name not in away])
        return 0.0 if len(taken) == TAKEN_AT_ONCE else self._seldom

    async def _tried(self, messages: Sequence[Message]) -> Tried:
        try:
            return await self._again(messages)
        except self._trouble:
            raise
        except Exception as error:
            # As where they came from: the one that fails by itself holds up no others.
            if len(messages) == 1:
                return Tried([Rejected(messages[0], type(error).__name__, str(error))], ())
            middle = len(messages) // 2
            first, rest = await self._tried(messages[:middle]), await self._tried(messages[middle:])
            return Tried([*first.rejected, *rest.rejected], [*first.away, *rest.away])

    def _given_up(self, taken: Sequence[Aside], away: Collection[str]) -> Sequence[Rejected]:
        before = self._clock.now() - LONGEST
        told = "the registry of its schema has not answered for a day"
        old = [each.message for each in taken if each.message.name in away and each.since < before]
        return [Rejected(message, AWAY, told) for message in old]
