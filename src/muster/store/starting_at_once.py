"""Starts with keys on PostgreSQL: the keys, and the executions of those who get them, in a single statement.

That is how nearly all of them begin. What the statement cannot decide by itself is left to `store/once.py`,
which looks again under locks.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Dialect, Row

from muster.engine.owned import Begun, NewExecution
from muster.engine.state import ExecutionStatus
from muster.store.committer import Locks
from muster.store.execution_rows import FROM_NOW, FROM_NOW_AT_END, ended_row, new_row
from muster.store.journal import COLUMNS, new_journal
from muster.store.large_values import OF_EXECUTIONS, OF_JOURNAL, Laying
from muster.store.once import ENDED_BADLY
from muster.store.postgres import Names, documents, inserting, record, run
from muster.store.tables import idempotency_key, node_execution, workflow_execution

KEY_COLUMNS = ("hash", "execution_id", "expires_at")


def may_begin_at_once(new: NewExecution) -> bool:
    """Whether there is nothing to write but its key and its row."""
    more = new.delivery or new.tags or new.terms or new.limit
    return not more and new.once is not None and new.once.hash is not None


class StartingAtOnce:
    """Answers what became of each start; None: nothing was written of it, and somebody has to look closer.
    All that it is given have `ended`, or none."""

    key_may_repeat = True
    is_single_statement = True
    locks = Locks.KEYS

    def __init__(self, lease: timedelta) -> None:
        self._lease = lease

    def write(self, connection: Connection, items: Sequence[NewExecution]) -> Sequence[Begun | None]:
        first: dict[str, NewExecution] = {}
        written: list[_Written] = []
        for item in sorted(items, key=_hash):  # the order in which everybody locks keys
            if _hash(item) not in first and (row := self._row(item)) is not None:
                first[_hash(item)] = item
                written.append(row)
        held = _write(connection, first, written) if first else {}
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

    def _row(self, item: NewExecution) -> "_Written | None":
        """None: something in it is large, and needs more than a row."""
        laying, journals = Laying(OF_EXECUTIONS), Laying(OF_JOURNAL)
        if item.ended is None:
            written = _Written(new_row(laying, item, timedelta(), self._lease), ())
        else:
            journal = new_journal(journals, item.id, item.ended.rows)
            written = _Written(ended_row(laying, item, timedelta()), journal)
        return None if laying.has_values or journals.has_values else written


class _Written(NamedTuple):
    row: Mapping[str, object]
    journal: Sequence[Mapping[str, object]]


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


def _write(
    connection: Connection, first: Mapping[str, NewExecution], written: Sequence[_Written]
) -> dict[str, Row[Any]]:
    """Write those whose keys nobody has. Answers the other keys, with who had them when this began."""
    dialect, names = connection.dialect, tuple(written[0].row)
    keys = [
        {"hash": key, "execution_id": item.id, "expires_at": item.once.expires_at if item.once else None}
        for key, item in first.items()
    ]
    new, journal = [each.row for each in written], [row for each in written for row in each.journal]
    given = [
        documents(idempotency_key, KEY_COLUMNS, keys, dialect),
        documents(workflow_execution, names, new, dialect, _from_now(names)),
    ]
    if _have_ended(names):
        given.append(documents(node_execution, COLUMNS, journal, dialect))
    found = run(
        connection,
        _statement(names, dialect),
        given,
        (workflow_execution, names, new),
        (node_execution, COLUMNS, journal),
    )
    return {row.hash: row for row in found}


def _from_now(names: Names) -> Names:
    return FROM_NOW_AT_END if _have_ended(names) else FROM_NOW


def _have_ended(names: Names) -> bool:
    return "completed_at" in names


@lru_cache(maxsize=8)
def _statement(names: Names, dialect: Dialect) -> str:
    asked = record(idempotency_key, KEY_COLUMNS, dialect)
    keys = inserting(idempotency_key, KEY_COLUMNS, dialect)
    executions = inserting(workflow_execution, names, dialect, "$2::text::json", _from_now(names))
    journal = inserting(node_execution, COLUMNS, dialect, "$3::text::json")
    ways = f"{journal} WHERE new.execution_id IN (SELECT id FROM begun)" if _have_ended(names) else "SELECT"
    # With a limit each key is looked up by itself, whatever the table was like when this was planned.
    return f"""
        WITH claimed AS (
            {keys} ON CONFLICT (hash) DO NOTHING RETURNING hash, execution_id
        ), begun AS (
            {executions} WHERE new.id IN (SELECT execution_id FROM claimed)
            ON CONFLICT (id) DO NOTHING RETURNING id
        ), journaled AS (
            {ways}
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
