"""What a driver's error means: has the database gone away, or does it only ask us to give way?"""

import sqlite3

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

# PostgreSQL: connection exceptions, shutting down or starting up, too many connections, out of resources.
GONE_CLASSES = ("08", "57P", "53")
# It has become a standby, or what stands before it has led us to one: another server takes writes.
READ_ONLY_STATE = "25006"
GIVE_WAY_STATES = {"40001", "40P01"}

# MariaDB: too many connections, shutting down, connection killed, and the client's own "gone" and "lost".
GONE_CODES = {1040, 1053, 1203, 1927, 2002, 2003, 2006, 2013, 2014, 2055, 4031}
DEADLOCK, LOCK_WAIT = 1213, 1205
GIVE_WAY_CODES = {DEADLOCK, LOCK_WAIT}

# SQLite: another process holds the lock for longer than we wait, or the disk does not do as it should.
GONE_RESULTS = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
}


# SQLite: what stops it before a commit is whole. After any other failure of the disk (a sync, say) the log
# may hold all of the commit, and whoever opens the file next may find it.
CUT_SHORT = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE}


def is_gone(error: Exception) -> bool:
    """Whether the database could not do its work at all, as opposed to refusing this statement."""
    if not isinstance(error, DBAPIError):
        return isinstance(error, OSError | EOFError)  # a socket's; not every driver wraps them
    if error.connection_invalidated:
        return True
    return (
        _state(error).startswith(GONE_CLASSES)
        or is_read_only(error)
        or _code(error) in GONE_CODES
        or _result(error) in GONE_RESULTS
        or isinstance(error.__cause__, OSError | EOFError)
    )


def is_read_only(error: BaseException | None) -> bool:
    """Whether PostgreSQL refused a write because it takes none."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return getattr(cause, "sqlstate", None) == READ_ONLY_STATE


def cannot_connect(error: Exception) -> bool:
    """Whether this, raised while connecting, says that nobody is there, or that whoever was has left."""
    # What asyncpg raises while SQLAlchemy sets a new connection up comes through as it is.
    of_driver = type(error).__module__.startswith("asyncpg.")
    return of_driver or isinstance(error, DBAPIError | OSError | EOFError | PoolTimeout)


def was_cut_short(error: Exception) -> bool:
    """Whether a commit that failed so has certainly written nothing."""
    return isinstance(error, DBAPIError) and getattr(error.orig, "sqlite_errorcode", None) in CUT_SHORT


def must_give_way(error: Exception) -> bool:
    """Whether the database ended the transaction in favour of another: nothing is wrong with it, only the
    moment."""
    return isinstance(error, DBAPIError) and (
        _state(error) in GIVE_WAY_STATES or _code(error) in GIVE_WAY_CODES
    )


def waited_in_vain(error: Exception) -> bool:
    """Whether giving way took as long as the database waits for a lock (on MariaDB; half a minute)."""
    return isinstance(error, DBAPIError) and _code(error) == LOCK_WAIT


def reason(error: Exception) -> str:
    """What the driver said, without the statement and its parameters: those may hold what is private."""
    if isinstance(error, PoolTimeout):
        return "every connection is in use"
    said = error.orig if isinstance(error, DBAPIError) else error
    return str(said) or type(said).__name__


def _state(error: DBAPIError) -> str:
    return str(getattr(error.orig, "sqlstate", None) or "")


def _code(error: DBAPIError) -> object:
    arguments = error.orig.args if isinstance(error.orig, Exception) else ()
    # asyncpg and sqlite3 put their sentence first.
    return arguments[0] if arguments and isinstance(arguments[0], int) else None


def _result(error: DBAPIError) -> int | None:
    code = getattr(error.orig, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None
