"""The fields that a document, a node and a routing entry may have: as JSON Schemas, like everything else.

Only the frame is here; what a node's config holds is its type's schema. The frame is written out
(`x-literal`): no expression can stand for a node, a route or a setting as a whole.
"""

from muster.model.json import JsonObject
from muster.model.workflow import Join, WorkflowStatus, WorkflowType

DURATION: JsonObject = {
    "type": ["string", "number"],
    "format": "duration",
    "description": "`300s`, `5m`, ISO 8601 (`PT5M`) or a number of seconds",
}
TEXT: JsonObject = {"type": "string"}
# Ten years.
MOST_SECONDS = 315_360_000

NAME: JsonObject = {"type": "string", "minLength": 1, "maxLength": 255}
# Numbers too, because YAML reads an unquoted `1` as one; they are read as text.
REFERENCE: JsonObject = {"type": ["string", "integer"], "x-literal": True}

CONFIG_NAMES = ("config", "configJson", "data", "overrideConfig")
TYPE_NAMES = ("type", "nodeType")

RETRY: JsonObject = {
    "type": "object",
    "x-literal": True,
    "additionalProperties": False,
    "properties": {
        "maxAttempts": {"type": "integer", "minimum": 1, "maximum": 1000},
        "initialDelay": DURATION,
        "multiplier": {"type": "number", "minimum": 1},
        "maxDelay": DURATION,
        "jitter": {"type": ["boolean", "string"], "enum": [True, False, "full", "none"]},
        "on": {"type": "array", "x-literal": True, "items": TEXT},
    },
}
ON_ERROR: JsonObject = {
    "anyOf": [
        {"enum": ["fail", "continue"], "x-literal": True},
        {
            "type": "object",
            "x-literal": True,
            "required": ["goto"],
            "additionalProperties": False,
            "properties": {"goto": REFERENCE},
        },
    ],
    "x-literal": True,
    "x-otherwise": "This should be `fail`, `continue` or `{goto: a node's id}`.",
}
COMPENSATE: JsonObject = {
    "type": "object",
    "x-literal": True,
    "additionalProperties": False,
    "properties": {
        **{name: {"type": "string"} for name in TYPE_NAMES},
        **{name: {"type": ["object", "string", "null"]} for name in ("config", "configJson", "data")},
    },
}
DEDUPE: JsonObject = {
    "type": "object",
    "x-literal": True,
    "required": ["key"],
    "additionalProperties": False,
    "properties": {"key": {"type": "string", "minLength": 1}, "ttl": DURATION},
}
NODE_SETTINGS: JsonObject = {
    "name": {"type": ["string", "null"], "maxLength": 255},
    "isStartNode": {"type": "boolean", "x-literal": True},
    "isEndNode": {"type": "boolean", "x-literal": True},
    "nodeOrder": {"type": "integer", "x-literal": True, "minimum": -(2**31), "maximum": 2**31 - 1},
    "retry": RETRY,
    "timeout": DURATION,
    "onError": ON_ERROR,
    "compensate": COMPENSATE,
    "join": {"enum": [each.value for each in Join], "x-literal": True},
    "maxVisits": {"type": "integer", "x-literal": True, "minimum": 1, "maximum": 1_000_000},
    "inDoubt": {"enum": ["retry", "ask"], "x-literal": True},
    "dedupe": DEDUPE,
    "itemKey": {"type": "string", "minLength": 1},
    "notes": {"type": ["string", "null"], "x-literal": True, "maxLength": 10_000},
}
NODE: JsonObject = {
    "type": "object",
    "x-literal": True,
    "additionalProperties": False,
    "properties": {
        "id": REFERENCE,
        **{name: {"type": "string", "x-literal": True} for name in TYPE_NAMES},
        **{name: {"type": ["object", "string", "null"]} for name in CONFIG_NAMES},
        "nodeTemplateId": REFERENCE,
        "routing": {"type": "array", "x-literal": True},
        **NODE_SETTINGS,
    },
}

