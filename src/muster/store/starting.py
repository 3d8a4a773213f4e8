"""Starts: executions are there, running, or as they ended where they did so before they were written."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection

from muster.engine.owned import Begun, NewExecution
from muster.engine.state import ExecutionStatus
from muster.store.committer import GroupCommitter, Locks
from muster.store.database import needs_transaction
from muster.store.dialect import insert_new
from muster.store.execution_rows import FROM_NOW, FROM_NOW_AT_END, ended_row, new_row
from muster.store.finding import write_tags_and_terms
from muster.store.journal import KEY as JOURNAL_KEY
from muster.store.journal import new_journal
from muster.store.large_values import OF_EXECUTIONS, OF_JOURNAL, Laying
from muster.store.limits import StartingLimited
from muster.store.once import Claims, asks_for_a_key
from muster.store.starting_at_once import StartingAtOnce, may_begin_at_once
from muster.store.tables import node_execution, workflow_execution


class Starting:
    """Begins executions: they are there, running, and owned or due at once for anyone. One that is there
    already, because the answer to its commit got lost, is left as it is. Of several with one key, one
    begins."""

    key_may_repeat = True
    is_single_statement = True

    def __init__(self, lease: timedelta, locks: Locks = Locks.NOTHING) -> None:
        self._lease, self.locks = lease, locks

    def write(self, connection: Connection, items: Sequence[NewExecution]) -> Sequence[Begun]:
        claims, laying = Claims(connection, items), Laying(OF_EXECUTIONS)
        new = claims.winners(items)
        rows = [new_row(laying, item, timedelta(), self._lease) for item in new]
        if laying.has_values or any(item.tags or item.terms for item in new):
            needs_transaction(connection)
        insert_new(connection, workflow_execution, rows, ("id",), FROM_NOW)
        write_tags_and_terms(connection, new)
        laying.write(connection)
        return claims.answers(items, {item.id: ExecutionStatus.RUNNING for item in new})


class StartingEnded:
    """Writes executions that have ended before anybody knew of them, with their journals; the rest is as in
    `Starting`."""

    key_may_repeat = True
    is_single_statement = False

    def __init__(self, locks: Locks) -> None:
        self.locks = locks

    def write(self, connection: Connection, items: Sequence[NewExecution]) -> Sequence[Begun]:
        claims, laying, journals = Claims(connection, items), Laying(OF_EXECUTIONS), Laying(OF_JOURNAL)
        new = claims.winners(items)
        rows = [ended_row(laying, item, timedelta()) for item in new]
        insert_new(connection, workflow_execution, rows, ("id",), FROM_NOW_AT_END)
        journal = [
            row for item in new if item.ended for row in new_journal(journals, item.id, item.ended.rows)
        ]
        insert_new(connection, node_execution, journal, JOURNAL_KEY)
        write_tags_and_terms(connection, new)
        laying.write(connection)
        journals.write(connection)
        return claims.answers(items, {item.id: ExecutionStatus.RUNNING for item in new})


class Starts:
    """Starts executions, each by the kind of write that is enough for it. `at_once` commit what is a single
    statement, where there is such a thing: while one waits for the database, another takes what comes."""

    def __init__(
        self, committer: GroupCommitter, lease: timedelta, at_once: Sequence[GroupCommitter]
    ) -> None:
        self._committer, self._at_once = committer, at_once
        self._running, self._running_once = Starting(lease), Starting(lease, Locks.KEYS)
        self._ended, self._ended_once = StartingEnded(Locks.NOTHING), StartingEnded(Locks.KEYS)
        self._limited = StartingLimited(lease)
        self._running_at_once, self._ended_at_once = StartingAtOnce(lease), StartingAtOnce(lease)

    async def start(self, new: NewExecution) -> Begun:
        if self._at_once and may_begin_at_once(new):
            kind = self._running_at_once if new.ended is None else self._ended_at_once
            begun = await self._whose(new).submit(kind, new, new.id)
            if begun is not None:
                return begun
        return await self._committer.submit(self._kind_of(new), new, new.id)

    def _whose(self, new: NewExecution) -> GroupCommitter:
        """The same for all who come with one key: they are told together."""
        assert new.once is not None, "only such as have a key begin at once"
        return self._at_once[hash(new.once.hash) % len(self._at_once)]

    def _kind_of(self, new: NewExecution) -> Starting | StartingEnded | StartingLimited:
        if new.limit is not None:
            return self._limited
        if new.ended is not None:
            return self._ended_once if asks_for_a_key(new) else self._ended
        return self._running_once if asks_for_a_key(new) else self._running
