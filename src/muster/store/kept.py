"""Connections for single statements, each of which commits by itself.

To take a connection from the pool, have it commit by itself and set it back takes several times as long as
most statements: so a few stay as they are.
"""

import time
from collections.abc import Callable

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

IDLE_SECONDS = 5


class KeptConnections:
    """Who takes one has it alone, until it is given back or closed."""

    def __init__(self, engine: Engine, most: int, seconds: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._most, self._seconds = most, seconds
        self._free: list[tuple[Connection, float]] = []

    def take(self) -> Connection:
        while self._free:
            connection, left = self._free.pop()  # the one that was used last
            if self._seconds() - left < IDLE_SECONDS or _answers(connection):
                return connection
        return self._engine.connect()

    def give_back(self, connection: Connection) -> None:
        if len(self._free) < self._most:
            self._free.append((connection, self._seconds()))
        else:
            connection.close()

    def close(self, *others: Connection) -> None:
        """Let go of all that nobody uses, and of these: they go back to the pool, which looks after them."""
        free, self._free = self._free, []
        for connection in (*others, *(each for each, _ in free)):
            connection.close()


def _answers(connection: Connection) -> bool:
    """Whether the server, or something between, has not closed it meanwhile."""
    try:
        connection.exec_driver_sql("SELECT 1")
    except (DBAPIError, OSError) as error:
        connection.invalidate(error)
        connection.close()
        return False
    return True
