"""The built application in this process, on a real database."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import httpx
import pytest

from api_for_tests import Client, Documented
from databases import Kind, fresh_database, server_of
from muster.app.build import House, opened
from muster.app.settings import Settings

As = Callable[[str], Client]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def house(request: pytest.FixtureRequest) -> AsyncIterator[House]:
    kind: Kind = request.param
    async with (
        fresh_database(kind, server_of(kind, request)) as url,
        opened(Settings.model_validate({"database": {"url": url}})) as found,
    ):
        yield found


@pytest.fixture
async def documented(house: House) -> Documented:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(house.api), base_url="http://127.0.0.1"
    ) as plain:
        return Documented((await plain.get("/openapi.json")).json())


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
