"""The built application in this process, on a real database."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack

import httpx
import pytest

from api_for_tests import Client, Documented
from databases import Kind, MigratedUrls, fresh_database, server_of
from muster.app.build import House, opened
from muster.app.settings import Settings

As = Callable[[str], Client]

# The document is the same for all of them, and takes a while to make.
_documented: list[Documented] = []


@pytest.fixture(scope="session")
def templates(request: pytest.FixtureRequest) -> Iterator[MigratedUrls]:
    """What each house has a copy of: nobody works in these themselves."""
    with asyncio.Runner() as runner:
        urls = MigratedUrls(request, runner)
        yield urls
        runner.run(urls.drop())


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def house(request: pytest.FixtureRequest, templates: MigratedUrls) -> AsyncIterator[House]:
    kind: Kind = request.param
    async with (
        fresh_database(
            kind, server_of(kind, request), like=await asyncio.to_thread(templates.of, kind)
        ) as url,
        opened(Settings.model_validate({"database": {"url": url}})) as found,
    ):
        yield found


@pytest.fixture
async def documented(house: House) -> Documented:
    if not _documented:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(house.api), base_url="http://127.0.0.1"
        ) as plain:
            _documented.append(Documented((await plain.get("/openapi.json")).json()))
    return _documented[0]


@pytest.fixture
async def client(house: House, documented: Documented) -> AsyncIterator[Client]:
    """A caller on this machine: an administrator who sees every tenant."""
    async with Client(house.api, documented) as found:
        yield found


@pytest.fixture
async def holding(
    house: House, documented: Documented, client: Client
) -> AsyncIterator[Callable[..., object]]:
    """Makes callers who hold a token with these roles, and see this institute alone if one is given."""
    async with AsyncExitStack() as stack:

        async def make(*roles: str, institute: str | None = None) -> Client:
            body = {"name": "test", "roles": list(roles), "instituteId": institute}
            made = await client.post("/api/tokens", json=body)
            assert made.status_code == 201, made.text
            headers = {"Authorization": f"Bearer {made.json()['token']}"}
            return await stack.enter_async_context(Client(house.api, documented, headers))

        yield make
