"""What was due and did not come: each miss fires once, with all that follows from it, in one transaction.

A run is locked before what it expects is looked at, by events and by misses alike: of an arrival and a miss
at the same moment, one finds the other done. Runs that somebody else holds are passed over, and looked at
again.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, and_, bindparam, exists, literal_column, not_, select

from muster.engine.state import ExecutionStatus
from muster.model.json import JsonObject
from muster.model.watching import AlertReason, Expectation, ExpectationStatus, Run, Trigger
from muster.store.database import Database
from muster.store.dialect import now
from muster.store.outbox import add_messages
from muster.store.sets import lock_free
from muster.store.tables import expectation, workflow_execution, workflow_run
from muster.store.watch_alerts import write_alerts
from muster.store.watch_counts import Tally
from muster.store.watch_kept import KeptRuns
from muster.store.watch_presence import read_presence
from muster.store.watch_runs import change_expectations, change_runs, hold, with_expectations
from muster.store.watch_starts import has_begun, has_begun_by_counts
from muster.store.watched_graphs import WatchedGraphs
from muster.watch.alerts import Step
from muster.watch.evaluate import abandon, miss, trigger_of, withdraw
from muster.watch.messages import (
    abandoned_evaluated,
    alert_triggered,
    miss_evaluated,
    synthetic_missed,
    withdrawn_evaluated,
)
from muster.watch.outage import Held, held
from muster.watch.posting import Post, TopicNames
from muster.watch.stages import Stage

E = expectation.c
R = workflow_run.c
X = workflow_execution.c
# Spelled out, so that the index of what is not cleared is recognised: PostgreSQL concludes it from the status
# if that is no parameter, SQLite does not.
NOT_CLEARED = E.status != literal_column("'cleared'")
PENDING = and_(E.status == literal_column("'pending'"), NOT_CLEARED)
MISSED = and_(E.status == literal_column("'fired'"), NOT_CLEARED, E.abandoned_at.is_(None))


@dataclass(frozen=True, slots=True)
class DueExpectations:
    """`owner` is who lets them fire. `wanted` are the topics that somebody wants messages on."""

    database: Database
    graphs: WatchedGraphs
    owner: str
    stages: Set[Stage]
    topics: TopicNames
    wanted: Callable[[], Collection[str]]
    grace: timedelta
    abandon_after: timedelta
    # Runs that are kept for the next event: not those that a miss has changed.
    at_hand: KeptRuns = field(default_factory=KeptRuns)

    async def fire(self, most: int) -> int:
        """Let so many fire at most that are due; how many did."""
        wanted = self.wanted()
        return await self.database.write(lambda connection: self._fire(connection, most, wanted))

    async def abandon(self, most: int) -> int:
        """Count no longer on so many at most that were missed long ago; how many those were."""
        wanted = self.wanted()
        return await self.database.write(lambda connection: self._abandon_old(connection, most, wanted))

    async def next_due(self) -> datetime | None:
        """When the next one is due."""
        wanted = select(E.due_at).where(PENDING).order_by(E.due_at).limit(1)
        return await self.database.read(lambda connection: connection.scalar(wanted), single=True)

    def _fire(self, connection: Connection, most: int, wanted: Collection[str]) -> int:
        at = now(connection)
        held_back = self._held_back(connection, at)
        chosen = [PENDING, E.due_at <= at, *_not_held(held_back), *self._readable()]
        runs = _locked(connection, and_(*chosen), most)
        self.graphs.load(connection, {run.version_id for run in runs})
        report = _Report(self, Post(self.topics, wanted), at)
        cancelled = self._cancelled(connection, runs)
        for run in runs:
            due = [each for each in run.expectations if _is_due(each, at, held_back)]
            if run.correlation_key in cancelled and self._is_own(run):
                for each in due:
                    report.withdrawn(run, each)
                continue
            for each in sorted(due, key=lambda each: (each.due_at, each.id)):
                # It was to begin at all, and it did, under a key of its own.
                if self._any_will_do(run, each) and self._has_begun(connection, run, each.target):
                    report.withdrawn(run, each)
                else:
                    report.missed(run, each)
        report.write(connection)
        return len(report.changed)

    def _held_back(self, connection: Connection, at: datetime) -> list[Held]:
        """What does not fire, since events may not have got here. Where they come by way of another's stage,
        that one may have been away, or this one."""
        before = (Stage.INGEST,) if Stage.INGEST in self.stages else (Stage.INGEST, Stage.RULE)
        found = (held(read_presence(connection, stage), at, self.grace) for stage in before)
        return [each for each in found if each is not None]

    def _readable(self) -> Iterator[ColumnElement[bool]]:
        """But for what is left alone, since its version cannot be read: it would keep all others waiting."""
        if versions := sorted(self.graphs.unreadable):
            its = and_(R.id == E.workflow_run_id, R.workflow_version_id.in_(versions))
            yield not_(exists().where(its))

    def _any_will_do(self, run: Run, each: Expectation) -> bool:
        """Whether it is that a run begins at all, under whichever key."""
        if each.source or not self.graphs.has(run.version_id):
            return False
        node = self.graphs.graph(run.version_id).by_key.get(each.target)
        return node is not None and node.expect_start is not None and node.expect_start.key is None

    def _has_begun(self, connection: Connection, run: Run, node: str) -> bool:
        # Where counting is done elsewhere, counts are behind.
        look = has_begun_by_counts if Stage.AGGREGATE in self.stages else has_begun
        return look(connection, run, node)

    def _cancelled(self, connection: Connection, runs: Sequence[Run]) -> Collection[str]:
        """Executions of Muster's own, among these runs, that nobody wants any more."""
        ids = [run.correlation_key for run in runs if self._is_own(run)]
        return set(connection.scalars(_CANCELLED, {"ids": ids})) if ids else ()

    def _is_own(self, run: Run) -> bool:
        return self.graphs.has(run.version_id) and self.graphs.graph(run.version_id).is_own

    def _abandon_old(self, connection: Connection, most: int, wanted: Collection[str]) -> int:
        at = now(connection)
        old = E.due_at <= at - self.abandon_after
        report = _Report(self, Post(self.topics, wanted), at)
        for run in _locked(connection, and_(MISSED, old), most):
            for each in run.expectations:
                if _is_missing(each) and each.due_at <= at - self.abandon_after:
                    report.abandoned(run, each)
        report.write(connection)
        return len(report.changed)

    def give_up(self, connection: Connection, missed: Mapping[int, Collection[str]]) -> Sequence[Expectation]:
        """Count no longer on what was missed at these nodes of runs, in the transaction that is open: an
        operator says so."""
        report = _Report(self, Post(self.topics, self.wanted()), now(connection))
        for run in hold(connection, missed):
            for each in run.expectations:
                if _is_missing(each) and each.target in missed[run.id]:
                    report.abandoned(run, each)
        report.write(connection)
        return report.changed


