"""An outage of ours raises no alarm: what came due in it waits until we had a chance to hear of it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from unittest.mock import ANY

import pytest
from sqlalchemy import update

from muster.engine.instances import Identity
from muster.store.database import Database
from muster.store.instances import InstanceRepository
from muster.store.tables import watch_presence
from muster.store.watch_presence import WatchPresence
from muster.watch.stages import Stage
from watch_house import WatchHouse, event

# However long a test takes: it has not passed.
GRACE = timedelta(hours=6)


@pytest.fixture
async def house(database: Database) -> AsyncIterator[WatchHouse]:
    made = WatchHouse(database, grace=GRACE)
    yield made
    await made.close()


def present(house: WatchHouse, stage: Stage = Stage.INGEST) -> WatchPresence:
    return WatchPresence(house.database, stage, "here", GRACE)


async def seen(house: WatchHouse, **times: datetime | None) -> None:
    changed = update(watch_presence).values(**times)
    await house.database.write(lambda connection: connection.execute(changed))


async def test_what_came_due_while_nobody_was_there_waits_after_the_return(house: WatchHouse) -> None:
    now = datetime.now(UTC)
    await house.watch()
    presence = present(house)
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
    presence = present(house)
    await presence.beat()
    await house.take(event("TRADE_INGEST", at=now - timedelta(days=2)))
    await seen(house, seen_at=now - timedelta(days=3))
    back = await presence.beat()
    assert back.returned_at is not None
    await seen(house, returned_at=back.returned_at - GRACE, seen_at=now + GRACE)
    assert await house.due.fire(100) == 0
    await presence.caught_up(await presence.beat())
    assert await house.due.fire(100) == 2


async def test_what_comes_due_while_the_backlog_is_read_waits_too(house: WatchHouse) -> None:
    now = datetime.now(UTC)
    await house.watch()
    presence = present(house)
    await presence.beat()
    await seen(house, seen_at=now - timedelta(days=3))
    back = await presence.beat()
    assert back.returned_at is not None
    # Due a moment ago, after the return; what meets it is still on the topic.
    await seen(house, returned_at=back.returned_at - timedelta(days=1), seen_at=now + GRACE)
    await house.take(event("TRADE_INGEST", at=now - timedelta(minutes=6)))
    assert await house.due.fire(100) == 0
    await house.take(event("SYS2_VERIFIED", at=now), event("SYS2_VERIFIED", at=now))
    await presence.caught_up(await presence.beat())
    assert await house.due.fire(100) == 0
    assert not [each for each in await house.alerts() if each["reason"] == "EXPECTED_MISSED"]


async def test_a_short_restart_is_an_outage_unless_another_is_there(house: WatchHouse) -> None:
    first = await present(house).beat()
    again = present(house)
    assert (await again.beat()).gap_from == first.seen_at
    assert (await again.beat()).gap_from == first.seen_at, "it goes on"
    await another_joins(house)
    another = present(house)
    assert await another.beat() is None, "the other may have gone since it was heard of"
    gone_on = await again.beat()
    assert await another.beat() == replace(gone_on, seen_at=ANY), "somebody was there all the time"


async def another_joins(house: WatchHouse, *roles: str) -> None:
    who = Identity("there", "1", "host", 1, roles or ("watch",), "1")
    await InstanceRepository(house.database).join(who)


async def test_all_that_were_there_may_have_gone_at_once(house: WatchHouse) -> None:
    before = await present(house).beat()
    await another_joins(house)
    returned = [present(house), present(house)]
    assert [await each.beat() for each in returned] == [None, None]
    # Nobody has said anything for too long.
    last = before.seen_at - timedelta(seconds=11)
    await seen(house, seen_at=last)
    assert [(await each.beat()).gap_from for each in returned] == [last, last]


async def test_who_takes_no_events_in_was_not_there_for_them(house: WatchHouse) -> None:
    before = await present(house).beat()
    await another_joins(house, "web", "engine")
    assert (await present(house).beat()).gap_from == before.seen_at


async def test_whoever_applies_the_rules_alone_may_have_been_away_as_well(database: Database) -> None:
    house = WatchHouse(database, stages=(Stage.RULE, Stage.AGGREGATE, Stage.ALERT), grace=GRACE)
    now = datetime.now(UTC)
    await house.watch()
    ours, theirs = present(house, Stage.RULE), present(house)
    await ours.beat()
    await theirs.beat()
    await house.take(event("TRADE_INGEST", at=now - timedelta(days=2)))
    for stage, left in ((Stage.RULE, 0), (Stage.INGEST, 0), (None, 2)):
        await seen(house, seen_at=now + GRACE)
        if stage is not None:
            away = update(watch_presence).where(watch_presence.c.name == stage.value)
            long_ago = away.values(seen_at=now - timedelta(days=3))
            await house.database.write(lambda connection, change=long_ago: connection.execute(change))
        assert await house.due.fire(100) == left
    await house.close()
