"""Events and misses of the same runs at the same moment, on two instances: whoever is first, the rows and the
counts tell one story."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping
from datetime import UTC, datetime

import pytest

from muster.store.alerts import AlertRepository
from muster.store.database import Database
from muster.store.watch_runs import hold
from muster.watch.alert_book import Act
from muster.watch.lifecycle import AlertAction
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


async def test_who_gives_up_locks_runs_in_the_order_of_events(houses: tuple[WatchHouse, WatchHouse]) -> None:
    here, _ = houses
    await here.watch()
    for key in ("TR3", "TR1", "TR2"):
        await here.take(event("TRADE_INGEST", key))
    ids = {run["correlation_key"]: run["id"] for run in await here.runs()}
    held = await here.database.write(lambda connection: hold(connection, [*ids.values()][::-1]))
    locks_as_it_reads = here.database.dialect_name == "mariadb"
    in_order = sorted(ids) if locks_as_it_reads else sorted(ids, key=lambda key: ids[key])
    assert [run.correlation_key for run in held] == in_order


async def test_whoever_resolves_many_locks_runs_in_one_go(
    houses: tuple[WatchHouse, WatchHouse],
) -> None:
    here, _ = houses
    await here.watch()
    await here.take(event("TRADE_INGEST", "TR1"), event("TRADE_INGEST", "TR2"), event("SYS2_VERIFIED", "TR2"))
    await here.due.fire(10)
    given_up: list[Mapping[int, Collection[str]]] = []
    book = AlertRepository(here.database, lambda _, missed: given_up.append(missed))
    await book.act(None, [row["id"] for row in await here.alerts()], Act(AlertAction.RESOLVE, "ann"))
    [missed] = given_up
    assert sorted(map(sorted, missed.values())) == [["sys2-verify"], ["sys2-verify", "sys3-ack"]]
