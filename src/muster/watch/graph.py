"""A watched workflow's document: read, and all that is wrong with it said at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import time
from typing import cast

from muster.definitions.pointers import Below, child
from muster.definitions.problems import Problems
from muster.definitions.shapes import MOST_SECONDS
from muster.model.json import Json, JsonObject
from muster.model.problems import Level, Problem
from muster.model.watching import (
    Deadline,
    ExpectStart,
    Severity,
    WatchedEdge,
    WatchedGraph,
    WatchedNode,
)

LONGEST_NAME = 255
MOST_NODES = 1_000
MOST_EDGES = 5_000
MOST_EXPECTED = 1_000
MOST_DIMENSIONS = 20

_NAME: JsonObject = {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME, "x-literal": True}
_YES_OR_NO: JsonObject = {"type": "boolean", "x-literal": True}
_EXPECT_START: JsonObject = {
    "type": "object",
    "x-literal": True,
    "required": ["cron"],
    "additionalProperties": False,
    "properties": {
        "cron": {"type": "string", "format": "cron", "x-literal": True},
        "timezone": {"type": "string", "format": "timezone", "x-literal": True},
        "graceSec": {"type": "integer", "minimum": 0, "maximum": MOST_SECONDS, "x-literal": True},
        # Shorter than other keys: a date may take the place of its name in it.
        "key": {"type": "string", "minLength": 1, "maxLength": 200, "x-literal": True},
    },
}
_NODE: JsonObject = {
    "type": "object",
    "x-literal": True,
    "required": ["key", "eventType"],
    "additionalProperties": False,
    "properties": {
        "key": _NAME,
        "eventType": _NAME,
        "name": {"type": "string", "x-literal": True},
        "start": _YES_OR_NO,
        "terminal": _YES_OR_NO,
        "expectStart": _EXPECT_START,
    },
}
_EDGE: JsonObject = {
    "type": "object",
    "x-literal": True,
    "required": ["from", "to"],
    "additionalProperties": False,
    "properties": {
        "from": _NAME,
        "to": _NAME,
        "maxLatencySec": {"type": "integer", "minimum": 1, "maximum": MOST_SECONDS, "x-literal": True},
        "absoluteDeadline": {"type": "string", "format": "deadline", "x-literal": True},
        "deadlineRollover": _YES_OR_NO,
        "expectedCount": {"type": "integer", "minimum": 1, "maximum": MOST_EXPECTED, "x-literal": True},
        "optional": _YES_OR_NO,
        "severity": {"enum": [each.value for each in Severity], "x-literal": True},
    },
}
_GRAPH: JsonObject = {
    "type": "object",
    "x-literal": True,
    "required": ["nodes"],
    "additionalProperties": False,
    "properties": {
        "nodes": {
            "type": "array",
            "x-literal": True,
            "minItems": 1,
            "maxItems": MOST_NODES,
            "items": _NODE,
        },
        "edges": {"type": "array", "x-literal": True, "maxItems": MOST_EDGES, "items": _EDGE},
    },
}
DOCUMENT: JsonObject = {
    "type": "object",
    "x-literal": True,
    "required": ["key", "graph"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "maxLength": LONGEST_NAME, "x-literal": True},
        "key": _NAME,
        "description": {"type": ["string", "null"], "x-literal": True},
        "createdBy": _NAME,
        "instituteId": {"type": "string", "maxLength": LONGEST_NAME, "x-literal": True},
        "graph": _GRAPH,
        "groupDimensions": {
            "type": "array",
            "x-literal": True,
            "maxItems": MOST_DIMENSIONS,
            "uniqueItems": True,
            "items": _NAME,
        },
        "timezone": {"type": "string", "format": "timezone", "x-literal": True},
        "optionalEdges": {"enum": ["ignore", "watch"], "x-literal": True},
        "runStatus": {"enum": ["worst", "latest"], "x-literal": True},
    },
}


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read: a graph, unless there are errors; warnings may be there either way."""

    graph: WatchedGraph | None
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(each for each in self.problems if each.level is Level.ERROR)


def read_graph(document: Json) -> Reading:
    """Read what `POST /workflows` takes, and what a version's `definition` holds."""
    problems = Problems()
    if not problems.hold(document, DOCUMENT, Below("")):
        return Reading(None, problems.all)
    told = cast("JsonObject", document)
    graph = _graph(told)
    _check_names(graph, problems)
    _check_edges(graph, problems)
    _check_ways(_with_known_ends(graph), problems)
    return Reading(None if problems.any_error else graph, problems.all)


def _graph(told: JsonObject) -> WatchedGraph:
    drawn = cast("Mapping[str, list[JsonObject]]", told["graph"])
    zone = cast("str", told.get("timezone", "UTC"))
    return WatchedGraph(
        tuple(_node(each, zone) for each in drawn["nodes"]),
        tuple(_edge(each) for each in drawn.get("edges", [])),
        tuple(cast("list[str]", told.get("groupDimensions", []))),
        zone,
        told.get("optionalEdges") == "watch",
        told.get("runStatus") == "latest",
    )


def _node(told: JsonObject, zone: str) -> WatchedNode:
    return WatchedNode(
        cast("str", told["key"]),
        cast("str", told["eventType"]),
        bool(told.get("start", False)),
        bool(told.get("terminal", False)),
        _expect_start(cast("JsonObject", told["expectStart"]), zone) if "expectStart" in told else None,
    )


