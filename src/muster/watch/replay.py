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
)
from muster.watch.alerts import Settled, Standing, Step, after
from muster.watch.evaluate import apply, begins_anew, evaluate, miss, trigger_of, withdraw
from muster.watch.grouping import group_hash, restricted
from muster.watch.rollups import bucket
from muster.watch.starts import expected_of, expected_run, next_start, occurrence

# Of each kind of difference, as many are named.
MOST_NAMED = 100

LATE = frozenset({AlertReason.SLA_MISSED.value, AlertReason.EXPECTED_MISSED.value})

RunPlace = tuple[str, int]  # a correlation key and the number of its run
NodePlace = tuple[str, str]  # a correlation key and a node


@dataclass(slots=True)
class Told:
    """What came of events. `misses` counts what had not come when it was due: whether it was found missing,
    or came late before anybody looked. `alerts` has what they are about, and the worst severity."""

    events: int = 0
    runs: dict[RunPlace, Severity] = field(default_factory=dict)
    misses: dict[NodePlace, int] = field(default_factory=dict)
    alerts: dict[NodePlace, tuple[str, Severity]] = field(default_factory=dict)


class Replaying:
    """Takes events in the order in which they were received; between them, what is due is missed. Runs are
    expected to begin by the clock from `expects_from` on (None: not at all), but none that began before
    `since`."""

    def __init__(
        self, graph: WatchedGraph, expects_from: datetime | None = None, since: datetime | None = None
    ) -> None:
        self._graph, self._since, self._ids = graph, since, count(1)
        self._latest: dict[str, Run] = {}
        self._due: list[tuple[datetime, int, Expectation, Run]] = []
        self._alerts: dict[NodePlace, Standing] = {}
        # When a start last came, of a key and of any.
        self._came: dict[NodePlace, datetime] = {}
        self._any_came: dict[str, datetime] = {}
        self._starts: list[tuple[datetime, str]] = []
        self.told = Told()
        for node in graph.nodes if expects_from is not None else ():
            self._expect_after(node.key, expects_from)

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.event_type in self._graph.by_event_type:
                self.pass_until(event.received_at)
                self._take(event)

    def pass_until(self, moment: datetime) -> None:
        """Let all be missed that was due before then."""
        while True:
            due = self._due[0][0] if self._due else moment
            if self._starts and self._starts[0][0] < moment and self._starts[0][0] <= due:
                self._expect(*heappop(self._starts))
            elif due < moment:
                at, _, expected, run = heappop(self._due)
                if expected.status is ExpectationStatus.PENDING:
                    self._miss(run, expected, at)
            else:
                return

    def _miss(self, run: Run, expected: Expectation, at: datetime) -> None:
        if self._began_elsewhere(run, expected):
            withdraw(run, expected, at)
            return
        miss(self._graph, run, expected, at)
        self._note(run)
        self._count(run, expected.target)
        self._alert(run, trigger_of(run, expected.target, expected.severity, AlertReason.EXPECTED_MISSED, at))

    def _take(self, event: Event) -> None:
        run = self._latest.get(event.correlation_key)
        if run is None or begins_anew(self._graph, run, event):
            run = self._latest[event.correlation_key] = self._begun(event, run)
        outcome = evaluate(self._graph, run, event)
        for expected in apply(run, outcome, self._numbers).created:
            if expected.status is ExpectationStatus.PENDING:
                # What was due before anybody knew of it is missed once it is known.
                self._await(run, expected, max(expected.due_at, expected.created_at))
        self.told.events += 1
        self._note(run)
        if outcome.starts:
            self._came[run.correlation_key, outcome.node] = outcome.at
            self._any_came[outcome.node] = outcome.at
        if outcome.counts_late:
            self._count(run, outcome.node)
        if outcome.trigger is not None:
            self._alert(run, trigger_of(run, outcome.node, outcome.status, outcome.trigger, outcome.at))
        if outcome.settles:
            self._alert(run, Settled("", outcome.at), outcome.node)

    def _await(self, run: Run, expected: Expectation, at: datetime) -> None:
        heappush(self._due, (at, expected.id, expected, run))

    def _expect_after(self, node: str, moment: datetime | None) -> None:
        expected = self._graph.by_key[node].expect_start
        following = None if expected is None or moment is None else next_start(expected, moment)
        if following is not None:
            heappush(self._starts, (following, node))

    def _expect(self, at: datetime, node: str) -> None:
        """That a run begins, as whoever watches expects it."""
        self._expect_after(node, at)
        expected = self._graph.by_key[node].expect_start
        assert expected is not None
        when = occurrence(node, expected, at)
        last = self._latest.get(when.key)
        began = last is not None and last.started_at >= when.since
        came = self._came.get((when.key, node))
        if began or (came and came >= when.since) or (self._since and when.since < self._since):
            return
        if last is not None and last.finished_at is None:
            start = expected_of(last.id, self._numbers(1), node, when, at)
            last.expectations.append(start)
            self._await(last, start, start.due_at)
            return
        run = expected_run(self._numbers(1), self._numbers(1), 0, "", node, when, at)
        run.number = 1 if last is None else last.number + 1
        self._latest[when.key] = run
        self._note(run)
        self._await(run, run.expectations[0], when.due_at)

    def _began_elsewhere(self, run: Run, expected: Expectation) -> bool:
        """Whether it was to begin at all, and did, under a key of its own. Counts are by the minute."""
        start = None if expected.source else self._graph.by_key[expected.target].expect_start
        came = self._any_came.get(expected.target)
        return start is not None and start.key is None and came is not None and came >= bucket(run.started_at)

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

    def _count(self, run: Run, node: str) -> None:
        place = (run.correlation_key, node)
        self.told.misses[place] = self.told.misses.get(place, 0) + 1

    def _alert(self, run: Run, step: Step, node: str = "") -> None:
        place = (run.correlation_key, node if isinstance(step, Settled) else step.node)
        standing = after(self._alerts.get(place), [step])
        if standing is not None:
            self._alerts[place] = standing
            self.told.alerts[place] = (str(standing.reason), standing.severity)


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
        _compared(_about(now.alerts), _about(replayed.alerts)),
    )


def _about(alerts: Mapping[NodePlace, tuple[str, Severity]]) -> Mapping[tuple[str, str], object]:
    """Whether something was found missing before it came, or came late before anybody looked, is a matter of
    moments: both are late."""
    return {place: (LATE if reason in LATE else reason, worst) for place, (reason, worst) in alerts.items()}


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
