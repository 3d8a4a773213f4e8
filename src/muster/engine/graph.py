"""A definition as the engine walks it: who follows whom, and who can still reach whom."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from muster.expr import Expression, compile_condition, to_text
from muster.model.workflow import Definition, Edge, EdgeType, Join, Node

DEFAULT_MAX_VISITS = 1000


@dataclass(frozen=True, slots=True)
class Route:
    """One decision after a node: targets by the text of a value, or all of `always`."""

    decides: Expression | None
    always: tuple[str, ...] = ()
    by_value: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    otherwise: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """Compiled once per version. `reach[n]` has the bit of every node that a path leads to from `n`."""

    nodes: Mapping[str, Node]
    position: Mapping[str, int]
    starts: tuple[str, ...]
    routes: Mapping[str, tuple[Route, ...]]
    joins: frozenset[str]
    reach: Mapping[str, int]

    def can_reach(self, source: str, target: str) -> bool:
        return bool(self.reach[source] >> self.position[target] & 1)

    def max_visits(self, node_id: str) -> int:
        return self.nodes[node_id].max_visits or DEFAULT_MAX_VISITS


def compile_graph(definition: Definition) -> Graph:
    nodes = {node.id: node for node in definition.nodes}
    position = {node_id: place for place, node_id in enumerate(nodes)}
    ways = _ways(definition)
    inbound: dict[str, int] = defaultdict(int)
    for _, target in ways:
        inbound[target] += 1
    return Graph(
        nodes=nodes,
        position=position,
        starts=tuple(node.id for node in definition.nodes if node.is_start),
        routes=_routes(definition.edges),
        joins=frozenset(
            node.id for node in definition.nodes if node.join is Join.ALL and inbound[node.id] > 1
        ),
        reach=_reach(position, ways),
    )


def error_target(node: Node) -> str | None:
    """Where a failure of this node leads, if it names a place."""
    target = node.on_error.get("goto") if isinstance(node.on_error, dict) else None
    return target if isinstance(target, str) else None


def _ways(definition: Definition) -> list[tuple[str, str]]:
    """Every path a token may take; error edges count as paths."""
    ways = [(edge.source, edge.target) for edge in definition.edges]
    errors = ((node.id, error_target(node)) for node in definition.nodes)
    return ways + [(source, target) for source, target in errors if target is not None]


def _routes(edges: Sequence[Edge]) -> dict[str, tuple[Route, ...]]:
    """A node's edges as decisions: edges that ask the same question are one decision."""
    questions: dict[str, dict[tuple[EdgeType, str], list[Edge]]] = defaultdict(lambda: defaultdict(list))
    for edge in edges:
        questions[edge.source][edge.type, edge.condition or edge.expression or ""].append(edge)
    return {
        source: tuple(_route(kind, question, same) for (kind, question), same in asked.items())
        for source, asked in questions.items()
    }


def _route(kind: EdgeType, question: str, edges: Sequence[Edge]) -> Route:
    if kind is EdgeType.GOTO:
        return Route(None, always=tuple(edge.target for edge in edges))
    by_value: dict[str, tuple[str, ...]] = {}
    for edge in edges:
        if not edge.is_default:
            by_value[to_text(edge.value)] = (*by_value.get(to_text(edge.value), ()), edge.target)
    otherwise = tuple(edge.target for edge in edges if edge.is_default)
    return Route(compile_condition(question), by_value=by_value, otherwise=otherwise)


def _reach(position: Mapping[str, int], ways: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Bit sets of what each node leads to, by widening until nothing changes."""
    sources: dict[str, list[str]] = defaultdict(list)
    reach = dict.fromkeys(position, 0)
    for source, target in ways:
        sources[target].append(source)
        reach[source] |= 1 << position[target]
    changed = list(position)
    while changed:
        node_id = changed.pop()
        for source in sources[node_id]:
            wider = reach[source] | reach[node_id]
            if wider != reach[source]:
                reach[source] = wider
                changed.append(source)
    return reach
