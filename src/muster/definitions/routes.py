"""Routing, as a node's own list or the document's, into edges."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import cast

from muster.definitions.pointers import Below, child
from muster.definitions.problems import Problems
from muster.definitions.scalars import as_id
from muster.definitions.shapes import ROUTE, WATCHED
from muster.model.json import Json, JsonObject
from muster.model.workflow import Edge, EdgeType

_FROM = ("fromNodeId", "from")
_TO = ("targetNodeId", "toNodeId", "to")
_ALWAYS = frozenset({"type", *_FROM, *WATCHED})
_FIELDS = {
    EdgeType.GOTO: _ALWAYS | {*_TO},
    EdgeType.CONDITIONAL: _ALWAYS | {*_TO, "condition", "trueNodeId", "falseNodeId", "value"},
    EdgeType.SWITCH: _ALWAYS | {*_TO, "expression", "cases", "defaultNodeId", "value", "default"},
}


@dataclass(frozen=True, slots=True)
class Route:
    """An edge, and where it was written: the entry, and the name of its target."""

    edge: Edge
    pointer: str
    target_pointer: str


def read_routes(
    entries: Json, pointer: str, source: str | None, ids: Collection[str], problems: Problems
) -> list[Route]:
    """The edges that a routing list names. `source` is the node whose list it is; None: the document's."""
    routes: list[Route] = []
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        if problems.full:
            break
        routes += _Entry(entry, child(pointer, index), ids, problems).read(source)
    return routes


def loose_ends(routes: list[Route], ids: Collection[str], problems: Problems) -> list[Route]:
    """The routes that lead somewhere; a target that does not exist is a problem."""
    for route in routes:
        if route.edge.target not in ids:
            unknown_node(route.edge.target, route.target_pointer, ids, problems)
    return [route for route in routes if route.edge.target in ids]


def unknown_node(name: str, pointer: str, ids: Collection[str], problems: Problems) -> None:
    suggestion = problems.suggest(name, ids)
    problems.error("UNKNOWN_TARGET", pointer, f"There is no node `{name[:100]}`.", suggestion)


