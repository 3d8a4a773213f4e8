"""How the things are that this instance depends on. Drivers' words go to the log: they may name hosts and
users."""

from muster.api.auth import OidcVerifier
from muster.api.parts import Check, Condition
from muster.app.cache import SharedCache
from muster.app.watched_database import WatchedDatabase
from muster.engine.bus import Bus, BusAway
from muster.store.database import Database, Unavailable
from muster.store.migrations.runner import NewerSchema, pending


def checks(
    database: WatchedDatabase,
    verifier: OidcVerifier | None,
    shared: SharedCache | None,
    kafka: Bus | None = None,
) -> dict[str, Check]:
    """Each dependency, and how to ask it."""
    found = {"database": _database_check(database), "migrations": _migrations_check(database)}
    if verifier is not None:
        found["openIdProvider"] = _provider_check(verifier)
    if shared is not None:
        found["redis"] = shared.check()
    if kafka is not None:
        found["kafka"] = _kafka_check(kafka)
    return found


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


def _kafka_check(bus: Bus) -> Check:
    async def reached() -> Condition:
        try:
            await bus.check()
        except BusAway:
            # What it carries waits for it, and everything else goes on.
            return Condition(True, {"reason": "it cannot be reached"}, degraded=True)
        return Condition(True, {})

    return reached


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
