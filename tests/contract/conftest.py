"""A migrated, empty database of each kind for every test that asks for `database`."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from sqlalchemy import Connection

from databases import EVERY_KIND, Kind, fresh_database, server_of
from muster.store.database import Database
from muster.store.migrations import migrate
from muster.store.open import open_database
from muster.store.tables import metadata


@pytest.fixture(scope="session")
def migrated_urls(request: pytest.FixtureRequest) -> Iterator["MigratedUrls"]:
    """One database of each kind for this process, made when the first test needs it."""
    with asyncio.Runner() as runner:
        urls = MigratedUrls(request, runner)
        yield urls
        runner.run(urls.drop())


class MigratedUrls:
    def __init__(self, request: pytest.FixtureRequest, runner: asyncio.Runner) -> None:
        self._request, self._runner, self._stack = request, runner, AsyncExitStack()
        self._made: dict[Kind, str] = {}

    def of(self, kind: Kind) -> str:
        if kind not in self._made:
            self._made[kind] = self._runner.run(self._make(kind, server_of(kind, self._request)))
        return self._made[kind]

    async def _make(self, kind: Kind, server: str | None) -> str:
        url = await self._stack.enter_async_context(fresh_database(kind, server))
        database = open_database(url)
        await migrate(database)
        await database.close()
        return url

    async def drop(self) -> None:
        await self._stack.aclose()


@pytest.fixture(params=EVERY_KIND)
def database_url(request: pytest.FixtureRequest, migrated_urls: MigratedUrls) -> str:
    return migrated_urls.of(request.param)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = open_database(database_url, data_dir=Path("unused"))
    yield opened
    await opened.write(_empty)
    await opened.close()


def _empty(connection: Connection) -> None:
    for table in reversed(metadata.sorted_tables):
        connection.execute(table.delete())
