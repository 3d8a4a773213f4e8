"""Pieces of config that several node types share: their schemas, and what they set."""

from collections.abc import Iterator, Mapping

from muster.model.json import Json, JsonObject, JsonView
from muster.model.problems import Level, Problem

DRAFT = "https://json-schema.org/draft/2020-12/schema"
DEEPEST_FOR_EACH = 5


def text(title: str, description: str = "", *examples: Json, **more: Json) -> JsonObject:
    return _described({"type": "string", "title": title}, description, examples, more)


def whole(title: str, description: str = "", **more: Json) -> JsonObject:
    return _described({"type": "integer", "title": title}, description, (), more)


def flag(title: str, description: str = "", **more: Json) -> JsonObject:
    return _described({"type": "boolean", "title": title}, description, (), more)


def choice(title: str, options: list[Json], description: str = "", **more: Json) -> JsonObject:
    return _described({"enum": options, "title": title, "x-literal": True}, description, (), more)


def anything(title: str, description: str = "", *examples: Json) -> JsonObject:
    return _described({"title": title}, description, examples, {})


def duration(title: str, description: str = "", **more: Json) -> JsonObject:
    length = "`300s`, `5m`, ISO 8601 (`PT5M`) or a number of seconds."
    form: JsonObject = {"type": ["string", "number"], "format": "duration", "title": title}
    return _described(form, f"{description} {length}".strip(), ("300s", "PT5M"), more)


def texts(title: str, description: str = "", *examples: Json) -> JsonObject:
    """One text, or a list of them."""
    form: JsonObject = {"type": ["string", "array"], "items": {"type": "string"}, "title": title}
    return _described(form, description, examples, {})


def topic(title: str, description: str = "", *examples: Json) -> JsonObject:
    return text(title, description, *examples, format="topic")


def literal(schema: JsonObject) -> JsonObject:
    """What must be known before anything runs, and so may hold no expression."""
    return {**schema, "x-literal": True}


def needs(field: str, value: Json, *required: str) -> JsonObject:
    """Where `field` is `value`, or may be, these fields are needed."""
    return {"if": {"properties": {field: {"const": value}}}, "then": {"required": list(required)}}


def fields(
    title: str, description: str = "", *examples: Json, values: JsonObject | None = None
) -> JsonObject:
    """An object whose keys the author chooses."""
    form: JsonObject = {"type": "object", "title": title}
    if values is not None:
        form["additionalProperties"] = values
    return _described(form, description, examples, {})


def closed(properties: JsonObject, *required: str, **more: Json) -> JsonObject:
    """An object with these fields and no others."""
    needed: JsonObject = {"required": list(required)} if required else {}
    return {"type": "object", "additionalProperties": False, "properties": properties, **needed, **more}


def _described(form: JsonObject, description: str, examples: tuple[Json, ...], more: JsonView) -> JsonObject:
    if description:
        form["description"] = description
    if examples:
        form["examples"] = list(examples)
    return {**form, **more}


def config(properties: JsonObject, *required: str, **more: Json) -> JsonObject:
    """A node type's whole config."""
    return {"$schema": DRAFT, **closed(properties, *required, **more)}


ON = anything("Items", "The list to work on; an object counts as one item, null as none.", "#{users}")
MAPPING = fields(
    "Output mapping",
    "Where each context name is found in what came back: a JSONPath, or a plain path.",
    {"exportId": "$.exportId"},
    values={"type": "string", "format": "mapping", "x-literal": True},
)
HEADERS = fields("Headers", values={"type": ["string", "number", "boolean"]})
MESSAGE_SCHEMA: JsonObject = closed(
    {
        "type": choice("Kind", ["AVRO", "JSON", "JSON_SCHEMA", "ASYNCAPI"]),
        "registry": text("Registry", "The schema registry's address.", "http://127.0.0.1:8081"),
        "subject": text("Subject", "The subject in the registry.", "export-command-value"),
        "version": {"type": ["integer", "string"], "title": "Version", "default": "latest"},
        "schema": {"type": ["object", "string"], "title": "Schema", "description": "Written out."},
        "file": text("File", "Where the schema or the AsyncAPI document is."),
        "document": {"type": ["object", "string"], "title": "AsyncAPI document"},
        "channel": text("Channel", "The channel in the AsyncAPI document."),
        "message": text("Message", "The message, where a channel has several."),
        "compatibility": choice("Compatibility", ["BACKWARD", "FORWARD", "FULL", "NONE"]),
    },
    "type",
    title="Message schema",
)


