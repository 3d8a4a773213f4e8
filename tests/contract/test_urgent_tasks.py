"""However many tasks of a topic wait, a worker's first ones are found along an index, on every database."""

from sqlalchemy import Connection, text

from clocks import NOON
from engine_house import House, Told, chain, node
from muster.nodes.working import Fetch, Topic
from muster.store.database import Database
from muster.store.dialect import insert_rows
from muster.store.external_tasks import first_free
from muster.store.tables import external_task, workflow_execution

INDEX = "ix_external_task_urgent"
SORTED = ("Sort", "TEMP B-TREE", "filesort")


def execution(number: int) -> dict[str, object]:
    return {
        "id": f"e{number}",
        "workflow_id": "w1",
        "workflow_version_id": 1,
        "status": "WAITING",
        "given": {},
        "context": {},
        "fence": 1,
        "institute_id": "",
        "started_at": NOON,
        "updated_at": NOON,
    }


def task(number: int) -> dict[str, object]:
    return {
        "id": f"{number:036}",
        "execution_id": "e1",
        "node_id": "a",
        "visit": number,
        "workflow_id": "w1",
        "institute_id": "",
        "topic": "charge" if number % 10 else "ship",
        "priority": number % 7,
        "status": "OPEN",
        "variables": {},
        "created_at": NOON,
    }


def plan_and_first(connection: Connection) -> tuple[str, list[str]]:
    analyze = "ANALYZE TABLE external_task" if connection.dialect.name in ("mysql", "mariadb") else "ANALYZE"
    connection.execute(text(analyze))
    wanted = first_free(Fetch("w", (Topic("charge"),), 5), NOON).limit(5)
    asked = wanted.compile(dialect=connection.dialect, compile_kwargs={"literal_binds": True})
    explain = "EXPLAIN QUERY PLAN" if connection.dialect.name == "sqlite" else "EXPLAIN"
    plan = str(connection.exec_driver_sql(f"{explain} {str(asked).replace('%', '%%')}").all())
    return plan, list(connection.scalars(wanted))


async def test_the_most_urgent_and_then_the_oldest_are_found_without_sorting(database: Database) -> None:
    await House(database, Told()).define(chain(node("a")))
    rows = [task(number) for number in range(3000)]
    await database.write(lambda connection: insert_rows(connection, workflow_execution, [execution(1)]))
    await database.write(lambda connection: insert_rows(connection, external_task, rows))
    plan, first = await database.write(plan_and_first)
    assert INDEX in plan
    assert not any(word in plan for word in SORTED), plan
    assert first == [f"{number:036}" for number in (6, 13, 27, 34, 41)]
