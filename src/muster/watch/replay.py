"""Stored events through a graph once more: fresh state in memory, and what would be different. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heappop, heappush
from itertools import count

from muster.model.watching import (
    AlertReason,
    Event,
    Expectation,
    ExpectationStatus,
    Run,
    Severity,
    WatchedGraph,
    worst,
)
from muster.watch.evaluate import apply, begins_anew, evaluate, miss
from muster.watch.grouping import group_hash, restricted

# Of each kind of difference, as many are named.
MOST_NAMED = 100

RunPlace = tuple[str, int]  # a correlation key and the number of its run
NodePlace = tuple[str, str]  # a correlation key and a node


@dataclass(slots=True)
class Told:
    """What came of events. `misses` counts what was due and did not come; `alerts` has the latest reason and
    the worst severity."""

    events: int = 0
    runs: dict[RunPlace, Severity] = field(default_factory=dict)
    misses: dict[NodePlace, int] = field(default_factory=dict)
    alerts: dict[NodePlace, tuple[str, Severity]] = field(default_factory=dict)


class Replaying:
    """Takes events in the order in which they were received; between them, what is due is missed."""

    def __init__(self, graph: WatchedGraph) -> None:
        self._graph, self._ids = graph, count(1)
        self._latest: dict[str, Run] = {}
        self._due: list[tuple[datetime, int, Expectation, Run]] = []
        self.told = Told()

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.event_type in self._graph.by_event_type:
                self.pass_until(event.received_at)
                self._take(event)

    def pass_until(self, moment: datetime) -> None:
        """Let all be missed that was due before then."""
        while self._due and self._due[0][0] < moment:
            at, _, expected, run = heappop(self._due)
            if expected.status is ExpectationStatus.PENDING:
                miss(self._graph, run, expected, at)
                self._note(run)
                place = (run.correlation_key, expected.target)
                self.told.misses[place] = self.told.misses.get(place, 0) + 1
                self._alert(run, expected.target, AlertReason.EXPECTED_MISSED, expected.severity)

    def _take(self, event: Event) -> None:
        run = self._latest.get(event.correlation_key)
        if run is None or begins_anew(self._graph, run, event):
            run = self._latest[event.correlation_key] = self._begun(event, run)
        outcome = evaluate(self._graph, run, event)
        for expected in apply(run, outcome, self._numbers).created:
            if expected.status is ExpectationStatus.PENDING:
                # What was due before anybody knew of it is missed once it is known.
                at = max(expected.due_at, expected.created_at)
                heappush(self._due, (at, expected.id, expected, run))
        self.told.events += 1
        self._note(run)
        if outcome.trigger is not None:
            self._alert(run, outcome.node, outcome.trigger, outcome.status)

    def _begun(self, event: Event, last: Run | None) -> Run:
        group = restricted(event.group, self._graph.group_dimensions)
        return Run(
            id=next(self._ids),
            version_id=0,
            correlation_key=event.correlation_key,
            number=1 if last is None else last.number + 1,
            institute_id=event.institute_id,
            group=group,
            group_hash=group_hash(group),
            started_at=event.received_at,
            updated_at=event.received_at,
        )

    def _numbers(self, many: int) -> int:
        first = next(self._ids)
        for _ in range(many - 1):
            next(self._ids)
        return first

    def _note(self, run: Run) -> None:
        self.told.runs[run.correlation_key, run.number] = run.status

    def _alert(self, run: Run, node: str, reason: AlertReason, severity: Severity) -> None:
        place = (run.correlation_key, node)
        before = self.told.alerts.get(place)
        so_far = Severity.GREEN if before is None else before[1]
        self.told.alerts[place] = (reason.value, worst(so_far, severity))


@dataclass(frozen=True, slots=True)
class Compared:
    """One kind of thing, as it is now and as it would be. Each list names some; the counts are of all."""

    now: int
    replayed: int
    only_now: Sequence[tuple[str, str]]
    only_replayed: Sequence[tuple[str, str]]
    changed: Sequence[tuple[str, str]]
    differences: int


@dataclass(frozen=True, slots=True)
class Report:
    events: int
    runs: Compared
    misses: Compared
    alerts: Compared

    @property
    def differs(self) -> bool:
        return any(part.differences for part in (self.runs, self.misses, self.alerts))


def compare(now: Told, replayed: Told) -> Report:
    """What would be different."""
    return Report(
        replayed.events,
        _compared(_named(now.runs), _named(replayed.runs)),
        _compared(now.misses, replayed.misses),
        _compared(now.alerts, replayed.alerts),
    )


def _named(runs: Mapping[RunPlace, Severity]) -> Mapping[tuple[str, str], Severity]:
    return {(key, str(number)): status for (key, number), status in runs.items()}


def _compared(now: Mapping[tuple[str, str], object], replayed: Mapping[tuple[str, str], object]) -> Compared:
    only_now = sorted(now.keys() - replayed.keys())
    only_replayed = sorted(replayed.keys() - now.keys())
    changed = sorted(place for place in now.keys() & replayed.keys() if now[place] != replayed[place])
    differences = len(only_now) + len(only_replayed) + len(changed)
    return Compared(
        len(now),
        len(replayed),
        only_now[:MOST_NAMED],
        only_replayed[:MOST_NAMED],
        changed[:MOST_NAMED],
        differences,
    )
