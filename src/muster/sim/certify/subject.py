"""What is certified: a workflow, those that it starts, and what the world answers to them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from muster.definitions.document import to_document
from muster.definitions.names import slug
from muster.engine.handlers import Pure, Wait
from muster.model.json import Json, JsonObject, JsonView
from muster.model.node_type import NodeType
from muster.model.workflow import Definition, Node
from muster.nodes.sql import default_result_key

# What rows of queries have that nobody has said anything about: a field for each that an item is asked for.
SAMPLES: Mapping[str, tuple[Json, Json]] = {
    "id": (1, 2),
    "name": ("Ada", "Grace"),
    "email": ("ada@example.com", "grace@example.com"),
    "phone": ("+49 151 23456789", "+49 151 98765432"),
}
_FIELD_OF_ITEM = re.compile(r"\bitem\.(\w+)")
_SECRET = re.compile(r"\b_vars\.(\w+)")


@dataclass(frozen=True, slots=True)
class Registered:
    """What workflows may call by a key: under which name a query's rows are kept, and of which actions it is
    known that they are given the key of their effect."""

    result_keys: Mapping[str, str] = field(default_factory=dict)
    keyed_actions: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PlugIn:
    """Types of nodes that plug-ins add: what computes or waits is theirs, effects are stubbed."""

    effects: frozenset[str] = frozenset()
    pures: Mapping[str, Pure] = field(default_factory=dict)
    waits: Mapping[str, Wait] = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
    """`definitions` are by the ids of their versions, `main` is the one that is certified. `replies` are what
    nodes are answered, by their ids; what they do not say is taken to be well."""

    definitions: Mapping[int, Definition]
    node_types: Mapping[str, NodeType]
    plug_in: PlugIn = field(default_factory=PlugIn)
    registered: Registered = field(default_factory=Registered)
    context: JsonObject = field(default_factory=dict)
    replies: JsonView = field(default_factory=dict)
    main: int = 1

    @cached_property
    def documents(self) -> Mapping[int, JsonObject]:
        return {number: to_document(each) for number, each in self.definitions.items()}

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """Those of all workflows; of two with one id, the one of the workflow that comes first."""
        found: dict[str, Node] = {}
        for definition in self.definitions.values():
            for node in definition.nodes:
                found.setdefault(node.id, node)
        return found

    @cached_property
    def secrets(self) -> Mapping[str, str]:
        """A value for each that is read."""
        names = {name for document in self.documents.values() for name in _SECRET.findall(str(document))}
        return {name: f"the secret {name}" for name in sorted(names)}

    @cached_property
    def rows(self) -> list[Json]:
        """What a query finds: fields that decide between cases have those of the first two."""
        fields: dict[str, tuple[Json, Json]] = dict(SAMPLES)
        for document in self.documents.values():
            for name in _FIELD_OF_ITEM.findall(str(document)):
                fields.setdefault(name, (f"{name} 1", f"{name} 2"))
            fields |= _decided(document)
        return [{name: fields[name][row] for name in sorted(fields)} for row in range(2)]

    def result_key(self, query: str) -> str:
        return self.registered.result_keys.get(query) or default_result_key(query)

    def version_of(self, workflow: str) -> int | None:
        """The version of the workflow with this key, or this name."""
        return next((number for number, name in self._names() if name == workflow), None)

    def _names(self) -> Iterator[tuple[int, str]]:
        for number, definition in self.definitions.items():
            yield number, key_of(definition)


def _decided(document: Json) -> dict[str, tuple[Json, Json]]:
    """By the fields of items that somewhere decide between cases, the first two of these."""
    found: dict[str, tuple[Json, Json]] = {}
    if isinstance(document, dict):
        cases, on = document.get("cases"), _FIELD_OF_ITEM.search(str(document.get("on")))
        if isinstance(cases, dict) and cases and on:
            found[on[1]] = (next(iter(cases)), [*cases][min(1, len(cases) - 1)])
    inner = (
        document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    )
    for each in inner:
        found |= _decided(each)
    return found


def key_of(definition: Definition) -> str:
    """As the library would name it."""
    return definition.key or slug(definition.name or "") or "workflow"
