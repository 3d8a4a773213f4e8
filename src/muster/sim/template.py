"""A prepared database, given out again and again as it was at first."""

import sqlite3
from datetime import datetime

from muster.kit.clock import Clock
from muster.sim.world import BEGINNING
from muster.store.database import InlineDatabase, Work, in_transaction
from muster.store.open import sqlite_engine


class Template:
    """SQLite in memory. It is prepared once and copied page by page, and the statements that were compiled in
    one run serve the next: making both anew took longer than the runs themselves.

    One run at a time: `fresh` takes the database from whoever had it last.
    """

    def __init__(self, prepare: Work[object]) -> None:
        self._clock = _Hands()
        engine = sqlite_engine(":memory:", "BEGIN IMMEDIATE", self._clock, single=True)
        with engine.connect() as connection:
            in_transaction(connection, prepare)
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
        self._used = driver
        self._prepared = sqlite3.connect(":memory:")
        self._used.backup(self._prepared)
        self._database = InlineDatabase(engine)

    def fresh(self, clock: Clock) -> InlineDatabase:
        """The database as it was prepared, and going by this clock from now on."""
        self._clock.behind = clock
        self._prepared.backup(self._used)
        return self._database


class _Hands:
    """A clock that shows another one's time; before there is one, the beginning of the world."""

    def __init__(self) -> None:
        self.behind: Clock | None = None

    def now(self) -> datetime:
        return BEGINNING if self.behind is None else self.behind.now()
