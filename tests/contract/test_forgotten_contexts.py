"""What has ended is not left in a cache: however it ended, and whatever the cache did meanwhile."""

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import cast

import pytest
from sqlalchemy import update

from caches import Hand
from engine_house import House, Told, chain, node
from event_house import DONE, END, KAFKA_EVENT, TOPIC, Awaiting
from muster.app.driving import driving
from muster.cache.memory import Shelf
from muster.engine.cache import Away, Entry, Version, context_key, lock_key, node_key
from muster.engine.event_waits import Arrived, Source
from muster.engine.owned import OwnedExecution
from muster.model.json import JsonObject
from muster.store.database import Database
from muster.store.tables import workflow_execution
from polling import until

WAIT: JsonObject = {"id": "wait", "type": "wait_events", "config": {"kafkaEvent": KAFKA_EVENT}}
NOTE: JsonObject = {"id": "note", "type": "SET", "config": {"seen": "#{kafka_event.event_type}"}}
NO_END = 3600.0


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def shelf() -> Shelf:
    return Shelf(time.monotonic)


@pytest.fixture
def hand(shelf: Shelf) -> Hand:
    return Hand(shelf)


@pytest.fixture
def house(database: Database, told: Told, hand: Hand) -> House:
    return House(database, told, at_hand=hand.contexts)


async def waiting(database: Database, hand: Hand, after: JsonObject) -> tuple[Awaiting, str]:
    """An execution that waits for an event, and is at hand."""
    house = Awaiting(database, at_hand=hand.contexts)
    await house.instance.take_back()
    house.receptions.hand_to(house.instance)
    await house.save("w", WAIT, after)
    execution = await house.begin_waiting()
    await hand.contexts.tell()
    return house, execution


async def answer(house: Awaiting, execution: str) -> None:
    """Let its event come, and wait until it has ended."""
    correlation = (await house.wait_row(execution)).correlation_id
    await house.waits.receive([Arrived(Source.KAFKA, execution, correlation, DONE, TOPIC)])

    async def completed() -> bool:
        return await house.status(execution) == "COMPLETED" and not house.instance.driving

    await until(completed)


async def ended_but_untold(house: House, told: Told, hand: Hand) -> str:
    """One that is at hand, has ended, and of whose end the cache has not heard."""
    await house.define(chain(node("a"), node("b")))
    told.pauses_at = "b"
    execution = await house.start()
    await told.hanging.wait()
    await hand.contexts.tell()
    assert hand.there(context_key(execution)) is not None
    told.go_on.set()
    await house.instance.ended(execution)
    return execution


async def test_what_ends_with_its_event_is_at_hand_no_longer(database: Database, hand: Hand) -> None:
    house, execution = await waiting(database, hand, NOTE)
    assert hand.shelf.texts.keys() == {context_key(execution), node_key(execution, "wait")}
    await answer(house, execution)
    await hand.contexts.tell()
    assert hand.shelf.texts == {}


async def test_who_goes_on_with_an_event_has_its_context_with_the_claim(
    database: Database, hand: Hand
) -> None:
    """The row is at hand in the transaction that stores the event: there is nothing to ask the cache for."""
    house, execution = await waiting(database, hand, END)
    hand.shelf.texts.clear()
    await answer(house, execution)
    assert hand.counted.counts == {}
    await hand.contexts.tell()
    assert hand.shelf.texts == {}


async def test_what_ends_while_the_cache_is_left_alone_is_removed_when_it_works_again(
    house: House, told: Told, hand: Hand
) -> None:
    execution = await ended_but_untold(house, told, hand)
    hand.contexts._breaker._again = math.inf
    await hand.contexts.tell()
    assert hand.there(context_key(execution)) is not None
    assert not hand.contexts._has_news, "and nobody asks for it meanwhile"
    hand.contexts._breaker._again = 0.0
    await hand.contexts.tell()
    assert hand.shelf.texts.keys() <= {lock_key(execution)}, "which runs out by itself"


async def test_what_could_not_be_removed_is_removed_the_next_time(
    house: House, told: Told, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    execution = await ended_but_untold(house, told, hand)

    async def away(last: Mapping[str, Version]) -> Sequence[bool]:
        raise Away("it is not there")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(hand.cache, "remove", away)
        await hand.contexts.tell()
    assert hand.there(context_key(execution)) is not None
    await hand.contexts.tell()
    assert hand.shelf.texts == {}


async def test_so_much_is_kept_to_be_removed_and_no_more(hand: Hand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.engine.contexts.MOST_GONE", 10)
    for number in range(30):
        owned = cast("OwnedExecution", SimpleNamespace(id=str(number), fence=2))
        hand.contexts.gave_up(owned, [])
    assert list(hand.contexts._gone) == [context_key(str(number)) for number in range(20, 30)]


async def test_what_is_being_told_when_an_instance_leaves_is_told(
    house: House, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    await house.define(chain(node("a", "SLEEP", config={"seconds": 3600})))
    put, stop = hand.cache.put, hand.contexts._loop.stop
    putting, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(entries: Sequence[Entry]) -> Sequence[bool]:
        putting.set()
        await go_on.wait()
        return await put(entries)

    async def stopping() -> None:
        go_on.set()
        await stop()

    monkeypatch.setattr(hand.cache, "put", slowly)
    monkeypatch.setattr(hand.contexts._loop, "stop", stopping)
    async with driving(house.instance, hand.contexts, NO_END):
        execution = await house.run()
        await putting.wait()
    assert hand.there(context_key(execution)) is not None


async def test_what_cannot_even_be_taken_up_is_at_hand_no_longer_when_it_is_given_up(
    house: House, told: Told, hand: Hand, shelf: Shelf
) -> None:
    await house.define(chain(node("a"), node("b")))
    told.hangs_at = "b"
    execution = await house.start()
    await told.hanging.wait()
    await hand.contexts.tell()
    keys = {context_key(execution), node_key(execution, "a")}
    assert keys <= shelf.texts.keys()
    nonsense = update(workflow_execution).values(state={"seq": "none", "tokens": 7})
    await house.database.write(lambda connection: connection.execute(nonsense))
    for _ in range(6):
        again = Hand(shelf)
        next_one = House(house.database, told, at_hand=again.contexts)
        next_one.programs = house.programs
        assert await next_one.instance.take_back() == 1
        await again.contexts.tell()
    assert (await house.row(execution))["status"] == "FAILED"
    assert not keys & shelf.texts.keys()
