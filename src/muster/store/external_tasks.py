"""External tasks: offered by a node that waits, fetched by workers, each answered once.

Whoever opens, answers or closes one has locked the row of its execution. Whoever fetches has not: it passes
over tasks that somebody is changing, and waits for nobody.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, or_, select, update

from muster.engine.event_waits import passes
from muster.engine.external_tasks import ExternalTaskOpening, Held, Refusal, Refused, Taken, Verdict, judge
from muster.engine.openings import Closing
from muster.model.external_task import ExternalTask, TaskStatus
from muster.nodes.working import Fetch, Reported, Topic
from muster.store.answers import Answer, give
from muster.store.committer import Locks
from muster.store.dialect import insert_new, now, update_rows
from muster.store.lock_order import lock_reached
from muster.store.tables import ID_LENGTH, external_task, workflow, workflow_execution, workflow_version
from muster.store.types import is_storable

X = external_task.c
E = workflow_execution.c
OPEN = TaskStatus.OPEN.value
# Where a worker wants only tasks with certain variables, so many are looked at, at a time, and so often.
LOOKED_AT, LOOKS = 200, 10
# So many more than a worker wants are looked for: others may be faster.
SPARE = 50
DEFAULT_LOCK = timedelta(minutes=5)

# A task as people and workers are told of it.
TOLD: Select[Any] = (
    select(
        external_task,
        workflow.c.key.label("workflow_key"),
        workflow_version.c.version.label("workflow_version"),
        E.workflow_version_id,
        E.idempotency_key,
    )
    .join_from(external_task, workflow_execution, E.id == X.execution_id)
    .join(workflow_version, workflow_version.c.id == E.workflow_version_id)
    .join(workflow, workflow.c.id == X.workflow_id)
)


# --- by the execution that waits -------------------------------------------------------------------------


def open_tasks(connection: Connection, execution_id: str, offered: Sequence[ExternalTaskOpening]) -> None:
    """Offer work, each once."""
    insert_new(connection, external_task, [_row(execution_id, each) for each in offered], ("id",))


def close_tasks(connection: Connection, execution_id: str, closing: Closing, status: TaskStatus) -> None:
    """Nobody waits for what these visits have offered: it cannot be answered any more."""
    if not closing.visits:
        return
    visits = or_(*(and_(X.node_id == node, X.visit == visit) for node, visit in closing.visits))
    mine = (X.execution_id == execution_id, visits, X.status == OPEN)
    over = {"status": status.value, "completed_at": now(connection)}
    connection.execute(update(external_task).where(*mine).values(over))


def visits_offering(connection: Connection, execution_id: str) -> set[tuple[str, int]]:
    """The visits of an execution that wait for workers."""
    offered = select(X.node_id, X.visit).where(X.execution_id == execution_id, X.status == OPEN)
    return {(row.node_id, row.visit) for row in connection.execute(offered)}


def _row(execution_id: str, offered: ExternalTaskOpening) -> dict[str, object]:
    lock = offered.lock
    return {
        "id": offered.id,
        "execution_id": execution_id,
        "node_id": offered.node,
        "visit": offered.visit,
        "workflow_id": offered.workflow_id,
        "institute_id": offered.institute_id,
        "topic": offered.topic,
        "priority": offered.priority,
        "status": OPEN,
        "lock_ms": None if lock is None else lock // timedelta(milliseconds=1),
        "retries": offered.retries,
        "variables": offered.variables,
        "created_at": offered.created_at,
        "expires_at": offered.expires_at,
    }


# --- by workers ------------------------------------------------------------------------------------------


def is_free(at: datetime) -> ColumnElement[bool]:
    """Whether a worker may have it."""
    return and_(
        X.status == OPEN,
        or_(X.lock_until.is_(None), X.lock_until <= at),
        or_(X.expires_at.is_(None), X.expires_at > at),
    )


class Fetching:
    """Gives workers tasks, and locks them: of all who ask, each task has one."""

    key_may_repeat = True
    # Nothing that locks executions may come after it, since they come before what belongs to them.
    locks = Locks.ROWS
    is_single_statement = False

    def write(self, connection: Connection, items: Sequence[Fetch]) -> Sequence[Sequence[ExternalTask]]:
        return [_fetched(connection, each) for each in items]


def _fetched(connection: Connection, fetch: Fetch) -> Sequence[ExternalTask]:
    at = now(connection)
    chosen = _chosen(connection, fetch, at)
    topics = {topic.name: topic for topic in fetch.topics}
    locks = [
        {"id": row.id, "worker_id": fetch.worker, "lock_until": at + _lock(topics[row.topic], row.lock_ms)}
        for row in chosen
    ]
    update_rows(connection, external_task, locks, ("id",))
    if not chosen:
        return []
    rows = connection.execute(TOLD.where(X.id.in_(sorted(row.id for row in chosen))))
    told = {row.id: task_of(row) for row in rows}
    return [told[row.id] for row in chosen if row.id in told]


def _lock(topic: Topic, own: int | None) -> timedelta:
    """The worker's own word, or else the node's."""
    if topic.lock is not None:
        return topic.lock
    return DEFAULT_LOCK if own is None else timedelta(milliseconds=own)


def _chosen(connection: Connection, fetch: Fetch, at: datetime) -> Sequence[Row[Any]]:
    """The tasks for this worker, locked; those that somebody is changing are passed over. They are looked for
    first, and only those are locked: a database may lock all that it looks at to find the first few."""
    found = _candidates(connection, fetch, at)
    if not found:
        return []
    wanted: Select[Any] = select(X.id, X.topic, X.lock_ms).where(X.id.in_(found), is_free(at))
    locked = _ordered(wanted, fetch).limit(fetch.most).with_for_update(skip_locked=True)
    return connection.execute(locked).all()


def _candidates(connection: Connection, fetch: Fetch, at: datetime) -> list[str]:
    """The first tasks that this worker may have, and some more in case that others are faster. Databases
    compare JSON each in its own way, so variables are compared here."""
    having = {topic.name: topic.having for topic in fetch.topics}
    most = fetch.most + SPARE
    if not any(having.values()):
        return list(connection.scalars(first_free(fetch, at).limit(most)))
    wanted = select(X.id, X.topic, X.variables).where(is_free(at), _asked_by(fetch))
    found: list[str] = []
    for look in range(LOOKS):
        page = _ordered(wanted, fetch).limit(LOOKED_AT).offset(look * LOOKED_AT)
        rows = connection.execute(page).all()
        found += [row.id for row in rows if passes(having[row.topic], row.variables)]
        if len(found) >= most or len(rows) < LOOKED_AT:
            break
    return found[:most]


def first_free(fetch: Fetch, at: datetime) -> Select[tuple[str]]:
    """The ids of what a worker may have, in the order in which it gets them."""
    return _ordered(select(X.id).where(is_free(at), _asked_by(fetch)), fetch)


def _ordered(wanted: Select[Any], fetch: Fetch) -> Select[Any]:
    first = [X.priority.desc()] if fetch.by_priority else []
    return wanted.order_by(*first, X.id.desc() if fetch.newest_first else X.id.asc())


def _asked_by(fetch: Fetch) -> ColumnElement[bool]:
    topics = or_(*(_asked(topic) for topic in fetch.topics))
    return topics if fetch.institute_id is None else and_(topics, X.institute_id == fetch.institute_id)


def _asked(topic: Topic) -> ColumnElement[bool]:
    conditions: list[ColumnElement[bool]] = [X.topic == topic.name]
    if topic.workflow_keys:
        named = select(workflow.c.id).where(workflow.c.key.in_(topic.workflow_keys))
        conditions.append(X.workflow_id.in_(named))
    if topic.institute_ids is not None:
        conditions.append(X.institute_id.in_(topic.institute_ids))
    of_execution: list[ColumnElement[bool]] = []
    if topic.version_ids:
        of_execution.append(E.workflow_version_id.in_(topic.version_ids))
    if topic.business_key is not None:
        of_execution.append(E.idempotency_key == topic.business_key)
    if of_execution:
        conditions.append(X.execution_id.in_(select(E.id).where(*of_execution)))
    return and_(*conditions)


HELD: Select[Any] = select(
    X.id,
    X.execution_id,
    X.node_id,
    X.visit,
    X.institute_id,
    X.status,
    X.worker_id,
    X.lock_until,
    X.retries,
    X.priority,
    X.expires_at,
    X.error_message,
    X.error_details,
)


class Answering:
    """Takes what workers say of tasks, and lets executions know of those that are over: one transaction for
    a whole batch, under the locks of the executions concerned."""

    key_may_repeat = True
    locks = Locks.ROWS
    is_single_statement = False

    def write(self, connection: Connection, items: Sequence[Reported]) -> Sequence[Verdict]:
        rows = _locked(connection, {each.task_id for each in items})
        at = now(connection)
        held = {row.id: _held(row) for row in rows.values()}
        verdicts: list[Verdict] = []
        answers: list[Answer] = []
        for each in items:
            row = rows.get(each.task_id)
            if row is None or each.institute_id not in (None, row.institute_id):
                verdicts.append(Refused(Refusal.GONE, f"External task with id {each.task_id} does not exist"))
                continue
            verdict = judge(held[row.id], each.report, at)
            verdicts.append(verdict)
            if isinstance(verdict, Taken):
                held[row.id] = verdict.task
                if verdict.answer is not None:
                    answers.append(Answer(row.execution_id, row.node_id, row.visit, row.id, verdict.answer))
        changed = [task for task in held.values() if task != _held(rows[task.id])]
        update_rows(connection, external_task, [_changed(task, at) for task in changed], ("id",))
        give(connection, answers)
        return verdicts


def _locked(connection: Connection, ids: set[str]) -> dict[str, Row[Any]]:
    """The tasks, with their executions locked. They are read with a lock as well: a worker may be fetching
    them, and a database may have begun to look before somebody else's change was there."""
    known = sorted(each for each in ids if is_storable(each, ID_LENGTH))
    executions = set(connection.scalars(select(X.execution_id).where(X.id.in_(known)))) if known else set()
    if not executions:
        return {}
    lock_reached(connection, executions, ("id", "status"))
    chosen = HELD.where(X.id.in_(known)).order_by(X.id).with_for_update()
    return {row.id: row for row in connection.execute(chosen)}


