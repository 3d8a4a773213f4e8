"""The trade lifecycle, step by step: what is in the rows and in the counts after each event, everywhere."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from muster.store.database import Database
from muster.store.tables import workflow_version
from muster.store.watch_idle import IdleRuns
from watch_house import NOON, WatchHouse, event
from watched_trade import EQUITY, TRADE

WATCHING_OPTIONAL = {**deepcopy(TRADE), "optionalEdges": "watch"}


@pytest.fixture
async def house(database: Database) -> AsyncIterator[WatchHouse]:
    made = WatchHouse(database)
    yield made
    await made.close()


def at(**since_noon: float) -> datetime:
    return NOON + timedelta(**since_noon)


async def test_a_trade_goes_through_step_by_step(house: WatchHouse) -> None:
    version = await house.watch(WATCHING_OPTIONAL)

    await house.take(replace(event("TRADE_INGEST"), received_at=at(seconds=2)))
    [run] = await house.runs()
    assert (run["workflow_version_id"], run["correlation_key"], run["run_no"]) == (version, "TR123", 1)
    assert run["status"] == "green"
    assert run["group_dim_hash"] == hashlib.sha256(b"book=EQD|region=NY").hexdigest()[:32]
    assert [(e["to_node_key"], e["due_at"], e["status"]) for e in await house.expectations()] == [
        ("sys2-verify", at(minutes=5), "pending"),
        ("sys2-verify", at(minutes=5), "pending"),
    ]
    assert await house.totals() == {"ingest": (0, 1, 0, 0), "sys2-verify": (2, 0, 0, 0)}

    await house.take(event("SYS2_VERIFIED", at=at(minutes=2)))
    assert [(e["to_node_key"], e["status"]) for e in await house.expectations()] == [
        ("sys2-verify", "cleared"),
        ("sys2-verify", "pending"),
        ("sys3-ack", "pending"),
    ]
    assert await house.totals() == {
        "ingest": (0, 1, 0, 0),
        "sys2-verify": (1, 1, 0, 0),
        "sys3-ack": (1, 0, 0, 0),
    }

    await house.take(event("SYS2_VERIFIED", at=at(minutes=2, seconds=5)))
    assert [e["status"] for e in await house.expectations()] == ["cleared", "cleared", "pending"]
    assert not any(o["order_violation"] for o in await house.occurrences())
    assert (await house.totals())["sys2-verify"] == (0, 2, 0, 0)

    await house.take(event("SYS3_ACK", at=at(minutes=4)))
    settle = (await house.expectations())[-1]
    assert (settle["to_node_key"], settle["optional"], settle["status"]) == ("sys4-settle", True, "pending")
    assert settle["due_at"] == datetime(2024, 6, 10, 8, tzinfo=UTC)  # on the event's own date, though past
    assert (await house.totals())["sys3-ack"] == (0, 1, 0, 0)
    assert [run["status"] for run in await house.runs()] == ["green"]
    assert not await house.alerts()

    assert await house.due.fire(100) == 1
    missed = (await house.expectations())[-1]
    assert (missed["status"], missed["lock_owner"]) == ("fired", "here")
    assert missed["fired_at"] is not None
    assert (await house.totals())["sys4-settle"] == (0, 0, 1, 0)
    assert [run["status"] for run in await house.runs()] == ["amber"]
    [alert] = await house.alerts()
    assert alert["dedupe_key"] == f"{version}:sys4-settle:TR123"
    assert (alert["reason"], alert["severity"], alert["state"], alert["count"]) == (
        "EXPECTED_MISSED",
        "amber",
        "open",
        1,
    )


async def test_an_optional_edge_expects_nothing_unless_it_is_watched(house: WatchHouse) -> None:
    await house.watch()
    await house.take(
        event("TRADE_INGEST"),
        event("SYS2_VERIFIED"),
        event("SYS2_VERIFIED"),
        event("SYS3_ACK"),
    )
    assert {e["to_node_key"] for e in await house.expectations()} == {"sys2-verify", "sys3-ack"}
    await house.take(event("SYS4_SETTLED"))
    assert not any(o["order_violation"] for o in await house.occurrences())
    assert [run["finished_at"] for run in await house.runs()] == [NOON]


async def test_two_workflows_are_counted_apart(house: WatchHouse) -> None:
    trade = await house.watch()
    equity = await house.watch(EQUITY)
    desk = {"desk": "D1", "region": "NY"}
    await house.take(
        event("TRADE_INGEST", workflow_keys=("trade-lifecycle",)),
        event("EQUITY_ALLOC", "EQ-555", workflow_keys=("equity-flow",), group=desk),
        event("EQUITY_VALIDATED", "EQ-555", at(minutes=1), workflow_keys=("equity-flow",), group=desk),
        event("EQUITY_BOOKED", "EQ-555", at(minutes=7), workflow_keys=("equity-flow",), group=desk),
    )
    assert {(run["workflow_version_id"], run["correlation_key"]) for run in await house.runs()} == {
        (trade, "TR123"),
        (equity, "EQ-555"),
    }
    [late] = await house.alerts()
    assert late["dedupe_key"] == f"{equity}:alloc-booked:EQ-555"
    assert (late["reason"], late["severity"]) == ("SLA_MISSED", "red")
    totals = await house.totals(hashlib.sha256(b"desk=D1|region=NY").hexdigest()[:32])
    assert totals == {
        "alloc-received": (0, 1, 0, 0),
        "alloc-validated": (0, 1, 0, 0),
        "alloc-booked": (0, 1, 1, 0),
    }


async def test_groups_of_one_workflow_are_counted_apart(house: WatchHouse) -> None:
    await house.watch()
    london = {"book": "EQD", "region": "LN"}
    await house.take(
        event("TRADE_INGEST", "TR123"),
        event("TRADE_INGEST", "TR456", group=london),
        event("SYS2_VERIFIED", "TR123"),
        event("TRADE_INGEST", "TR789"),
        event("SYS2_VERIFIED", "TR123"),
    )
    new_york = await house.totals(hashlib.sha256(b"book=EQD|region=NY").hexdigest()[:32])
    assert new_york["ingest"] == (0, 2, 0, 0)
    assert new_york["sys2-verify"] == (2, 2, 0, 0)
    there = await house.totals(hashlib.sha256(b"book=EQD|region=LN").hexdigest()[:32])
    assert there == {"ingest": (0, 1, 0, 0), "sys2-verify": (2, 0, 0, 0)}


async def test_an_event_is_taken_once(house: WatchHouse) -> None:
    await house.watch()
    first = event("TRADE_INGEST")
    again = replace(first, payload={"sent": "again"})
    taken = await house.take(first, again)
    assert taken.duplicates == (False, True)
    assert (await house.take(again)).duplicates == (True,)
    assert len(await house.raw()) == len(await house.occurrences()) == 1
    assert (await house.totals())["sys2-verify"] == (2, 0, 0, 0)


async def test_what_was_missed_may_come_late_and_is_not_counted_twice(house: WatchHouse) -> None:
    await house.watch()
    await house.take(event("TRADE_INGEST"), event("SYS2_VERIFIED"), event("SYS2_VERIFIED"))
    assert await house.due.fire(100) == 1
    assert (await house.totals())["sys3-ack"] == (1, 0, 1, 0)
    await house.take(event("SYS3_ACK", at=datetime.now(UTC)))
    assert (await house.totals())["sys3-ack"] == (0, 1, 1, 0)
    last = (await house.occurrences())[-1]
    assert (last["late"], last["counted_late"], last["order_violation"]) == (True, False, False)
    [alert] = await house.alerts()
    assert alert["state"] == "resolved"


async def test_an_event_before_its_predecessor_is_remembered(house: WatchHouse) -> None:
    await house.watch()
    await house.take(event("TRADE_INGEST"), event("SYS3_ACK"))
    [run] = await house.runs()
    [alert] = await house.alerts()
    assert (run["status"], alert["reason"], alert["severity"]) == ("red", "ORDER_VIOLATION", "red")
    assert (await house.totals())["sys3-ack"] == (0, 1, 0, 1)
    await house.take(event("SYS2_VERIFIED", at=at(minutes=1)))
    assert [(e["to_node_key"], e["status"]) for e in await house.expectations()] == [
        ("sys2-verify", "cleared"),
        ("sys2-verify", "pending"),
        ("sys3-ack", "cleared"),
    ]
    assert (await house.totals())["sys3-ack"] == (0, 1, 0, 1)


def _orders(*edges: tuple[str, str]) -> dict[str, Any]:
    """Nodes of one letter, from `a` to the last one of the last edge."""
    names = sorted({node for edge in edges for node in edge})
    nodes = [{"key": n, "eventType": n.upper(), "start": n == "a", "terminal": n == names[-1]} for n in names]
    made = [{"from": source, "to": target, "maxLatencySec": 60} for source, target in edges]
    return {"name": "Orders", "key": "orders", "graph": {"nodes": nodes, "edges": made}}


@pytest.mark.parametrize("order", ["BA", "CBA", "CAB", "BCA"])
async def test_an_end_that_comes_before_its_start_is_not_missed(house: WatchHouse, order: str) -> None:
    await house.watch(_orders(("a", "b")) if len(order) == 2 else _orders(("a", "b"), ("b", "c")))
    for each in order:
        assert not any(run["finished_at"] for run in await house.runs())
        await house.take(event(each))
    assert await house.due.fire(100) == 0
    assert [(run["run_no"], run["finished_at"]) for run in await house.runs()] == [(1, NOON)]
    assert {e["status"] for e in await house.expectations()} == {"cleared"}
    assert not any(in_flight for in_flight, *_ in (await house.totals()).values())


async def test_what_comes_once_more_after_the_end_keeps_no_run_open(house: WatchHouse) -> None:
    await house.watch(_orders(("a", "b")))
    await house.take(event("A"), event("B"), event("B"), event("A"))
    assert [(run["run_no"], run["finished_at"]) for run in await house.runs()] == [(1, NOON), (2, None)]
    assert await house.due.fire(100) == 1


async def test_a_start_that_never_comes_is_not_waited_for_without_end(house: WatchHouse) -> None:
    await house.watch(_orders(("a", "b")))
    await house.take(event("B"))
    assert await IdleRuns(house.database, timedelta(days=7)).finish(100) == 1
    await house.take(event("A"))
    assert [run["run_no"] for run in await house.runs()] == [1, 2]


async def test_a_key_that_has_come_to_its_end_begins_anew(house: WatchHouse) -> None:
    await house.watch()
    trade = ("TRADE_INGEST", "SYS2_VERIFIED", "SYS2_VERIFIED", "SYS3_ACK", "SYS4_SETTLED")
    await house.take(*(event(type_) for type_ in (*trade, *trade)))
    runs = await house.runs()
    assert [(run["run_no"], run["finished_at"]) for run in runs] == [(1, NOON), (2, NOON)]
    assert not await house.alerts()


async def test_who_has_begun_on_a_version_finishes_on_it(house: WatchHouse) -> None:
    old = await house.watch()
    await house.take(event("TRADE_INGEST"))
    changed = deepcopy(TRADE)
    changed["graph"]["nodes"][1]["eventType"] = "SYS2_CHECKED"
    new = await house.watch(changed)
    await house.take(event("SYS2_VERIFIED"), event("TRADE_INGEST", "TR456"), event("SYS2_CHECKED", "TR456"))
    found = [
        (run["workflow_version_id"], run["correlation_key"], run["last_node_key"])
        for run in await house.runs()
    ]
    assert found == [(old, "TR123", "sys2-verify"), (new, "TR456", "sys2-verify")]


async def test_what_concerns_nobody_is_kept(house: WatchHouse) -> None:
    await house.watch()
    taken = await house.take(event("WEATHER"), event("TRADE_INGEST", workflow_keys=("another",)))
    assert taken.unmatched == 2
    assert len(await house.raw()) == 2
    assert not await house.runs()


async def test_a_miss_fires_once_though_two_instances_look(house: WatchHouse) -> None:
    await house.watch()
    other = WatchHouse(house.database, "there")
    await house.take(*(event("TRADE_INGEST", f"TR{n}") for n in range(60)))
    fired = await asyncio.gather(*(each.due.fire(25) for each in (house, other) * 6))
    while more := await house.due.fire(100):
        fired.append(more)
    assert sum(fired) == 120
    assert (await house.totals())["sys2-verify"] == (120, 0, 120, 0)
    assert {alert["count"] for alert in await house.alerts()} == {2}
    await other.close()


async def test_nobody_counts_for_ever_on_what_was_missed(house: WatchHouse) -> None:
    await house.watch()
    await house.take(event("TRADE_INGEST"))
    assert await house.due.fire(100) == 2
    assert (await house.totals())["sys2-verify"] == (2, 0, 2, 0)
    assert await house.due.abandon(100) == 2
    assert await house.due.abandon(100) == 0
    assert (await house.totals())["sys2-verify"] == (0, 0, 2, 0)
    [run] = await house.runs()
    assert run["finished_at"] is not None
    await house.take(event("SYS2_VERIFIED", at=datetime.now(UTC)))
    assert (await house.totals())["sys2-verify"] == (0, 1, 2, 0)
    assert not any(o["order_violation"] for o in await house.occurrences())


async def test_what_has_fired_does_not_fire_again_with_what_its_run_expects_next(house: WatchHouse) -> None:
    await house.watch()
    await house.take(event("TRADE_INGEST"))
    assert await house.due.fire(100) == 2
    await house.take(event("SYS2_VERIFIED"))
    assert await house.due.fire(100) == 1
    assert (await house.totals())["sys2-verify"] == (1, 1, 2, 0)
    assert (await house.totals())["sys3-ack"] == (1, 0, 1, 0)


async def test_what_cannot_be_read_keeps_no_other_miss_waiting(house: WatchHouse) -> None:
    nodes = [{"key": "x", "eventType": "X", "start": True}, {"key": "y", "eventType": "Y"}]
    edges = [{"from": "x", "to": "y", "maxLatencySec": 1}]
    newer = await house.watch({"name": "Newer", "key": "newer", "graph": {"nodes": nodes, "edges": edges}})
    await house.watch()
    await house.take(event("X"), event("TRADE_INGEST"))
    # As another release may have written it.
    changed = update(workflow_version).where(workflow_version.c.id == newer).values(definition={"graph": 7})
    await house.database.write(lambda connection: connection.execute(changed))
    again = WatchHouse(house.database)
    assert await again.due.fire(1) == 0
    assert await again.due.fire(1) == 2
    assert [each["node_key"] for each in await again.alerts()] == ["sys2-verify"]
    await again.close()


@pytest.mark.parametrize("shows", ["worst", "latest"])
async def test_a_run_is_as_bad_as_its_worst_event_or_as_its_last(house: WatchHouse, shows: str) -> None:
    await house.watch({**TRADE, "runStatus": shows})

    async def status() -> str:
        [run] = await house.runs()
        return str(run["status"])

    await house.take(event("TRADE_INGEST"))
    assert await status() == "green"
    await house.take(event("SYS3_ACK", at=at(minutes=1)))  # out of order
    assert await status() == "red"
    await house.take(event("SYS2_VERIFIED", at=at(minutes=2)))
    assert await status() == ("red" if shows == "worst" else "green")
    assert await house.due.fire(10) == 1  # it was to be verified twice
    assert await status() == ("red" if shows == "worst" else "amber")
    await house.take(event("SYS2_VERIFIED", at=at(minutes=20)))  # late, as it was counted already
    assert await status() == ("red" if shows == "worst" else "amber")
    await house.take(event("SYS4_SETTLED", at=at(minutes=21)))
    assert await status() == ("red" if shows == "worst" else "green")
