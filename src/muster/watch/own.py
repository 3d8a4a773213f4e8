"""Muster's own executions, watched like anybody's events: the graph of a workflow that it runs, and what its
events tell that others' don't."""

from collections import Counter
from dataclasses import dataclass, replace

from muster.engine.announcing import SOURCE, event_type
from muster.model.watching import Event, Severity, WatchedEdge, WatchedGraph, WatchedNode, worst
from muster.model.workflow import Definition, Edge, Join, Node
from muster.watch.graph import read_deadline

LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class OwnStep:
    """Where an execution of a version went on to from a node, and whether it was completed with it."""

    version_id: int
    next: frozenset[str]
    ends: bool


def own_step(event: Event) -> OwnStep | None:
    """What an event of ours tells; None: it is another's."""
    told = event.payload
    if event.source_system != SOURCE or told is None:
        return None
    version_id, led_to = told.get("workflowVersionId"), told.get("next")
    # Anybody may say that they are us: what names no version that could be is no step.
    if not isinstance(version_id, int) or not 0 < version_id <= LARGEST or not isinstance(led_to, list):
        return None
    return OwnStep(version_id, frozenset(map(str, led_to)), told.get("ends") is True)


def own_graph(definition: Definition) -> WatchedGraph | None:
    """The graph that executions of a version are held against; None: they are not watched."""
    if not definition.watch:
        return None
    inbound = Counter(edge.target for edge in definition.edges)
    edges: dict[tuple[str, str], WatchedEdge] = {}
    for edge in definition.edges:
        place, new = (edge.source, edge.target), _edge(edge)
        edges[place] = _stricter(edges[place], new) if place in edges else new
    return WatchedGraph(
        nodes=tuple(_node(definition, node, inbound[node.id] > 1) for node in definition.nodes),
        edges=tuple(edges.values()),
        is_own=True,
    )


def _node(definition: Definition, node: Node, has_several: bool) -> WatchedNode:
    type_ = event_type(definition.key or definition.name or "", node.id)
    joins = has_several and node.join is Join.ALL
    return WatchedNode(node.id, type_, start=node.is_start, terminal=node.is_end, joins=joins)


def _edge(edge: Edge) -> WatchedEdge:
    deadline = None if edge.absolute_deadline is None else read_deadline(edge.absolute_deadline)
    severity = Severity.AMBER if edge.severity is None else Severity(edge.severity)
    return WatchedEdge(edge.source, edge.target, edge.max_latency_sec, deadline, severity=severity)


def _stricter(one: WatchedEdge, other: WatchedEdge) -> WatchedEdge:
    """Of two ways to the same node, what holds whichever was taken."""
    latencies = [each.max_latency_sec for each in (one, other) if each.max_latency_sec is not None]
    return replace(
        one,
        max_latency_sec=min(latencies, default=None),
        absolute_deadline=one.absolute_deadline or other.absolute_deadline,
        severity=worst(one.severity, other.severity),
    )