WATCHED: JsonObject = {
    "maxLatencySec": {"type": "integer", "minimum": 1, "maximum": MOST_SECONDS, "x-literal": True},
    "absoluteDeadline": {"type": "string", "format": "deadline", "x-literal": True},
    "severity": {"enum": ["green", "amber", "red"], "x-literal": True},
}
CASE: JsonObject = {
    "type": "object",
    "x-literal": True,
    "required": ["value", "targetNodeId"],
    "additionalProperties": False,
    "properties": {
        "value": {"type": ["string", "number", "boolean", "null"]},
        "targetNodeId": REFERENCE,
        **WATCHED,
    },
}
ROUTE: JsonObject = {
    "type": "object",
    "x-literal": True,
    "additionalProperties": False,
    "properties": {
        "type": {"enum": ["goto", "conditional", "switch"], "x-literal": True},
        "fromNodeId": REFERENCE,
        "from": REFERENCE,
        "toNodeId": REFERENCE,
        "to": REFERENCE,
        "targetNodeId": REFERENCE,
        "condition": {"type": "string", "format": "condition"},
        "trueNodeId": REFERENCE,
        "falseNodeId": REFERENCE,
        "expression": {"type": "string", "format": "condition"},
        "cases": {"type": "array", "x-literal": True, "items": CASE, "minItems": 1},
        "defaultNodeId": REFERENCE,
        "value": {"type": ["string", "number", "boolean", "null"]},
        "default": {"type": "boolean", "x-literal": True},
        **WATCHED,
    },
}

CONCURRENCY: JsonObject = {
    "type": "object",
    "x-literal": True,
    "required": ["limit"],
    "additionalProperties": False,
    "properties": {
        "key": {"type": "string", "minLength": 1},
        "limit": {"type": "integer", "minimum": 1, "x-literal": True},
    },
}
SETTINGS: JsonObject = {
    "output": {},
    "durability": {"enum": ["journal", "cache"], "x-literal": True},
    "concurrency": CONCURRENCY,
    "search": {
        "type": "array",
        "x-literal": True,
        "items": {"type": "string", "minLength": 1},
        "maxItems": 50,
    },
    "vars": {"type": "object", "x-literal": True},
    "watch": {"type": "boolean", "x-literal": True},
}
PARTS: JsonObject = {
    "nodes": {"type": "array", "x-literal": True},
    "steps": {"type": "array", "x-literal": True},
    "routing": {"type": "array", "x-literal": True},
    "edges": {"type": "array", "x-literal": True},
    "schedule": {"type": ["object", "array", "null"], "x-literal": True},
    "schedules": {"type": "array", "x-literal": True},
    **SETTINGS,
}
HEAD: JsonObject = {
    "id": REFERENCE,
    "key": {"type": "string", "x-literal": True},
    "name": {"type": ["string", "null"], "maxLength": 255},
    "description": {"type": ["string", "null"], "maxLength": 10_000},
    "status": {"enum": [each.value for each in WorkflowStatus], "x-literal": True},
    "workflowType": {"enum": [each.value for each in WorkflowType], "x-literal": True},
    "instituteId": {"type": ["string", "null"], "maxLength": 255, "x-literal": True},
    "createdByUserId": {"type": ["string", "null"], "maxLength": 255, "x-literal": True},
}
WRAPPED: JsonObject = {
    "type": "object",
    "x-literal": True,
    "additionalProperties": False,
    "properties": {"$schema": TEXT, "workflow": {"type": "object", "x-literal": True}, **HEAD, **PARTS},
}
WORKFLOW: JsonObject = {
    "type": "object",
    "x-literal": True,
    "additionalProperties": False,
    "properties": {**HEAD, **PARTS},
}
BARE: JsonObject = {
    "type": "object",
    "x-literal": True,
    "additionalProperties": False,
    "properties": {"$schema": TEXT, **HEAD, **PARTS},
}
