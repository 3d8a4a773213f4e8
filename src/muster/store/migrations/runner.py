"""Each revision is one transaction together with the note that it was made, so another starter sees it whole
or not at all. MariaDB commits by itself after each statement that changes the schema: its revisions are
written so that they can be run again after they stopped half-way."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from sqlalchemy import Connection, column, inspect, select, table
from sqlalchemy.exc import SQLAlchemyError

from muster.store.database import Database
from muster.store.dialect import one_at_a_time
from muster.store.failures import is_gone, must_give_way, reason

# Where Alembic notes which revision was made last.
NOTED = table("alembic_version", column("version_num"))


class NewerSchema(Exception):
    """The database was migrated by a version of Muster that is newer than this one."""

    def __init__(self, revision: str) -> None:
        super().__init__(
            f"the database is at revision {revision!r}, which this version of Muster does not know: "
            "a newer version has migrated it, so start that one"
        )


class MigrationFailed(Exception):
    """A revision could not be made. The message names it and says in which state the database is."""


async def migrate(database: Database, to: str | None = None) -> list[str]:
    """Make every revision that is missing, or those up to `to`, and name the ones that this call made.

    Several starters may do so at once; one for whom nothing is missing waits for none of the others, who may
    be frozen while they have their turn. Raises `NewerSchema`, `MigrationFailed`.
    """
    made: list[str] = []
    if not await pending(database):
        return made
    while (revision := await database.write(lambda connection: _step(connection, to))) is not None:
        made.append(revision)
    return made


async def current(database: Database) -> str | None:
    """The revision that the database is at; None if it holds nothing yet."""
    return await database.read(_current)


async def pending(database: Database) -> list[str]:
    """The revisions that the database lacks, in the order they will be made. Raises `NewerSchema`."""
    at = await database.read(_current)
    return list(_after(at))


def _step(connection: Connection, to: str | None) -> str | None:
    with one_at_a_time(connection, "migration"):
        at = _current(connection)
        missing = _after(at)
        if not missing or (to is not None and at == to):
            return None
        _make(connection, missing[0], at)
        return missing[0]


def _make(connection: Connection, revision: str, at: str | None) -> None:
    from muster.store.migrations.making import make  # few starts have anything to make

    try:
        make(connection, revision)
    except SQLAlchemyError as error:
        if is_gone(error) or must_give_way(error):
            raise
        raise MigrationFailed(
            f"revision {revision!r} could not be made: {reason(error)}. "
            f"The database stays at {at or 'no revision'!r}; mend the cause and migrate again"
        ) from error


def _current(connection: Connection) -> str | None:
    if not inspect(connection).has_table(NOTED.name):
        return None
    return connection.scalar(select(NOTED.c.version_num))


def _after(at: str | None) -> Sequence[str]:
    known = revisions()
    if at is None:
        return known
    if at not in known:
        raise NewerSchema(at)
    return known[known.index(at) + 1 :]


@cache
def revisions() -> Sequence[str]:
    """Every revision, oldest first: their files are named after them, in their order."""
    files = (Path(__file__).parent / "versions").glob("r*.py")
    return sorted(file.stem.removeprefix("r") for file in files)
