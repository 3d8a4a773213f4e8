"""One way to talk to every database: hand over a function of a connection, get its result once committed.

The function is plain and synchronous, so the same statements run on PostgreSQL and MariaDB (asynchronous
drivers, bridged by SQLAlchemy), on SQLite (a thread: one hop per transaction, not per statement) and inline
in the simulation (nothing runs beside it, so a run repeats exactly).
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol, TypeVar

from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.util.concurrency import greenlet_spawn

from muster.store.failures import (
    cannot_connect,
    is_gone,
    is_read_only,
    must_give_way,
    reason,
    waited_in_vain,
    was_cut_short,
)
from muster.store.kept import KeptConnections

T = TypeVar("T")
Work = Callable[[Connection], T]

# Who gives way lets another through, so this many times in a row means trouble of another kind.
MOST_ATTEMPTS = 10
FAILED = "muster.failed"
CLOCK = "muster.clock"
STATEMENTS = "muster_statements"


class Unavailable(Exception):
    """The database could not be reached, or left in the middle: nothing was written."""


class GaveWay(Unavailable):
    """The database ended the transaction in favour of another (a deadlock, say): nothing was written."""


class LockHeld(GaveWay):
    """It waited for a lock as long as the database lets it, and nobody let go: nothing was written."""


class LookAgain(GaveWay):
    """What a transaction looked at before its locks has changed: it begins anew, and nothing was written."""


class CommitUnknown(Exception):
    """The commit was sent and its answer never came: the writes may be there or not."""


class TransactionNeeded(Exception):
    """Work that was to be a single statement needs more, and has run none yet."""


class Database(Protocol):
    @property
    def dialect_name(self) -> str: ...

    async def write(self, work: Work[T], *, single: bool = False) -> T:
        """Run `work` in one transaction. When this returns, it is committed; when it raises anything but
        `CommitUnknown`, nothing was written.

        `single`: it runs one statement, or none. PostgreSQL commits that by itself: one round trip for three.
        Where it turns out to need more it calls `needs_transaction` first, and runs again in one.

        Where the database asks a transaction to give way to another, `work` runs again from its beginning:
        it changes nothing but the database. A statement that may fail has a savepoint around it
        (`connection.begin_nested()`), or its error ends the work.
        """
        ...

    async def read(self, work: Work[T], *, single: bool = False) -> T:
        """Run `work` in a transaction that changes nothing: it is rolled back. `single`: it runs one
        statement, and that one only looks."""
        ...

    async def close(self) -> None: ...


def in_transaction(connection: Connection, work: Work[T], keep: bool = True) -> T:
    """What every adapter does around `work`, whichever way it reached the connection."""
    try:
        connection.begin()
        connection.info.pop(FAILED, None)
        connection.info.pop(CLOCK, None)
        result = work(connection)
        _refuse_swallowed_failure(connection)
    except Exception as error:
        gone = connection.invalidated or is_gone(error)
        _roll_back(connection, error)
        if gone:
            raise Unavailable(reason(error)) from error
        if must_give_way(error):
            raise _gave_way(error) from error
        raise
    except BaseException as error:
        _roll_back(connection, error)
        raise
    if keep:
        _commit(connection)
    else:
        _roll_back(connection, None)
    return result


def by_itself(connection: Connection, work: Work[T], only_looks: bool = False) -> T:
    """Run work of a single statement on a connection that commits each by itself."""
    run: list[None] = []
    connection.info.pop(FAILED, None)
    connection.info.pop(CLOCK, None)
    connection.info[STATEMENTS] = run
    try:
        return work(connection)
    except TransactionNeeded:
        raise
    except Exception as error:
        # What the work itself raises comes too late: unless its statement failed, that is committed.
        said_no = isinstance(error, DBAPIError) or FAILED in connection.info
        late = bool(run) and not said_no and not only_looks
        unknown = late or connection.invalidated or is_gone(error)
        _roll_back(connection, error)
        if is_read_only(error):
            raise Unavailable(reason(error)) from error
        if unknown:
            raise CommitUnknown(reason(error)) from error
        if must_give_way(error):
            raise _gave_way(error) from error
        raise
    except BaseException as error:
        _roll_back(connection, error)
        raise
    finally:
        if not connection.invalidated:
            connection.info.pop(STATEMENTS, None)


def needs_transaction(connection: Connection) -> None:
    """Said by work before it runs more than one statement. Raises `TransactionNeeded` if there is none."""
    run: list[None] | None = connection.info.get(STATEMENTS)
    if run:
        raise RuntimeError("work that was to be a single statement has run it, and needs more")
    if run is not None:
        raise TransactionNeeded


def _commit(connection: Connection) -> None:
    try:
        connection.commit()
    except Exception as error:
        gone = connection.invalidated or is_gone(error)
        _roll_back(connection, error)
        if was_cut_short(error):
            raise Unavailable(reason(error)) from error
        if gone:
            raise CommitUnknown(reason(error)) from error
        if must_give_way(error):
            raise _gave_way(error) from error
        raise  # the database answered, and refused: a deferred constraint, say


def _gave_way(error: Exception) -> GaveWay:
    return LockHeld(reason(error)) if waited_in_vain(error) else GaveWay(reason(error))


def _roll_back(connection: Connection, because: BaseException | None) -> None:
    """Undo. A connection that cannot even do that is closed, and so the database undoes it by itself."""
    if isinstance(because, TimeoutError):
        # A server that has not answered a statement will not answer this one.
        connection.invalidate(because)
        return
    try:
        connection.rollback()
    except Exception as error:
        if because is not None:
            because.add_note(f"rolling back failed too, so the connection was closed: {reason(error)}")
        connection.invalidate(error)


def count_statements(engine: Engine) -> None:
    """See to it that what is said to be one statement is one: a second would be a commit of its own."""
    event.listen(engine, "before_cursor_execute", _count_statement)


def _count_statement(connection: Connection, *_: object) -> None:
    run: list[None] | None = connection.info.get(STATEMENTS)
    if run:
        raise RuntimeError("work that was to be a single statement runs another")
    if run is not None:
        run.append(None)


def watch_failures(engine: Engine) -> None:
    """Remember on its connection that a statement failed, until a savepoint before it is restored."""
    event.listen(engine, "handle_error", _remember_failure)
    event.listen(engine, "rollback_savepoint", _forget_failure)


def leave_standbys(engine: Engine) -> None:
    """Connect anew once the server takes no writes: it is not the one that is wanted, or not any more."""
    event.listen(engine, "handle_error", _leave_standby)


def _leave_standby(context: ExceptionContext) -> None:
    context.is_disconnect = context.is_disconnect or is_read_only(context.sqlalchemy_exception)


def _remember_failure(context: ExceptionContext) -> None:
    statement_failed = isinstance(context.sqlalchemy_exception, DBAPIError) and not context.is_disconnect
    if statement_failed and context.connection is not None and not _was_expected(context):
        context.connection.info[FAILED] = True


def _was_expected(context: ExceptionContext) -> bool:
    """SQLAlchemy finds out by an error whether MariaDB has a table, and marks that statement so."""
    execution = context.execution_context
    return execution is not None and bool(execution.execution_options.get("skip_user_error_events"))


def _forget_failure(connection: Connection, name: str, context: None) -> None:
    connection.info.pop(FAILED, None)


def _refuse_swallowed_failure(connection: Connection) -> None:
    # PostgreSQL answers COMMIT with success after a failed statement, having rolled everything back.
    if not connection.invalidated and connection.info.pop(FAILED, None):
        raise RuntimeError("a statement failed and the work went on: put a savepoint around it")


def _kept(work: Work[T]) -> Work[T]:
    return partial(in_transaction, work=work, keep=True)


def _undone(work: Work[T]) -> Work[T]:
    return partial(in_transaction, work=work, keep=False)


class InlineDatabase:
    """SQLite on the event loop's own thread, for the simulation: every call is finished when it returns."""

    def __init__(self, engine: Engine) -> None:
        watch_failures(engine)
        self._engine = engine
        self.dialect_name = engine.dialect.name

    async def write(self, work: Work[T], *, single: bool = False) -> T:
        return _connected(self._engine, _kept(work))

    async def read(self, work: Work[T], *, single: bool = False) -> T:
        return _connected(self._engine, _undone(work))

    async def close(self) -> None:
        self._engine.dispose()


