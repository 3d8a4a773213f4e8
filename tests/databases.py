"""Databases for tests: each is made under a name that nobody else has, and dropped when it was used."""

import tempfile
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, get_args

import pytest
from sqlalchemy import URL, text

from muster.store.address import parse_address
from muster.store.open import server_engine

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
async def fresh_database(kind: Kind, server_url: str | None) -> AsyncIterator[str]:
    """The address of an empty database. Nothing is migrated yet."""
    if server_url is None:
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{Path(folder) / 'muster.db'}"
        return
    name = f"muster_{uuid.uuid4().hex}"
    server = parse_address(server_url)
    await _on_server(server, f"CREATE DATABASE {name}")
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
