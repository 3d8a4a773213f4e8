"""The journal: what owners have done, written for those who still are owners.

On PostgreSQL that is a single statement. It locks the executions' rows in the order of their ids, so that no
two batches wait for each other, and takes the rows of those whose fence is the one that they were given.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from sqlalchemy import Connection, Dialect, Row

from muster.engine.journal import JournalRow
from muster.engine.owned import Progress
from muster.engine.state import FINAL
from muster.model.aside import with_asides
from muster.model.execution import NodeStatus
from muster.model.json import JsonObject
from muster.store.database import CLOCK, needs_transaction
from muster.store.dialect import lock_rows, upsert
from muster.store.large_values import OF_JOURNAL, Laying
from muster.store.postgres import documents, overwriting, quoted, record, run
from muster.store.tables import node_execution, workflow_execution

KEY = ("execution_id", "node_id", "visit", "item_key")
COLUMNS = tuple(str(column.name) for column in node_execution.c if column.name != "input")
LOCKED = ("id", "fence", "status")
Place = tuple[str, int, str]
Written = dict[str, object]
# By execution and fence: two owners of one execution may write in one batch, and one of them has lost it.
Journals = Mapping[tuple[str, int], Mapping[Place, Written]]


def write_fenced(
    connection: Connection, items: Sequence[Progress], also: Collection[str] = ()
) -> Mapping[str, Row[Any]]:
    """Lock the executions, parents that are told of an end, and these `also`; write the rows of those items
    that own theirs. Answers what was locked, by id.

    Of several rows for one place the last is how it stands. What has ended is left as it is.
    """
    laying = Laying(OF_JOURNAL)
    journals: dict[tuple[str, int], dict[Place, Written]] = defaultdict(dict)
    for item in items:
        places = journals[item.execution_id, item.fence]
        for row in item.rows:
            places[row.node, row.visit, row.item_key] = _written(laying, item.execution_id, row)
    if laying.has_values:
        needs_transaction(connection)
    others = {item.parent_id for item in items if item.parent_id and item.ends}.union(also)
    others -= {item.execution_id for item in items}
    if connection.dialect.name == "postgresql":
        locked = _write_at_once(connection, journals, others)
    else:
        locked = _write_step_by_step(connection, journals, others)
    laying.write(connection, {execution for execution, fence in journals if owns(locked, execution, fence)})
    return locked


def new_journal(laying: Laying, execution_id: str, rows: Iterable[JournalRow]) -> list[Written]:
    """The rows of an execution that is new; of several for one place the last."""
    places = {(row.node, row.visit, row.item_key): _written(laying, execution_id, row) for row in rows}
    return list(places.values())


def owns(locked: Mapping[str, Row[Any]], execution_id: str, fence: int) -> bool:
    row = locked.get(execution_id)
    return row is not None and row.fence == fence


def _write_step_by_step(
    connection: Connection, journals: Journals, others: Iterable[str]
) -> dict[str, Row[Any]]:
    ids = {execution for execution, _ in journals}.union(others)
    found = lock_rows(connection, workflow_execution, "id", list(ids), LOCKED)
    locked = {row.id: row for row in found}
    rows = [
        row
        for (execution, fence), places in journals.items()
        if owns(locked, execution, fence) and locked[execution].status not in FINAL
        for row in places.values()
    ]
    upsert(connection, node_execution, rows, KEY)
    return locked


def _write_at_once(connection: Connection, journals: Journals, others: Iterable[str]) -> dict[str, Row[Any]]:
    dialect = connection.dialect
    owners: list[tuple[str, int | None, Sequence[Written]]] = [
        (execution, fence, list(places.values())) for (execution, fence), places in journals.items()
    ]
    owners += ((other, None, ()) for other in others)
    owners.sort(key=lambda owner: owner[0])
    document = [
        {"id": execution, "fence": fence, "rows": documents(node_execution, COLUMNS, rows, dialect)}
        for execution, fence, rows in owners
    ]
    rows = [row for _, _, rows in owners for row in rows]
    found = run(connection, _statement(dialect), [document], (node_execution, COLUMNS, rows))
    # Under the locks: whoever asks for the time next is told this one, and need not go and ask.
    connection.info[CLOCK] = max((row.at for row in found), default=None)
    return {row.id: row for row in found}


@lru_cache(maxsize=8)
def _statement(dialect: Dialect) -> str:
    columns, ended = quoted(dialect, COLUMNS), ", ".join(f"'{status}'" for status in sorted(FINAL))
    rows = record(node_execution, COLUMNS, dialect, "locked.rows")
    return f"""
        WITH locked AS MATERIALIZED (
            SELECT found.*, owner.fence AS given, owner.rows
            FROM json_to_recordset($1::text::json) AS owner (id text, fence bigint, rows json)
            CROSS JOIN LATERAL (
                SELECT id, fence, status FROM workflow_execution WHERE id = owner.id FOR UPDATE
            ) AS found
        ), written AS (
            INSERT INTO node_execution ({columns})
            SELECT new.* FROM locked CROSS JOIN LATERAL {rows}
            WHERE locked.fence = locked.given AND locked.status NOT IN ({ended})
            {overwriting(dialect, COLUMNS, KEY)}
        )
        SELECT id, fence, status, clock_timestamp() AS at FROM locked"""


def _written(laying: Laying, execution_id: str, row: JournalRow) -> Written:
    columns: Written = {
        "execution_id": execution_id,
        "node_id": row.node,
        "visit": row.visit,
        "item_key": row.item_key,
        "seq": row.seq,
        "attempt": row.attempt,
        "status": str(row.status),
        "error": row.error,
        "warnings": list(row.warnings) if row.warnings else None,
        "due_at": row.due,
        "started_at": row.started_at,
        "completed_at": row.completed_at,
    }
    return laying.row(execution_id, columns, {"output": row.output, "changes": row.changes})


def journal_of(row: Row[Any]) -> JournalRow:
    """A row as it was read."""
    columns = with_asides({"output": row.output, "changes": row.changes}, row.aside)
    return JournalRow(
        node=row.node_id,
        visit=row.visit,
        item_key=row.item_key,
        seq=row.seq,
        attempt=row.attempt,
        status=NodeStatus(row.status),
        started_at=row.started_at,
        completed_at=row.completed_at,
        output=columns["output"],
        changes=cast("JsonObject | None", columns["changes"]),
        error=row.error,
        due=row.due_at,
    )
