"""What starts a workflow from outside: trigger settings, and how their repeats are recognised."""

import re
from typing import cast

from muster.definitions.formats import context_field, either
from muster.definitions.pointers import Below, child
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


TRIGGER: JsonObject = {
    "title": "Trigger",
    "type": "object",
    "x-literal": True,
    "additionalProperties": False,
    "properties": {
        "triggerEventName": {
            "type": "string",
            "minLength": 1,
            "maxLength": 255,
            "title": "Event name",
            "description": "Events of this name start the workflow.",
            "examples": ["LEARNER_BATCH_ENROLLMENT"],
            "x-literal": True,
        },
        "topic": {"type": "string", "format": "topic", "title": "Kafka topic", "x-literal": True},
        "filter": {
            "type": "object",
            "title": "Filter",
            "description": "Fields, or nested paths, that a message must hold with these values.",
        },
        "path": {"type": "string", "minLength": 1, "maxLength": 255, "title": "Path", "x-literal": True},
        "authentication": {
            "enum": ["NONE", "HMAC", "JWT"],
            "default": "JWT",
            "title": "Authentication",
            "description": "HMAC: signed after the Standard Webhooks convention. NONE: anybody may call it.",
            "x-literal": True,
        },
        "condition": {
            "type": "string",
            "format": "condition",
            "title": "Condition",
            "description": "The workflow starts only if this holds.",
        },
        "idempotencyGenerationSetting": {"type": "object", "title": "Idempotency", "x-literal": True},
    },
}


def check_trigger_meaning(block: JsonObject, pointer: str) -> tuple[Problem, ...]:
    """What the schema cannot say of a trigger's settings."""
    problems = Problems()
    setting = block.get("idempotencyGenerationSetting")
    if setting is not None:
        problems.add_all(check_idempotency(setting, child(pointer, "idempotencyGenerationSetting")))
    warn_if_open(block.get("authentication"), child(pointer, "authentication"), problems)
    path = block.get("path")
    if isinstance(path, str) and path_of(path) is None:
        problems.error("INVALID_PATH", child(pointer, "path"), PATH_RULE)
    endpoint = block.get("endpoint")
    if isinstance(endpoint, str) and path_of(endpoint) is None and endpoint.strip("/") != ENDPOINT[1:]:
        message = f"Nobody can send to this: it is no path below {ENDPOINT}. {PATH_RULE}"
        problems.warn("INVALID_PATH", child(pointer, "endpoint"), message)
    return problems.all


def warn_if_open(authentication: Json, pointer: str, problems: Problems) -> None:
    if authentication == "NONE":
        message = "Anybody who can reach this trigger can start the workflow."
        problems.warn("OPEN_TRIGGER", pointer, message)


ENDPOINT = "/api/workflow/trigger"
PATH_LENGTH = 255
PATH_RULE = (
    "A path has letters, digits, `.`, `_`, `~` and `-`, with `/` between its parts, "
    "and 255 characters at most."
)
_PART = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._~-]+")


def is_path(text: str) -> bool:
    """Whether it may stand in an address as it is, and comes back as it is."""
    return 1 <= len(text) <= PATH_LENGTH and all(_PART.fullmatch(part) for part in text.split("/"))


def bare_path(written: str) -> str:
    """A path as it was written, without what stands before every such path, and without slashes around it."""
    return re.sub(rf"^{re.escape(ENDPOINT)}(?=/|$)", "", f"/{written.strip('/')}").strip("/")


def path_of(endpoint: str) -> str | None:
    """The path of a trigger by what was written. None: it has none of its own, and is addressed by its id."""
    bare = bare_path(endpoint)
    return bare if is_path(bare) else None
