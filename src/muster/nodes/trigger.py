"""TRIGGER: what starts the workflow from outside."""

from typing import cast

from muster.definitions.triggers import IDEMPOTENCY, TRIGGER, check_trigger_meaning
from muster.model.json import JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType, StepFamily
from muster.model.problems import Problem
from muster.nodes.parts import choice, config, text

_EXAMPLE: JsonObject = {
    "triggerType": "webhook",
    "endpoint": "/api/workflow/trigger",
    "authentication": "HMAC",
}


def check(config: JsonView) -> tuple[Problem, ...]:
    return check_trigger_meaning(dict(config), "")


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
