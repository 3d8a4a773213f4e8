"""Growth in finished executions does not slow finding: lists are read along an index, on every database."""

import pytest
from sqlalchemy import ColumnElement, Connection, Select, select, text

from clocks import NOON
from engine_house import House, Told, chain, node
from muster.model.execution import Wanted
from muster.store.database import Database
from muster.store.dialect import insert_rows
from muster.store.execution_records import LISTED, chosen_executions
from muster.store.tables import expectation, workflow_execution
from muster.store.watch_due import MISSED, PENDING

E = workflow_execution.c
ANALYZE = {"mariadb": "ANALYZE TABLE workflow_execution, expectation"}


def ended(number: int) -> dict[str, object]:
    return {
        "id": f"{number:036}",
        "workflow_id": "w1",
        "workflow_version_id": 1,
        "trigger_id": f"t{number % 100}",
        "status": "COMPLETED",
        "idempotency_key": f"trigger_t{number % 100}_userId_{number}",
        "given": {},
        "context": {},
        "fence": 1,
        "institute_id": "",
        "started_at": NOON,
        "completed_at": NOON,
        "updated_at": NOON,
    }


def plan_of(connection: Connection, wanted: Select[tuple[object]]) -> str:
    connection.execute(text(ANALYZE.get(connection.dialect.name, "ANALYZE")))
    asked = wanted.compile(dialect=connection.dialect, compile_kwargs={"literal_binds": True})
    explain = "EXPLAIN QUERY PLAN" if connection.dialect.name == "sqlite" else "EXPLAIN"
    return str(connection.exec_driver_sql(f"{explain} {asked}").all())


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (Wanted(trigger="t7"), "ix_workflow_execution_trigger"),
        (Wanted(idempotency_key="trigger_t7_userId_107"), "ix_workflow_execution_idempotency_key"),
    ],
)
async def test_what_a_trigger_or_a_key_has_begun(database: Database, wanted: Wanted, index: str) -> None:
    await House(database, Told()).define(chain(node("a")))
    rows = [ended(number) for number in range(3000)]
    await database.write(lambda connection: insert_rows(connection, workflow_execution, rows))
    page = chosen_executions(None, wanted, *LISTED).order_by(E.id.desc()).limit(51)
    assert index in await database.write(lambda connection: plan_of(connection, page))


@pytest.mark.parametrize("chosen", [PENDING, MISSED], ids=["pending", "missed"])
async def test_what_is_due_or_missed_among_all_that_came(
    database: Database, chosen: ColumnElement[bool]
) -> None:
    rows = [cleared(number) for number in range(3000)]
    await database.write(lambda connection: insert_rows(connection, expectation, rows))
    due = expectation.c.due_at
    wanted = select(expectation.c.workflow_run_id).where(chosen, due <= NOON).order_by(due).limit(500)
    assert "ix_expectation_due" in await database.write(lambda connection: plan_of(connection, wanted))


def cleared(number: int) -> dict[str, object]:
    return {
        "id": number,
        "workflow_run_id": number,
        "from_node_key": "a",
        "to_node_key": "b",
        "due_at": NOON,
        "severity": "amber",
        "status": "cleared",
        "optional": False,
        "origin_id": number,
        "leads": True,
        "created_at": NOON,
    }
