"""What there is to do, as one statement tells it: of everything the time when the next comes due."""

from typing import Any

from sqlalchemy import Connection, Select, func, literal, null, select, type_coerce, union_all

from muster.engine.bulk import JobStatus
from muster.engine.lookout import Seen, Sight
from muster.store.business_keys import MEETING
from muster.store.claims import NEXT_DUE, NEXT_LEASE_END
from muster.store.command_sending import REFUSED
from muster.store.commands import K
from muster.store.database import Database
from muster.store.dialect import utc_now
from muster.store.schedules import next_run
from muster.store.tables import bulk_job, reply_topic, wait_topic, workflow_execution
from muster.store.triggers import WANTED_TOPICS
from muster.store.types import UtcTime

E, B = workflow_execution.c, bulk_job.c
NOW, TOPIC = "now", "topic"
NO_TIME = type_coerce(null(), UtcTime)


def _next(sight: str, time: Any) -> Select[Any]:
    return select(literal(sight).label("sight"), literal("").label("topic"), time.label("due"))


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
