"""FAIL: the execution ends here, failed."""

from muster.definitions.steps.words import quoted
from muster.engine.handlers import Call
from muster.engine.state import Failure
from muster.model.json import JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType, sets_nothing
from muster.nodes.handling import message_of
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


def fail(config: JsonObject, call: Call) -> Failure:
    """End in the message: trying again would change nothing."""
    return Failure("Failed", message_of(config, call) or f"{call.node_id} ends the execution")
