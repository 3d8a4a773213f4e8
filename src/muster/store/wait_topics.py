"""Where waits look for their ids in the messages of topics: as the active definitions say, and those that
executions still run on. A topic is listened to as long as one of them names it."""

from collections.abc import Collection, Iterable, Sequence

from sqlalchemy import Connection, delete, select, tuple_

from muster.engine.event_keys import TopicFields
from muster.engine.ports import NotWritten
from muster.model.json import JsonObject
from muster.model.workflow import WorkflowKind, WorkflowStatus
from muster.nodes.wait_topics import WaitedOn, longest, to_change, waited_on
from muster.store.committer import TROUBLE
from muster.store.database import Database
from muster.store.dialect import insert_new, upsert
from muster.store.tables import wait_topic, workflow, workflow_execution, workflow_version

T = wait_topic.c
E = workflow_execution.c
V = workflow_version.c
NAMES = [str(column.name) for column in wait_topic.c]
PLACE = tuple(NAMES[:3])
ACTIVE = select(workflow.c.active_version_id).where(
    workflow.c.kind == WorkflowKind.ORCHESTRATED.value,
    workflow.c.status == WorkflowStatus.ACTIVE.value,
    workflow.c.active_version_id.is_not(None),
)
RUNNING = select(E.workflow_version_id).where(E.completed_at.is_(None)).distinct()


def listen(connection: Connection, fields: Iterable[TopicFields]) -> None:
    """Listen for what begins to wait. What is known already is kept at least as long as it was."""
    wanted = longest(fields)
    insert_new(connection, wait_topic, [_row(each) for each in wanted], PLACE)
    keyed = [each for each in wanted if each.buffer_seconds]
    if not keyed:
        return
    there = {each[:3]: each for each in _kept(connection, {each.topic for each in keyed})}
    longer = [each for each in keyed if there[each[:3]].buffer_seconds < each.buffer_seconds]
    upsert(connection, wait_topic, [_row(each) for each in longer], PLACE)


def listen_for(connection: Connection, document: JsonObject) -> None:
    """Listen for what a definition that becomes active waits on, before anybody waits."""
    listen(connection, waited_on(document).fields)


def listen_again(connection: Connection, execution_id: str) -> None:
    """Listen for what the definition of an execution waits on, which is perhaps not the active one."""
    of_it = select(V.definition).join(workflow_execution, E.workflow_version_id == V.id)
    listen_for(connection, connection.execute(of_it.where(E.id == execution_id)).scalar_one())


class WaitTopics:
    """`engine.housekeeping.Expiring`: lets topics go that nobody waits on any more, and mends the others."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # Versions never change.
        self._known: dict[int, WaitedOn] = {}
        self._unwanted: frozenset[TopicFields] = frozenset()

    async def forget_expired(self, most: int) -> int:
        """Always 0: all of it is done at once."""
        try:
            await self._database.write(self._mend)
        except TROUBLE as away:
            raise NotWritten(str(away)) from away
        return 0

    def _mend(self, connection: Connection) -> None:
        active = self._waited_on(connection, connection.scalars(ACTIVE).all())
        kept = _kept(connection)
        change = to_change(kept, active)
        if change.anew or change.unwanted:
            # Asked only then: there may be very many that run.
            running = self._waited_on(connection, connection.scalars(RUNNING).all())
            change = to_change(kept, [*active, *running])
        upsert(connection, wait_topic, [_row(each) for each in change.anew], PLACE)
        # At the second look: a wait that began with its execution may not have been there at the first.
        gone = [each[:3] for each in change.unwanted if each in self._unwanted]
        if gone:
            places = tuple_(T.topic, T.correlation_field, T.execution_field)
            connection.execute(delete(wait_topic).where(places.in_(gone)))
        self._unwanted = frozenset(change.unwanted)

    def _waited_on(self, connection: Connection, versions: Collection[int]) -> list[WaitedOn]:
        unknown = sorted(set(versions) - self._known.keys())
        for version in unknown:
            document = connection.execute(select(V.definition).where(V.id == version)).scalar_one()
            self._known[version] = waited_on(document)
        return [self._known[version] for version in versions]


def _kept(connection: Connection, topics: Collection[str] | None = None) -> Sequence[TopicFields]:
    wanted = select(wait_topic)
    if topics is not None:
        wanted = wanted.where(T.topic.in_(sorted(topics)))
    return [TopicFields(*row) for row in connection.execute(wanted)]


def _row(fields: TopicFields) -> dict[str, object]:
    return dict(zip(NAMES, fields, strict=True))
