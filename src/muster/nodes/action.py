"""ACTION: a registered action, once or for each item."""

from muster.model.json import JsonObject
from muster.model.node_type import NodeKind, NodeType, StepFamily
from muster.nodes.parts import config, fields, literal, processing, processing_defs, text, too_deep

_BODY: JsonObject = {"params": fields("Parameters", "What the action is given beside the item.")}
_EXAMPLE: JsonObject = {"actionType": "updateEnrollmentStatus", "on": "#{newEnrollments}"}

TYPE = NodeType(
    name="ACTION",
    kind=NodeKind.EFFECT,
    category="Data",
    title="Action",
    description="Runs a registered action, once or for each item of a list.",
    schema=config(
        {
            "actionType": literal(text("Action", "A registered action.", format="action-type", minLength=1)),
            **processing(_BODY),
        },
        "actionType",
        **{"$defs": processing_defs(_BODY)},
    ),
    family=StepFamily.ACTION,
    examples=(_EXAMPLE,),
    check=too_deep,
)
