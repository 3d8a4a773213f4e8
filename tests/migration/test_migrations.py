"""From nothing, from every revision, by several starters at once: a database becomes what the code says."""

import asyncio

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, inspect, text
from sqlalchemy.util import await_only

from databases import EVERY_KIND, fresh_database
from migration.rows_by_revision import ROWS, count_rows, put_rows
from muster.store import migrations
from muster.store.database import Database
from muster.store.dialect import one_at_a_time
from muster.store.migrations import MigrationFailed, NewerSchema, migrate
from muster.store.migrations.making import in_order
from muster.store.migrations.runner import revisions
from muster.store.open import open_database
from muster.store.tables import metadata
from polling import PATIENCE

EVERY_REVISION = list(revisions())


def differences(connection: Connection) -> list[object]:
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return list(compare_metadata(context, metadata))


def test_revisions_are_named_in_the_order_in_which_they_follow_each_other() -> None:
    assert in_order() == EVERY_REVISION


async def test_an_empty_database_is_brought_to_the_newest_revision(empty: Database) -> None:
    assert await migrations.current(empty) is None
    assert await migrations.pending(empty) == EVERY_REVISION
    assert await migrate(empty) == EVERY_REVISION
    assert await migrations.current(empty) == EVERY_REVISION[-1]
    assert await migrations.pending(empty) == []


async def test_the_migrated_schema_is_the_one_that_the_code_describes(empty: Database) -> None:
    await migrate(empty)
    assert await empty.read(differences) == []


async def test_a_column_that_no_revision_made_is_noticed(empty: Database) -> None:
    await migrate(empty)
    await empty.write(lambda c: c.execute(text("ALTER TABLE audit_log ADD COLUMN surplus INTEGER")))
    assert len(await empty.read(differences)) == 1


async def test_migrating_again_does_nothing(empty: Database) -> None:
    await migrate(empty)
    assert await migrate(empty) == []


async def test_each_revision_keeps_the_rows_that_were_there_before_it(empty: Database) -> None:
    for done, revision in enumerate(EVERY_REVISION, start=1):
        assert await migrate(empty, to=revision) == [revision]
        await empty.write(lambda c, now=revision: put_rows(c, now))
        for earlier in EVERY_REVISION[:done]:
            counts = await empty.read(lambda c, then=earlier: count_rows(c, then))
            assert counts == {table: 1 for table, _ in ROWS[earlier]}
    assert await empty.read(differences) == []


async def test_every_table_has_rows_in_the_test_above() -> None:
    assert {table for rows in ROWS.values() for table, _ in rows} == set(metadata.tables)


async def test_of_several_starters_at_once_each_revision_is_made_by_one(empty_url: str) -> None:
    starters = [open_database(empty_url) for _ in range(4)]
    made = await asyncio.gather(*(migrate(starter) for starter in starters))
    assert sorted(revision for one in made for revision in one) == sorted(EVERY_REVISION)
    assert await starters[0].read(differences) == []
    await asyncio.gather(*(starter.close() for starter in starters))


@pytest.mark.parametrize("empty_url", EVERY_KIND[1:], indirect=True)
async def test_whoever_lacks_nothing_does_not_wait_for_one_that_froze_in_the_place(empty_url: str) -> None:
    frozen, starter = open_database(empty_url), open_database(empty_url)
    await migrate(frozen)
    held, let_go = asyncio.Event(), asyncio.Event()

    def freeze(connection: Connection) -> None:
        with one_at_a_time(connection, "migration"):
            held.set()
            await_only(let_go.wait())

    freezing = asyncio.create_task(frozen.write(freeze))
    await held.wait()
    assert await asyncio.wait_for(migrate(starter), PATIENCE) == []
    let_go.set()
    await freezing
    await asyncio.gather(frozen.close(), starter.close())


@pytest.mark.postgres
async def test_two_databases_are_migrated_at_once_without_mixing_them_up(postgres_url: str) -> None:
    made = [fresh_database("postgres", postgres_url) for _ in range(2)]
    async with made[0] as one, made[1] as two:
        both = [open_database(url) for url in (one, two)]
        assert await asyncio.gather(*map(migrate, both)) == [EVERY_REVISION, EVERY_REVISION]
        assert [await database.read(differences) for database in both] == [[], []]
        await asyncio.gather(*(database.close() for database in both))


async def test_a_database_newer_than_the_code_is_refused_in_a_sentence(empty: Database) -> None:
    await migrate(empty)
    await empty.write(lambda c: c.execute(text("UPDATE alembic_version SET version_num = '9999_future'")))
    for attempt in (migrate, migrations.pending):
        with pytest.raises(NewerSchema, match=r"'9999_future'.*newer version has migrated it"):
            await attempt(empty)


async def test_a_revision_that_fails_says_so_and_can_be_made_once_the_cause_is_mended(
    empty: Database,
) -> None:
    # A view where the revision wants to make an index: it fails after it has made other tables.
    await empty.write(lambda c: c.execute(text("CREATE VIEW node_template AS SELECT 1 AS id")))
    await empty.write(lambda c: c.execute(text("CREATE VIEW audit_log AS SELECT 1 AS entity_type")))
    with pytest.raises(MigrationFailed, match=r"'0001_library' could not be made: .*stays at 'no revision'"):
        await migrate(empty)
    assert await migrations.current(empty) is None
    await empty.write(
        lambda c: (c.execute(text("DROP VIEW node_template")), c.execute(text("DROP VIEW audit_log")))
    )
    assert await migrate(empty) == EVERY_REVISION
    assert await empty.read(differences) == []


@pytest.mark.mariadb
async def test_mariadb_tables_tell_case_and_trailing_spaces_apart_whatever_the_server_does(
    mariadb_url: str,
) -> None:
    async with fresh_database("mariadb", mariadb_url) as url:
        database = open_database(url)
        await database.write(lambda c: c.execute(text("ALTER DATABASE CHARACTER SET latin1")))
        await migrate(database)
        tables = (
            "SELECT DISTINCT table_collation FROM information_schema.tables WHERE table_schema = database()"
        )
        names = " AND table_name <> 'alembic_version'"
        found = await database.read(lambda c: c.execute(text(tables + names)).scalars().all())
        assert found == ["utf8mb4_nopad_bin"]
        assert {table.kwargs["mariadb_collate"] for table in metadata.tables.values()} == set(found)
        await database.close()


async def test_indexes_are_on_the_database_as_named(empty: Database) -> None:
    await migrate(empty)

    def names(connection: Connection) -> set[str | None]:
        # What SQLite's pragmas tell is as old as a connection's last statement.
        connection.execute(text("SELECT count(*) FROM alembic_version"))
        inspector = inspect(connection)
        tables = inspector.get_table_names()
        return {index["name"] for table in tables for index in inspector.get_indexes(table)}

    expected = {index.name for table in metadata.tables.values() for index in table.indexes}
    assert expected <= await empty.read(names)
