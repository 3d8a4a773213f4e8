"""Start nodes that are expected to begin a run by the clock: each occurrence makes one expectation, whoever
looks."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, exists, or_, select, update

from muster.model.watching import Expectation, Run
from muster.model.workflow import WorkflowKind, WorkflowStatus
from muster.store.database import Database
from muster.store.dialect import insert_new, now
from muster.store.outbox import add_messages
from muster.store.tables import (
    event_occurrence,
    expected_start,
    stage_aggregate,
    stage_group,
    workflow,
    workflow_run,
    workflow_version,
)
from muster.store.watch_counts import Tally, minute_of
from muster.store.watch_ids import reserve
from muster.store.watch_rules import EXPECTATION_IDS, GROUP_KEY, RUN_IDS
from muster.store.watch_runs import add_expectations, add_runs, change_runs, hold_latest
from muster.store.watched_graphs import WatchedGraphs
from muster.watch.messages import expected_evaluated
from muster.watch.posting import Post, TopicNames
from muster.watch.stages import Stage
from muster.watch.starts import Occurrence, expected_of, expected_run, next_start, occurrence

A = stage_aggregate.c
G = stage_group.c
T = event_occurrence.c
R = workflow_run.c
S = expected_start.c
V = workflow_version.c
W = workflow.c
KEY = ("workflow_version_id", "node_key")
_ACTIVE = select(W.active_version_id).where(
    W.kind == WorkflowKind.WATCHED.value,
    W.status == WorkflowStatus.ACTIVE.value,
    W.active_version_id.is_not(None),
)


@dataclass(frozen=True, slots=True)
class ExpectedStarts:
    database: Database
    graphs: WatchedGraphs
    stages: Collection[Stage]
    topics: TopicNames
    # The topics that somebody wants messages on.
    wanted: Callable[[], Collection[str]]

    async def look(self) -> int:
        """See to it that every start node with a timetable is waited for, and none of earlier versions; how
        many there are."""
        return await self.database.write(self._look)

    async def open(self, most: int) -> int:
        """Expect what is to begin by now; how many occurrences came."""
        wanted = self.wanted()
        return await self.database.write(lambda connection: self._open(connection, most, wanted))

    def _look(self, connection: Connection) -> int:
        at, active = now(connection), set(connection.scalars(_ACTIVE))
        self.graphs.load(connection, active)
        wanted = {
            (version_id, node.key): next_start(node.expect_start, at)
            for version_id in active
            if self.graphs.has(version_id)
            for node in self.graphs.graph(version_id).nodes
            if node.expect_start is not None
        }
        there = {
            (row.workflow_version_id, row.node_key) for row in connection.execute(select(expected_start))
        }
        rows = [
            {"workflow_version_id": version_id, "node_key": node, "next_at": first}
            for (version_id, node), first in sorted(wanted.items())
            if first is not None and (version_id, node) not in there
        ]
        insert_new(connection, expected_start, rows, KEY)
        for version_id, node in there - wanted.keys():
            gone = (S.workflow_version_id == version_id, S.node_key == node)
            connection.execute(delete(expected_start).where(*gone))
        return len(wanted)

    def _open(self, connection: Connection, most: int, wanted: Collection[str]) -> int:
        at = now(connection)
        due = select(expected_start).where(S.next_at <= at).order_by(S.next_at).limit(most)
        rows = connection.execute(due.with_for_update(skip_locked=True)).all()
        self.graphs.load(connection, {row.workflow_version_id for row in rows})
        told = _Told(Post(self.topics, wanted))
        for row in rows:
            self._expect(connection, row, told)
        if Stage.AGGREGATE in self.stages:
            told.tally.write(connection)
        add_messages(connection, told.post.messages)
        return len(rows)

    def _expect(self, connection: Connection, row: Row[Any], told: "_Told") -> None:
        version_id, node = row.workflow_version_id, row.node_key
        mine = (S.workflow_version_id == version_id, S.node_key == node)
        found = self.graphs.graph(version_id).by_key.get(node) if self.graphs.has(version_id) else None
        expected = None if found is None else found.expect_start
        when = None if expected is None else occurrence(node, expected, row.next_at)
        if when is None or when.next is None:
            connection.execute(delete(expected_start).where(*mine))
        else:
            # What was missed while nobody was there is expected once: the latest.
            following = next_start(expected, max(now(connection), row.next_at)) if expected else None
            connection.execute(update(expected_start).where(*mine).values(next_at=following or when.next))
        if when is not None:
            self._begin(connection, version_id, node, when, told)

    def _begin(
        self, connection: Connection, version_id: int, node: str, when: Occurrence, told: "_Told"
    ) -> None:
        last = hold_latest(connection, [(version_id, when.key)]).get((version_id, when.key))
        if last is not None and (last.started_at >= when.since or _came(connection, last, node, when.since)):
            return  # it has begun already
        if last is not None and last.finished_at is None:
            self._begin_once_more(connection, last, node, when, told)
            return
        tenant = connection.scalar(
            select(W.institute_id)
            .join_from(workflow_version, workflow, W.id == V.workflow_id)
            .where(V.id == version_id)
        )
        run = expected_run(
            reserve(connection, RUN_IDS, 1) - 1,
            reserve(connection, EXPECTATION_IDS, 1) - 1,
            version_id,
            tenant or "",
            node,
            when,
            now(connection),
        )
        run.number = 1 if last is None else last.number + 1
        add_runs(connection, [run])
        add_expectations(connection, run.expectations)
        group = {
            "workflow_version_id": version_id,
            "group_dim_hash": run.group_hash,
            "group_dims": None,
            "created_at": run.updated_at,
        }
        insert_new(connection, stage_group, [group], GROUP_KEY)
        told.expected(run, run.expectations[0])

    def _begin_once_more(
        self, connection: Connection, run: Run, node: str, when: Occurrence, told: "_Told"
    ) -> None:
        """Where the run of the time before is not over, or has never begun, the next event of its key is
        still that run's."""
        at = now(connection)
        start = expected_of(run.id, reserve(connection, EXPECTATION_IDS, 1) - 1, node, when, at)
        run.updated_at = max(run.updated_at, at)
        change_runs(connection, [run])
        add_expectations(connection, [start])
        told.expected(run, start)


