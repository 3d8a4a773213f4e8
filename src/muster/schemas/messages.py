"""Messages by their schemas: checked before they become bytes, and when they come."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from muster.definitions import text
from muster.definitions.jsontext import read_json
from muster.definitions.limits import Limits
from muster.model.json import Json, JsonObject
from muster.model.problems import AuthorError
from muster.nodes.answer_schema import fault_of
from muster.nodes.message_schemas import SchemaViolation, Undecodable, plain_bytes
from muster.nodes.resolved import BadParameter, text_of
from muster.schemas import avro
from muster.schemas.asyncapi import payload_schema
from muster.schemas.avro_types import Type, parse
from muster.schemas.files import Files
from muster.schemas.registry import LATEST, Registered, Registry
from muster.schemas.wire import framed, unframed

IN_REGISTRY = ("AVRO", "JSON")
MOST_PARSED = 1000


@dataclass(frozen=True, slots=True)
class InRegistry:
    """Where a schema of a node is registered. `written`: it is written out, and registered if need be."""

    kind: str
    at: str
    subject: str
    version: str
    written: str | None


class SchemaMessages:
    """`nodes.message_schemas.MessageSchemas`. `default_registry` is asked where a node names none."""

    def __init__(
        self, registry: Registry, files: Files, limits: Limits, default_registry: str | None
    ) -> None:
        self._registry, self._files, self._limits = registry, files, limits
        self._default = default_registry
        self._types: dict[Registered, Type] = {}

    async def encode(self, schema: JsonObject | None, topic: str, value: Json) -> bytes:
        if schema is None:
            return _plain(value)
        if schema.get("type") not in IN_REGISTRY:
            _hold_to(await self._plain_schema(schema, topic), value)
            return _plain(value)
        place = in_registry(schema, topic, self._default)
        registered = await self._registered(place)
        if place.kind == "AVRO":
            return framed(registered.id, avro.encode(self._type(registered), value))
        _hold_to(_json_schema(registered), value)
        return framed(registered.id, _plain(value))

    async def decode(self, schema: JsonObject | None, topic: str, data: bytes) -> Json:
        if schema is None or schema.get("type") not in IN_REGISTRY:
            value = self._read(data)
            if schema is not None:
                _hold_to(await self._plain_schema(schema, topic), value)
            return value
        place = in_registry(schema, topic, self._default)
        number, payload = unframed(data)
        # By the schema that it was written with, whichever version that is.
        registered = await self._registry.by_id(place.at, number)
        if registered.kind != place.kind:
            raise Undecodable(f"it is {registered.kind}, where {place.kind} was expected")
        if place.kind == "AVRO":
            return avro.decode(self._type(registered), payload)
        value = self._read(payload)
        _hold_to(_json_schema(registered), value)
        return value

    async def _registered(self, place: InRegistry) -> Registered:
        if place.written is not None:
            number = await self._registry.register(place.at, place.subject, place.kind, place.written)
            return Registered(number, place.kind, place.written)
        found = await self._registry.by_subject(place.at, place.subject, place.version)
        if found.kind != place.kind:
            raise BadParameter(f"the subject `{place.subject[:100]}` is {found.kind}, and not {place.kind}")
        return found

    async def _plain_schema(self, schema: JsonObject, topic: str) -> JsonObject:
        """The JSON Schema of messages that are plain JSON."""
        match schema.get("type"):
            case "JSON_SCHEMA":
                return _object(await self._given(schema, "schema"), "schema")
            case "ASYNCAPI":
                document = _object(await self._given(schema, "document"), "document")
                channel, message = (
                    text_of(schema.get("channel"), "channel"),
                    text_of(schema.get("message"), "message"),
                )
                return payload_schema(document, channel, message, topic)
            case other:
                raise BadParameter(f"`schema`: there is no kind `{other}`")

    async def _given(self, schema: JsonObject, name: str) -> Json:
        written, file = schema.get(name), schema.get("file")
        if written is None and isinstance(file, str):
            return await self._files.read(file)
        if written is None:
            raise BadParameter(f"`schema` should have a `{name}` or a `file`")
        return _read_text(written, name) if isinstance(written, str) else written

    def _type(self, registered: Registered) -> Type:
        known = self._types.get(registered)
        if known is None:
            others = {name: _avro_text(other) for name, other in registered.references}
            known = parse(_avro_text(registered.schema), others)
            if len(self._types) >= MOST_PARSED:
                del self._types[next(iter(self._types))]
            self._types[registered] = known
        return known

    def _read(self, data: bytes) -> Json:
        try:
            return read_json(data, self._limits)
        except AuthorError as error:
            raise Undecodable(str(error)) from None


def in_registry(schema: Mapping[str, Json], topic: str, default: str | None) -> InRegistry:
    """Raises `BadParameter`."""
    kind = str(schema.get("type"))
    at = text_of(schema.get("registry"), "registry") or default
    if not at:
        raise BadParameter(f"`schema`: {kind} needs a `registry`")
    written = schema.get("schema")
    return InRegistry(
        kind,
        at,
        text_of(schema.get("subject"), "subject") or f"{topic}-value",
        str(schema.get("version") or LATEST),
        written if written is None or isinstance(written, str) else plain_bytes(written).decode(),
    )


def _plain(value: Json) -> bytes:
    try:
        return plain_bytes(value)
    except ValueError:
        told = "it holds NaN, infinity or half a surrogate pair, which JSON does not have"
        raise SchemaViolation(told) from None


def _hold_to(schema: JsonObject, value: Json) -> None:
    if (fault := fault_of(schema, value)) is not None:
        raise SchemaViolation(fault)


def _object(value: Json, name: str) -> JsonObject:
    if not isinstance(value, dict):
        raise BadParameter(f"`{name}` should be an object")
    return value


def _json_schema(registered: Registered) -> JsonObject:
    if registered.references:
        raise BadParameter("a JSON Schema that refers to other subjects cannot be used")
    return _object(_avro_text(registered.schema), "schema")


def _avro_text(schema: str) -> Json:
    """A schema's text; a type that is only a name may be written without quotes."""
    try:
        found: Json = json.loads(schema)
    except ValueError:
        return schema
    return found


def _read_text(written: str, name: str) -> Json:
    try:
        return text.read(written.encode(), Limits())
    except AuthorError as error:
        raise BadParameter(f"`{name}` cannot be read: {error}") from None
