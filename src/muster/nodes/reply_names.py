"""Which command a message of a reply topic names: by a header, else by a field of its value."""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol, TypeAlias

from muster.engine.bus import Message
from muster.engine.commands import CORRELATION_ID
from muster.engine.event_waits import field_of
from muster.model.json import Json, JsonObject
from muster.nodes.message_schemas import MessageSchemas, SchemaAway, SchemaViolation, Undecodable
from muster.nodes.replies_aside import Registries, registry_of
from muster.nodes.resolved import BadParameter


class ReplyTopic(NamedTuple):
    """A topic that replies come from, where they have their correlation id if not in a header, and since when
    there are commands that they could be for."""

    topic: str
    field: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Expecting:
    """Where a command's reply comes, and what it must look like."""

    topic: str
    schema: JsonObject | None = None


class Known(Protocol):
    """What is known of commands that replies could be for. Raises `NotWritten`."""

    async def expecting(self, correlations: Collection[str]) -> Mapping[str, Expecting]:
        """What is expected under these correlation ids, as far as they are known."""
        ...

    async def schemas(self, topics: Collection[str]) -> Mapping[str, Sequence[JsonObject]]:
        """What replies look like that are waited for on these topics, where that is said."""
        ...


class Named(NamedTuple):
    """A message, and the correlation id that it has; None: it has none. `wrong` is why its value, where it
    would be, cannot be read; `is_away`: nobody can say so, since the schema cannot be had just now."""

    message: Message
    correlation: str | None = None
    wrong: str | None = None
    is_away: bool = False


class Value(NamedTuple):
    """What was read, which may be null."""

    data: Json


# None: a header names it. What cannot be read, or not now, says why.
Read: TypeAlias = Value | Undecodable | SchemaAway | None


class ReplyValues:
    """The values of messages, by the schema that they are to have."""

    def __init__(self, schemas: MessageSchemas) -> None:
        self._schemas, self._registries = schemas, Registries()

    async def read(self, message: Message, schema: JsonObject | None, until: float | None) -> Json:
        """`until` is when no registry is waited for any longer, in the time of the loop. Raises `SchemaAway`,
        `Undecodable`, `SchemaViolation` and `BadParameter`."""
        if message.value is None:
            return None
        reading = self._schemas.decode(schema, message.topic, message.value)
        if schema is None:
            return await reading
        if until is not None:
            return await self._registries.ask_briefly(schema, until, reading)
        value = await reading
        self._registries.answered(schema)
        return value


class ReplyNames:
    def __init__(self, known: Known, values: ReplyValues) -> None:
        self._known, self._values = known, values

    async def of(
        self, messages: Sequence[Message], topics: Mapping[str, Sequence[ReplyTopic]], until: float | None
    ) -> tuple[list[Named], Mapping[str, Expecting]]:
        """Whom these name, and what is expected under that."""
        headers = [_header(message) for message in messages]
        read = await self._read(messages, headers, until)
        names = [
            [header] if header is not None else _in_fields(value, topics[message.topic])
            for message, header, value in zip(messages, headers, read, strict=True)
        ]
        expecting = await self._known.expecting({name for some in names for name in some})
        found = zip(messages, read, names, strict=True)
        return [_named(message, value, some, expecting) for message, value, some in found], expecting

    async def _read(
        self, messages: Sequence[Message], headers: Sequence[str | None], until: float | None
    ) -> Sequence[Read]:
        """The values of those that no header names."""
        read: list[Read] = [
            await self._plain(message) if header is None else None
            for message, header in zip(messages, headers, strict=True)
        ]
        unread = [place for place, value in enumerate(read) if isinstance(value, Undecodable)]
        schemas = await self._known.schemas({messages[place].topic for place in unread}) if unread else {}
        away: dict[Hashable, SchemaAway] = {}
        for place in unread:
            message = messages[place]
            framed = await self._framed(message, schemas.get(message.topic, ()), until, away)
            read[place] = framed or read[place]
        return read

    async def _plain(self, message: Message) -> Value | Undecodable:
        try:
            return Value(await self._values.read(message, None, None))
        except Undecodable as wrong:
            return wrong

    async def _framed(
        self,
        message: Message,
        schemas: Iterable[JsonObject],
        until: float | None,
        away: dict[Hashable, SchemaAway],
    ) -> Value | SchemaAway | None:
        """As the commands say whose replies come here; None: it is none of these. A registry that is `away`
        is asked for one message, and not for each."""
        missing: SchemaAway | None = None
        for schema in schemas:
            if (known := away.get(registry_of(schema))) is not None:
                missing = known
                continue
            try:
                return Value(await self._values.read(message, schema, until))
            except SchemaAway as found:
                missing = away[registry_of(schema)] = found
            except (Undecodable, SchemaViolation, BadParameter):
                continue
        return missing


def _header(message: Message) -> str | None:
    header = message.header(CORRELATION_ID)
    return None if header is None else _as_given(header.decode(errors="replace"))


def _in_fields(read: Read, topics: Sequence[ReplyTopic]) -> Sequence[str]:
    """What may be its correlation id: commands on one topic may look for it in different fields."""
    if not isinstance(read, Value):
        return []
    found = (field_of(read.data, field) for field in sorted({each.field for each in topics}))
    return [_as_given(each) for each in found if isinstance(each, str)]


def _named(message: Message, read: Read, names: Sequence[str], expecting: Mapping[str, Expecting]) -> Named:
    """One that is waited for here is meant, whatever the other fields are for."""
    here = (name for name in names if name in expecting and expecting[name].topic == message.topic)
    wrong = str(read) if isinstance(read, Undecodable) else None
    return Named(message, next(here, names[0] if names else None), wrong, isinstance(read, SchemaAway))


def _as_given(correlation: str) -> str:
    """Ours are UUIDs, which mean the same in capitals."""
    return correlation.strip().lower()
