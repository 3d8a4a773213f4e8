"""NOOP: does nothing; a place to route from."""

from muster.engine.handlers import Call, Done
from muster.model.json import JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType, sets_nothing
from muster.nodes.messages import MESSAGE
from muster.nodes.parts import config


def say(config: JsonView) -> tuple[str, ...]:
    return ("Do nothing, and go on.",)


TYPE = NodeType(
    name="NOOP",
    kind=NodeKind.PURE,
    category="Logic",
    title="No operation",
    description="Does nothing: a place to route from.",
    schema=config(MESSAGE),
    examples=({},),
    sets=sets_nothing,
    say=say,
)


def noop(config: JsonObject, call: Call) -> Done:
    return Done()