class _Entry:
    """One entry of a routing list while it is being read."""

    def __init__(self, entry: Json, pointer: str, ids: Collection[str], problems: Problems) -> None:
        self._sound = problems.hold(entry, ROUTE, Below(pointer))
        self._fields = entry if isinstance(entry, dict) else {}
        self._pointer = pointer
        self._ids = ids
        self._problems = problems

    def read(self, owner: str | None) -> list[Route]:
        if not self._sound:
            return []
        kind = self._kind()
        source = self._source(owner)
        self._refuse_foreign(kind)
        match kind:
            case EdgeType.GOTO:
                routes = self._to(Edge(source or "", ""))
            case EdgeType.CONDITIONAL:
                routes = self._conditional(source or "")
            case EdgeType.SWITCH:
                routes = self._switch(source or "")
        if not routes:
            self._problems.error("MISSING_TARGET", self._pointer, "This route names no node to go to.")
        return routes if source is not None else []

    def _kind(self) -> EdgeType:
        """The type that is written, else the one that the fields imply."""
        written = self._fields.get("type")
        if isinstance(written, str):
            return EdgeType(written)
        if {"condition", "trueNodeId", "falseNodeId"} & self._fields.keys():
            return EdgeType.CONDITIONAL
        return EdgeType.SWITCH if {"expression", "cases"} & self._fields.keys() else EdgeType.GOTO

    def _source(self, owner: str | None) -> str | None:
        given = next((name for name in _FROM if name in self._fields), None)
        named = as_id(self._fields.get(given)) if given else None
        if owner is not None:
            if given is not None and named != owner:
                message = f"A node's own routing leaves that node, `{owner}`."
                self._problems.error("GIVEN_TWICE", child(self._pointer, given), message)
            return owner
        if named is None or given is None:
            self._problems.error("MISSING_FIELD", self._pointer, "`fromNodeId` is missing.")
            return None
        if named not in self._ids:
            unknown_node(named, child(self._pointer, given), self._ids, self._problems)
            return None
        return named

    def _refuse_foreign(self, kind: EdgeType) -> None:
        for name in self._fields.keys() - _FIELDS[kind]:
            message = f"`{name}` has no meaning on a `{kind}` route."
            self._problems.error("UNKNOWN_FIELD", child(self._pointer, name), message)

    def _to(self, edge: Edge) -> list[Route]:
        """The route to the one node that is named, if any is."""
        given = [name for name in _TO if as_id(self._fields.get(name)) is not None]
        for name in given[1:]:
            self._problems.error("GIVEN_TWICE", child(self._pointer, name), f"`{given[0]}` is given too.")
        return [self._route(edge, self._fields, given[0], self._pointer)] if given else []

    def _conditional(self, source: str) -> list[Route]:
        condition = self._needed("condition", "MISSING_CONDITION")
        edge = Edge(source, "", EdgeType.CONDITIONAL, condition=condition)
        routes = []
        for name, when in (("trueNodeId", True), ("falseNodeId", False)):
            if as_id(self._fields.get(name)) is not None:
                routes.append(self._route(_with(edge, when), self._fields, name, self._pointer))
        value = self._fields.get("value", True)
        if not isinstance(value, bool):
            pointer = child(self._pointer, "value")
            self._problems.error("WRONG_TYPE", pointer, "On a condition this is true or false.")
        return routes + self._to(_with(edge, value is True))

    def _switch(self, source: str) -> list[Route]:
        expression = self._needed("expression", "MISSING_EXPRESSION")
        edge = Edge(source, "", EdgeType.SWITCH, expression=expression)
        routes = []
        for index, case in enumerate(cast("list[JsonObject]", self._fields.get("cases", []))):
            at = child(self._pointer, "cases", index)
            routes.append(self._route(_with(edge, case["value"]), case, "targetNodeId", at))
        default = Edge(source, "", EdgeType.SWITCH, expression=expression, is_default=True)
        if as_id(self._fields.get("defaultNodeId")) is not None:
            routes.append(self._route(default, self._fields, "defaultNodeId", self._pointer))
        flat = default if self._fields.get("default") is True else _with(edge, self._fields.get("value"))
        return routes + self._to(flat)

    def _needed(self, name: str, code: str) -> str:
        value = self._fields.get(name)
        if not isinstance(value, str) or not value.strip():
            self._problems.error(code, self._pointer, f"`{name}` is missing.")
            return ""
        return value

    def _route(self, edge: Edge, fields: JsonObject, target: str, pointer: str) -> Route:
        watched = {**{name: self._fields.get(name) for name in WATCHED}, **fields}
        edge = Edge(
            edge.source,
            as_id(fields[target]) or "",
            edge.type,
            edge.condition,
            edge.expression,
            edge.value,
            edge.is_default,
            cast("int | None", watched.get("maxLatencySec")),
            cast("str | None", watched.get("absoluteDeadline")),
            cast("str | None", watched.get("severity")),
        )
        return Route(edge, self._pointer, child(pointer, target))


def _with(edge: Edge, value: Json) -> Edge:
    return Edge(edge.source, "", edge.type, edge.condition, edge.expression, value)


def repeated_routes(routes: list[Route], problems: Problems) -> None:
    """The same way twice, where a switch would not have said so already."""
    seen: set[tuple[str, str, str, str | None, str]] = set()
    for route in routes:
        edge = route.edge
        way = (edge.source, edge.target, edge.type.value, edge.condition, repr(edge.value))
        if way in seen and edge.type is not EdgeType.SWITCH:
            message = f"`{edge.source}` leads to `{edge.target}` in the same way already."
            problems.warn("DUPLICATE_EDGE", route.target_pointer, message)
        seen.add(way)


def check_switches(routes: list[Route], problems: Problems) -> None:
    """A switch should say what happens to every value, and each value once."""
    switches: dict[tuple[str, str], list[Route]] = {}
    for route in routes:
        if route.edge.type is EdgeType.SWITCH and route.edge.expression:
            switches.setdefault((route.edge.source, route.edge.expression), []).append(route)
    for (_, expression), cases in switches.items():
        if not any(route.edge.is_default for route in cases):
            message = f"Nothing follows when `{expression}` is none of the cases; give a `defaultNodeId`."
            problems.warn("SWITCH_WITHOUT_DEFAULT", cases[0].pointer, message)
        seen: set[str] = set()
        for route in cases:
            value = "default" if route.edge.is_default else f"case {route.edge.value}"
            if value in seen:
                message = f"The {value} of `{expression}` is there already: only the first is taken."
                problems.warn("DUPLICATE_CASE", route.target_pointer, message)
            seen.add(value)
