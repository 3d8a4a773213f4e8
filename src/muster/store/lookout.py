"""What there is to do, as one statement tells it: of everything the time when the next comes due."""

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    func,
    literal,
    null,
    or_,
    select,
    type_coerce,
    union_all,
)

from muster.engine.bulk import JobStatus
from muster.engine.lookout import Seen, Sight
from muster.engine.outbox import Stream
from muster.model.watching import AlertState
from muster.store.business_keys import MEETING
from muster.store.claims import NEXT_DUE, NEXT_LEASE_END
from muster.store.command_sending import REFUSED
from muster.store.commands import K
from muster.store.database import Database
from muster.store.dialect import utc_now
from muster.store.due_schedules import next_run
from muster.store.startables import WANTED_TOPICS
from muster.store.tables import (
    alert,
    bulk_job,
    expectation,
    expected_start,
    incident,
    outbox_message,
    reply_aside,
    reply_topic,
    wait_topic,
    workflow_execution,
)
from muster.store.types import UtcTime
from muster.store.watch_due import PENDING
from muster.watch.notifying import IncidentState

E, B, M, X, A = workflow_execution.c, bulk_job.c, outbox_message.c, expectation.c, alert.c
NOW, TOPIC = "now", "topic"
NO_TIME = type_coerce(null(), UtcTime)


def _next(sight: str, time: Any) -> Select[Any]:
    return select(literal(sight).label("sight"), literal("").label("topic"), time.label("due"))


def _waits_in(stream: Stream) -> ColumnElement[bool]:
    return select(M.id).where(M.stream == stream.value, M.seq.is_(None), M.published_at.is_(None)).exists()


LOOK = union_all(
    _next(NOW, utc_now()),
    _next(Sight.DUE, NEXT_DUE.with_only_columns(E.resume_at).scalar_subquery()),
    _next(Sight.LEASES, NEXT_LEASE_END.with_only_columns(E.lease_until).scalar_subquery()),
    _next(Sight.SCHEDULES, next_run(utc_now()).scalar_subquery()),
    # One that nobody works on is due since it was changed last.
    _next(Sight.JOBS, func.min(func.coalesce(B.lease_until, B.updated_at))).where(
        B.status == JobStatus.RUNNING.value
    ),
    _next(Sight.KEYS, utc_now()).where(MEETING.exists()),
    _next(Sight.REFUSED, utc_now()).where(select(K.id).where(REFUSED).exists()),
    _next(Sight.ASIDE, select(func.min(reply_aside.c.next_try_at)).scalar_subquery()),
    _next(Sight.OUTBOX, utc_now()).where(or_(*(_waits_in(stream) for stream in Stream))),
    _next(Sight.MISSES, select(X.due_at).where(PENDING).order_by(X.due_at).limit(1).scalar_subquery()),
    _next(Sight.STARTS, select(func.min(expected_start.c.next_at)).scalar_subquery()),
    # While an incident is open somebody has to see when it is over, and whom to tell.
    _next(Sight.ALERTS, utc_now()).where(
        or_(
            select(A.id).where(A.incident_id.is_(None)).exists(),
            select(incident.c.id).where(incident.c.state == IncidentState.OPEN.value).exists(),
            select(A.id)
            .where(A.state == AlertState.SUPPRESSED.value, A.suppressed_until <= utc_now())
            .exists(),
        )
    ),
    select(literal(TOPIC), wait_topic.c.topic, NO_TIME),
    select(literal(TOPIC), reply_topic.c.topic, NO_TIME),
    select(literal(TOPIC), WANTED_TOPICS.subquery().c.topic, NO_TIME),
)


class DatabaseSights:
    """`engine.lookout.Sights` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def look(self) -> Seen:
        """Raises `Unavailable`."""
        return await self._database.read(_look, single=True)


def _look(connection: Connection) -> Seen:
    rows = connection.execute(LOOK).all()
    now = next(row.due for row in rows if row.sight == NOW)
    times = {row.sight: row.due for row in rows if row.due is not None and row.sight != NOW}
    topics = frozenset(row.topic for row in rows if row.sight == TOPIC)
    return Seen({Sight(sight): due - now for sight, due in times.items()}, topics)
