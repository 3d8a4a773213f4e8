"""Connections for single statements, each of which commits by itself.

To take a connection from the pool, have it commit by itself and set it back takes several times as long as
most statements: so a few stay as they are.
"""

import time
from collections.abc import Callable

from sqlalchemy import Connection, Engine, QueuePool, event
from sqlalchemy.exc import DBAPIError

IDLE_SECONDS = 5


class KeptConnections:
    """Who takes one has it alone, until it is given back or dropped. None is kept while the pool is empty:
    somebody may be waiting for it."""

    def __init__(self, engine: Engine, most: int, seconds: Callable[[], float] = time.monotonic) -> None:
        self._engine, self._most, self._seconds = engine, most, seconds
        self._single = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._free: list[tuple[Connection, float]] = []
        self._doubtful = False
        event.listen(engine, "invalidate", self._doubt)

    def take(self) -> Connection:
        if self._doubtful:
            self._doubtful = False
            self.drop()
        while self._free:
            connection, left = self._free.pop()  # the one that was used last
            if self._seconds() - left < IDLE_SECONDS or _answers(connection):
                return connection
        return self._single.connect()

    def take_for_a_transaction(self) -> Connection:
        """One of the pool, which is given back by closing it."""
        if self._is_pool_empty():
            self.drop()
        return self._engine.connect()

    def give_back(self, connection: Connection) -> None:
        has_room = len(self._free) < self._most and not self._is_pool_empty()
        if has_room and not connection.invalidated:
            self._free.append((connection, self._seconds()))
        else:
            connection.close()

    def drop(self, *others: Connection) -> None:
        """Let go of all that nobody uses, and of these: they go back to the pool, which looks after them."""
        free, self._free = self._free, []
        for connection in (*others, *(each for each, _ in free)):
            connection.close()

    def close(self) -> None:
        """Keep none from now on."""
        self._most = 0
        self.drop()

    def _is_pool_empty(self) -> bool:
        pool = self._engine.pool
        return isinstance(pool, QueuePool) and pool.checkedout() >= pool.size()

    def _doubt(self, *_: object) -> None:
        """A connection was lost: these were opened before that, and the server may have restarted."""
        self._doubtful = True


def _answers(connection: Connection) -> bool:
    """Whether the server, or something between, has not closed it meanwhile."""
    try:
        connection.exec_driver_sql("SELECT 1")
    except (DBAPIError, OSError) as error:
        connection.invalidate(error)
        connection.close()
        return False
    except BaseException:
        connection.close()
        raise
    return True
