"""The database, opened as the settings say: for a server, for migrations, or beside a server that runs."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog
from sqlalchemy.exc import SQLAlchemyError

from muster.app.settings import Settings
from muster.kit.clock import Clock, SystemClock
from muster.store.address import SQLITE, BadAddress, masked, parse_address
from muster.store.database import CommitUnknown, Database, Unavailable
from muster.store.failures import reason
from muster.store.folder import DataFolder, FolderTaken
from muster.store.migrations.runner import (
    MigrationFailed,
    NewerSchema,
    migrate,
    pending,
    revisions,
)
from muster.store.open import ANSWER_SECONDS, FILE_NAME, open_database
from muster.store.templates import TemplateRepository
from muster.store.tokens import TokenRepository
from muster.store.vault import BadKey, Vault
from muster.store.workflows import WorkflowRepository

_log = structlog.get_logger("muster.storage")

ANY_TIME = None  # what changing a large table may take
# PgBouncer's words.
REFUSED_BY_A_POOLER = "unsupported startup parameter"
IS_THERE_A_POOLER = "Behind a pooler such as PgBouncer, set `database.pooled`."


class CannotOpen(Exception):
    """What the settings ask for is not to be had; one sentence says why and what to do."""


@dataclass(frozen=True, slots=True)
class Storage:
    """The database and what is kept in it."""

    database: Database
    workflows: WorkflowRepository
    templates: TemplateRepository
    tokens: TokenRepository


@asynccontextmanager
async def opened_storage(settings: Settings) -> AsyncIterator[Storage]:
    """The database as it is, beside a server that may be running on it. Raises `CannotOpen`."""
    file = sqlite_file(settings)
    if file is not None and not file.exists():
        raise CannotOpen(f"There is no database at {file} yet: `muster serve` or `muster migrate` makes one.")
    async with opened_database(settings) as database:
        if await _pending(settings, database):
            raise CannotOpen("The database is not up to date: `muster migrate` brings it there.")
        yield storage_in(database, SystemClock())


async def missing_revisions(settings: Settings) -> list[str]:
    """What `migrated` would make. Looks beside a server that may be running, and makes and claims nothing.

    Raises `CannotOpen`.
    """
    file = sqlite_file(settings)
    if file is not None and not file.exists():
        return list(revisions())
    async with opened_database(settings) as database:
        return await _pending(settings, database)


async def _pending(settings: Settings, database: Database) -> list[str]:
    try:
        return await pending(database)
    except (Unavailable, NewerSchema) as error:
        raise _cannot_open(settings, str(error)) from error
    except SQLAlchemyError as error:
        raise _cannot_open(settings, reason(error)) from error


@asynccontextmanager
async def opened_for_migration(settings: Settings) -> AsyncIterator[Database]:
    """The database, whatever state it is in; on SQLite, nobody else's meanwhile. Raises `CannotOpen`."""
    async with AsyncExitStack() as stack:
        file = sqlite_file(settings)
        if file is not None:
            stack.enter_context(claimed(file.parent))
        yield await stack.enter_async_context(opened_database(settings, ANY_TIME))


async def migrated(database: Database) -> list[str]:
    """Bring the schema up to date, and say which revisions that took. Raises `CannotOpen`."""
    try:
        made = await migrate(database)
    except Unavailable as error:
        pooler = f" {IS_THERE_A_POOLER}" if REFUSED_BY_A_POOLER in str(error) else ""
        raise CannotOpen(f"The database cannot be reached, or not be written: {error}.{pooler}") from error
    except CommitUnknown as error:
        raise CannotOpen(f"The database left while it was brought up to date: {error}.") from error
    except (MigrationFailed, NewerSchema) as error:
        raise CannotOpen(f"The database cannot be used: {error}.") from error
    except SQLAlchemyError as error:
        raise CannotOpen(f"The database cannot be used: {reason(error)}.") from error
    if made:
        _log.info("migrated", revisions=made)
    return made


def sqlite_file(settings: Settings) -> Path | None:
    """Where SQLite's file is; None if the database is another."""
    if settings.database.url is None:
        return settings.data_dir / FILE_NAME
    try:
        address = parse_address(settings.database.url.get_secret_value())
    except BadAddress as error:
        raise CannotOpen(f"{error}.") from None
    return Path(address.database) if address.drivername == SQLITE and address.database else None


def database_name(settings: Settings) -> str:
    """Where the data is, for people; without its password."""
    url = settings.database.url
    return f"SQLite in {settings.data_dir / FILE_NAME}" if url is None else masked(url.get_secret_value())


def claimed(folder: Path) -> DataFolder:
    """The folder, nobody else's until it is closed. Raises `CannotOpen`."""
    try:
        return DataFolder.claim(folder)
    except FolderTaken as error:
        raise CannotOpen(f"{str(error)[0].upper()}{str(error)[1:]}.") from error
    except OSError as error:
        raise CannotOpen(f"The data folder {folder} cannot be used: {error.strerror}.") from error


@asynccontextmanager
async def opened_database(
    settings: Settings, answer_seconds: float | None = ANSWER_SECONDS
) -> AsyncIterator[Database]:
    """Raises `CannotOpen`."""
    url, password = settings.database.url, settings.database.password
    try:
        database = open_database(
            url.get_secret_value() if url else None,
            user=settings.database.user,
            password=password.get_secret_value() if password else None,
            data_dir=settings.data_dir,
            answer_seconds=answer_seconds,
            pooled=settings.database.pooled,
        )
    except BadAddress as error:
        raise CannotOpen(f"{error}.") from None
    except OSError as error:
        raise CannotOpen(f"{database_name(settings)} cannot be opened: {error.strerror}.") from error
    try:
        yield database
    finally:
        await database.close()


def vault_of(settings: Settings) -> Vault | None:
    """What secrets are encrypted with; None: there is no key. Raises `CannotOpen`."""
    key = settings.secret_key
    try:
        return None if key is None else Vault.of(key.get_secret_value())
    except BadKey as error:
        raise CannotOpen(f"{error}.") from None


def storage_in(database: Database, clock: Clock) -> Storage:
    return Storage(
        database,
        WorkflowRepository(database, clock),
        TemplateRepository(database, clock),
        TokenRepository(database, clock),
    )


def _cannot_open(settings: Settings, why: str) -> CannotOpen:
    return CannotOpen(f"{database_name(settings)} cannot be used: {why}.")
