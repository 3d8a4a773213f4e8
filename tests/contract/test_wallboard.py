"""The wallboard, the counts behind it and the items on it, on every database."""

import random
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from clocks import FakeClock
from muster.api.board_topic import BoardChanged, BoardTopic
from muster.model.access import Caller, How
from muster.model.stored import BadCursor, Page
from muster.model.watching import Severity
from muster.store.aggregates import AggregateRepository
from muster.store.boards import BoardRepository
from muster.store.database import Database
from muster.store.items import ItemRepository
from muster.store.watch_counts import Tally
from muster.watch.aggregates import Bucket, WantedBuckets
from muster.watch.boards import Board, Counts, Tile, Wallboard
from muster.watch.items import WantedItems
from watch_house import NOON, WatchHouse, event
from watched_trade import TRADE

NY, LN = {"book": "EQD", "region": "NY"}, {"book": "EQD", "region": "LN"}


@pytest.fixture
async def house(database: Database) -> AsyncIterator[WatchHouse]:
    made = WatchHouse(database)
    yield made
    await made.close()


def tiles(board: Board, region: str) -> dict[str, Tile]:
    [workflow] = board.workflows
    [group] = [each for each in workflow.groups if each.group and each.group["region"] == region]
    return {tile.node: tile for tile in group.tiles}


async def test_the_board_shows_what_is_in_flight_counted_due_and_wrong(house: WatchHouse) -> None:
    first = await house.watch()
    clock = FakeClock(NOON + timedelta(minutes=10))
    board = Wallboard(BoardRepository(house.database), clock)
    [empty] = (await board.look(None)).workflows
    assert (empty.workflow.key, empty.workflow.version_id, empty.groups) == ("trade-lifecycle", first, [])
    await house.take(event("TRADE_INGEST", "OLD", NOON - timedelta(days=2), group=NY))
    # What began on an earlier version is on the board as well.
    await house.watch()
    await house.take(
        event("TRADE_INGEST", "TR1", group=NY),
        event("TRADE_INGEST", "TR2", NOON + timedelta(minutes=1), group=LN),
        event("SYS2_VERIFIED", "TR1", NOON + timedelta(minutes=2), group=NY),
        event("SYS3_ACK", "TR3", NOON + timedelta(minutes=3), group=LN),
    )
    look = await board.look(None, recent=15)
    ny, ln = tiles(look, "NY"), tiles(look, "LN")
    assert list(ny) == ["ingest", "sys2-verify", "sys3-ack", "sys4-settle"]
    assert (ny["ingest"].counts.completed, ny["sys2-verify"].in_flight, ny["sys3-ack"].in_flight) == (1, 3, 1)
    assert ny["sys2-verify"].next_due_at == NOON - timedelta(days=2) + timedelta(minutes=5)
    assert ny["sys3-ack"].next_due_at == NOON + timedelta(minutes=7)
    assert (ln["sys2-verify"].in_flight, ln["sys3-ack"].counts) == (2, Counts(0, 1, 0, 1))
    assert (ln["sys3-ack"].status, ny["sys3-ack"].status) == (Severity.RED, Severity.GREEN)
    assert look.workflows[0].status is Severity.RED
    assert ny["ingest"].recent == {NOON: Counts(0, 1, 0, 0)}
    longer = tiles(await board.look(None, NOON - timedelta(days=3)), "NY")
    assert longer["ingest"].counts.completed == 2
    none = tiles(await board.look(None, NOON + timedelta(minutes=5)), "NY")
    assert (none["ingest"].counts.completed, none["sys2-verify"].in_flight) == (0, 3)
    assert (await board.look("elsewhere")).workflows == []


async def test_who_waits_longer_than_many_others_has_a_countdown_all_the_same(house: WatchHouse) -> None:
    await house.watch()
    clock = FakeClock(NOON + timedelta(minutes=10))
    board = Wallboard(BoardRepository(house.database, soonest=2), clock)
    later = NOON + timedelta(minutes=8)
    await house.take(
        event("TRADE_INGEST", "TR1", group=NY),
        event("TRADE_INGEST", "TR2", later + timedelta(minutes=1), group=LN),
        event("SYS2_VERIFIED", "TR1", later, group=NY),
    )
    for _ in range(2):
        look = await board.look(None)
        assert tiles(look, "NY")["sys2-verify"].next_due_at == NOON + timedelta(minutes=5)
        assert tiles(look, "NY")["sys3-ack"].next_due_at == later + timedelta(minutes=5)
        assert tiles(look, "LN")["sys2-verify"].next_due_at == later + timedelta(minutes=6)
    # What has come since, and would be among the soonest by now, is not waited for.
    await house.take(
        event("SYS2_VERIFIED", "TR1", later, group=NY), event("SYS3_ACK", "TR1", later, group=NY)
    )
    look = await board.look(None)
    assert tiles(look, "NY")["sys2-verify"].next_due_at is None
    assert tiles(look, "NY")["sys3-ack"].next_due_at is None
    assert tiles(look, "LN")["sys2-verify"].next_due_at == later + timedelta(minutes=6)


