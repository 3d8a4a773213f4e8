"""A trigger's settings: from the `TRIGGER` nodes of a definition, and what is wrong with an editor's."""

from collections.abc import Iterable, Mapping
from typing import cast
from uuid import NAMESPACE_OID, uuid5

from muster.definitions.formats import topic_flaw
from muster.definitions.idempotency_settings import check_idempotency
from muster.definitions.pointers import child
from muster.definitions.problems import Problems
from muster.definitions.trigger_paths import PATH_RULE, is_path, path_of
from muster.definitions.triggers import check_trigger_meaning, warn_if_open
from muster.expr import ExpressionError, compile_condition, compile_mapping
from muster.model.json import JsonObject
from muster.model.problems import Problem
from muster.model.trigger import Authentication, TriggerSettings, TriggerType
from muster.model.workflow import Node

_TYPES: Mapping[object, TriggerType] = {
    "webhook": TriggerType.WEBHOOK,
    "api": TriggerType.WEBHOOK,
    "event": TriggerType.EVENT,
    "alert": TriggerType.ALERT,
}


def triggers_in(nodes: Iterable[Node]) -> dict[str, TriggerSettings]:
    """The triggers among the nodes of a definition, by their ids."""
    found = {node.id: settings_of(node.config) for node in nodes if node.type.upper() == "TRIGGER"}
    return {node_id: settings for node_id, settings in found.items() if settings is not None}


def settings_of(config: JsonObject) -> TriggerSettings | None:
    """What a `TRIGGER` node says. None: it starts by hand, or by a schedule."""
    type_ = _TYPES.get(config.get("triggerType") or _implied(config))
    if type_ is None:
        return None
    return TriggerSettings(
        type=type_,
        event_name=_text(config, "triggerEventName"),
        topic=_text(config, "topic"),
        path=path_of(_text(config, "path") or _text(config, "endpoint") or ""),
        filter=cast("JsonObject | None", config.get("filter")),
        condition=_text(config, "condition"),
        authentication=Authentication(_text(config, "authentication") or Authentication.JWT),
        idempotency=cast("JsonObject | None", config.get("idempotencyGenerationSetting")),
    )


def _implied(config: JsonObject) -> str:
    if config.get("triggerEventName") or config.get("topic"):
        return "event"
    return "webhook" if config.get("endpoint") or config.get("path") else "manual"


def trigger_id(workflow_id: str, node_id: str) -> str:
    """The id of the trigger that a node of a workflow is: the same in every version, so that what is known of
    its repeats stays known."""
    return str(uuid5(NAMESPACE_OID, f"muster/trigger/{workflow_id}/{node_id}"))


def check_node(config: JsonObject, can_sign: bool = True) -> tuple[Problem, ...]:
    """What the schema cannot say of a `TRIGGER` node: the same as of what an editor says, where it was
    written. `can_sign`: secrets can be kept."""
    problems = Problems()
    problems.add_all(check_trigger_meaning(config, ""))
    settings = settings_of(config)
    if settings is None:
        return problems.all
    _check_kind(settings, problems, "/path" if config.get("path") else "/endpoint")
    _check_filter(settings, problems)
    if settings.authentication is Authentication.HMAC and not can_sign:
        message = "Without MUSTER_SECRET_KEY there are no secrets to sign with: this trigger lets nobody in."
        problems.warn("SECRETS_UNAVAILABLE", "/authentication", message)
    return problems.all


def check_settings(settings: TriggerSettings) -> tuple[Problem, ...]:
    """All that is wrong with what an editor says, and what there is to warn of."""
    problems = Problems()
    _check_address(settings, problems)
    _check_expressions(settings, problems)
    if settings.idempotency is not None:
        problems.add_all(check_idempotency(settings.idempotency, "/idempotencyGenerationSetting"))
    warn_if_open(settings.authentication, "/authentication", problems)
    return problems.all


def _check_address(settings: TriggerSettings, problems: Problems) -> None:
    if settings.path is not None and not is_path(settings.path):
        problems.error("INVALID_PATH", "/path", PATH_RULE)
    if settings.topic is not None and (flaw := topic_flaw(settings.topic)) is not None:
        problems.error("INVALID_TOPIC", "/topic", flaw)
    _check_kind(settings, problems, "/path")


def _check_kind(settings: TriggerSettings, problems: Problems, path: str) -> None:
    """What goes with which kind of trigger; `path` is where its path was written."""
    is_event = settings.type is TriggerType.EVENT
    if is_event and (settings.event_name is None) == (settings.topic is None):
        message = "An event trigger needs a `triggerEventName` or a `topic`, and not both."
        problems.error("MISSING_FIELD", "/triggerEventName", message)
    if not is_event and settings.topic is not None:
        problems.error("INVALID_VALUE", "/topic", "Only an event trigger has a topic.")
    if settings.type is not TriggerType.WEBHOOK and settings.path is not None:
        problems.error("INVALID_VALUE", path, "Only a webhook has a path.")
    if settings.type is not TriggerType.WEBHOOK and settings.authentication is Authentication.HMAC:
        problems.error("INVALID_VALUE", "/authentication", "Only a webhook's requests are signed.")


def _check_expressions(settings: TriggerSettings, problems: Problems) -> None:
    try:
        if settings.condition is not None:
            compile_condition(settings.condition)
    except ExpressionError as error:
        problems.error("INVALID_EXPRESSION", "/condition", error.message, column=error.column)
    _check_filter(settings, problems)


def _check_filter(settings: TriggerSettings, problems: Problems) -> None:
    for path in settings.filter or {}:
        try:
            compile_mapping(path)
        except ExpressionError as error:
            problems.error("INVALID_EXPRESSION", child("/filter", path), error.message, column=error.column)


def _text(config: JsonObject, name: str) -> str | None:
    value = config.get(name)
    return value if isinstance(value, str) and value else None