def _held(row: Row[Any]) -> Held:
    return Held(
        row.id,
        TaskStatus(row.status),
        row.worker_id,
        row.lock_until,
        row.retries,
        row.priority,
        row.expires_at,
        row.error_message,
        row.error_details,
    )


def _changed(task: Held, at: datetime) -> dict[str, object]:
    return {
        "id": task.id,
        "status": task.status.value,
        "worker_id": task.worker_id,
        "lock_until": task.lock_until,
        "retries": task.retries,
        "priority": task.priority,
        "error_message": task.error_message,
        "error_details": task.error_details,
        "completed_at": None if task.status is TaskStatus.OPEN else at,
    }


def task_of(row: Row[Any]) -> ExternalTask:
    return ExternalTask(
        id=row.id,
        execution_id=row.execution_id,
        node_id=row.node_id,
        visit=row.visit,
        workflow_id=row.workflow_id,
        workflow_key=row.workflow_key,
        workflow_version=row.workflow_version,
        version_id=row.workflow_version_id,
        institute_id=row.institute_id,
        topic=row.topic,
        priority=row.priority,
        status=TaskStatus(row.status),
        worker_id=row.worker_id,
        lock_until=row.lock_until,
        retries=row.retries,
        variables=row.variables,
        business_key=row.idempotency_key,
        error_message=row.error_message,
        error_details=row.error_details,
        created_at=row.created_at,
        expires_at=row.expires_at,
        completed_at=row.completed_at,
    )
