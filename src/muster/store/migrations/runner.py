"""Each revision is one transaction together with the note that it was made, so another starter sees it whole
or not at all. MariaDB commits by itself after each statement that changes the schema: its revisions are
written so that they can be run again after they stopped half-way."""

from functools import cache
from pathlib import Path

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from muster.store.database import Database
from muster.store.dialect import one_at_a_time
from muster.store.failures import is_gone, must_give_way, reason


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

    Several starters may do so at once. Raises `NewerSchema`, `MigrationFailed`.
    """
    made = []
    while (revision := await database.write(lambda connection: _step(connection, to))) is not None:
        made.append(revision)
    return made


async def current(database: Database) -> str | None:
    """The revision that the database is at; None if it holds nothing yet."""
    return await database.read(_current)


async def pending(database: Database) -> list[str]:
    """The revisions that the database lacks, in the order they will be made. Raises `NewerSchema`."""
    at = await database.read(_current)
    return [script.revision for script in _after(at)]


def _step(connection: Connection, to: str | None) -> str | None:
    with one_at_a_time(connection, "migration"):
        at = _current(connection)
        missing = _after(at)
        if not missing or (to is not None and at == to):
            return None
        _make(connection, missing[0], at)
        return missing[0].revision


def _make(connection: Connection, script: Script, at: str | None) -> None:
    context = MigrationContext.configure(connection)
    try:
        # Handed over instead of Alembic's global `op`: two databases may be migrated at once.
        script.module.upgrade(Operations(context))
    except SQLAlchemyError as error:
        if is_gone(error) or must_give_way(error):
            raise
        raise MigrationFailed(
            f"revision {script.revision!r} could not be made: {reason(error)}. "
            f"The database stays at {at or 'no revision'!r}; mend the cause and migrate again"
        ) from error
    context.stamp(_scripts(), script.revision)


def _current(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _after(at: str | None) -> list[Script]:
    known = revisions()
    if at is None:
        return known
    names = [script.revision for script in known]
    if at not in names:
        raise NewerSchema(at)
    return known[names.index(at) + 1 :]


@cache
def revisions() -> list[Script]:
    """Every revision, oldest first."""
    return list(_scripts().walk_revisions())[::-1]


@cache
def _scripts() -> ScriptDirectory:
    return ScriptDirectory(str(Path(__file__).parent))
