"""A migrated, empty database of each kind for every test that asks for `database`."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, literal, select, union_all

from databases import EVERY_KIND, MigratedUrls
from muster.store.database import Database
from muster.store.open import open_database
from muster.store.tables import metadata


@pytest.fixture(scope="session")
def migrated_urls(request: pytest.FixtureRequest) -> Iterator[MigratedUrls]:
    """One database of each kind for this process, made when the first test needs it."""
    with asyncio.Runner() as runner:
        urls = MigratedUrls(request, runner)
        yield urls
        runner.run(urls.drop())


@pytest.fixture(params=EVERY_KIND)
def database_url(request: pytest.FixtureRequest, migrated_urls: MigratedUrls) -> str:
    return migrated_urls.of(request.param)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = open_database(database_url, data_dir=Path("unused"))
    yield opened
    await opened.write(_empty)
    await opened.close()


# The names of the tables that hold anything: few do, after most tests.
USED = union_all(
    *(
        select(literal(table.name)).where(select(1).select_from(table).exists())
        for table in metadata.sorted_tables
    )
)


def _empty(connection: Connection) -> None:
    used = set(connection.scalars(USED))
    for table in reversed(metadata.sorted_tables):
        if table.name in used:
            connection.execute(table.delete())
