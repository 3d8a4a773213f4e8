"""DATA_PROCESSOR: a list made of a list, by iterating or by cases."""

from typing import cast

from muster.model.json import Json, JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType, StepFamily
from muster.model.problems import Problem
from muster.nodes.parts import ON, anything, choice, config, literal, processing_defs, text, too_deep

_EXAMPLES: tuple[Json, ...] = (
    {"dataProcessorType": "ITERATOR", "config": {"on": "#{userList}", "forEach": {"eval": "#{item}"}}},
    {
        "dataProcessorType": "SWITCH",
        "config": {
            "on": "#{item.status}",
            "cases": {"ACTIVE": {"action": "send_reminder"}},
            "default": {"action": "send_general"},
        },
    },
)
_ITERATOR: JsonObject = {
    "type": "object",
    "x-literal": True,
    "additionalProperties": False,
    "required": ["on"],
    "properties": {"on": ON, "forEach": {"$ref": "#/$defs/forEach"}},
}
_SWITCH: JsonObject = {
    "type": "object",
    "x-literal": True,
    "additionalProperties": False,
    "required": ["on", "cases"],
    "properties": {
        "on": anything("Switch on", "What the cases are compared with, as text.", "#{item.status}"),
        "cases": {"type": "object", "x-literal": True, "title": "Cases", "minProperties": 1},
        "default": anything("Default", "The result where no case fits."),
        "items": anything("Items", "The list to work on; without one it runs once."),
    },
}


def check(config: JsonView) -> tuple[Problem, ...]:
    inner = cast("JsonObject", config["config"])
    return tuple(Problem(each.code, f"/config{each.pointer}", each.message) for each in too_deep(inner))


def _only(kind: str, schema: JsonObject) -> JsonObject:
    return {
        "if": {"required": ["dataProcessorType"], "properties": {"dataProcessorType": {"const": kind}}},
        "then": {"properties": {"config": schema}},
    }


TYPE = NodeType(
    name="DATA_PROCESSOR",
    kind=NodeKind.PURE,
    category="Data",
    title="Data processor",
    description="Makes a list of a list: item by item, or by cases.",
    schema=config(
        {
            "dataProcessorType": choice("Strategy", ["ITERATOR", "SWITCH"]),
            "config": {"type": "object", "x-literal": True, "title": "What to do"},
            "output": literal(text("Result name", "The context name of the result.")),
        },
        "dataProcessorType",
        "config",
        allOf=[_only("ITERATOR", _ITERATOR), _only("SWITCH", _SWITCH)],
        **{"$defs": processing_defs({}, open_body=True)},
    ),
    family=StepFamily.DATA_PROCESSOR,
    examples=_EXAMPLES,
    check=check,
)
