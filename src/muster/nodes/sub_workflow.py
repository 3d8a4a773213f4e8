"""SUB_WORKFLOW: another workflow as a step of this one."""

from muster.definitions.steps.words import shown
from muster.model.json import JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType
from muster.nodes.parts import ON, anything, choice, config, duration, text

_EXAMPLE: JsonObject = {"workflow": "student-onboarding", "input": {"studentId": "#{id}"}}


def say(config: JsonView) -> tuple[str, ...]:
    each = f" for each item of {shown(config['on'])}" if "on" in config else ""
    end = " and go on at once" if config.get("mode") == "detach" else " and wait for its end"
    return (f"Start the workflow {shown(config.get('workflow'))}{each}{end}.",)


TYPE = NodeType(
    name="SUB_WORKFLOW",
    kind=NodeKind.WAIT,
    category="Logic",
    title="Sub-workflow",
    description="Starts another workflow, once or for each item, and waits for it or not.",
    schema=config(
        {
            "workflow": text("Workflow", "Its key or id.", "student-onboarding", minLength=1),
            "version": {
                "type": ["integer", "string"],
                "title": "Version",
                "description": "Else the active.",
            },
            "input": anything("Input", "The child's context.", {"studentId": "#{id}"}),
            "mode": choice("Mode", ["wait", "detach"], default="wait"),
            "on": ON,
            "timeout": duration("Timeout"),
        },
        "workflow",
    ),
    examples=(_EXAMPLE,),
    say=say,
)
