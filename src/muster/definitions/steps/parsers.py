"""One parser per family of nodes: each says, step by step, what a node does with its config."""

from collections.abc import Mapping
from typing import Protocol

from muster.definitions.steps.iteration import say_cases, say_iteration
from muster.definitions.steps.words import shown
from muster.model.json import JsonObject, JsonView
from muster.model.node_type import Catalogue, NodeType, StepFamily
from muster.model.workflow import Node

Steps = tuple[str, ...]


class StepParser(Protocol):
    """Puts a node into sentences. They say what the config says, not what came of it."""

    def parse(self, node: Node, type_: NodeType, catalogue: Catalogue) -> Steps: ...


class ActionStepParser:
    def parse(self, node: Node, type_: NodeType, catalogue: Catalogue) -> Steps:
        said = f"Run the action {shown(node.config.get('actionType'))}{_with_params(node.config)}."
        return (said, *say_iteration(node.config))


class QueryStepParser:
    def parse(self, node: Node, type_: NodeType, catalogue: Catalogue) -> Steps:
        key = node.config.get("prebuiltKey")
        said = [f"Run the query {shown(key)}{_with_params(node.config)}."]
        result = catalogue.queries.get(str(key))
        if result is not None:
            said.append(f"Keep its rows as `{result}`.")
        return tuple(said)


class TriggerStepParser:
    _STARTS = {  # noqa: RUF012  # never changed
        "webhook": "Start when a webhook is called",
        "api": "Start when the API is called",
        "event": "Start when an event comes",
        "schedule": "Start by the clock",
        "alert": "Start when an alert is raised",
        "manual": "Start by hand",
    }

    _WHERE = (("triggerEventName", "named"), ("topic", "on"), ("endpoint", "at"), ("path", "at"))

    def parse(self, node: Node, type_: NodeType, catalogue: Catalogue) -> Steps:
        config = node.config
        implied = "event" if config.get("triggerEventName") or config.get("topic") else "manual"
        start = self._STARTS.get(str(config.get("triggerType", implied)), "Start")
        named = [f" {word} {shown(config[field])}" for field, word in self._WHERE if config.get(field)]
        signed = f", authenticated by {config['authentication']}" if config.get("authentication") else ""
        said = [f"{start}{''.join(named)}{signed}."]
        if config.get("condition"):
            said.append(f"Only if {shown(config['condition'])}.")
        setting = config.get("idempotencyGenerationSetting")
        if isinstance(setting, dict):
            said.append(_say_idempotency(setting))
        return tuple(said)


def _say_idempotency(setting: JsonObject) -> str:
    strategy = str(setting.get("strategy"))
    fields, minutes = shown(setting.get("contextFields")), setting.get("ttlMinutes")
    sentences = {
        "TIME_WINDOW": f"At most once in {minutes} minutes.",
        "CONTEXT_BASED": f"Once for each {fields}.",
        "CONTEXT_TIME_WINDOW": f"At most once in {minutes} minutes for each {fields}.",
        "EVENT_BASED": "Once for each event.",
        "CUSTOM_EXPRESSION": f"Once for each {shown(setting.get('customExpression'))}.",
    }
    return sentences.get(strategy, "Every time, repeats included.")


class DataProcessorStepParser:
    def parse(self, node: Node, type_: NodeType, catalogue: Catalogue) -> Steps:
        config = node.config
        kind, inner = config.get("dataProcessorType"), config.get("config")
        if not isinstance(inner, dict) or kind is None:
            return (*say_iteration(config), *type_.say(config))
        if kind == "SWITCH":
            cases = inner.get("cases")
            listed = say_cases(cases if isinstance(cases, dict) else {}, inner.get("default"))
            return (f"By {shown(inner.get('on'))}: {listed}.",)
        return say_iteration(inner)


class OtherStepParser:
    def parse(self, node: Node, type_: NodeType, catalogue: Catalogue) -> Steps:
        return (*type_.say(node.config), *say_iteration(node.config)) or (type_.description,)


PARSERS: Mapping[StepFamily, StepParser] = {
    StepFamily.ACTION: ActionStepParser(),
    StepFamily.QUERY: QueryStepParser(),
    StepFamily.TRIGGER: TriggerStepParser(),
    StepFamily.DATA_PROCESSOR: DataProcessorStepParser(),
    StepFamily.OTHER: OtherStepParser(),
}


def say_steps(node: Node, catalogue: Catalogue) -> Steps:
    """What a node does, in sentences; of a type that is not there any more, only its name is known."""
    type_ = catalogue.node_types.get(node.type.upper())
    if type_ is None:
        return (f"Run a node of the type `{node.type}`.",)
    return PARSERS[type_.family].parse(node, type_, catalogue)


def _with_params(config: JsonView) -> str:
    params = config.get("params")
    if not isinstance(params, dict) or not params:
        return ""
    return " with " + ", ".join(f"`{name}` = {shown(value)}" for name, value in params.items())
