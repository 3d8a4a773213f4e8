"""TRIGGER: what starts the workflow from outside."""

from dataclasses import replace
from typing import cast

from muster.definitions.idempotency_settings import IDEMPOTENCY
from muster.definitions.trigger_settings import check_node
from muster.definitions.triggers import TRIGGER
from muster.definitions.variables import ALWAYS
from muster.engine.handlers import Call, Done
from muster.model.json import JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType, StepFamily
from muster.model.problems import Problem
from muster.nodes.handling import context_of
from muster.nodes.parts import choice, config, text

# What Muster itself puts beside the given context: no part of a payload.
_NOT_GIVEN = ALWAYS - {"item", "index", "workflowId", "instituteId"}
_EXAMPLE: JsonObject = {
    "triggerType": "webhook",
    "endpoint": "/api/workflow/trigger",
    "authentication": "HMAC",
}


def check(config: JsonView) -> tuple[Problem, ...]:
    return check_node(dict(config))


TYPE = NodeType(
    name="TRIGGER",
    kind=NodeKind.START,
    category="Start",
    title="Trigger",
    description="Starts the workflow on a webhook, an event, a schedule, an alert, or by hand.",
    schema=config(
        {
            "triggerType": choice(
                "Kind", ["webhook", "api", "event", "manual", "schedule", "alert"], default="manual"
            ),
            "endpoint": text("Endpoint", "Where callers send it.", "/api/workflow/trigger"),
            **cast("JsonObject", TRIGGER["properties"]),
            "idempotencyGenerationSetting": {
                "type": "object",
                "x-literal": True,
                "title": "Idempotency",
                "properties": IDEMPOTENCY["properties"],
            },
        }
    ),
    family=StepFamily.TRIGGER,
    examples=(_EXAMPLE,),
    check=check,
    local_names=frozenset({"triggerId", "eventName", "eventId", "ctx"}),
)

# The same where no secrets can be kept.
UNSIGNED = replace(TYPE, check=lambda config: check_node(dict(config), can_sign=False))


def trigger(config: JsonObject, call: Call) -> Done:
    """The payload as `_trigger`: what a trigger has put there, or else the context that was given by hand."""
    context = context_of(call.scope)
    if "_trigger" in context:
        return Done(context["_trigger"])
    given = {name: value for name, value in context.items() if name not in _NOT_GIVEN}
    return Done(given, {"_trigger": given})
