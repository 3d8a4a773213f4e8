"""Executions of watched workflows are runs themselves: told with the journal, and counted once."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from engine_house import House, Told, chain, node
from muster.definitions.limits import Limits
from muster.engine.announcing import event_type
from muster.engine.bus import Batch, Message
from muster.engine.handlers import Done
from muster.engine.journal import SignalKind
from muster.engine.owned import NewExecution
from muster.engine.state import Failure
from muster.kit.clock import SystemClock
from muster.model.workflow import Definition, Edge, EdgeType, Node
from muster.store.database import Database
from muster.store.outbox import decode_headers
from muster.store.tables import expectation, outbox_message, workflow
from muster.watch.envelope import Bounds
from muster.watch.intake import TopicIntake
from watch_house import WatchHouse, event

TOPIC = "events.raw"
LONG = 3_600


class Unheard:
    def took(self, events: int, duplicates: int, unmatched: int, how: str) -> None: ...

    def refused(self, events: int, how: str) -> None: ...


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> House:
    return House(database, told, events=TOPIC)


@pytest.fixture
async def watch(database: Database) -> AsyncIterator[WatchHouse]:
    made = WatchHouse(database)
    yield made
    await made.close()


def watched(*nodes: Node, edges: tuple[Edge, ...] | None = None) -> Definition:
    made = chain(*nodes)
    return replace(made, key="w1", watch=True, edges=made.edges if edges is None else edges)


def within(source: str, target: str, seconds: int = LONG, **more: object) -> Edge:
    return Edge(source, target, max_latency_sec=seconds, **more)


async def told_events(database: Database) -> list[Message]:
    """What is on its way to the topic, in its order."""
    m = outbox_message.c
    wanted = select(outbox_message).where(m.stream == "watch").order_by(m.id)
    rows = await database.read(lambda connection: connection.execute(wanted).all())
    now = datetime.now(UTC)
    return [
        Message(row.topic, 0, place, row.key, row.value, decode_headers(row.headers), now)
        for place, row in enumerate(rows)
    ]


async def deliver(watch: WatchHouse) -> None:
    """Let what was told arrive: all of it twice, as after a crash."""
    intake = TopicIntake(watch.feed, Bounds(), SystemClock(), Limits(), Unheard())
    messages = await told_events(watch.database)
    for _ in range(2):
        assert not await intake(Batch(messages))


async def overdue(watch: WatchHouse) -> None:
    """Let everything that is pending be due."""
    past = datetime.now(UTC) - timedelta(minutes=1)
    await watch.database.write(lambda connection: connection.execute(update(expectation).values(due_at=past)))


async def test_an_execution_is_a_run(house: House, watch: WatchHouse) -> None:
    edges = (within("a", "b"), within("b", "c"))
    await house.define(watched(node("a"), node("b", "SET", config={"n": 1}), node("c"), edges=edges))
    execution = await house.run()
    await deliver(watch)
    [run] = await watch.runs()
    assert (run["workflow_version_id"], run["correlation_key"], run["status"]) == (1, execution, "green")
    assert run["finished_at"] is not None
    assert [o["node_key"] for o in await watch.occurrences()] == ["a", "b", "c"]
    assert [(e["to_node_key"], e["status"]) for e in await watch.expectations()] == [
        ("b", "cleared"),
        ("c", "cleared"),
    ]
    assert await watch.totals() == {"a": (0, 1, 0, 0), "b": (0, 1, 0, 0), "c": (0, 1, 0, 0)}
    assert [row["event_type"] for row in await watch.raw()] == ["w1.a", "w1.b", "w1.c"]
    assert not await watch.alerts()


async def test_one_that_only_computes_is_told_of_too(house: House, watch: WatchHouse) -> None:
    await house.define(watched(node("a", "SET", config={"n": 1}), node("b", "SET", config={"n": 2})))
    await house.run()
    await deliver(watch)
    assert await watch.totals() == {"a": (0, 1, 0, 0), "b": (0, 1, 0, 0)}
    assert (await watch.runs())[0]["finished_at"] is not None


async def test_of_what_is_not_watched_nothing_is_told(house: House) -> None:
    await house.define(chain(node("a"), node("b")))
    await house.run()
    assert not await told_events(house.database)


async def test_a_way_that_is_not_taken_is_not_expected(house: House, watch: WatchHouse) -> None:
    asks = {"type": EdgeType.CONDITIONAL, "condition": "#{n > 1}"}
    edges = (within("a", "b", value=True, **asks), within("a", "c", value=False, **asks))
    await house.define(watched(node("a", "SET", config={"n": 2}), node("b"), node("c"), edges=edges))
    await house.run()
    await deliver(watch)
    assert [e["to_node_key"] for e in await watch.expectations()] == ["b"]


async def test_what_several_lead_to_is_over_for_all_of_them(house: House, watch: WatchHouse) -> None:
    edges = (within("a", "b"), within("a", "c"), within("b", "d", 60), within("c", "d"))
    await house.define(watched(node("a"), node("b"), node("c"), node("d"), edges=edges))
    await house.run()
    await deliver(watch)
    reached = [e for e in await watch.expectations() if e["to_node_key"] == "d"]
    assert [e["status"] for e in reached] == ["cleared", "cleared"]
    assert (await watch.totals())["d"] == (0, 1, 0, 0)


async def test_a_loop_expects_each_round(house: House, watch: WatchHouse) -> None:
    asks = {"type": EdgeType.CONDITIONAL, "condition": "#{n < 3}"}
    edges = (within("a", "b"), within("b", "b", value=True, **asks), within("b", "c", value=False, **asks))
    count = node("b", "SET", config={"n": "#{n + 1}"})
    await house.define(watched(node("a", "SET", config={"n": 0}), count, node("c"), edges=edges))
    await house.run()
    await deliver(watch)
    assert (await watch.totals())["b"] == (0, 3, 0, 0)
    assert len(await watch.runs()) == 1


async def test_a_node_that_fails_is_missed(house: House, watch: WatchHouse, told: Told) -> None:
    await house.define(watched(node("a"), node("b", retry={"maxAttempts": 1}), edges=(within("a", "b"),)))
    told.answers = [Done({}), Failure("Broken", "it is")]
    execution = await house.run()
    await deliver(watch)
    await overdue(watch)
    assert await watch.due.fire(100) == 1
    [alert] = await watch.alerts()
    assert (alert["dedupe_key"], alert["reason"]) == (f"1:b:{execution}", "EXPECTED_MISSED")


async def test_what_was_cancelled_is_not_missed(house: House, watch: WatchHouse) -> None:
    await house.define(watched(node("a"), node("b", "ASK"), edges=(within("a", "b"),)))
    execution = await house.run()
    await deliver(watch)
    assert (await watch.totals())["b"] == (1, 0, 0, 0)
    assert await house.signal(execution, SignalKind.CANCEL, {})
    assert await house.instance.take_due() == 1
    await house.instance.ended(execution)
    await overdue(watch)
    assert await watch.due.fire(100) == 1
    assert (await watch.totals())["b"] == (0, 0, 0, 0)
    assert (await watch.runs())[0]["finished_at"] is not None
    assert not await watch.alerts()


async def test_who_takes_over_tells_what_was_not_told(database: Database, told: Told) -> None:
    first, watch = House(database, told, "first", events=TOPIC), WatchHouse(database)
    definition = watched(node("a"), node("b"), node("c"), edges=(within("a", "b"), within("b", "c")))
    await first.define(definition)
    told.hangs_at = "b"
    execution = await first.start()
    await told.hanging.wait()
    told.hangs_at = None
    again = House(database, told, "first", events=TOPIC)
    await again.define_again(definition)
    assert await again.instance.take_back() == 1
    await again.instance.ended(execution)
    await deliver(watch)
    assert [json.loads(m.value or b"")["eventId"] for m in await told_events(database)] == [
        f"{execution}:{each}:1" for each in "abc"
    ]
    assert await watch.totals() == dict.fromkeys("abc", (0, 1, 0, 0))
    await watch.close()


async def test_an_execution_is_held_against_its_own_version(house: House, watch: WatchHouse) -> None:
    """Though another is active by now."""
    await house.define(watched(node("a"), node("b"), edges=(within("a", "b"),)))
    other = update(workflow).values(active_version_id=None)
    await house.database.write(lambda connection: connection.execute(other))
    await house.run()
    await deliver(watch)
    assert [run["workflow_version_id"] for run in await watch.runs()] == [1]


async def test_the_events_of_a_tenant_stay_its_own(house: House, watch: WatchHouse) -> None:
    await house.define(watched(node("a")))
    tenant = update(workflow).values(institute_id="ACME")
    await house.database.write(lambda connection: connection.execute(tenant))
    owner = house.instance.name.owner
    new = NewExecution(house.ids.new(), "w1", 1, "ACME", owner, {}, house.clock.now())
    await house.instance.start(new)
    await house.instance.ended(new.id)
    await house.run()  # somebody else's, by its word
    await deliver(watch)
    assert [(run["correlation_key"], run["institute_id"]) for run in await watch.runs()] == [(new.id, "ACME")]


async def test_who_says_to_be_us_and_names_no_version_of_ours_harms_nobody(watch: WatchHouse) -> None:
    await watch.watch()
    false = [{"workflowVersionId": number, "next": ["b"]} for number in (0, 7, 2**63, True)]
    posing = [event("TRADE_INGEST", source_system="muster", payload=payload) for payload in false]
    taken = await watch.take(*posing, event("TRADE_INGEST", "TR9"))
    assert taken.unmatched == 0
    assert {run["correlation_key"] for run in await watch.runs()} == {"TR123", "TR9"}


def test_the_type_of_an_event_fits_however_long_names_are() -> None:
    long = event_type("w" * 200, "n" * 100)
    assert len(long) == 255
    assert long != event_type("w" * 200, "n" * 99 + "m")
