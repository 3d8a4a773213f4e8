"""Making one revision, by Alembic. Whoever is up to date never comes here: importing it takes a while."""

from functools import cache
from pathlib import Path

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection


def make(connection: Connection, revision: str) -> None:
    """Run the revision's statements, and note that it was made."""
    context = MigrationContext.configure(connection)
    script = _scripts().get_revision(revision)
    assert script is not None, "it is one of those that are in the folder"
    # Handed over instead of Alembic's global `op`: two databases may be migrated at once.
    script.module.upgrade(Operations(context))
    context.stamp(_scripts(), revision)


def in_order() -> list[str]:
    """Every revision, oldest first, by what each says comes before it."""
    return [script.revision for script in _scripts().walk_revisions()][::-1]


@cache
def _scripts() -> ScriptDirectory:
    return ScriptDirectory(str(Path(__file__).parent))
