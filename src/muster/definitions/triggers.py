"""The settings of a trigger as documents have them, and what their schema cannot say."""

from muster.definitions.idempotency_settings import check_idempotency
from muster.definitions.pointers import child
from muster.definitions.problems import Problems
from muster.definitions.trigger_paths import ENDPOINT, PATH_LENGTH, PATH_RULE, path_of
from muster.model.json import Json, JsonObject
from muster.model.problems import Problem

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
        "path": {
            "type": "string",
            "minLength": 1,
            "maxLength": PATH_LENGTH,
            "title": "Path",
            "x-literal": True,
        },
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
