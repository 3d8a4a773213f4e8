"""A workflow as a picture, before anything is drawn: nodes with places and sentences, edges with labels."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from muster.definitions.layout import lay_out
from muster.definitions.steps.parsers import say_steps
from muster.definitions.steps.words import quoted
from muster.model.json import Json
from muster.model.node_type import Catalogue, NodeKind
from muster.model.workflow import Definition, Edge, EdgeType, Node

NODE_WIDTH, NODE_HEIGHT = 216, 64
COLUMN, ROW = 368, 112
MARGIN = 40


@dataclass(frozen=True, slots=True)
class NodeState:
    """How a node fares in an execution: its last visit, how many there were, how long that took, and until
    when it waits."""

    status: str
    visits: int
    attempt: int
    seconds: float | None = None
    due: datetime | None = None

    @property
    def words(self) -> str:
        took = "" if self.seconds is None else f" in {brief_seconds(self.seconds)}"
        until = "" if self.due is None else f" until {self.due:%Y-%m-%d %H:%M:%S} UTC"
        often = f", visit {self.visits}" if self.visits > 1 else ""
        return f"{self.status.replace('_', ' ')}{took}{until}{often}"


def brief_seconds(seconds: float) -> str:
    """A length of time in as few letters as tell it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


@dataclass(frozen=True, slots=True)
class DiagramNode:
    """A node in its place. `kind` is None for a type that is not there any more."""

    id: str
    title: str
    type: str
    type_title: str
    kind: NodeKind | None
    x: int
    y: int
    is_start: bool
    is_end: bool
    steps: tuple[str, ...]
    state: NodeState | None = None


@dataclass(frozen=True, slots=True)
class DiagramEdge:
    """A way. `type` is the route's, or `error` for where a failure goes; `is_back` says it closes a loop."""

    source: str
    target: str
    type: str
    label: str
    is_back: bool


@dataclass(frozen=True, slots=True)
class Diagram:
    name: str
    nodes: tuple[DiagramNode, ...]
    edges: tuple[DiagramEdge, ...]
    width: int
    height: int


def draw(
    definition: Definition, catalogue: Catalogue, states: Mapping[str, NodeState] | None = None
) -> Diagram:
    """The picture of a definition, with how its nodes fare in an execution. The same definition always gives
    the same picture."""
    fare = states or {}
    ways = _ways(definition)
    start = next((node.id for node in definition.nodes if node.is_start), None)
    layout = lay_out(
        [node.id for node in definition.nodes], [(source, target) for source, target, _, _ in ways], start
    )
    columns = max((column for column, _ in layout.places.values()), default=0)
    rows = max((row for _, row in layout.places.values()), default=0)
    below = ROW // 2 if layout.back else 0
    return Diagram(
        name=definition.name or definition.key or "workflow",
        nodes=tuple(
            replace(_node(node, catalogue, *layout.places[node.id]), state=fare.get(node.id))
            for node in definition.nodes
        ),
        edges=tuple(DiagramEdge(*way, is_back=way[:2] in layout.back) for way in ways),
        width=2 * MARGIN + columns * COLUMN + NODE_WIDTH,
        height=2 * MARGIN + rows * ROW + NODE_HEIGHT + below,
    )


def _ways(definition: Definition) -> list[tuple[str, str, str, str]]:
    """Source, target, type and label of each edge, errors' included."""
    ways = [(edge.source, edge.target, edge.type.value, _label(edge)) for edge in definition.edges]
    errors = [
        (node.id, node.on_error["goto"]) for node in definition.nodes if isinstance(node.on_error, dict)
    ]
    return ways + [(source, str(target), "error", "error") for source, target in errors]


def _label(edge: Edge) -> str:
    match edge.type:
        case EdgeType.GOTO:
            return ""
        case EdgeType.CONDITIONAL:
            return "true" if edge.value else "false"
        case EdgeType.SWITCH:
            return "default" if edge.is_default else _case(edge.value)


def _case(value: Json) -> str:
    return quoted(value)[:40]


def _node(node: Node, catalogue: Catalogue, column: int, row: int) -> DiagramNode:
    type_ = catalogue.node_types.get(node.type.upper())
    return DiagramNode(
        id=node.id,
        title=node.name or node.id,
        type=node.type,
        type_title=type_.title if type_ else node.type,
        kind=type_.kind if type_ else None,
        x=MARGIN + column * COLUMN,
        y=MARGIN + row * ROW,
        is_start=node.is_start,
        is_end=node.is_end,
        steps=say_steps(node, catalogue),
    )
