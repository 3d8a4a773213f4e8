"""Looking for what comes next reads a row or two along an index, however many executions rest: also by what
the database remembers of the tables when they were empty."""

from datetime import timedelta

import pytest
from sqlalchemy import Connection, Select

from clocks import NOON
from engine_house import House, Told, chain, node
from muster.store.claims import NEXT_DUE, NEXT_LEASE_END
from muster.store.database import Database
from muster.store.dialect import insert_rows
from muster.store.tables import workflow_execution

PARKED = 3_000
EXPLAIN = {"sqlite": "EXPLAIN QUERY PLAN ", "postgresql": "EXPLAIN ", "mariadb": "ANALYZE "}


def park_many(connection: Connection) -> None:
    parked = {
        "workflow_id": "w1",
        "workflow_version_id": 1,
        "status": "PAUSED",
        "given": {},
        "context": {},
        "fence": 1,
        "started_at": NOON,
        "updated_at": NOON,
    }
    rows = [
        {**parked, "id": f"e{number}", "resume_at": NOON + timedelta(days=36_500, seconds=number)}
        for number in range(PARKED)
    ]
    insert_rows(connection, workflow_execution, rows)


def plan_of(connection: Connection, look: Select[tuple[object, ...]]) -> str:
    written = look.compile(
        dialect=connection.dialect, compile_kwargs={"literal_binds": True, "render_postcompile": True}
    )
    explained = EXPLAIN[connection.dialect.name] + str(written).replace("%%", "%")
    return "\n".join(str(tuple(row)) for row in connection.exec_driver_sql(explained))


@pytest.mark.parametrize(
    ("look", "index"),
    [(NEXT_DUE, "ix_workflow_execution_resume_at"), (NEXT_LEASE_END, "ix_workflow_execution_lease_until")],
    ids=["due", "leases"],
)
async def test_the_next_one_is_read_along_its_index(
    database: Database, look: Select[tuple[object, ...]], index: str
) -> None:
    house = House(database, Told())
    await house.define(chain(node("a")))
    await database.write(park_many)
    plan = await database.read(lambda connection: plan_of(connection, look))
    assert index in plan
    assert "Sort" not in plan, plan
    assert "filesort" not in plan, plan
    assert "TEMP B-TREE" not in plan, plan
