"""Events and misses of the same runs at the same moment, on two instances: whoever is first, the rows and the
counts tell one story."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from muster.store.database import Database
from watch_house import WatchHouse, event

KEYS = 40


@pytest.fixture
async def houses(database: Database) -> AsyncIterator[tuple[WatchHouse, WatchHouse]]:
    made = WatchHouse(database, "here"), WatchHouse(database, "there")
    yield made
    for each in made:
        await each.close()


async def recounted(house: WatchHouse) -> dict[str, tuple[int, int, int, int]]:
    """The counts, from the rows that they are about."""
    found: dict[str, Counter[str]] = {}
    for each in await house.expectations():
        node = found.setdefault(each["to_node_key"], Counter())
        node["late"] += each["fired_at"] is not None
        node["in_flight"] += each["status"] != "cleared" and each["abandoned_at"] is None
    for each in await house.occurrences():
        node = found.setdefault(each["node_key"], Counter())
        node["completed"] += 1
        node["late"] += each["counted_late"]
        node["failed"] += each["order_violation"]
    return {
        name: (each["in_flight"], each["completed"], each["late"], each["failed"])
        for name, each in found.items()
    }


async def test_whoever_is_first_rows_and_counts_tell_one_story(
    houses: tuple[WatchHouse, WatchHouse],
) -> None:
    here, there = houses
    await here.watch()
    keys = [f"TR{n}" for n in range(KEYS)]
    # All of it is long due.
    await here.take(*(event("TRADE_INGEST", key) for key in keys))
    now = datetime.now(UTC)
    verified = [[event("SYS2_VERIFIED", key, now) for key in keys] for _ in range(2)]
    acknowledged = [event("SYS3_ACK", key, now) for key in keys]
    await asyncio.gather(
        here.take(*verified[0]),
        there.due.fire(30),
        there.take(*reversed(verified[1])),
        here.due.fire(50),
        there.take(*acknowledged),
        here.due.fire(KEYS),
    )
    while await here.due.fire(KEYS):
        pass
    assert await here.totals() == await recounted(here)
    assert (await here.totals())["sys2-verify"][:3] == (0, 2 * KEYS, 2 * KEYS)
    late = [each for each in await here.expectations() if each["to_node_key"] == "sys2-verify"]
    assert {each["status"] for each in late} == {"cleared"}
    # Everything that happened to a run is in its number.
    assert all(run["seq"] >= 2 for run in await here.runs())
