"""The rules of advancing again, slowly: what `advance` and the engine are compared with.

Sets and searches, and nothing kept between two steps but tokens and counts. It knows no time, no retries and
no people: it is told what visits came to, in the order in which that was written down.
"""

from dataclasses import dataclass, field

from muster.engine.state import Completed, Failed
from muster.model.json import JsonObject
from muster.model.workflow import Definition, Edge, EdgeType, Join, Node

DEFAULT_MAX_VISITS = 1000


@dataclass
class Reference:
    """One execution. `join: any` is beyond it."""

    definition: Definition
    visits: dict[str, int] = field(default_factory=dict)
    running: set[tuple[str, int]] = field(default_factory=set)
    joining: set[str] = field(default_factory=set)
    context: JsonObject = field(default_factory=dict)
    failed: bool = False

    def start(self) -> None:
        for node in self.definition.nodes:
            if node.is_start:
                self._enter(node.id)
        self._settle()

    def happen(self, event: Completed | Failed) -> None:
        self.running.discard((event.node, event.visit))
        node = self.definition.node(event.node)
        if isinstance(event, Failed):
            if node.on_error is None:
                self.failed = True
                return
            self.context["_error"] = {
                "node": event.node,
                "type": event.failure.type,
                "message": event.failure.message,
            }
            if isinstance(node.on_error, dict):
                self._enter(str(node.on_error["goto"]))
                self._settle()
                return
        else:
            self.context.update(event.changes)
        if not node.is_end:
            for target in self._targets(event.node):
                self._enter(target)
        self._settle()

    def _targets(self, name: str) -> list[str]:
        return [edge.target for edge in self.definition.edges if edge.source == name and self._holds(edge)]

    def _holds(self, edge: Edge) -> bool:
        """Conditions ask for `c_` and switches for `s_` and the node's name: all that this needs to know of
        expressions."""
        if edge.type is EdgeType.CONDITIONAL:
            return self.context.get(f"c_{edge.source}") is edge.value
        if edge.type is EdgeType.SWITCH:
            return str(self.context.get(f"s_{edge.source}")) == str(edge.value)
        return True

    def _enter(self, target: str) -> None:
        inbound = sum(after == target for _, after in self._ways())
        if self.definition.node(target).join is Join.ALL and inbound > 1:
            self.joining.add(target)
        else:
            self._visit(target)

    def _visit(self, target: str) -> None:
        self.visits[target] = self.visits.get(target, 0) + 1
        if self.visits[target] > (self.definition.node(target).max_visits or DEFAULT_MAX_VISITS):
            self.failed = True
        else:
            self.running.add((target, self.visits[target]))

    def _settle(self) -> None:
        order = [node.id for node in self.definition.nodes]
        while self.joining and not self.failed:
            standing = sorted(self.joining, key=order.index)
            live = [name for name, _ in self.running] + standing
            free = [
                name
                for name in standing
                if not any(
                    self._reaches(other, name) for other in live if other != name or live.count(name) > 1
                )
            ]
            if not free and self.running:
                return
            chosen = (free or standing)[0]
            self.joining.discard(chosen)
            self._visit(chosen)

    def _reaches(self, source: str, target: str) -> bool:
        seen: set[str] = set()
        front = {source}
        while front:
            front = {after for before, after in self._ways() if before in front} - seen
            seen |= front
        return target in seen

    def _ways(self) -> list[tuple[str, str]]:
        ways = [(edge.source, edge.target) for edge in self.definition.edges]
        return ways + [error for node in self.definition.nodes for error in _error_ways(node)]


def _error_ways(node: Node) -> list[tuple[str, str]]:
    return [(node.id, str(node.on_error["goto"]))] if isinstance(node.on_error, dict) else []
