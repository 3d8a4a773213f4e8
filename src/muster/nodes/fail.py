"""FAIL: the execution ends here, failed."""

from muster.definitions.steps.words import quoted
from muster.model.json import JsonView
from muster.model.node_type import NodeKind, NodeType, sets_nothing
from muster.nodes.messages import MESSAGE
from muster.nodes.parts import config


def say(config: JsonView) -> tuple[str, ...]:
    reason = f" with “{quoted(config['message'])}”" if config.get("message") else ""
    return (f"Fail{reason}.",)


TYPE = NodeType(
    name="FAIL",
    kind=NodeKind.PURE,
    category="Logic",
    title="Fail",
    description="Fails the execution with a message.",
    schema=config(MESSAGE),
    examples=({"message": "Order #{orderId} was refused"},),
    sets=sets_nothing,
    say=say,
)
