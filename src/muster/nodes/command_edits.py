"""Changing a command that is sent again: it is read and written by its node's schema, which it has to fit."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from muster.engine.control import Conflict
from muster.engine.letters import DeadLetter
from muster.model.json import Json, JsonObject, JsonView
from muster.nodes.message_schemas import MessageSchemas, SchemaAway, SchemaViolation, Undecodable
from muster.nodes.resolved import BadParameter, object_of

# The configuration of an execution's node; None: there is no such execution any more.
ConfigOf: TypeAlias = Callable[[str, str], Awaitable[JsonView | None]]


class CommandEdits:
    """`engine.resending.Edits` of commands."""

    def __init__(self, config_of: ConfigOf, schemas: MessageSchemas) -> None:
        self._config_of, self._schemas = config_of, schemas

    async def __call__(self, letter: DeadLetter, value: bytes, patch: JsonObject) -> bytes:
        schema = await self._schema(letter.value if isinstance(letter.value, dict) else {})
        try:
            fields = await self._schemas.decode(schema, letter.source, value)
            if not isinstance(fields, dict):
                raise Conflict("The command is no object: there is nothing in it to change")
            return await self._schemas.encode(schema, letter.source, {**fields, **patch})
        except SchemaViolation as fault:
            raise Conflict(f"So changed, the command is not as its schema says: {fault}") from None
        except (Undecodable, BadParameter) as wrong:
            raise Conflict(f"The command cannot be changed: {wrong}") from None
        except SchemaAway as away:
            raise Conflict(f"The command cannot be changed just now: {away}") from None

    async def _schema(self, kept: Mapping[str, Json]) -> JsonObject | None:
        config = await self._config_of(str(kept.get("executionId")), str(kept.get("nodeId")))
        if config is None:
            raise Conflict("The command's execution is gone, and with it what the command has to look like")
        return dict(object_of(config.get("schema"), "schema")) or None
