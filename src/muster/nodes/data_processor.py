"""DATA_PROCESSOR: a list made of a list, by iterating or by cases."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from muster.engine.handlers import Call, Done
from muster.engine.items import Body, compile_body, unfold
from muster.engine.state import Failure
from muster.engine.view import Layered
from muster.expr import ExpressionError, Scope
from muster.model.json import Json, JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType, StepFamily
from muster.model.problems import Problem
from muster.nodes.handling import PerConfig, context_of
from muster.nodes.parts import ON, anything, choice, config, literal, processing_defs, text, too_deep

_VALUE = "\0value"  # no author's field is called so
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


def sets(config: JsonView, queries: Mapping[str, str]) -> frozenset[str] | None:
    output = config.get("output")
    return frozenset({output} if isinstance(output, str) else ())


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
    sets=sets,
    check=check,
)


class DataProcessor:
    """Makes the list. An item that no case fits is not in it, and is counted in a warning."""

    def __init__(self) -> None:
        self._body = PerConfig(_body)

    def __call__(self, config: JsonObject, call: Call) -> Done | Failure:
        body, results, skipped = self._body(config), list[Json](), 0
        try:
            for item in unfold(body, _with_an_item(body, call.scope)):
                if item.problem is not None:
                    raise item.problem
                if item.params is None:
                    skipped += 1
                else:
                    results.append(_result(item.params, item.scope))
        except ExpressionError as error:
            place = f"after {len(results) + skipped} items: " if results or skipped else ""
            return Failure("ExpressionError", f"{place}{error}")
        output = config.get("output")
        changes: JsonObject = {output: results} if isinstance(output, str) else {}
        return Done(results, changes, _warnings(skipped, len(results)))


def _warnings(skipped: int, processed: int) -> tuple[str, ...]:
    total = skipped + processed
    return (f"{skipped} of {total} items fit no case and were passed over",) if skipped else ()


def _result(params: JsonObject, scope: Scope) -> Json:
    """What a body gives: the one value that it is, what it says, or, where it says nothing, the item."""
    if _VALUE in params:
        return params[_VALUE]
    return params or scope.root["item"]


def _with_an_item(body: Body, scope: Scope) -> Scope:
    """What runs without a list works on the context's own `item`, or else on the whole context."""
    if body.on is not None or "item" in scope.root:
        return scope
    return replace(scope, root=Layered({"item": context_of(scope)}, scope.root))


def _body(config: JsonObject) -> Body:
    inner = cast("JsonObject", config["config"])
    return compile_body(inner if config["dataProcessorType"] == "ITERATOR" else _as_loop(inner))


def _as_loop(switch: JsonObject) -> JsonObject:
    """A switch of its own as the one inside a loop over `items`."""
    cases = cast("JsonObject", switch["cases"])
    loop: JsonObject = {
        "operation": "SWITCH",
        "on": switch["on"],
        "cases": {value: _as_case(case) for value, case in cases.items()},
    }
    if switch.get("default") is not None:
        loop["default"] = _as_case(switch["default"])
    return {"forEach": loop, **({"on": switch["items"]} if "items" in switch else {})}


def _as_case(result: Json) -> Json:
    """Here a case may be any value; in a loop it is an object, so the value is put into one."""
    return result if isinstance(result, dict) else {_VALUE: result}