def _expect_start(told: JsonObject, zone: str) -> ExpectStart:
    return ExpectStart(
        cast("str", told["cron"]),
        cast("str", told.get("timezone", zone)),
        cast("int", told.get("graceSec", 0)),
        cast("str | None", told.get("key")),
    )


def _edge(told: JsonObject) -> WatchedEdge:
    deadline = cast("str | None", told.get("absoluteDeadline"))
    return WatchedEdge(
        cast("str", told["from"]),
        cast("str", told["to"]),
        cast("int | None", told.get("maxLatencySec")),
        None if deadline is None else read_deadline(deadline),
        bool(told.get("deadlineRollover", False)),
        cast("int", told.get("expectedCount", 1)),
        bool(told.get("optional", False)),
        Severity(cast("str", told.get("severity", Severity.AMBER.value))),
    )


def read_deadline(text: str) -> Deadline:
    """A deadline that is well formed.

    >>> read_deadline("08:00Z")
    Deadline(at=datetime.time(8, 0), offset=datetime.timedelta(0))
    >>> read_deadline("08:00")
    Deadline(at=datetime.time(8, 0), offset=None)
    """
    at = time.fromisoformat(text)
    return Deadline(at.replace(tzinfo=None), at.utcoffset())


# --- what a shape cannot say ---------------------------------------------------------------------------


def _check_names(graph: WatchedGraph, problems: Problems) -> None:
    keys: dict[str, int] = {}
    types: dict[str, int] = {}
    for index, node in enumerate(graph.nodes):
        place = child("/graph/nodes", index)
        if node.key in keys:
            told = f"Node {keys[node.key]} has the key `{node.key}` already: each has its own."
            problems.error("DUPLICATE_NODE", child(place, "key"), told)
        if node.event_type in types:
            told = (
                f"Node {types[node.event_type]} has the event type `{node.event_type}` already: an event"
                " belongs to one node."
            )
            problems.error("DUPLICATE_EVENT_TYPE", child(place, "eventType"), told)
        if node.expect_start is not None and not node.start:
            told = "Only a node with `start: true` can be expected to begin a run."
            problems.error("NOT_A_START", child(place, "expectStart"), told)
        keys.setdefault(node.key, index)
        types.setdefault(node.event_type, index)
    for index, edge in enumerate(graph.edges):
        for name, node_key in (("from", edge.source), ("to", edge.target)):
            if node_key not in keys:
                problems.error(
                    "UNKNOWN_NODE",
                    child("/graph/edges", index, name),
                    f"There is no node `{node_key}`.",
                    problems.suggest(node_key, keys.keys()),
                )


def _with_known_ends(graph: WatchedGraph) -> WatchedGraph:
    edges = (edge for edge in graph.edges if {edge.source, edge.target} <= graph.by_key.keys())
    return replace(graph, edges=tuple(edges))


def _check_edges(graph: WatchedGraph, problems: Problems) -> None:
    seen: set[tuple[str, str]] = set()
    for index, edge in enumerate(graph.edges):
        place = child("/graph/edges", index)
        if (edge.source, edge.target) in seen:
            told = f"There is an edge from `{edge.source}` to `{edge.target}` already."
            problems.error("DUPLICATE_EDGE", place, told)
        seen.add((edge.source, edge.target))
        if edge.max_latency_sec is None and edge.absolute_deadline is None and not edge.optional:
            told = "An edge needs `maxLatencySec` or `absoluteDeadline`: without one, nothing is ever late."
            problems.error("NO_DEADLINE", place, told)
        if edge.deadline_rollover and edge.absolute_deadline is None:
            told = "`deadlineRollover` is about an `absoluteDeadline`, and there is none."
            problems.error("NO_DEADLINE", child(place, "deadlineRollover"), told)


def _check_ways(graph: WatchedGraph, problems: Problems) -> None:
    starts = [node.key for node in graph.nodes if node.start]
    if not starts:
        problems.error(
            "NO_START", "/graph/nodes", "One node at least needs `start: true`: a run begins there."
        )
        return
    reached = _reached(graph, starts)
    for index, node in enumerate(graph.nodes):
        if node.key not in reached:
            told = f"No start leads to `{node.key}`, so its events would always be out of order."
            problems.error("UNREACHABLE", child("/graph/nodes", index), told)
    circle = _circle(graph)
    if circle:
        told = f"The edges go in a circle: {' → '.join(circle)}. A run would never end."
        problems.error("CYCLE", "/graph/edges", told)


def _reached(graph: WatchedGraph, starts: Sequence[str]) -> set[str]:
    reached, waiting = set(starts), list(starts)
    while waiting:
        for edge in graph.outgoing[waiting.pop()]:
            if edge.target not in reached:
                reached.add(edge.target)
                waiting.append(edge.target)
    return reached


def _circle(graph: WatchedGraph) -> list[str]:
    """The nodes of some circle, the first one again at its end; empty: there is none."""
    done: set[str] = set()
    for node in graph.nodes:
        way: list[str] = []
        ahead = [iter((node.key,))]
        while ahead:
            following = next(ahead[-1], None)
            if following is None:
                ahead.pop()
                if way:
                    done.add(way.pop())
            elif following in way:
                return [*way[way.index(following) :], following]
            elif following not in done:
                way.append(following)
                ahead.append(iter([edge.target for edge in graph.outgoing[following]]))
    return []
