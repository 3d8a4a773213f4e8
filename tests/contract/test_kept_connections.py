"""Connections that stay at hand for single statements."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
from sqlalchemy import Connection, text
from sqlalchemy.util import await_only

from databases import MigratedUrls
from muster.store.address import parse_address
from muster.store.database import AsyncDatabase, CommitUnknown, Database, Unavailable, needs_transaction
from muster.store.kept import IDLE_SECONDS, KeptConnections
from muster.store.open import open_database, server_engine
from polling import PATIENCE, until

pytestmark = pytest.mark.postgres


@pytest.fixture
def url(migrated_urls: MigratedUrls) -> str:
    return migrated_urls.of("postgres")


@pytest.fixture
async def database(url: str) -> AsyncIterator[AsyncDatabase]:
    opened = open_database(url)
    assert isinstance(opened, AsyncDatabase)
    yield opened
    await opened.close()


def own_id(connection: Connection) -> int:
    return int(connection.execute(text("SELECT pg_backend_pid()")).scalar_one())


def own_id_in_a_transaction(connection: Connection) -> int:
    needs_transaction(connection)
    connection.execute(text("SELECT 1"))
    return own_id(connection)


async def kill(url: str, number: int) -> None:
    other = await asyncpg.connect(url)
    await other.execute("SELECT pg_terminate_backend($1, 10000)", number)
    await other.close()


async def test_one_after_the_other_has_the_same_connection(database: AsyncDatabase) -> None:
    first = await database.write(own_id, single=True)
    assert await database.read(own_id, single=True) == first
    assert await database.write(own_id, single=True) == first


async def test_what_turns_out_to_need_a_transaction_gets_one_and_leaves_the_connection(
    database: AsyncDatabase,
) -> None:
    first = await database.write(own_id, single=True)
    assert await database.write(own_id_in_a_transaction, single=True) != first
    assert await database.write(own_id, single=True) == first


async def test_a_statement_that_fails_leaves_none_behind_that_does_not_work(database: AsyncDatabase) -> None:
    with pytest.raises(Exception, match="division by zero"):
        await database.write(lambda connection: connection.execute(text("SELECT 1 / 0")), single=True)
    assert await database.write(own_id, single=True) > 0


async def test_one_that_the_server_closed_fails_once_at_most(database: AsyncDatabase, url: str) -> None:
    dead = await database.write(own_id, single=True)
    await kill(url, dead)
    with pytest.raises((Unavailable, CommitUnknown)):
        await database.write(own_id, single=True)
    assert await database.write(own_id, single=True) != dead


async def test_one_that_the_server_closed_while_nobody_used_it_is_replaced(url: str) -> None:
    seconds = [0.0]
    engine = server_engine(parse_address(url))
    kept = KeptConnections(engine.sync_engine, 1, lambda: seconds[0])

    def take_and_give_back(_: object) -> int:
        connection = kept.take()
        number = own_id(connection)
        kept.give_back(connection)
        return number

    async with engine.connect() as some:
        dead = await some.run_sync(take_and_give_back)
        await kill(url, dead)
        seconds[0] += IDLE_SECONDS
        assert await some.run_sync(take_and_give_back) != dead
        await some.run_sync(lambda _: kept.close())
    assert engine.sync_engine.pool.checkedout() == 0  # type: ignore[attr-defined]  # the kind of pool it is has it
    await engine.dispose()


async def test_a_pool_of_one_keeps_none(url: str) -> None:
    database = open_database(url, pool_size=1)
    assert await database.write(own_id, single=True) == await database.write(own_id_in_a_transaction)
    await database.close()


async def test_nobody_waits_for_a_connection_that_is_merely_kept(url: str) -> None:
    database = open_database(url, pool_size=4)
    kept, let_go = await database.write(own_id, single=True), asyncio.Event()

    def hold(connection: Connection) -> int:
        number = own_id(connection)
        await_only(let_go.wait())
        return number

    holding = [asyncio.create_task(database.read(hold)) for _ in range(4)]
    async with asyncio.timeout(PATIENCE):
        await until(lambda: others(url, database))
        let_go.set()
        assert kept in await asyncio.gather(*holding)
    await database.close()


async def others(url: str, database: Database) -> bool:
    """Whether all four have theirs."""
    assert isinstance(database, AsyncDatabase)
    connection = await asyncpg.connect(url)
    count = await connection.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"
    )
    await connection.close()
    return int(count) >= 4


async def test_after_one_was_lost_in_a_transaction_none_is_taken_as_it_is(
    database: AsyncDatabase, url: str
) -> None:
    kept = await database.write(own_id, single=True)
    lost = await database.write(own_id_in_a_transaction)
    for number in (kept, lost):
        await kill(url, number)
    with pytest.raises((Unavailable, CommitUnknown)):
        await database.write(own_id_in_a_transaction)
    assert await database.write(own_id, single=True) not in (kept, lost)
