"""What a type of node is: known before any handler runs, and all that a definition is checked against."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from muster.model.json import Json, JsonObject, JsonView
from muster.model.problems import Problem
from muster.model.stored import NodeTemplate

Sets: TypeAlias = "Callable[[JsonView, Mapping[str, str]], frozenset[str] | None]"
Checks: TypeAlias = "Callable[[JsonView], tuple[Problem, ...]]"
Says: TypeAlias = "Callable[[JsonView], tuple[str, ...]]"


def sets_anything(config: JsonView, queries: Mapping[str, str]) -> frozenset[str] | None:
    """For a type whose result only shows when it runs: a worker's variables, a child's output."""
    return None


def sets_nothing(config: JsonView, queries: Mapping[str, str]) -> frozenset[str] | None:
    return frozenset()


def finds_nothing(config: JsonView) -> tuple[Problem, ...]:
    return ()


def says_nothing(config: JsonView) -> tuple[str, ...]:
    return ()


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
    reference and the designer's panels all read this one.

    `sets` answers the context names that a node with this config sets, given the queries and their result
    names; None: that cannot be known. `check` finds what a schema cannot say; its pointers are relative to
    the config, and it is asked only about a config that its schema accepts. `say` puts the config in words.
    `local_names` may be used in its expressions besides the context's. `attempts` says how often a node with
    this config is tried where its author does not, if that differs from others of its kind; `compensation`
    how it is undone, where its config says that. One that `speaks` tells somebody what it computes: that is
    not to be heard of an execution that never begins.
    """

    name: str
    kind: NodeKind
    category: str
    title: str
    description: str
    schema: JsonObject
    family: StepFamily = StepFamily.OTHER
    examples: tuple[Json, ...] = ()
    sets: Sets = sets_anything
    check: Checks = finds_nothing
    say: Says = says_nothing
    local_names: frozenset[str] = frozenset()
    attempts: "Callable[[JsonView], int] | None" = None
    compensation: "Callable[[JsonView], JsonObject | None] | None" = None
    speaks: bool = False


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The names that a definition may refer to. Keys of `node_types` are in upper case.

    `queries` maps each query's key to the context name of its result; `actions` are the known action types.
    """

    node_types: Mapping[str, NodeType]
    queries: Mapping[str, str] = field(default_factory=dict)
    actions: frozenset[str] = frozenset()
    templates: Mapping[str, NodeTemplate] = field(default_factory=dict)