def processing(body: JsonObject) -> JsonObject:
    """`on`, `forEach` and `onItemError`; `body` is what may be said anew for each item or case."""
    return {
        "on": ON,
        "forEach": {"$ref": "#/$defs/forEach"},
        "onItemError": choice(
            "When an item fails",
            ["collect", "continue", "stop"],
            "Do all and then fail, go on, or stop at once.",
            default="collect",
        ),
        **body,
    }


def processing_defs(body: JsonObject, open_body: bool = False) -> JsonObject:
    """The definitions that `processing` refers to."""
    nested: JsonObject = {"forEach": {"$ref": "#/$defs/forEach"}}
    loop: JsonObject = {
        "operation": choice("Operation", ["ITERATOR", "SWITCH"], default="ITERATOR"),
        "eval": anything("Item", "What `item` becomes for the body.", "#{item}"),
        "on": anything("Switch on", "What the cases are compared with, as text.", "#{item.status}"),
        "cases": {
            "type": "object",
            "x-literal": True,
            "title": "Cases",
            "minProperties": 1,
            "additionalProperties": {"$ref": "#/$defs/case"},
        },
        "default": {"$ref": "#/$defs/case"},
        "concurrency": whole("At once", minimum=1, maximum=1000, default=16),
        "batchSize": whole("Batch size", minimum=1, maximum=10_000),
    }
    shut: JsonObject = {} if open_body else {"additionalProperties": False}
    switch: JsonObject = {
        "if": {"required": ["operation"], "properties": {"operation": {"const": "SWITCH"}}},
        "then": {"required": ["on", "cases"]},
    }
    return {
        "forEach": {
            "type": "object",
            "x-literal": True,
            "title": "For each item",
            "properties": {**loop, **nested, **body},
            **shut,
            **switch,
        },
        "case": {
            "type": "object",
            "x-literal": True,
            "title": "Case",
            "properties": {**nested, **body},
            **shut,
        },
    }


def bodies(config: JsonView) -> Iterator[JsonView]:
    """The config and everything in it that says something for an item: each `forEach`, case and default."""
    yield config
    loop = config.get("forEach")
    if not isinstance(loop, dict):
        return
    yield from bodies(loop)
    cases = loop.get("cases")
    for case in [*(cases.values() if isinstance(cases, dict) else ()), loop.get("default")]:
        if isinstance(case, dict):
            yield from bodies(case)


def says_any(config: JsonView, *names: str) -> bool:
    return any(body.get(name) is not None for body in bodies(config) for name in names)


def too_deep(config: JsonView) -> tuple[Problem, ...]:
    """`forEach` within `forEach`, more often than anyone can follow."""
    depth, inner = 0, config.get("forEach")
    while isinstance(inner, dict):
        depth, inner = depth + 1, inner.get("forEach")
    if depth <= DEEPEST_FOR_EACH:
        return ()
    message = f"`forEach` may be nested {DEEPEST_FOR_EACH} deep; this is {depth}."
    return (Problem("OUT_OF_RANGE", "/forEach", message),)


def missing(message: str, level: Level = Level.ERROR) -> Problem:
    return Problem("MISSING_FIELD", "", message, level)


def mapped(config: JsonView) -> frozenset[str]:
    mapping = config.get("outputMapping")
    return frozenset(mapping) if isinstance(mapping, dict) else frozenset()


SUMMARY = frozenset({"total", "succeeded", "failed", "skipped", "results", "errors"})


def sets_summary(config: JsonView, queries: Mapping[str, str]) -> frozenset[str] | None:
    return SUMMARY