_CANCELLED = select(X.id).where(
    X.id.in_(bindparam("ids", expanding=True)), X.status == ExecutionStatus.CANCELLED.value
)


def _locked(connection: Connection, chosen: ColumnElement[bool], most: int) -> list[Run]:
    """Runs that nobody else holds, of the first so many expectations that are chosen."""
    found = select(E.workflow_run_id).where(chosen).order_by(E.due_at).limit(most)
    ids = sorted(set(connection.scalars(found)))
    if not ids:
        return []
    return with_expectations(connection, lock_free(connection, workflow_run, "id", ids))


def _not_held(held_back: Sequence[Held]) -> Iterator[ColumnElement[bool]]:
    for each in held_back:
        within = [E.due_at > each.since]
        if each.until is not None:
            within.append(E.due_at <= each.until)
        yield not_(and_(*within))


def _is_due(each: Expectation, at: datetime, held_back: Sequence[Held]) -> bool:
    pending = each.status is ExpectationStatus.PENDING and each.due_at <= at
    return pending and not any(span.holds(each.due_at) for span in held_back)


def _is_missing(each: Expectation) -> bool:
    return each.status is ExpectationStatus.FIRED and each.abandoned_at is None


class _Report:
    """What misses do, gathered and then written at once."""

    def __init__(self, due: DueExpectations, post: Post, at: datetime) -> None:
        self._due, self._post, self._at = due, post, at
        self._runs: dict[int, Run] = {}
        self._steps: dict[str, list[Step]] = defaultdict(list)
        self._tally = Tally()
        self._owner: str | None = None
        self.changed: list[Expectation] = []

    def missed(self, run: Run, each: Expectation) -> None:
        if not self._due.graphs.has(run.version_id):
            return
        miss(self._due.graphs.graph(run.version_id), run, each, self._at)
        self._owner = self._due.owner
        self._note(run, each)
        self._tally.add(run.version_id, run.group_hash, each.target, self._at, late=1)
        trigger = trigger_of(run, each.target, each.severity, AlertReason.EXPECTED_MISSED, self._at)
        self._steps[trigger.dedupe_key].append(trigger)
        self._tell(run, each, trigger)

    def withdrawn(self, run: Run, each: Expectation) -> None:
        """Nobody wants it any more, and it is not missed: it began elsewhere, or its execution was
        cancelled."""
        withdraw(run, each, self._at)
        self._no_longer_in_flight(run, each, withdrawn_evaluated(run, each, self._at))

    def abandoned(self, run: Run, each: Expectation) -> None:
        abandon(run, each, self._at)
        self._no_longer_in_flight(run, each, abandoned_evaluated(run, each, self._at))

    def _no_longer_in_flight(self, run: Run, each: Expectation, told: JsonObject) -> None:
        self._note(run, each)
        if not each.optional:
            change = {each.target: -1}
            self._tally.add(run.version_id, run.group_hash, each.target, self._at, in_flight=change)
        topics = self._post.topics
        if self._post.wants(topics.evaluated):
            named = ("abandoned", each.id)
            self._post.add(topics.evaluated, run.correlation_key, told, run.institute_id, *named)

    def _note(self, run: Run, each: Expectation) -> None:
        self._runs[run.id] = run
        self.changed.append(each)

    def _tell(self, run: Run, each: Expectation, trigger: Trigger) -> None:
        topics, tenant = self._post.topics, run.institute_id
        if self._post.wants(topics.missed):
            self._post.add(topics.missed, each.target, synthetic_missed(each), tenant, each.id)
        if self._post.wants(topics.evaluated):
            told = miss_evaluated(run, each, self._at)
            self._post.add(topics.evaluated, run.correlation_key, told, tenant, "missed", each.id)
        if self._post.wants(topics.triggered):
            told = alert_triggered(trigger)
            self._post.add(topics.triggered, trigger.dedupe_key, told, tenant, "missed", each.id)

    def write(self, connection: Connection) -> None:
        self._due.at_hand.forget(self._runs.values())
        change_runs(connection, self._runs.values())
        change_expectations(connection, self.changed, self._owner)
        if Stage.ALERT in self._due.stages:
            write_alerts(connection, self._steps)
        # Who counts without applying the rules reads of this as of everything else, on the topic.
        if self._due.stages >= {Stage.RULE, Stage.AGGREGATE}:
            self._tally.write(connection)
        add_messages(connection, self._post.messages)
