"""Watching as its rules say, the plain way: every question is answered by going through all that is there,
and nothing is kept that could be counted. Slow, and easy to believe."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from muster.model.watching import Severity, WatchedEdge, WatchedGraph

WORST = [Severity.GREEN, Severity.AMBER, Severity.RED]


@dataclass(frozen=True)
class Happened:
    """An event of a node, or, without one, a look at the clock."""

    at: datetime
    node: str | None = None
    event_time: datetime | None = None
    group: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Flags:
    """What is told of one event: late, late and not counted so before, out of order, from the future."""

    node: str
    late: bool
    counted: bool
    violation: bool
    ahead: bool


@dataclass
class Slot:
    edge: WatchedEdge
    due: datetime
    made_by: int
    status: str = "pending"


@dataclass
class Story:
    """One run, told from its beginning."""

    graph: WatchedGraph
    # Of all runs of the key: what an alert is about, how often it was triggered, and how bad it is.
    alerts: dict[str, tuple[str, int, int]]
    is_open: dict[str, bool]
    group: tuple[tuple[str, str], ...] = ()
    slots: list[Slot] = field(default_factory=list)
    came: Counter[str] = field(default_factory=Counter)
    early: Counter[str] = field(default_factory=Counter)
    late: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)
    worst: int = 0
    flags: list[Flags] = field(default_factory=list)

    @property
    def finished(self) -> bool:
        over = any(self.came[node] for node in self.graph.terminals)
        begun = any(self.came[node.key] for node in self.graph.nodes if node.start)
        ahead = not begun and any(self.early.values())
        return over and not ahead and all(slot.status != "pending" for slot in self.slots)

    def in_flight(self, node: str) -> int:
        return sum(
            1 for s in self.slots if s.edge.target == node and not s.edge.optional and s.status != "cleared"
        )

    def event(self, number: int, happened: Happened) -> None:
        node = happened.node
        assert node is not None
        assert happened.event_time is not None
        self.came[node] += 1
        mine = [slot for slot in self.slots if slot.edge.target == node]
        candidates = [slot for slot in mine if slot.status == "pending"] or [
            slot for slot in mine if slot.status == "fired"
        ]
        creates, late, counted, violation = True, False, False, False
        if candidates:
            slot = min(candidates, key=self._precedence)
            creates = self._is_first(slot)
            late = slot.status == "fired" or happened.at > slot.due
            counted = late and slot.status != "fired"
            if slot.status == "fired":
                self._bad(slot.edge.severity)
                if not any(s.status == "fired" for s in mine if s is not slot):
                    self._resolved(node)
            elif happened.at > slot.due:
                self.late[node] += 1
                self._bad(slot.edge.severity)
                self._alert(node, "SLA_MISSED", slot.edge.severity)
            slot.status = "cleared"
        elif not self._may_come_alone(node):
            violation = True
            self.violations[node] += 1
            self.early[node] += 1
            self._bad(Severity.RED)
            self._alert(node, "ORDER_VIOLATION", Severity.RED)
        self.flags.append(Flags(node, late, counted, violation, happened.event_time > happened.at))
        if creates:
            self._expect(number, node, min(happened.event_time, happened.at))

    def _precedence(self, slot: Slot) -> tuple[datetime, bool, bool, str]:
        """Due first; at one moment what is in flight, then the rest of what has begun to come."""
        return slot.due, slot.edge.optional, self._is_first(slot), slot.edge.source

    def _is_first(self, slot: Slot) -> bool:
        siblings = [s for s in self.slots if s.made_by == slot.made_by and s.edge is slot.edge]
        return all(s.status != "cleared" for s in siblings)

    def _may_come_alone(self, node: str) -> bool:
        inbound = [edge for edge in self.graph.edges if edge.target == node]
        return self.graph.by_key[node].start or all(edge.optional for edge in inbound)

    def _expect(self, number: int, node: str, since: datetime) -> None:
        for edge in self.graph.edges:
            if edge.source != node or (edge.optional and not self.graph.watches_optional):
                continue
            for _ in range(edge.expected_count):
                slot = Slot(edge, _due(edge, since), number)
                if self.early[edge.target]:
                    self.early[edge.target] -= 1
                    slot.status = "cleared"
                self.slots.append(slot)

    def look(self, at: datetime) -> None:
        for slot in self.slots:
            if slot.status == "pending" and slot.due <= at:
                slot.status = "fired"
                self.late[slot.edge.target] += 1
                self._bad(slot.edge.severity)
                self._alert(slot.edge.target, "EXPECTED_MISSED", slot.edge.severity)

    def _bad(self, severity: Severity) -> None:
        self.worst = max(self.worst, WORST.index(severity))

    def _alert(self, node: str, reason: str, severity: Severity) -> None:
        """A miss is what an alert is about if nothing else is."""
        before, count, bad = self.alerts.get(node, ("", 0, 0))
        stays = reason == "EXPECTED_MISSED" and self.is_open.get(node, False)
        self.alerts[node] = (before if stays else reason, count + 1, max(bad, WORST.index(severity)))
        self.is_open[node] = True

    def _resolved(self, node: str) -> None:
        if self.alerts[node][0] == "EXPECTED_MISSED":
            self.is_open[node] = False


def _due(edge: WatchedEdge, since: datetime) -> datetime:
    """So long after an event, or by a time of its own day, or of the next; the earlier of both."""
    found = []
    if edge.max_latency_sec is not None:
        found.append(since + timedelta(seconds=edge.max_latency_sec))
    if edge.absolute_deadline is not None:
        zone = timezone(edge.absolute_deadline.offset or timedelta(0))
        by = datetime.combine(since.astimezone(zone).date(), edge.absolute_deadline.at, zone)
        found.append(by + timedelta(days=1) if edge.deadline_rollover and by < since else by)
    return min(found)


def told(graph: WatchedGraph, trace: list[Happened]) -> list[Story]:
    """The runs of one key, from the beginning to the end of a trace."""
    stories: list[Story] = []
    alerts: dict[str, tuple[str, int, int]] = {}
    is_open: dict[str, bool] = {}
    for number, happened in enumerate(trace):
        if happened.node is None:
            for story in stories:
                story.look(happened.at)
            continue
        anew = not stories or (stories[-1].finished and graph.by_key[happened.node].start)
        if anew:
            stories.append(Story(graph, alerts, is_open, happened.group))
        stories[-1].event(number, happened)
    return stories
