"""From the first revision to the last while older versions write, and a server that comes up in the middle of
it works."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from signal import SIGTERM

import pytest
from sqlalchemy import Connection, text

from databases import EVERY_KIND
from migration.rows_by_revision import ROWS, TIME, put_row
from migration.test_migrations import EVERY_REVISION, differences
from muster.store import migrations
from muster.store.database import Database, Unavailable
from muster.store.migrations import migrate
from muster.store.open import open_database
from polling import until
from servers import Server

MARK = "meanwhile-"
PAUSE = 0.02
# The tables that there are from early on, and the column by which a writer's rows are told apart in each.
MARKED = {
    "workflow": "id",
    "workflow_version": "checksum",
    "workflow_node": "node_key",
    "workflow_edge": "to_node_key",
    "node_template": "id",
    "api_token": "id",
    "audit_log": "entity_id",
    "workflow_execution": "id",
    "node_execution": "node_id",
    "execution_signal": "execution_id",
    "delivery": "key_hash",
    "secret": "name",
    "data_source": "key",
    "prebuilt_query": "key",
    "action_definition": "key",
    "execution_takeover": "execution_id",
    "dead_letter": "key",
    "execution_tag": "tag",
    "execution_search": "term",
    "large_value": "sha256",
}
# What else may not be the same in two rows of a table.
APART = {"workflow": "key", "api_token": "token_hash"}
NUMBERED = {"workflow_version": "version"}
# What is over is nobody's to go on with.
OVER = {"workflow_execution": {"status": "COMPLETED", "completed_at": TIME}}
# The server finds the database here, and makes the rest.
FOUND = EVERY_REVISION.index("0033_traces")


@dataclass
class Writer:
    """Somebody who writes to a table as it was made, and has heard of no revision since."""

    database: Database
    table: str
    row: dict[str, object]
    written: int = 0

    async def keep_writing(self, over: asyncio.Event) -> None:
        while not over.is_set():
            try:
                await self.database.write(partial(put_row, table=self.table, row=self._next()))
            except Unavailable:  # it has given way to the revision that was being made, and wrote nothing
                continue
            self.written += 1
            await asyncio.sleep(PAUSE)

    def _next(self) -> dict[str, object]:
        name, number = f"{MARK}{self.written}", 1_000 + self.written
        # Numbers that a database gives are left to it.
        given = {column: value for column, value in self.row.items() if column != "id" or value != 1}
        apart = {APART[self.table]: name} if self.table in APART else {}
        told = {NUMBERED[self.table]: number} if self.table in NUMBERED else {}
        return {**given, **OVER.get(self.table, {}), **apart, **told, MARKED[self.table]: name}

    def count(self, connection: Connection) -> int:
        column = connection.dialect.identifier_preparer.quote(MARKED[self.table])
        found = text(f"SELECT count(*) FROM {self.table} WHERE {column} LIKE '{MARK}%'")
        return int(connection.execute(found).scalar_one())


async def each_has_written(writers: Sequence[Writer]) -> None:
    before = [writer.written for writer in writers]

    async def more() -> bool:
        return all(writer.written > count for writer, count in zip(writers, before, strict=True))

    await until(more)


def put_first(connection: Connection, table: str, row: dict[str, object]) -> None:
    """The row that others refer to. Where it has a number, the database is to go on after that, for which
    PostgreSQL does not look by itself."""
    put_row(connection, table, {**row, **OVER.get(table, {})})
    if connection.dialect.name == "postgresql" and row.get("id") == 1:
        connection.execute(text(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), 1)"))


def works(server: Server) -> None:
    """It takes a definition, and drives executions to their ends."""
    nodes = [{"id": "n", "type": "NOOP"}]
    made, answer = server.call(
        "POST", "/api/workflow", {"workflow": {"key": "new", "name": "New", "nodes": nodes}}
    )
    assert made == 201, answer
    for _ in range(10):
        _, answer = server.call("POST", "/api/workflow/execute?wait=60", {"key": "new"})
        assert isinstance(answer, dict)
        assert answer["status"] == "COMPLETED", answer


@pytest.fixture
async def older(empty_url: str) -> AsyncIterator[Database]:
    found = open_database(empty_url)
    yield found
    await found.close()


@pytest.fixture
def server(empty_url: str, tmp_path: Path) -> Iterator[Server]:
    found = Server(tmp_path)
    found.settings = {"DB_URL": empty_url, "MUSTER_ENGINE_RETENTION_DAYS": "0"}
    yield found
    found.clean_up()


@pytest.mark.slow
# On SQLite one process has the database, and nobody writes while it is started.
@pytest.mark.parametrize("empty_url", EVERY_KIND[1:], indirect=True)
async def test_whatever_older_versions_write_meanwhile_is_kept_and_a_server_works_beside_them(
    empty: Database, older: Database, server: Server
) -> None:
    writers: list[Writer] = []
    over = asyncio.Event()
    async with asyncio.TaskGroup() as writing:
        for revision in EVERY_REVISION[: FOUND + 1]:
            assert await migrate(empty, to=revision) == [revision]
            new = [Writer(older, table, row) for table, row in ROWS[revision] if table in MARKED]
            for writer in new:
                await empty.write(partial(put_first, table=writer.table, row=writer.row))
            writers += new
            for writer in new:
                writing.create_task(writer.keep_writing(over))
            await each_has_written(writers)
        assert {writer.table for writer in writers} == set(MARKED)
        await asyncio.to_thread(server.start)
        assert await migrations.current(empty) == EVERY_REVISION[-1]
        await asyncio.to_thread(works, server)
        await each_has_written(writers)
        over.set()
    assert server.end(SIGTERM) == 0
    counts = await empty.read(lambda c: {writer.table: writer.count(c) for writer in writers})
    assert counts == {writer.table: writer.written for writer in writers}
    assert await empty.read(differences) == []