class ThreadedDatabase:
    """SQLite: one writing thread (the database allows one writer anyway) and a few that read beside it.

    Whoever is cancelled while waiting leaves work behind that goes on to its end.
    """

    def __init__(self, writing: Engine, reading: Engine, readers: int = 4) -> None:
        watch_failures(writing)
        watch_failures(reading)
        self._writing, self._reading = writing, reading
        self._writer = ThreadPoolExecutor(1, "sqlite-writer")
        self._readers = ThreadPoolExecutor(readers, "sqlite-reader")
        self.dialect_name = writing.dialect.name

    async def write(self, work: Work[T], *, single: bool = False) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writer, _connected, self._writing, _kept(work))

    async def read(self, work: Work[T], *, single: bool = False) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, _connected, self._reading, _undone(work))

    async def close(self) -> None:
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        self._readers.shutdown()
        self._writer.shutdown()
        self._reading.dispose()
        self._writing.dispose()  # last: the last connection to leave folds the log into the file


def _connected(engine: Engine, work: Work[T]) -> T:
    for _ in range(1, MOST_ATTEMPTS):
        try:
            with _taken(engine.connect) as connection:
                return work(connection)
        except LookAgain:
            pass  # what it went by was read before it began; now it has let go of that
    with _taken(engine.connect) as connection:
        return work(connection)


