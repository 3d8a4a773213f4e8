"""What a type of node is: known before any handler runs, and all that a definition is checked against."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from muster.model.json import Json, JsonObject
from muster.model.stored import NodeTemplate


class NodeKind(StrEnum):
    """What running it means: a start is given its payload, a pure node can be computed again, an effect
    cannot, a wait parks the execution."""

    START = "start"
    PURE = "pure"
    EFFECT = "effect"
    WAIT = "wait"


class StepFamily(StrEnum):
    """Which parser says in words what the node does."""

    ACTION = "action"
    QUERY = "query"
    TRIGGER = "trigger"
    DATA_PROCESSOR = "data processor"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class NodeType:
    """One type of node. `schema` is the JSON Schema (draft 2020-12) of its config: the validator, the API
    reference and the designer's panels all read this one."""

    name: str
    kind: NodeKind
    category: str
    title: str
    description: str
    schema: JsonObject
    family: StepFamily = StepFamily.OTHER
    examples: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The names that a definition may refer to. Keys of `node_types` are in upper case.

    `queries` maps each query's key to the context name of its result; `actions` are the known action types.
    """

    node_types: Mapping[str, NodeType]
    queries: Mapping[str, str] = field(default_factory=dict)
    actions: frozenset[str] = frozenset()
    templates: Mapping[str, NodeTemplate] = field(default_factory=dict)
