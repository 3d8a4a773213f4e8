"""Places for checks that are made under a name of their own, and are gone afterwards."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path

from sqlalchemy import URL, Connection
from sqlalchemy.exc import DBAPIError

from muster.bus.kafka_client import Config
from muster.conformance.caches import CachePlace
from muster.conformance.kafka import NotAllowed, make_topic, remove_all
from muster.conformance.stores import Store
from muster.store.address import POSTGRESQL, SQLITE, parse_address
from muster.store.database import AsyncDatabase, Database
from muster.store.failures import reason
from muster.store.migrations import migrate
from muster.store.open import ANSWER_SECONDS, server_engine, sqlite_database
from muster.store.wake_ups import WakeUps

# Where tables are made and dropped: that may take any time.
ANY_TIME = None
CONNECTIONS = 10


class CannotBegin(Exception):
    """There is no place for the checks; one sentence says why, and what to do."""


@asynccontextmanager
async def own_store(
    url: str | None, user: str | None, password: str | None, name: str
) -> AsyncIterator[Store]:
    """A schema of this name in the database at `url`, with Muster's tables in it: on MariaDB a database, on
    SQLite a file beside the one that is named, or in a temporary folder. Raises `CannotBegin`, `BadAddress`,
    `Unavailable`."""
    if url is None:
        with tempfile.TemporaryDirectory(prefix=name) as folder:
            async with _migrated(_sqlite(Path(folder) / f"{name}.db")) as store:
                yield store
        return
    address = parse_address(url, user, password)
    if address.drivername == SQLITE:
        with _beside(Path(str(address.database)), name) as file:
            async with _migrated(_sqlite(file)) as store:
                yield store
        return
    is_postgres = address.drivername == POSTGRESQL
    kind = "SCHEMA" if is_postgres else "DATABASE"
    async with _made(
        address, f"CREATE {kind} {name}", f"DROP {kind} {name}{' CASCADE' if is_postgres else ''}"
    ):
        opened = _in_schema(address, name) if is_postgres else _in_database(address.set(database=name))
        async with _migrated(opened) as store:
            yield store


@contextmanager
def _beside(file: Path, name: str) -> Iterator[Path]:
    if not file.parent.is_dir():
        raise CannotBegin(f"There is no folder {file.parent} to try SQLite in.")
    own = file.parent / f"{name}.db"
    try:
        yield own
    except OSError as error:
        raise CannotBegin(f"Nothing can be written in {file.parent}: {error.strerror}.") from error
    finally:
        for left in file.parent.glob(f"{name}.db*"):
            left.unlink()


def _sqlite(file: Path) -> Store:
    return Store(sqlite_database(file), lambda _: sqlite_database(file))


def _in_database(address: URL) -> Store:
    def opened(seconds: float) -> Database:
        return AsyncDatabase(server_engine(address, CONNECTIONS, seconds))

    return Store(opened(ANSWER_SECONDS), opened)


def _in_schema(address: URL, name: str) -> Store:
    def opened(seconds: float) -> Database:
        return AsyncDatabase(server_engine(address, CONNECTIONS, seconds, schema=name))

    return Store(opened(ANSWER_SECONDS), opened, lambda: WakeUps(server_engine(address, pool_size=1)))


@asynccontextmanager
async def _made(address: URL, make: str, drop: str) -> AsyncIterator[None]:
    database = AsyncDatabase(server_engine(address, 1, ANY_TIME))
    try:
        await _allowed(database, make, str(address.username))
        try:
            yield
        finally:
            await database.write(_statement(drop))
    finally:
        await database.close()


async def _allowed(database: Database, make: str, user: str) -> None:
    try:
        await database.write(_statement(make))
    except DBAPIError as error:
        what, right = (
            ("schema", "GRANT CREATE ON DATABASE … TO")
            if database.dialect_name == "postgresql"
            else ("database", "GRANT ALL ON `muster\\_conformance\\_%`.* TO")
        )
        raise CannotBegin(
            f"The checks need a {what} of their own, and {user} may not make one: {reason(error)}. "
            f"Let an administrator say `{right} {user}`, or give another user."
        ) from error


def _statement(sql: str) -> Callable[[Connection], None]:
    def run(connection: Connection) -> None:
        connection.exec_driver_sql(sql)

    return run


@asynccontextmanager
async def _migrated(store: Store) -> AsyncIterator[Store]:
    try:
        await migrate(store.database)
        yield store
    finally:
        await store.database.close()


@asynccontextmanager
async def own_topics(client: Config, prefix: str) -> AsyncIterator[None]:
    """Let topics and groups be made whose names begin so. Raises `CannotBegin`, `BusAway`."""
    try:
        await asyncio.to_thread(make_topic, client, f"{prefix}first")
    except NotAllowed as refused:
        raise CannotBegin(
            f"The checks need topics of their own, and Kafka does not let this client make any: {refused}. "
            f"Give it Create, Delete, Read, Write and Describe on topics and groups that begin with "
            f"`muster-conformance-`, and Write on transactional ids that do."
        ) from None
    try:
        yield
    finally:
        await asyncio.to_thread(partial(remove_all, client, prefix))


@asynccontextmanager
async def own_keys(url: str, prefix: str) -> AsyncIterator[CachePlace]:
    """Keys of a Redis, or of this process where `url` is empty. Raises `Away`."""
    place = CachePlace(url, prefix)
    await place.check()
    try:
        yield place
    finally:
        with suppress(Exception):  # they run out by themselves, and what was found is what is to be told
            await place.forget()
