"""Databases for tests: each is made under a name that nobody else has, and dropped when it was used."""

import asyncio
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Literal, get_args

import pytest
from sqlalchemy import URL, text

from muster.store.address import parse_address
from muster.store.migrations import migrate
from muster.store.open import open_database, server_engine

Kind = Literal["sqlite", "postgres", "mariadb"]
EVERY_KIND = [
    "sqlite",
    pytest.param("postgres", marks=pytest.mark.postgres),
    pytest.param("mariadb", marks=pytest.mark.mariadb),
]


def server_of(kind: Kind, request: pytest.FixtureRequest) -> str | None:
    """The address of a server of that kind, started if need be; SQLite needs none."""
    assert kind in get_args(Kind)
    return None if kind == "sqlite" else request.getfixturevalue(f"{kind}_url")


@asynccontextmanager
async def fresh_database(kind: Kind, server_url: str | None, like: str = "") -> AsyncIterator[str]:
    """The address of an empty database, in which nothing is migrated yet; or of a copy of the one at `like`,
    on SQLite or PostgreSQL, that nobody is in."""
    if server_url is None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "muster.db"
            if like:
                shutil.copyfile(like.removeprefix("sqlite:///"), file)
            yield f"sqlite:///{file}"
        return
    name = f"muster_{uuid.uuid4().hex}"
    server = parse_address(server_url)
    template = f" TEMPLATE {parse_address(like).database}" if like else ""
    await _on_server(server, f"CREATE DATABASE {name}{template}")
    try:
        yield server_url.removesuffix("/" + str(server.database)) + "/" + name
    finally:
        # People who are still in it are thrown out: a test that failed may have left some.
        await _on_server(server, f"DROP DATABASE {name}" + (" WITH (FORCE)" if kind == "postgres" else ""))


async def _on_server(address: URL, statement: str) -> None:
    engine = server_engine(address)
    try:
        async with engine.connect() as connection:
            autocommit = await connection.execution_options(isolation_level="AUTOCOMMIT")
            await autocommit.execute(text(statement))
    finally:
        await engine.dispose()


class MigratedUrls:
    """One database of each kind that has its tables and nothing in them, made when it is first asked for."""

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
