"""EXTERNAL_TASK: work that a worker elsewhere fetches and completes."""

from muster.definitions.steps.words import shown
from muster.model.json import JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType
from muster.nodes.parts import config, duration, fields, text, whole

_EXAMPLE: JsonObject = {"topic": "charge-card", "variables": {"amount": "#{total}"}, "lockDuration": "1m"}


def say(config: JsonView) -> tuple[str, ...]:
    return (f"Wait for a worker to do {shown(config.get('topic'))}.",)


TYPE = NodeType(
    name="EXTERNAL_TASK",
    kind=NodeKind.WAIT,
    category="Integration",
    title="External task",
    description="Offers work to workers elsewhere and waits for one to complete it.",
    schema=config(
        {
            "topic": text("Topic", "What workers ask for.", "charge-card", minLength=1, maxLength=255),
            "variables": fields("Variables", "What the worker is given."),
            "priority": whole("Priority", "Higher is fetched first.", default=0),
            "lockDuration": duration("Lock", "How long a worker has before it is offered again."),
            "retries": whole("Retries", minimum=0, maximum=1000, default=3),
            "timeout": duration("Timeout"),
        },
        "topic",
    ),
    examples=(_EXAMPLE,),
    say=say,
)
