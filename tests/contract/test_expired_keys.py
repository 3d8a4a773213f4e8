"""Keys that have had their time go, in bounded batches; the others stay."""

from datetime import timedelta

from sqlalchemy import select

from muster.engine.housekeeping import LOOK_EVERY, Housekeeping
from muster.kit.clock import SystemClock
from muster.store.database import Database
from muster.store.dialect import insert_rows
from muster.store.expired import ExpiredRows
from muster.store.tables import idempotency_key

DAY = timedelta(days=1)
K = idempotency_key.c


async def kept(database: Database) -> set[str]:
    hashes = select(K.hash)
    return set(await database.read(lambda connection: connection.scalars(hashes).all()))


async def put(database: Database, **keys: timedelta | None) -> None:
    now = SystemClock().now()
    rows = [
        {"hash": name, "execution_id": "e", "expires_at": None if wait is None else now + wait}
        for name, wait in keys.items()
    ]
    await database.write(lambda connection: insert_rows(connection, idempotency_key, rows))


async def test_only_what_has_expired_goes(database: Database) -> None:
    await put(database, for_good=None, tomorrow=DAY, yesterday=-DAY, long_ago=-DAY * 900)
    assert await ExpiredRows(database, K.hash, K.expires_at).forget_expired(100) == 2
    assert await kept(database) == {"for_good", "tomorrow"}


async def test_it_goes_in_batches_the_oldest_first(database: Database) -> None:
    await put(database, **{f"k{number}": -DAY * number for number in range(1, 6)}, later=DAY)
    tidy = Housekeeping([ExpiredRows(database, K.hash, K.expires_at)], at_once=2).tidy
    assert await tidy() == 0.0
    assert await kept(database) == {"k1", "k2", "k3", "later"}
    assert [await tidy(), await tidy()] == [0.0, LOOK_EVERY]
    assert await kept(database) == {"later"}
