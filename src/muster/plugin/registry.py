"""What plug-ins hand over, looked at as it comes: what cannot work is an error at the start, by name."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeAlias

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from muster.engine.handlers import Effect, Pure, Wait
from muster.model.json import Json, JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType
from muster.model.problems import Problem
from muster.model.registered import MOST_ROWS, SECONDS, PrebuiltQuery
from muster.nodes.data_ports import ActionFunction, QueryFunction
from muster.nodes.parts import DRAFT, missing, processing, processing_defs, says_any, too_deep
from muster.nodes.sql import check_query, check_result_key, default_result_key
from muster.plugin.calling import (
    Threads,
    Written,
    action_of,
    effect_of,
    is_asynchronous,
    pure_of,
    query_of,
    wait_of,
)

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,99}")
NAME_RULE = "a letter, then up to 99 letters, digits, `_`, `.` and `-`"
OF_LISTS = frozenset({"on", "forEach", "onItemError"})
# A plug-in's SQL is as old as the plug-in: nobody asks when it was registered.
NEVER = datetime(1970, 1, 1, tzinfo=UTC)
Owned: TypeAlias = dict[tuple[str, str], str]


class BadRegistration(Exception):
    """A plug-in hands over what cannot be used; the message says what, and the plug-in's name."""

    def __init__(self, plugin: str, message: str) -> None:
        super().__init__(f"The plug-in `{plugin}` {message}")


@dataclass(slots=True)
class Plugged:
    """All that plug-ins have handed over. Node types and handlers are by their names in upper case."""

    node_types: dict[str, NodeType] = field(default_factory=dict)
    effects: dict[str, Effect] = field(default_factory=dict)
    pures: dict[str, Pure] = field(default_factory=dict)
    waits: dict[str, Wait] = field(default_factory=dict)
    actions: dict[str, ActionFunction] = field(default_factory=dict)
    queries: dict[str, QueryFunction] = field(default_factory=dict)
    sql_queries: dict[str, PrebuiltQuery] = field(default_factory=dict)
    result_keys: dict[str, str] = field(default_factory=dict)
    owners: Owned = field(default_factory=dict)


