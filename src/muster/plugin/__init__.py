"""What a plug-in is written with. `register(registry)` hands over what it adds; importing it does nothing."""

from muster.engine.handlers import Call, Done, Outcome, Suspend
from muster.engine.state import Failure, Phase
from muster.model.execution import NodeStatus
from muster.model.json import Json, JsonObject, JsonView
from muster.model.node_type import NodeKind, NodeType, sets_anything, sets_nothing
from muster.model.problems import Level, Problem
from muster.plugin.registry import BadRegistration, Plugged, Registry

__all__ = [
    "BadRegistration",
    "Call",
    "Done",
    "Failure",
    "Json",
    "JsonObject",
    "JsonView",
    "Level",
    "NodeKind",
    "NodeStatus",
    "NodeType",
    "Outcome",
    "Phase",
    "Plugged",
    "Problem",
    "Registry",
    "Suspend",
    "sets_anything",
    "sets_nothing",
]
