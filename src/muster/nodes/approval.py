"""APPROVAL: a person decides."""

from muster.definitions.steps.words import shown
from muster.model.json import JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType
from muster.nodes.parts import choice, config, duration, text, texts

_EXAMPLE: JsonObject = {"assignees": ["finance"], "timeout": "PT48H", "onTimeout": "fail"}


def say(config: JsonView) -> tuple[str, ...]:
    said = [f"Ask {shown(config.get('assignees', 'anyone'))} for a decision."]
    if "timeout" in config:
        said.append(f"After {shown(config['timeout'])} without one: {config.get('onTimeout', 'fail')}.")
    return tuple(said)


TYPE = NodeType(
    name="APPROVAL",
    kind=NodeKind.WAIT,
    category="People",
    title="Approval",
    description="Waits for a person's decision.",
    schema=config(
        {
            "assignees": texts("Who decides", "People or groups."),
            "title": text("Title"),
            "message": text("Message", "What is to be decided."),
            "form": {"type": "object", "title": "Form", "description": "A JSON Schema of what is asked."},
            "timeout": duration("Timeout"),
            "onTimeout": choice(
                "After the timeout", ["fail", "approve", "reject", "continue"], default="fail"
            ),
        }
    ),
    examples=(_EXAMPLE,),
    say=say,
)
