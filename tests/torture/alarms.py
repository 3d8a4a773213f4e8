"""Alarms in the database itself: what no statement may do, noted even if it looks well in the end."""

from collections.abc import Sequence

from sqlalchemy import Connection

from muster.store.database import Database

TABLE = "CREATE TABLE torture_alarm (said TEXT NOT NULL)"
# What was journaled as completed is what happened. Writing the very same again, after an answer got lost, is
# no second time.
DONE_ONCE = (
    "node_execution",
    "'journaled twice: ' || NEW.execution_id || ' ' || NEW.node_id",
    "OLD.status = 'completed' AND (OLD.started_at <> NEW.started_at OR OLD.seq <> NEW.seq"
    " OR OLD.status <> NEW.status)",
)
ENDS_ARE_FINAL = (
    "workflow_execution",
    "'changed after its end: ' || NEW.id",
    "OLD.status IN ('COMPLETED', 'FAILED', 'CANCELLED')",
)
FENCES_RISE = ("workflow_execution", "'its fence went back: ' || NEW.id", "NEW.fence < OLD.fence")


async def arm(database: Database) -> None:
    """Before the first execution; the schema has to be there."""

    def work(connection: Connection) -> None:
        connection.exec_driver_sql(TABLE)
        for number, (table, said, when) in enumerate((DONE_ONCE, ENDS_ARE_FINAL, FENCES_RISE)):
            for statement in _statements(connection.dialect.name, f"alarm_{number}", table, said, when):
                connection.exec_driver_sql(statement)

    await database.write(work)


async def alarms(database: Database) -> Sequence[str]:
    return await database.read(
        lambda connection: connection.exec_driver_sql("SELECT said FROM torture_alarm").scalars().all()
    )


def _statements(dialect: str, name: str, table: str, said: str, when: str) -> list[str]:
    note = f"INSERT INTO torture_alarm VALUES ({said});"
    trigger = f"CREATE TRIGGER {name} AFTER UPDATE ON {table} FOR EACH ROW WHEN ({when})"
    if dialect == "sqlite":
        return [f"{trigger} BEGIN {note} END"]
    body = f"CREATE FUNCTION {name}() RETURNS trigger AS $$ BEGIN {note} RETURN NEW; END $$ LANGUAGE plpgsql"
    return [body, f"{trigger} EXECUTE FUNCTION {name}()"]
