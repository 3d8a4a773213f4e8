"""An outage of ours raises no alarm: what came due in it waits until we had a chance to hear of it."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from muster.store.database import Database
from muster.store.tables import watch_presence
from muster.store.watch_presence import IngestPresence
from watch_house import WatchHouse, event

# However long a test takes: it has not passed.
GRACE = timedelta(hours=6)


@pytest.fixture
async def house(database: Database) -> AsyncIterator[WatchHouse]:
    made = WatchHouse(database, grace=GRACE)
    yield made
    await made.close()


async def seen(house: WatchHouse, **times: datetime | None) -> None:
    changed = update(watch_presence).values(**times)
    await house.database.write(lambda connection: connection.execute(changed))


async def test_what_came_due_while_nobody_was_there_waits_after_the_return(house: WatchHouse) -> None:
    now = datetime.now(UTC)
    await house.watch()
    presence = IngestPresence(house.database, GRACE)
    await presence.beat()
    # Due four days ago, before the outage; and two days ago, in it.
    await house.take(
        event("TRADE_INGEST", "before", now - timedelta(days=4)),
        event("TRADE_INGEST", "within", now - timedelta(days=2)),
    )
    await seen(house, seen_at=now - timedelta(days=3))
    assert await house.due.fire(100) == 2  # nobody is there: only what was due before
    assert {each["correlation_key"] for each in await house.alerts()} == {"before"}
    back = await presence.beat()
    assert await house.due.fire(100) == 0
    # It was sent while we were away, and is read only now.
    await house.take(event("SYS2_VERIFIED", "within", now - timedelta(days=2)))
    await presence.caught_up(back)
    assert await house.due.fire(100) == 0  # the while after the return has not passed
    assert back.returned_at is not None
    await seen(house, returned_at=back.returned_at - GRACE, seen_at=now + GRACE)
    assert await house.due.fire(100) == 2
    missing = [each for each in await house.expectations() if each["status"] == "fired"]
    assert [each["to_node_key"] for each in missing] == [*["sys2-verify"] * 3, "sys3-ack"]


async def test_nothing_fires_before_all_is_read_that_waited(house: WatchHouse) -> None:
    now = datetime.now(UTC)
    await house.watch()
    presence = IngestPresence(house.database, GRACE)
    await presence.beat()
    await house.take(event("TRADE_INGEST", at=now - timedelta(days=2)))
    await seen(house, seen_at=now - timedelta(days=3))
    back = await presence.beat()
    assert back.returned_at is not None
    await seen(house, returned_at=back.returned_at - GRACE, seen_at=now + GRACE)
    assert await house.due.fire(100) == 0
    await presence.caught_up(await presence.beat())
    assert await house.due.fire(100) == 2