def _taken(connect: Callable[[], Connection]) -> Connection:
    try:
        return connect()
    except Exception as error:
        if not cannot_connect(error):
            raise
        raise Unavailable(reason(error)) from error


class AsyncDatabase:
    """PostgreSQL over asyncpg, MariaDB over asyncmy."""

    def __init__(self, engine: AsyncEngine, kept: int = 0) -> None:
        """`kept`: how many connections stay at hand for single statements."""
        leave_standbys(engine.sync_engine)
        watch_failures(engine.sync_engine)
        count_statements(engine.sync_engine)
        self._engine, self._kept = engine, KeptConnections(engine.sync_engine, kept)
        self.dialect_name = engine.dialect.name

    async def write(self, work: Work[T], *, single: bool = False) -> T:
        waited = False
        for attempt in range(1, MOST_ATTEMPTS):
            try:
                return await self._once(work, single)
            except LockHeld:
                # Half a minute has passed: once more, but not half a minute time and again.
                if waited:
                    raise
                waited = True
            except GaveWay:
                await asyncio.sleep(attempt * 0.005)
        return await self._once(work, single)

    async def read(self, work: Work[T], *, single: bool = False) -> T:
        if not single or self.dialect_name != "postgresql":
            return await _bridged(self._in_transaction, _undone(work))
        try:
            found: T | TransactionNeeded = await _bridged(self._alone, work, True)
        except CommitUnknown as gone:
            raise Unavailable(str(gone)) from gone
        assert not isinstance(found, TransactionNeeded), "what only looks needs none"
        return found

    async def close(self) -> None:
        await greenlet_spawn(self._kept.close)
        await self._engine.dispose()

    async def _once(self, work: Work[T], single: bool) -> T:
        # MariaDB's driver makes several statements of a large one.
        if single and self.dialect_name == "postgresql":
            found: T | TransactionNeeded = await _bridged(self._alone, work)
            if not isinstance(found, TransactionNeeded):
                return found
        return await _bridged(self._in_transaction, _kept(work))

    # --- each in one greenlet, from taking a connection to giving it back ------------------------------

    def _in_transaction(self, work: Work[T]) -> T:
        with _taken(self._kept.take_for_a_transaction) as connection:
            return work(connection)

    def _alone(self, work: Work[T], only_looks: bool = False) -> T | TransactionNeeded:
        connection = _taken(self._kept.take)
        found: T | TransactionNeeded
        try:
            found = by_itself(connection, work, only_looks)
        except TransactionNeeded as needed:
            found = needed
        except BaseException:
            self._kept.drop(connection)  # whatever it was may concern them all
            raise
        self._kept.give_back(connection)
        return found


async def _bridged(function: Callable[..., T], *arguments: object) -> T:
    """Run what talks to an asynchronous driver. Whoever is cancelled meanwhile hears of it in the end,
    whatever the driver made of it: MariaDB's waits by `asyncio.wait_for`, which in Python 3.11 returns the
    answer as if nothing had been, if it has come. Who has not heard would go on for ever."""
    task = asyncio.current_task()
    assert task is not None, "coroutines run in tasks"
    told = task.cancelling()
    try:
        answer = await greenlet_spawn(function, *arguments)
    except Exception as error:
        if task.cancelling() > told:
            raise asyncio.CancelledError from error
        raise
    if task.cancelling() > told:
        raise asyncio.CancelledError
    return answer
