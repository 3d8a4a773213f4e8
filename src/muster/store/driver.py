"""Statements handed to PostgreSQL's driver itself.

A statement that is alone in its transaction is given to asyncpg as it is: what SQLAlchemy does around it, for
statements of all kinds, takes longer than most of these take the database. Who listens to statements and who
reads their errors sees no difference.
"""

from collections import namedtuple
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.util import await_only

from muster.store.database import FAILED, STATEMENTS
from muster.store.failures import is_read_only


def is_alone(connection: Connection) -> bool:
    """Whether what runs next on it commits by itself."""
    return STATEMENTS in connection.info


def fetch(connection: Connection, statement: str, parameters: Sequence[object]) -> Sequence[Any]:
    """Run a statement where each commits by itself. Answers its rows, by the names of the columns."""
    for listener in connection.dispatch.before_cursor_execute:
        listener(connection, None, statement, parameters, None, False)
    driver = connection.connection.driver_connection
    assert driver is not None, "a connection that was lost has been given back"
    try:
        found = await_only(driver.fetch(statement, *parameters))
    except (TimeoutError, OSError):
        raise  # of the way there: whoever runs statements knows them by these names
    except Exception as error:
        raise _failed(connection, statement, error, driver.is_closed() or is_read_only(error)) from error
    except BaseException as stopped:
        # Given up in the middle: whatever still comes on it is nobody's answer.
        connection.invalidate(stopped)
        raise
    # All of one statement have the same names.
    make = _shape(tuple(found[0].keys()))._make if found else None
    return [make(record) for record in found] if make else []


def _failed(connection: Connection, statement: str, error: Exception, is_lost: bool) -> DBAPIError:
    if is_lost:
        connection.invalidate(error)
    else:
        connection.info[FAILED] = True
    return DBAPIError(statement, None, error, hide_parameters=True, connection_invalidated=is_lost)


@lru_cache(maxsize=64)
def _shape(names: tuple[str, ...]) -> Any:
    return namedtuple("Row", names, rename=True)
