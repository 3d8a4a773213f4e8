"""Checks a document in any shape, and makes the one model of it.

Everything that can be known before running is found here, all of it at once.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import cast

from muster.definitions.configs import check_templates
from muster.definitions.frame import LOOKS_LIKE, Frame, find_frame
from muster.definitions.jsontext import too_deep
from muster.definitions.limits import DEFAULT_LIMITS, Limits
from muster.definitions.names import KEY, KEY_RULE, RESERVED, slug
from muster.definitions.pointers import Below, child
from muster.definitions.problems import Problems
from muster.definitions.read_nodes import Draft, read_nodes
from muster.definitions.routes import (
    Route,
    check_switches,
    loose_ends,
    read_routes,
    repeated_routes,
    unknown_node,
)
from muster.definitions.scalars import as_id
from muster.definitions.schedules import read_schedules, refuse_foreign_schedules
from muster.definitions.whole import Whole, shows_graph
from muster.expr.errors import ExpressionSyntaxError
from muster.expr.paths import context_path
from muster.model.json import Json, JsonObject
from muster.model.node_type import Catalogue, NodeKind
from muster.model.problems import Level, Problem
from muster.model.workflow import Definition, Edge, Schedule, WorkflowStatus, WorkflowType


@dataclass(frozen=True, slots=True)
class Checked:
    """What a document came to. `definition` is there only if nothing is an error; warnings may remain."""

    definition: Definition | None
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.level is Level.ERROR)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.level is Level.WARNING)


def check(document: Json, catalogue: Catalogue, limits: Limits = DEFAULT_LIMITS) -> Checked:
    """All that is wrong with a document, and its definition if nothing is. Never raises for what it holds."""
    problems = Problems()
    definition = None
    if _bounded(document, limits, problems):
        frame = find_frame(document, problems)
        definition = None if frame is None else _Check(frame, catalogue, limits, problems).run()
    return Checked(None if problems.any_error else definition, problems.all)


def _bounded(document: Json, limits: Limits, problems: Problems) -> bool:
    if too_deep(document, limits.depth):
        problems.error("TOO_DEEP", "", f"More than {limits.depth} levels are nested.")
        return False
    return True


class _Check:
    """One document's way from its parts to a definition."""

    def __init__(self, frame: Frame, catalogue: Catalogue, limits: Limits, problems: Problems) -> None:
        self._frame = frame
        self._catalogue = catalogue
        self._limits = limits
        self._problems = problems

    def run(self) -> Definition | None:
        schedules = self._schedules()
        key = self._key()
        drafts = self._drafts()
        self._check_settings()
        if not drafts:
            return None
        ids = {draft.id for draft in drafts}
        routes = self._routes(drafts, ids)
        self._check_error_targets(drafts, ids)
        start = self._marked_start(drafts) or self._unmarked_start(drafts, routes)
        repeated_routes(routes, self._problems)
        if shows_graph(self._problems.all):
            Whole(drafts, routes, start, self._problems).warn(self._catalogue)
        if self._problems.any_error:
            return None
        return self._definition(key, drafts, routes, start, schedules)

    def _value(self, name: str) -> Json:
        part = self._frame.get(name)
        return None if part is None else part.value

    def _text(self, name: str) -> str | None:
        value = self._value(name)
        return value if isinstance(value, str) else None

    def _schedules(self) -> tuple[Schedule, ...]:
        part = self._frame.get("schedule")
        if part is None:
            return ()
        names = {as_id(self._value("key")), as_id(self._value("id"))} - {None}
        refuse_foreign_schedules(part.value, part.pointer, names, self._problems)
        return read_schedules(part.value, part.pointer, self._problems)

    def _key(self) -> str | None:
        """The key that the author chose: `key`, else `id`. An `id` beside a `key` is another system's."""
        part = self._frame.get("key") or self._frame.get("id")
        if part is None:
            return None
        key = as_id(part.value)
        if key is None or KEY.fullmatch(key) is None:
            suggestion = f"how about `{slug(key)}`?" if key else None
            self._problems.error("INVALID_KEY", part.pointer, f"A key has {KEY_RULE}.", suggestion)
        elif key in RESERVED:
            message = f"`{key}` is a path of the API, so no workflow can have it as its key."
            self._problems.error("RESERVED_KEY", part.pointer, message, f"how about `{key}-workflow`?")
        return key

    def _drafts(self) -> list[Draft]:
        part = self._frame.get("nodes")
        if part is None or not isinstance(part.value, list) or not part.value:
            at = part.pointer if part else ""
            self._problems.error("EMPTY_DEFINITION", at, f"There are no nodes. {LOOKS_LIKE}")
            return []
        if len(part.value) > self._limits.nodes:
            message = f"There are {len(part.value):,} nodes; at most {self._limits.nodes:,} are allowed."
            self._problems.error("TOO_MANY_NODES", part.pointer, message)
            return []
        return read_nodes(
            part.value, part.pointer, self._routed(part.value), self._catalogue, self._limits, self._problems
        )

    def _check_settings(self) -> None:
        """Expressions of the workflow as a whole: they are parsed, and not held against any node."""
        for name in ("output", "vars", "concurrency"):
            part = self._frame.get(name)
            if part is not None:
                list(check_templates(part.value, Below(part.pointer), self._problems))
        self._check_search()

    def _check_search(self) -> None:
        part = self._frame.get("search")
        for place, name in enumerate(part.value if part and isinstance(part.value, list) else ()):
            try:
                context_path(name if isinstance(name, str) else "x")
            except ExpressionSyntaxError as error:
                pointer = child(part.pointer if part else "", place)
                self._problems.error("INVALID_PATH", pointer, f"{error.message}.", column=error.column)

    def _routed(self, nodes: list[Json]) -> bool:
        """Whether anything says where to go: an empty list does not."""
        return bool(self._value("routing")) or any(
            isinstance(node, dict) and bool(node.get("routing")) for node in nodes
        )

    def _routes(self, drafts: list[Draft], ids: set[str]) -> list[Route]:
        if not self._routed([draft.fields for draft in drafts]):
            return [
                Route(Edge(one.id, other.id), other.pointer, other.pointer) for one, other in pairwise(drafts)
            ]
        part = self._frame.get("routing")
        routes = read_routes(part.value, part.pointer, None, ids, self._problems) if part else []
        for draft in drafts:
            own = draft.fields.get("routing")
            routes += read_routes(own, child(draft.pointer, "routing"), draft.id, ids, self._problems)
        routes = loose_ends(routes, ids, self._problems)
        check_switches(routes, self._problems)
        return routes

    def _check_error_targets(self, drafts: list[Draft], ids: set[str]) -> None:
        for draft in drafts:
            target = draft.on_error_target
            if target is not None and target not in ids:
                unknown_node(target, child(draft.pointer, "onError", "goto"), ids, self._problems)

    def _marked_start(self, drafts: list[Draft]) -> Draft | None:
        marked = [draft for draft in drafts if draft.fields.get("isStartNode") is True]
        for draft in marked[1:]:
            message = f"`{marked[0].id}` is the start node already."
            self._problems.error("SEVERAL_START_NODES", child(draft.pointer, "isStartNode"), message)
        return marked[0] if marked else None

    def _unmarked_start(self, drafts: list[Draft], routes: list[Route]) -> Draft:
        """The one node that nothing leads to, else the first."""
        led_to = {route.edge.target for route in routes} | {draft.on_error_target for draft in drafts}
        free = [draft for draft in drafts if draft.id not in led_to]
        start = (free or drafts)[0]
        if len(free) != 1:
            why = "No route leads to several nodes" if free else "Routes lead to every node"
            message = f"{why}, so `{start.id}` starts, being first; mark one with `isStartNode`."
            self._problems.warn("UNCLEAR_START", start.pointer, message)
        return start

    def _definition(
        self,
        key: str | None,
        drafts: list[Draft],
        routes: list[Route],
        start: Draft,
        schedules: tuple[Schedule, ...],
    ) -> Definition:
        return Definition(
            name=(self._text("name") or "").strip() or None,
            nodes=tuple(replace(draft.node, is_start=draft is start) for draft in drafts if draft.node),
            edges=tuple(route.edge for route in routes),
            key=key,
            description=self._text("description"),
            status=WorkflowStatus(self._text("status") or WorkflowStatus.ACTIVE),
            workflow_type=self._workflow_type(schedules, start),
            institute_id=self._text("instituteId") or "",
            created_by_user_id=self._text("createdByUserId"),
            schedules=schedules,
            output=self._value("output"),
            durability=self._text("durability") or "journal",
            concurrency=cast("JsonObject | None", self._value("concurrency")),
            search=tuple(cast("list[str]", self._value("search") or [])),
            vars=cast("JsonObject", self._value("vars") or {}),
            watch=self._value("watch") is True or any(_has_deadline(route.edge) for route in routes),
        )

    def _workflow_type(self, schedules: tuple[Schedule, ...], start: Draft) -> WorkflowType:
        """What is written, else what the document implies."""
        written = self._text("workflowType")
        if written is not None:
            return WorkflowType(written)
        if start.type is not None and start.type.kind is NodeKind.START:
            return WorkflowType.TRIGGERED
        return WorkflowType.SCHEDULED if schedules else WorkflowType.MANUAL


def _has_deadline(edge: Edge) -> bool:
    return edge.max_latency_sec is not None or edge.absolute_deadline is not None
