from collections.abc import AsyncIterator

import pytest

from databases import EVERY_KIND, fresh_database, server_of
from muster.store.database import Database
from muster.store.open import open_database


@pytest.fixture(params=EVERY_KIND)
async def empty_url(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    async with fresh_database(request.param, server_of(request.param, request)) as url:
        yield url


@pytest.fixture
async def empty(empty_url: str) -> AsyncIterator[Database]:
    database = open_database(empty_url)
    yield database
    await database.close()
