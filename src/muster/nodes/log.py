"""LOG: a line in the execution's history."""

from muster.definitions.steps.words import quoted
from muster.model.json import JsonView
from muster.model.node_type import NodeKind, NodeType, sets_nothing
from muster.nodes.messages import MESSAGE
from muster.nodes.parts import choice, config


def say(config: JsonView) -> tuple[str, ...]:
    return (f"Write “{quoted(config.get('message', ''))}” into the log.",)


TYPE = NodeType(
    name="LOG",
    kind=NodeKind.PURE,
    category="Logic",
    title="Log",
    description="Writes a message into the execution's history and the log.",
    schema=config(
        {**MESSAGE, "level": choice("Level", ["debug", "info", "warning", "error"], default="info")},
        "message",
    ),
    examples=({"message": "Order #{orderId} was refused"},),
    sets=sets_nothing,
    say=say,
)
