"""The built application in this process, on a real database."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
import structlog
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from api_for_tests import Client, Documented
from clocks import ShiftedClock
from databases import Kind, MigratedUrls, fresh_database, server_of
from muster.app.build import House, opened
from muster.app.settings import Settings
from muster.app.storage import migrated, opened_for_migration
from muster_command import Muster
from watch_house import WatchHouse, event

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
def topic() -> str:
    """One that nobody else has."""
    return f"orders-{uuid4().hex[:8]}"


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
async def house_on_a_bus(request: pytest.FixtureRequest, tmp_path: Path, topic: str) -> AsyncIterator[House]:
    """Alone on SQLite, with the topic on either bus: who wants this one has a `house` that is it."""
    settings: dict[str, Any] = {"data_dir": str(tmp_path)}
    if request.param == "kafka":
        brokers = request.getfixturevalue("kafka_bootstrap")
        admin = AdminClient({"bootstrap.servers": brokers})
        [made] = admin.create_topics([NewTopic(topic, 2, 1)]).values()
        await asyncio.to_thread(made.result)
        settings["kafka"] = {"bootstrap_servers": brokers, "consumer": {"group_id": f"g-{topic}"}}
    async with opened(Settings.model_validate(settings)) as found:
        yield found


@pytest.fixture
def clock() -> ShiftedClock:
    """This machine's, standing still: of a house that goes by it."""
    found = ShiftedClock()
    found.stop()
    return found


@pytest.fixture
async def house_with_secrets(tmp_path: Path, clock: ShiftedClock) -> AsyncIterator[House]:
    """Alone on SQLite, with a key to keep secrets under, by a clock that stands still: who wants this one has
    a `house` that is it."""
    settings = {"data_dir": str(tmp_path), "secret_key": "A" * 43 + "="}
    async with opened(Settings.model_validate(settings), clock) as found:
        yield found


@pytest.fixture
def muster(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[Muster]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield Muster(monkeypatch, capsys, tmp_path)
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.fixture
def trades_missed_twice(muster: Muster) -> None:
    """In the database of whoever runs commands: two trades that began, and all that was to follow is late."""
    asyncio.run(_miss_twice(muster.folder))


async def _miss_twice(folder: Path) -> None:
    settings = Settings.model_validate({"data-dir": folder / "data"})
    async with opened_for_migration(settings) as database:
        await migrated(database)
        watching = WatchHouse(database)
        await watching.watch()
        await watching.take(event("TRADE_INGEST", "TR1"), event("TRADE_INGEST", "TR2"))
        assert await watching.due.fire(10) == 4
        await watching.close()


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