@dataclass(slots=True)
class _Told:
    """What is counted of expected starts, here or by whoever counts elsewhere."""

    post: Post
    tally: Tally = field(default_factory=Tally)

    def expected(self, run: Run, start: Expectation) -> None:
        at = start.created_at
        self.tally.add(run.version_id, run.group_hash, start.target, at, in_flight={start.target: 1})
        evaluated = self.post.topics.evaluated
        if self.post.wants(evaluated):
            message = expected_evaluated(run, start, at)
            named = (run.institute_id, "expected", start.id)
            self.post.add(evaluated, run.correlation_key, message, *named)


def _came(connection: Connection, run: Run, node: str, since: datetime) -> bool:
    """Whether an event of the node has come to a run since then."""
    its = (T.workflow_run_id == run.id, T.node_key == node, T.received_at >= since)
    return bool(connection.scalar(select(exists().where(*its))))


def has_begun(connection: Connection, run: Run, node: str) -> bool:
    """Whether any run of its version began at a node since this one was to."""
    found = exists().where(
        R.workflow_version_id == run.version_id,
        R.started_at >= run.started_at,
        or_(R.finished_at.is_(None), R.finished_at >= run.started_at),
        T.workflow_run_id == R.id,
        T.node_key == node,
    )
    return bool(connection.scalar(select(found)))


def has_begun_by_counts(connection: Connection, run: Run, node: str) -> bool:
    """The same, where they are counted as they come: however many runs there are, it takes one look."""
    found = exists().where(
        G.workflow_version_id == run.version_id,
        A.workflow_version_id == run.version_id,
        A.group_dim_hash == G.group_dim_hash,
        A.node_key == node,
        A.bucket_start >= minute_of(run.started_at),
        A.completed > 0,
    )
    return bool(connection.scalar(select(found)))
