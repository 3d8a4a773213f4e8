"""How the things are that this instance depends on. Drivers' words go to the log: they may name hosts and
users."""

import time
from collections.abc import Callable
from typing import TypeVar

import structlog
from sqlalchemy.exc import TimeoutError as PoolTimeout

from muster.api.auth import OidcVerifier
from muster.api.parts import Check, Condition
from muster.store.database import CommitUnknown, Database, GaveWay, Unavailable, Work
from muster.store.migrations.runner import NewerSchema, pending

_log = structlog.get_logger("muster.health")

T = TypeVar("T")
REMEMBERED_SECONDS = 15.0
CALM_SECONDS = 3.0


class Outage:
    """Tells the log that something is away, and that it is back: two lines, however many ask meanwhile.

    It is back when it answers and nobody has failed for a while: a disk that is full answers in between.
    """

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._began: float | None = None
        self._last = 0.0
        self._failures = 0

    def failed(self, error: Exception) -> None:
        self._last = self._seconds()
        self._failures += 1
        if self._began is None:
            self._began = self._last
            _log.warning("database unavailable", reason=str(error))

    def worked(self) -> None:
        if self._began is not None and self._seconds() - self._last > CALM_SECONDS:
            lasted, failures = round(self._last - self._began, 1), self._failures
            self._began, self._failures = None, 0
            _log.info("database is back", seconds=lasted, failures=failures)


class WatchedDatabase:
    """A database that remembers for a while that it could not be written: a full disk can still be read."""

    def __init__(self, database: Database, seconds: Callable[[], float] = time.monotonic) -> None:
        self._database, self._seconds = database, seconds
        self._outage = Outage(seconds)
        self._failed_at: float | None = None
        self.dialect_name = database.dialect_name

    @property
    def takes_writes(self) -> bool:
        """A write that went well since is no proof of the contrary: it may have had nothing to change."""
        return self._failed_at is None or self._seconds() - self._failed_at > REMEMBERED_SECONDS

    async def write(self, work: Work[T], *, single: bool = False) -> T:
        try:
            result = await self._database.write(work, single=single)
        except (Unavailable, CommitUnknown) as error:
            only_busy = isinstance(error, GaveWay) or isinstance(error.__cause__, PoolTimeout)
            if not only_busy:
                self._failed_at = self._seconds()
            self._outage.failed(error)
            raise
        self._outage.worked()
        return result

    async def read(self, work: Work[T]) -> T:
        try:
            result = await self._database.read(work)
        except Unavailable as error:
            self._outage.failed(error)
            raise
        self._outage.worked()
        return result

    async def close(self) -> None:
        await self._database.close()


def checks(database: WatchedDatabase, verifier: OidcVerifier | None) -> dict[str, Check]:
    """Each dependency, and how to ask it."""
    found = {"database": _database_check(database), "migrations": _migrations_check(database)}
    return found if verifier is None else {**found, "openIdProvider": _provider_check(verifier)}


def _database_check(database: WatchedDatabase) -> Check:
    async def usable() -> Condition:
        kind = database.dialect_name
        try:
            await database.read(lambda connection: connection.exec_driver_sql("SELECT 1").scalar())
        except Unavailable:
            return Condition(False, {"kind": kind, "reason": "it cannot be reached"})
        if not database.takes_writes:
            return Condition(False, {"kind": kind, "reason": "it could not be written a moment ago"})
        return Condition(True, {"kind": kind})

    return usable


def _migrations_check(database: Database) -> Check:
    async def up_to_date() -> Condition:
        try:
            missing = await pending(database)
        except Unavailable:
            return Condition(False, {"reason": "the database cannot be reached"})
        except NewerSchema as error:
            return Condition(False, {"reason": str(error)})
        return Condition(not missing, {"pending": list(missing)})

    return up_to_date


def _provider_check(verifier: OidcVerifier) -> Check:
    async def known() -> Condition:
        cached, reached = await verifier.provider_state()
        if not cached:
            return Condition(False, {"reason": "its keys have not been read yet: no token can be checked"})
        if not reached:
            return Condition(
                True, {"reason": "it is away; the keys that were read last go on"}, degraded=True
            )
        return Condition(True, {})

    return known
