"""Servers that a browser looks at, on a database of their own."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from databases import Kind, fresh_database, server_of
from servers import Server

on_sqlite = pytest.mark.parametrize("server", ["sqlite"], indirect=True, scope="module")
BOTH = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@contextmanager
def own_server(folder: Path, kind: Kind, request: pytest.FixtureRequest) -> Iterator[Server]:
    """One that is not started yet. Its database is made and dropped in another thread: the browser's driver
    has this one's loop."""
    server = Server(folder)
    fresh = fresh_database(kind, server_of(kind, request))
    with ThreadPoolExecutor(1) as elsewhere, asyncio.Runner() as runner:
        server.settings["DB_URL"] = elsewhere.submit(runner.run, fresh.__aenter__()).result()
        try:
            yield server
        finally:
            server.clean_up()
            elsewhere.submit(runner.run, fresh.__aexit__(None, None, None)).result()
            elsewhere.submit(runner.close).result()
