"""LOG: a line in the execution's history."""

import logging
import re

from muster.definitions.steps.words import quoted
from muster.engine.handlers import Call, Done
from muster.engine.lines import about_call
from muster.model.json import JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType, sets_nothing
from muster.nodes.handling import message_of
from muster.nodes.messages import MESSAGE
from muster.nodes.parts import choice, config

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

_log = logging.getLogger(__name__)


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
    speaks=True,
)


def log(config: JsonObject, call: Call) -> Done:
    """Write the message, and nothing else of what the execution knows, as one line with its ids.

    Computed again after a crash, it is written again.
    """
    message = message_of(config, call)
    line = _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), message)
    _log.log(_LEVELS[str(config.get("level", "info"))], "%s", line, extra=about_call(call))
    return Done({"message": message})
