"""How a trigger recognises repeats: its `idempotencyGenerationSetting`, and what is wrong with one."""

from typing import cast

from muster.definitions.formats import context_field, either
from muster.definitions.pointers import Below
from muster.definitions.problems import Problems
from muster.model.json import Json, JsonObject
from muster.model.problems import Problem

STRATEGIES = (
    "NONE",
    "UUID",
    "TIME_WINDOW",
    "CONTEXT_BASED",
    "CONTEXT_TIME_WINDOW",
    "EVENT_BASED",
    "CUSTOM_EXPRESSION",
)
_NEEDS = {
    "TIME_WINDOW": ("ttlMinutes",),
    "CONTEXT_BASED": ("contextFields",),
    "CONTEXT_TIME_WINDOW": ("contextFields", "ttlMinutes"),
    "CUSTOM_EXPRESSION": ("customExpression",),
}
_FLAG: JsonObject = {"type": ["boolean", "null"], "x-literal": True}

IDEMPOTENCY: JsonObject = {
    "title": "Idempotency",
    "description": "How a repeat of the same event is recognised.",
    "type": "object",
    "x-literal": True,
    "required": ["strategy"],
    "additionalProperties": False,
    "properties": {
        "strategy": {"enum": list(STRATEGIES), "title": "Strategy", "x-literal": True},
        "ttlMinutes": {
            "type": ["integer", "null"],
            "minimum": 1,
            "title": "Window in minutes",
            "x-literal": True,
        },
        "contextFields": {
            "type": ["array", "null"],
            "x-literal": True,
            "items": {"type": "string", "minLength": 1},
            "title": "Context fields",
        },
        "includeTriggerId": {**_FLAG, "title": "Include the trigger's id", "default": True},
        "includeEventType": {**_FLAG, "title": "Include the event's type"},
        "includeEventId": {**_FLAG, "title": "Include the event's id"},
        "customExpression": {"type": ["string", "null"], "title": "Key expression"},
        "failOnMissingContext": {**_FLAG, "title": "Refuse when a field is missing", "default": False},
        "retryFailed": {**_FLAG, "title": "Run again after a failure", "default": False},
    },
}


def check_idempotency(setting: Json, pointer: str = "") -> tuple[Problem, ...]:
    """All that is wrong with an `idempotencyGenerationSetting`."""
    problems = Problems()
    if problems.hold(setting, IDEMPOTENCY, Below(pointer)):
        _check_strategy(cast("JsonObject", setting), pointer, problems)
    return problems.all


def _check_strategy(setting: JsonObject, pointer: str, problems: Problems) -> None:
    strategy = cast("str", setting["strategy"])
    for needed in _NEEDS.get(strategy, ()):
        if not setting.get(needed):
            problems.error("MISSING_FIELD", pointer, f"The strategy `{strategy}` needs `{needed}`.")
    included = [setting.get("includeEventType"), setting.get("includeEventId")]
    if strategy == "EVENT_BASED" and included == [False, False]:
        message = "The strategy `EVENT_BASED` needs the event's type or its id: one is to be included."
        problems.error("MISSING_FIELD", pointer, message)
    flaw = either(setting.get("customExpression"))
    if flaw is not None:
        problems.flaw(flaw, Below(pointer), ("customExpression",))
    for place, field in enumerate(cast("list[str]", setting.get("contextFields") or [])):
        if flaw := context_field(field):
            problems.flaw(flaw, Below(pointer), ("contextFields", place))
