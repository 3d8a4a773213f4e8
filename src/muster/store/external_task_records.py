"""External tasks as workers and people find them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, and_, func, not_, or_, select
from sqlalchemy.exc import DBAPIError

from muster.engine.external_tasks import Verdict
from muster.engine.ports import NotWritten
from muster.model.external_task import ExternalTask
from muster.model.stored import Page
from muster.nodes.working import Fetch, Reported, TaskFilter
from muster.store.committer import TROUBLE, GroupCommitter
from muster.store.database import Database
from muster.store.dialect import now
from muster.store.external_tasks import OPEN, TOLD, Answering, E, Fetching, X, is_free, task_of
from muster.store.paging import read_page
from muster.store.tables import ID_LENGTH, workflow
from muster.store.types import is_storable

T = TypeVar("T")
ORDERS: Mapping[str, ColumnElement[Any]] = {
    "id": X.id,
    "createTime": X.id,  # ids are in the order of time
    "lockExpirationTime": X.lock_until,
    "processInstanceId": X.execution_id,
    "processDefinitionId": E.workflow_version_id,
    "processDefinitionKey": workflow.c.key,
    "tenantId": X.institute_id,
    "taskPriority": X.priority,
}


class ExternalTaskRepository:
    """`nodes.working.ExternalTasks` on a database."""

    def __init__(self, database: Database, committer: GroupCommitter) -> None:
        self._database, self._committer = database, committer
        self._fetching, self._answering = Fetching(), Answering()

    async def fetch(self, fetch: Fetch) -> Sequence[ExternalTask]:
        try:
            return await self._committer.submit(self._fetching, fetch, fetch.worker)
        except TROUBLE as away:
            raise NotWritten(str(away)) from away

    async def report(self, reported: Reported) -> Verdict:
        try:
            return await self._committer.submit(self._answering, reported, reported.task_id)
        except TROUBLE as away:
            raise NotWritten(str(away)) from away

    async def free(self, topics: Collection[str]) -> Mapping[str, int]:
        def work(connection: Connection) -> Mapping[str, int]:
            asked = (is_free(now(connection)), X.topic.in_(sorted(topics)))
            counted = select(X.topic, func.count().label("free")).where(*asked).group_by(X.topic)
            return {row.topic: row.free for row in connection.execute(counted)}

        try:
            return await self._database.read(work)
        except (*TROUBLE, DBAPIError) as away:
            raise NotWritten(str(away)) from away


class ExternalTaskLists:
    """`nodes.working.TaskLists` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, institute_id: str | None, task_id: str) -> ExternalTask | None:
        if not is_storable(task_id, ID_LENGTH):
            return None
        wanted = _of_tenant(TOLD.where(X.id == task_id), institute_id)
        row = await self._database.read(lambda connection: connection.execute(wanted).first())
        return None if row is None else task_of(row)

    async def list(
        self, institute_id: str | None, page: Page, wanted: TaskFilter
    ) -> tuple[Sequence[ExternalTask], str | None]:
        def work(connection: Connection) -> tuple[Sequence[ExternalTask], str | None]:
            chosen = _of_tenant(TOLD.where(*_conditions(connection, wanted)), institute_id)
            return read_page(connection, "external tasks", chosen, [X.id], page, task_of, newest_first=True)

        return await self._database.read(work)

    async def range(
        self,
        institute_id: str | None,
        wanted: TaskFilter,
        order: Sequence[tuple[str, bool]],
        first: int,
        most: int,
    ) -> Sequence[ExternalTask]:
        def work(connection: Connection) -> Sequence[ExternalTask]:
            chosen = _of_tenant(TOLD.where(*_conditions(connection, wanted)), institute_id)
            columns = [(ORDERS[name], downwards) for name, downwards in order]
            by = [column.desc() if downwards else column.asc() for column, downwards in columns]
            rows = connection.execute(chosen.order_by(*by, X.id).limit(most).offset(first))
            return [task_of(row) for row in rows]

        return await self._database.read(work)

    async def count(self, institute_id: str | None, wanted: TaskFilter) -> int:
        def work(connection: Connection) -> int:
            chosen = _of_tenant(TOLD.where(*_conditions(connection, wanted)), institute_id)
            counted = chosen.with_only_columns(func.count(), maintain_column_froms=True)
            return connection.execute(counted).scalar_one()

        return await self._database.read(work)

    async def topics(self, institute_id: str | None) -> Sequence[str]:
        named = _of_tenant(select(X.topic).where(X.status == OPEN).distinct(), institute_id)
        ordered = named.order_by(X.topic)
        return await self._database.read(lambda connection: connection.scalars(ordered).all())


def _of_tenant(wanted: Select[Any], institute_id: str | None) -> Select[Any]:
    return wanted if institute_id is None else wanted.where(X.institute_id == institute_id)


def _conditions(connection: Connection, wanted: TaskFilter) -> Iterator[ColumnElement[bool]]:
    equal = {
        X.status: wanted.status,
        X.topic: wanted.topic,
        X.worker_id: wanted.worker,
        X.execution_id: wanted.execution_id,
        X.node_id: wanted.node_id,
        workflow.c.key: wanted.workflow_key,
        E.workflow_version_id: wanted.version_id,
    }
    for column, value in equal.items():
        if value is not None:
            yield column == value
    for column, values in ((X.id, wanted.ids), (X.institute_id, wanted.institute_ids)):
        if values is not None:
            yield column.in_(values)
    if wanted.locked is not None:
        locked = and_(X.worker_id.is_not(None), X.lock_until > now(connection))
        yield locked if wanted.locked else not_(func.coalesce(locked, False))
    if wanted.has_retries is not None:
        left = or_(X.retries.is_(None), X.retries > 0)
        yield left if wanted.has_retries else X.retries == 0
    yield from _ranges(wanted)


def _ranges(wanted: TaskFilter) -> Iterator[ColumnElement[bool]]:
    if wanted.lock_ends_before is not None:
        yield X.lock_until < wanted.lock_ends_before
    if wanted.lock_ends_after is not None:
        yield X.lock_until > wanted.lock_ends_after
    if wanted.priority_from is not None:
        yield X.priority >= wanted.priority_from
    if wanted.priority_to is not None:
        yield X.priority <= wanted.priority_to