async def test_the_board_shows_since_when_what_is_missing_longest_is_overdue(house: WatchHouse) -> None:
    await house.watch()
    await house.take(
        event("TRADE_INGEST", "TR1", group=NY),
        event("TRADE_INGEST", "TR2", NOON + timedelta(minutes=1), group=NY),
    )
    board = Wallboard(BoardRepository(house.database), FakeClock(NOON + timedelta(minutes=10)))
    assert tiles(await board.look(None), "NY")["sys2-verify"].overdue_since is None
    assert await house.due.fire(100) == 4
    late = tiles(await board.look(None), "NY")["sys2-verify"]
    assert (late.overdue_since, late.next_due_at) == (NOON + timedelta(minutes=5), None)
    # What has come after all is missed no longer.
    came = [event("SYS2_VERIFIED", "TR1", NOON + timedelta(minutes=20), group=NY) for _ in range(2)]
    await house.take(*came)
    assert tiles(await board.look(None), "NY")["sys2-verify"].overdue_since == NOON + timedelta(minutes=6)


async def test_who_follows_the_board_hears_all_of_it_and_then_what_changes(house: WatchHouse) -> None:
    await house.watch()
    await house.watch({**TRADE, "key": "other"})
    board = Wallboard(BoardRepository(house.database), FakeClock(NOON + timedelta(minutes=10)))
    follower = BoardTopic(board).follow(Caller("ann", frozenset(), None, How.TOKEN), None)
    whole = await follower.look()
    assert isinstance(whole, BoardChanged)
    assert [each.key for each in whole.workflows] == ["other", "trade-lifecycle"]
    assert await follower.look() is None
    await house.take(event("TRADE_INGEST", "TR1", workflow_keys=("other",)))
    changed = await follower.look()
    assert isinstance(changed, BoardChanged)
    assert [each.key for each in changed.workflows] == ["other"]
    assert [tile.completed for tile in changed.workflows[0].groups[0].nodes] == [1, 0, 0, 0]
    assert await follower.look() is None


async def test_every_page_of_buckets_has_the_running_total(house: WatchHouse) -> None:
    version = await house.watch()
    chance, tally = random.Random(4711), Tally()
    for _ in range(150):
        at = NOON - timedelta(minutes=chance.choice([chance.randrange(8), chance.randrange(60 * 24 * 3)]))
        node = chance.choice(["ingest", "sys2-verify"])
        change = {node: chance.randrange(-3, 4)}
        tally.add(version, chance.choice("ab"), node, at, completed=chance.randrange(3), in_flight=change)
    await house.database.write(tally.write)
    repository = AggregateRepository(house.database)

    async def pages(wanted: WantedBuckets, limit: int) -> list[Bucket]:
        found, cursor = await repository.buckets(wanted, Page(limit))
        while cursor is not None:
            more, cursor = await repository.buckets(wanted, Page(limit, cursor))
            found = [*found, *more]
        return [*found]

    cells = {cell: counts for cell, counts in tally.cells.items() if any(counts)}
    for group in (None, "a"):
        for since, until in ((None, None), (NOON - timedelta(minutes=5), NOON)):
            wanted = {
                cell: counts
                for cell, counts in cells.items()
                if group in (None, cell[1]) and (since is None or until is None or since <= cell[3] < until)
            }
            found = await pages(WantedBuckets(version, group, since, until), 7)
            assert [(each.start, each.series.group_hash, each.series.node) for each in found] == sorted(
                ((cell[3], cell[1], cell[2]) for cell in wanted), reverse=True
            )
            for each in found:
                before = [
                    counts[0]
                    for cell, counts in cells.items()
                    if cell[:3] == each.series and cell[3] <= each.start
                ]
                assert each.in_flight == sum(before)
    with pytest.raises(BadCursor):
        await repository.buckets(WantedBuckets(version), Page(5, "nothing"))


async def test_an_item_shows_its_way_and_what_is_still_to_come(house: WatchHouse) -> None:
    version = await house.watch()
    await house.take(event("TRADE_INGEST", "TR1"), event("TRADE_INGEST", "TR2"))
    await house.take(event("SYS2_VERIFIED", "TR1", NOON + timedelta(minutes=7)))
    items = ItemRepository(house.database)
    item = await items.item(None, "TR1", None)
    assert item is not None
    assert (item.run.workflow_key, item.run.workflow_version_id, item.run.status) == (
        "trade-lifecycle",
        version,
        Severity.AMBER,
    )
    assert [(each.node, each.late, each.lateness) for each in item.events] == [
        ("ingest", False, None),
        ("sys2-verify", True, timedelta(minutes=2)),
    ]
    assert [(each.to_node, each.due_at) for each in item.expectations] == [
        ("sys2-verify", NOON + timedelta(minutes=5)),
        ("sys3-ack", NOON + timedelta(minutes=12)),
    ]
    assert [(each.node, each.reason) for each in item.alerts] == [("sys2-verify", "SLA_MISSED")]
    assert await items.item(None, "TR1", version + 1) is None
    assert await items.item("elsewhere", "TR1", None) is None
    assert await items.item(None, "TR", None) is None

    async def found(**wanted: Any) -> list[str]:
        rows, _ = await items.search(None, WantedItems(**wanted), Page(10))
        return [row.correlation_key for row in rows]

    assert await found() == ["TR2", "TR1"]
    assert await found(q="TR") == ["TR2", "TR1"]
    assert await found(q="TR1", status=Severity.AMBER, workflow="trade-lifecycle") == ["TR1"]
    assert await found(status=Severity.RED) == []
    assert await found(workflow="other") == []
