"""A real server, for all tests of the client, and clients for it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from muster.client import AsyncMuster, Muster
from servers import Server

KEY = "bXVzdGVyLXRlc3RzLW9ubHktMzItYnl0ZXMtbG9uZyE="


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("client"))
    found.settings = {"MUSTER_SECRET_KEY": KEY}
    found.start()
    yield found
    found.clean_up()


@pytest.fixture
def url(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}"


@pytest.fixture
def muster(url: str) -> Iterator[Muster]:
    with Muster(url) as client:
        yield client


@pytest.fixture
async def async_muster(url: str) -> AsyncIterator[AsyncMuster]:
    async with AsyncMuster(url) as client:
        yield client
