"""Who had an execution, and for how long nobody did: noted by the database itself."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row

from muster.store.database import Database

TABLE = (
    "CREATE TABLE torture_taking (execution_id TEXT, fence BIGINT, owner TEXT, was_owner TEXT,"
    " free_since TIMESTAMPTZ, takeovers INTEGER, at TIMESTAMPTZ)"
)
# An execution is anybody's once its lease is over, or its time has come.
NOTE = (
    "CREATE FUNCTION torture_note() RETURNS trigger AS $$ BEGIN INSERT INTO torture_taking VALUES"
    " (NEW.id, NEW.fence, NEW.owner, OLD.owner, coalesce(OLD.lease_until, OLD.resume_at), NEW.takeovers,"
    " clock_timestamp()); RETURN NEW; END $$ LANGUAGE plpgsql"
)
TRIGGER = (
    "CREATE TRIGGER torture_taking AFTER UPDATE ON workflow_execution FOR EACH ROW"
    " WHEN (NEW.fence <> OLD.fence AND NEW.owner IS NOT NULL) EXECUTE FUNCTION torture_note()"
)


async def note_owners(database: Database) -> None:
    """From now on; on PostgreSQL."""

    def work(connection: Connection) -> None:
        for statement in (TABLE, NOTE, TRIGGER):
            connection.exec_driver_sql(statement)

    await database.write(work)


async def takings(database: Database) -> Sequence[Row[Any]]:
    """Each time that somebody took an execution, in their order."""
    asked = "SELECT *, extract(epoch FROM at - free_since) AS waited FROM torture_taking ORDER BY at"
    return await database.read(lambda connection: connection.exec_driver_sql(asked).all())
