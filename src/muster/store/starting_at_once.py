"""Starts with keys on PostgreSQL: the keys, and the executions of those who get them, in a single statement.

That is how nearly all of them begin. What the statement cannot decide by itself is left to `store/once.py`,
which looks again under locks.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Dialect, Row

from muster.engine.owned import Begun, NewExecution
from muster.engine.state import ExecutionStatus
from muster.store.committer import Locks
from muster.store.execution_rows import FROM_NOW, new_row
from muster.store.large_values import OF_EXECUTIONS, Laying
from muster.store.once import ENDED_BADLY
from muster.store.postgres import documents, inserting, record, run
from muster.store.tables import idempotency_key, workflow_execution

KEY_COLUMNS = ("hash", "execution_id", "expires_at")


def may_begin_at_once(new: NewExecution) -> bool:
    """Whether there is nothing to write but its key and its row."""
    more = new.delivery or new.tags or new.terms or new.limit
    return not more and new.once is not None and new.once.hash is not None


class StartingAtOnce:
    """Answers what became of each start; None: nothing was written of it, and somebody has to look closer."""

    key_may_repeat = True
    is_single_statement = True
    locks = Locks.KEYS

    def __init__(self, lease: timedelta) -> None:
        self._lease = lease

    def write(self, connection: Connection, items: Sequence[NewExecution]) -> Sequence[Begun | None]:
        laying, rows = Laying(OF_EXECUTIONS), dict[str, dict[str, object]]()
        first: dict[str, NewExecution] = {}
        for item in sorted(items, key=_hash):  # the order in which everybody locks keys
            if _hash(item) not in first:
                row = new_row(laying, item, timedelta(), self._lease)
                if row["aside"] is None:  # what is large needs more than a row
                    first[_hash(item)], rows[item.id] = item, row
        held = _written(connection, first, rows) if first else {}
        hashes = list(map(_hash, items))
        # Who comes with one that has to look closer looks with it.
        unclear = {
            key
            for key, item in zip(hashes, items, strict=True)
            if key in held and _is_unclear(item, held[key])
        }
        return [
            None if key in unclear else _became(item, first.get(key), held.get(key))
            for key, item in zip(hashes, items, strict=True)
        ]


def _hash(item: NewExecution) -> str:
    assert item.once is not None, "only such as have a key come here"
    assert item.once.hash is not None, "only such as have a key come here"
    return item.once.hash


def _is_unclear(item: NewExecution, held: Row[Any]) -> bool:
    """Whether this does not tell who is to have the key."""
    if held.execution_id in (None, item.id):
        return True  # whoever has it came at the same time, or is this one, and the answer got lost
    has_expired = held.expires_at is not None and held.expires_at <= held.at
    may_retry = item.once is not None and item.once.retry_failed and held.status in ENDED_BADLY
    return has_expired or may_retry


def _became(item: NewExecution, asker: NewExecution | None, held: Row[Any] | None) -> Begun | None:
    if asker is None:
        return None
    if held is None:
        return Begun(asker.id, ExecutionStatus.RUNNING, duplicate=asker is not item)
    # One that retention has removed had ended.
    return Begun(held.execution_id, ExecutionStatus(held.status or ExecutionStatus.COMPLETED), duplicate=True)


def _written(
    connection: Connection, first: Mapping[str, NewExecution], rows: Mapping[str, dict[str, object]]
) -> dict[str, Row[Any]]:
    """Write those whose keys nobody has. Answers the other keys, with who had them when this began."""
    dialect, names = connection.dialect, tuple(next(iter(rows.values())))
    keys = [
        {"hash": key, "execution_id": item.id, "expires_at": item.once.expires_at if item.once else None}
        for key, item in first.items()
    ]
    new = list(rows.values())
    document = {
        "keys": documents(idempotency_key, KEY_COLUMNS, keys, dialect),
        "rows": documents(workflow_execution, names, new, dialect, FROM_NOW),
    }
    found = run(connection, _statement(names, dialect), document, workflow_execution, names, new)
    return {row.hash: row for row in found}


@lru_cache(maxsize=8)
def _statement(names: tuple[str, ...], dialect: Dialect) -> str:
    asked = record(idempotency_key, KEY_COLUMNS, dialect, "($1::text::json) -> 'keys'")
    keys = inserting(idempotency_key, KEY_COLUMNS, dialect, "($1::text::json) -> 'keys'")
    executions = inserting(workflow_execution, names, dialect, "($1::text::json) -> 'rows'", FROM_NOW)
    # With a limit each key is looked up by itself, whatever the table was like when this was planned.
    return f"""
        WITH claimed AS (
            {keys} ON CONFLICT (hash) DO NOTHING RETURNING hash, execution_id
        ), begun AS (
            {executions} WHERE new.id IN (SELECT execution_id FROM claimed) ON CONFLICT (id) DO NOTHING
        )
        SELECT new.hash, held.execution_id, held.expires_at, execution.status, statement_timestamp() AS at
        FROM {asked}
        LEFT JOIN LATERAL (
            SELECT execution_id, expires_at FROM idempotency_key WHERE hash = new.hash LIMIT 1
        ) AS held ON true
        LEFT JOIN LATERAL (
            SELECT status FROM workflow_execution WHERE id = held.execution_id LIMIT 1
        ) AS execution ON true
        WHERE new.hash NOT IN (SELECT hash FROM claimed)"""
