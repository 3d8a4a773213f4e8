"""TRANSFORM: new fields from old ones."""

from collections.abc import Mapping

from muster.definitions.steps.words import shown
from muster.engine.handlers import Call, Done
from muster.engine.state import Failure
from muster.expr import ExpressionError
from muster.expr.paths import plain_path
from muster.model.json import JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType, StepFamily
from muster.model.problems import Problem
from muster.nodes.handling import PerConfig
from muster.nodes.parts import ON, closed, config, literal, missing, text, texts
from muster.nodes.transforming import plan_of, result_name, transformed

_EXAMPLE: JsonObject = {
    "transformations": [{"field": "fullName", "expression": "#{item.firstName + ' ' + item.lastName}"}]
}
_NOTHING = "There should be `transformations`, `keep` or `remove`."


def check(config: JsonView) -> tuple[Problem, ...]:
    if any(config.get(name) for name in ("transformations", "keep", "remove")):
        return tuple(
            Problem("INVALID_EXPRESSION", f"/transformations/{place}/field", fault)
            for place, (field, _) in enumerate(_pairs(config))
            if (fault := _fault(field)) is not None
        )
    return (missing(_NOTHING),)


def _fault(field: str) -> str | None:
    try:
        begins = plain_path(field).steps[0]
    except ExpressionError as error:
        return f"`{field[:100]}`: {error.message}"
    return None if isinstance(begins, str) else f"`{field[:100]}` should begin with the name of a field."


def sets(config: JsonView, queries: Mapping[str, str]) -> frozenset[str] | None:
    """With items, the new list under its name, if it has one; without, each field in the context itself."""
    name = result_name(config)
    if name is not None or "on" in config:
        return frozenset({name} if name else ())
    return frozenset(field.split(".")[0].split("[")[0] for field, _ in _pairs(config))


def say(config: JsonView) -> tuple[str, ...]:
    said = [f"Set `{field}` to {shown(expression)}." for field, expression in _pairs(config)]
    for name, verb in (("keep", "Keep only"), ("remove", "Remove")):
        if config.get(name):
            said.append(f"{verb} {shown(config[name])}.")
    if config.get("output"):
        said.append(f"Keep the result as `{config['output']}`.")
    return tuple(said)


def _pairs(config: JsonView) -> list[tuple[str, str]]:
    entries = config.get("transformations")
    rows = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return [(str(row.get("field")), str(row.get("expression"))) for row in rows]


TYPE = NodeType(
    name="TRANSFORM",
    kind=NodeKind.PURE,
    category="Data",
    title="Transform",
    description="Computes new fields, for each item of a list or in the context.",
    schema=config(
        {
            "transformations": {
                "type": "array",
                "title": "Transformations",
                "items": closed(
                    {
                        "field": literal(text("Field", minLength=1)),
                        "expression": {"title": "Expression", "examples": ["#{item.remainingDays <= 7}"]},
                    },
                    "field",
                    "expression",
                ),
            },
            "on": ON,
            "output": literal(text("Result name", "The context name of the result.")),
            "keep": texts("Keep", "Only these fields stay."),
            "remove": texts("Remove", "These fields go."),
        }
    ),
    family=StepFamily.DATA_PROCESSOR,
    examples=(_EXAMPLE,),
    sets=sets,
    check=check,
    say=say,
)


class Transform:
    """Computes the fields, each from the ones before it."""

    def __init__(self) -> None:
        self._plan = PerConfig(plan_of)

    def __call__(self, config: JsonObject, call: Call) -> Done | Failure:
        return transformed(self._plan(config), call.scope)