class Registry:
    """What one plug-in adds. Every method raises `BadRegistration`."""

    def __init__(
        self, plugin: str, plugged: Plugged, threads: Threads, built_in: Mapping[str, NodeType]
    ) -> None:
        self._plugin, self._plugged, self._threads, self._built_in = plugin, plugged, threads, built_in
        self._mine: set[tuple[str, str]] = set()

    def node(self, type_: NodeType, handler: Written) -> None:
        """Add a type of node.

        `handler(params, call)` gets the config with its expressions resolved. Of an effect it may be
        asynchronous; if it is not, it runs on a thread. What only computes or waits runs at once, so it must
        be quick, and never reach outside. It answers `Done`, `Failure`, in a wait `Suspend`; or plain JSON,
        which is the output of a node that is done.
        """
        if not isinstance(type_, NodeType):
            raise self._bad("registers a node type that is no `NodeType`")
        self._check_function(handler, f"the handler of the node type `{type_.name}`")
        self._check_type(type_, handler)
        name = type_.name.upper()
        if name in self._built_in:
            raise self._bad(f"registers the node type `{type_.name}`, which comes with Muster")
        self._own("node type", type_.name, name)
        match type_.kind:
            case NodeKind.EFFECT:
                self._plugged.effects[name] = effect_of(handler, self._threads)
            case NodeKind.PURE:
                self._plugged.pures[name] = pure_of(handler)
            case NodeKind.WAIT:
                self._plugged.waits[name] = wait_of(handler)
            case NodeKind.START:
                raise AssertionError("refused before")
        closed = replace(type_, schema={"$schema": DRAFT, "additionalProperties": False, **type_.schema})
        over_lists = type_.kind is NodeKind.EFFECT
        self._plugged.node_types[name] = self._over_lists(closed) if over_lists else closed

    def action(self, key: str, function: Written) -> None:
        """Add an action, for `actionType`. `function(params, call)` gets the item's fields and the node's
        `params`, and answers the result as JSON, or `Failure`. It runs on a thread if it is not
        asynchronous."""
        self._check_function(function, f"the action `{key}`")
        self._own("action", key)
        self._plugged.actions[key] = action_of(function, self._threads)

    def query(self, key: str, function: Written, result_key: str | None = None) -> None:
        """Add a query, for `prebuiltKey`. `function(params, call)` answers the rows, or `Failure`. They go
        into the context as `result_key`: without one, the key without `get`, its first letter lowered."""
        self._check_function(function, f"the query `{key}`")
        self._own("query", key)
        self._check_problems(key, check_result_key(result_key or default_result_key(key)))
        self._plugged.queries[key] = query_of(function, self._threads)
        self._plugged.result_keys[key] = result_key or default_result_key(key)

    def sql_query(
        self,
        key: str,
        data_source: str,
        sql: str,
        params_schema: JsonObject | None = None,
        result_key: str | None = None,
        max_rows: int = MOST_ROWS,
        timeout_seconds: int = SECONDS,
    ) -> None:
        """Add a query in SQL, on a data source that is shared by all; which one there is, the administrator
        says. Values are bound to `:name`, as in every registered query."""
        self._own("query", key)
        query = PrebuiltQuery(
            key=key,
            institute_id="",
            data_source=data_source,
            sql=sql,
            result_key=result_key or default_result_key(key),
            created_at=NEVER,
            updated_at=NEVER,
            params_schema=params_schema,
            max_rows=max_rows,
            timeout_seconds=timeout_seconds,
        )
        self._check_problems(key, check_query(query))
        self._plugged.sql_queries[key] = query
        self._plugged.result_keys[key] = query.result_key

    # --- what cannot work --------------------------------------------------------------------------

    def _bad(self, message: str) -> BadRegistration:
        return BadRegistration(self._plugin, f"{message}.")

    def _own(self, what: str, name: object, key: str | None = None) -> None:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise self._bad(f"registers a {what} whose name is not {NAME_RULE}")
        place = (what, key or name)
        owner = self._plugged.owners.setdefault(place, self._plugin)
        if owner != self._plugin:
            raise self._bad(f"registers the {what} `{name}`, which the plug-in `{owner}` has registered")
        if place in self._mine:
            raise self._bad(f"registers the {what} `{name}` twice")
        self._mine.add(place)

    def _check_function(self, function: object, what: str) -> None:
        if not callable(function):
            raise self._bad(f"hands over {what}, which cannot be called")
        try:
            inspect.signature(function).bind({}, None)
        except TypeError:
            raise self._bad(
                f"hands over {what}, which does not take two arguments, `params` and `call`"
            ) from None
        except ValueError:
            return  # a function that says nothing about itself

    def _check_problems(self, key: str, problems: tuple[Problem, ...]) -> None:
        if problems:
            raise self._bad(f"registers the query `{key}`, but: {problems[0].message.rstrip('.')}")

    def _check_type(self, type_: NodeType, handler: Written) -> None:
        named = f"registers the node type `{type_.name}`"
        if type_.kind is NodeKind.START:
            raise self._bad(f"{named} as a start: starts come with Muster")
        if type_.kind is not NodeKind.EFFECT and is_asynchronous(handler):
            raise self._bad(f"{named} with an asynchronous handler, which only an effect may have")
        for text, what in ((type_.title, "title"), (type_.description, "description")):
            if not text:
                raise self._bad(f"{named} without a {what}")
        self._check_schema(type_.schema, named)

    def _check_schema(self, schema: object, named: str) -> None:
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise self._bad(f"{named}, whose schema is not that of an object")
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            place = "/".join(str(step) for step in error.absolute_path)
            raise self._bad(f"{named}, whose schema is no JSON Schema (draft 2020-12): /{place}") from None
        if not isinstance(schema.get("properties"), dict):
            raise self._bad(f"{named}, whose schema has no `properties`")

    def _over_lists(self, type_: NodeType) -> NodeType:
        """The type with what every effect has: `on`, `forEach`, `onItemError`."""
        schema, body = type_.schema, type_.schema["properties"]
        assert isinstance(body, dict), "looked at before"
        if taken := sorted(OF_LISTS & body.keys()):
            raise self._bad(
                f"registers the node type `{type_.name}` with a field `{taken[0]}`: every effect has it"
            )
        defs = schema.get("$defs")
        required = schema.get("required")
        return replace(
            type_,
            schema={
                **{name: value for name, value in schema.items() if name != "required"},
                "properties": processing(body),
                "$defs": {**(defs if isinstance(defs, dict) else {}), **processing_defs(body)},
            },
            check=_checking(type_.check, required if isinstance(required, list) else []),
        )


def _checking(
    own: Callable[[JsonView], tuple[Problem, ...]], required: list[Json]
) -> Callable[[JsonView], tuple[Problem, ...]]:
    """What is needed may be said for all items or for each of them."""

    def check(config: JsonView) -> tuple[Problem, ...]:
        unsaid = [name for name in required if isinstance(name, str) and not says_any(config, name)]
        return (
            *(missing(f"The field `{name}` is missing.") for name in unsaid),
            *too_deep(config),
            *own(config),
        )

    return check
