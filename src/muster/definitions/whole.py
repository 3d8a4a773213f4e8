"""What only shows when nodes and edges are seen together."""

from collections.abc import Iterable

from muster.definitions.configs import Uses, condition_names
from muster.definitions.graph import cycles, reachable
from muster.definitions.pointers import child, steps
from muster.definitions.problems import Problems
from muster.definitions.read_nodes import Draft
from muster.definitions.routes import Route
from muster.definitions.variables import Variables
from muster.model.node_type import Catalogue, NodeKind
from muster.model.problems import Level, Problem

_LOOP_SHOWN = 5
# What the ways of a document are read from: with one of these wrong, they are not what its author meant.
_WAYS = frozenset({"nodes", "steps", "routing", "edges", "onError", "isStartNode", "isEndNode", "maxVisits"})
_ORDER = frozenset({"id", "nodeOrder", "workflow"})
_OF_WAYS = frozenset({"MISSING_ID", "DUPLICATE_ID", "INVALID_ID", "SEVERAL_START_NODES"})


def shows_graph(problems: Iterable[Problem]) -> bool:
    """Whether the ways between nodes can be told, whatever else is wrong with a document."""
    return not any(problem.level is Level.ERROR and _hides_graph(problem) for problem in problems)


def _hides_graph(problem: Problem) -> bool:
    path = steps(problem.pointer)
    within = path[1:] if path[:1] == ["workflow"] else path
    if problem.code in _OF_WAYS:
        return True
    if problem.code == "UNKNOWN_FIELD" and len(within) in (1, 3):
        meant = problem.suggestion or ""
        return any(f"`{name}`" in meant for name in _WAYS | _ORDER)
    if within[:1] in (["nodes"], ["steps"]):
        # The list itself, an entry that is no node, or one of the fields of a node.
        if len(within) == 2:
            return problem.code == "WRONG_TYPE"
        return len(within) == 1 or within[2] in _WAYS | _ORDER
    return within[:1] in (["routing"], ["edges"], ["workflow"])


class Whole:
    """A document whose ways are sound, looked at as one graph. Finds warnings only."""

    def __init__(self, drafts: list[Draft], routes: list[Route], start: Draft, problems: Problems) -> None:
        self._drafts = drafts
        self._by_id = {draft.id: draft for draft in drafts}
        self._routes = routes
        self._start = start
        self._problems = problems
        self._successors = self._edges()

    def _edges(self) -> dict[str, list[str]]:
        """Where a token may go: error edges are ways too, and an end node has none."""
        successors: dict[str, list[str]] = {draft.id: [] for draft in self._drafts}
        for route in self._routes:
            if self._by_id[route.edge.source].fields.get("isEndNode") is not True:
                successors[route.edge.source].append(route.edge.target)
        for draft in self._drafts:
            if draft.on_error_target in self._by_id:
                successors[draft.id].append(draft.on_error_target)
        return successors

    def warn(self, catalogue: Catalogue) -> None:
        self._of_unreachable()
        self._of_loops()
        self._of_dedupe()
        self._of_unset(catalogue)

    def _of_unreachable(self) -> None:
        reached = reachable(self._start.id, self._successors)
        for draft in self._drafts:
            if draft.id not in reached:
                message = (
                    f"Nothing leads from `{self._start.id}`, which starts, to `{draft.id}`: it never runs."
                )
                self._problems.warn("UNREACHABLE_NODE", draft.pointer, message)

    def _of_loops(self) -> None:
        position = {draft.id: number for number, draft in enumerate(self._drafts)}
        busy = {draft.id for draft in self._drafts if not _holds_up(draft)}
        inner = {node: self._successors[node] for node in busy}
        for loop in cycles(sorted(busy, key=position.__getitem__), inner):
            shown = loop[:_LOOP_SHOWN] + ["…"] * (len(loop) > _LOOP_SHOWN)
            around = " → ".join([*shown, loop[0]])
            message = f"{around} goes round without a wait or a delay; give one of its nodes `maxVisits`."
            first = min(loop, key=position.__getitem__)
            self._problems.warn("ENDLESS_LOOP", self._by_id[first].pointer, message)

    def _of_dedupe(self) -> None:
        for draft in self._drafts:
            has_effect = draft.type is None or draft.type.kind is NodeKind.EFFECT
            if draft.fields.get("dedupe") is not None and not has_effect:
                message = f"`{draft.id}` has no effect outside: `dedupe` does nothing there."
                self._problems.warn("IGNORED_FIELD", child(draft.pointer, "dedupe"), message)

    def _of_unset(self, catalogue: Catalogue) -> None:
        variables = Variables({draft.id: _sets(draft, catalogue) for draft in self._drafts}, self._successors)
        for use, draft, after in self._uses():
            local = draft.type.local_names if draft.type is not None else frozenset()
            if use.name not in local and not variables.known(use.name, draft.id, after):
                message = f"No earlier node sets `{use.name}`: it must come with what starts the execution."
                self._problems.warn("UNSET_VARIABLE", use.pointer, message)

    def _uses(self) -> list[tuple[Uses, Draft, bool]]:
        """Each name that an expression reads, the node at which, and whether once that node is done."""
        uses = [(each, draft, False) for draft in self._drafts for each in draft.uses]
        for route in self._routes:
            text = route.edge.condition or route.edge.expression
            name = "condition" if route.edge.condition else "expression"
            if text:
                found = condition_names(text, child(route.pointer, name))
                uses += [(each, self._by_id[route.edge.source], True) for each in found]
        return uses


def _holds_up(draft: Draft) -> bool:
    """Whether a node keeps a loop from spinning: it waits, as one of no known type may, or may only be
    visited so often."""
    waits = draft.type is None or draft.type.kind is NodeKind.WAIT
    return waits or draft.fields.get("maxVisits") is not None


def _sets(draft: Draft, catalogue: Catalogue) -> frozenset[str] | None:
    if draft.type is None or draft.node is None:
        return None
    return draft.type.sets(draft.node.config, catalogue.queries)
