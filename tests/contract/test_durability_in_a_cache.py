"""Workflows that say `durability: cache`: nothing per node in the database, and what that costs."""

import time
from dataclasses import replace

import pytest

from caches import Hand
from engine_house import House, Told, chain, node
from muster.cache.memory import Shelf
from muster.engine.handlers import Done
from muster.engine.journal import SignalKind
from muster.engine.live import MOST_UNWRITTEN
from muster.kit.clock import Clock
from muster.model.workflow import Definition, Edge, EdgeType
from muster.store.database import Database

DONE = "completed"


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def shelf() -> Shelf:
    return Shelf(time.monotonic)


def in_cache(definition: Definition) -> Definition:
    return replace(definition, durability="cache")


async def crashed_at(database: Database, told: Told, hand: Hand, at: str, definition: Definition) -> str:
    """An execution whose instance has gone down in the middle of a node."""
    house = House(database, told, "here", at_hand=hand.contexts)
    await house.define(definition)
    told.hangs_at = at
    execution = await house.start(n=1)
    await told.hanging.wait()
    told.hanging.clear()
    told.hangs_at = None
    await hand.contexts.tell()
    return execution


async def back_again(
    database: Database, told: Told, hand: Hand, definition: Definition, clock: Clock | None = None
) -> House:
    """The next incarnation of that instance, which has taken back what the last one held."""
    house = House(database, told, "here", clock, at_hand=hand.contexts)
    await house.define_again(definition)
    assert await house.instance.take_back() == 1
    return house


ABC = in_cache(chain(node("a"), node("b"), node("c")))


async def test_nothing_is_written_per_node_and_the_checkpoint_has_it_all(
    database: Database, told: Told, shelf: Shelf
) -> None:
    house = House(database, told, at_hand=Hand(shelf).contexts)
    await house.define(ABC)
    told.pauses_at = "c"
    execution = await house.start()
    await told.hanging.wait()
    assert await house.journal(execution) == []
    told.go_on.set()
    await house.instance.ended(execution)
    assert await house.journal(execution) == [("a", "", DONE), ("b", "", DONE), ("c", "", DONE)]
    assert (await house.row(execution))["status"] == "COMPLETED"


async def test_after_a_crash_it_goes_on_from_the_cached_context(
    database: Database, told: Told, shelf: Shelf
) -> None:
    told.answers = [Done({}, {"n": 2})]
    execution = await crashed_at(database, told, Hand(shelf), "c", ABC)
    hand = Hand(shelf)
    house = await back_again(database, told, hand, ABC)
    await house.instance.ended(execution)
    assert told.said == ["a", "b", "c", "c"]
    assert told.did[2][0] == told.did[3][0], "a repeat carries the same key"
    assert (await house.row(execution))["context"] == {"n": 2}
    assert await house.journal(execution) == [("a", "", DONE), ("b", "", DONE), ("c", "", DONE)]
    assert hand.counted.counts["hit"] == 1


async def test_where_that_is_gone_too_it_goes_on_from_its_last_checkpoint(
    database: Database, told: Told, shelf: Shelf
) -> None:
    nap = node("b", "SLEEP", config={"seconds": 3600})
    definition = in_cache(chain(node("a"), nap, node("c"), node("d")))
    house = House(database, told, "here", at_hand=Hand(shelf).contexts)
    await house.define(definition)
    execution = await house.run(n=1)
    told.hangs_at = "d"
    await house.pass_time(hours=1)
    assert await house.instance.take_due() == 1
    await told.hanging.wait()
    told.hangs_at = None
    shelf.texts.clear()
    again = await back_again(database, told, Hand(shelf), definition, house.clock)
    await again.instance.ended(execution)
    assert told.said == ["a", "c", "d", "c", "d"], "a is in the checkpoint, c is not"
    assert len({key for key, _ in told.did}) == 3, "and carries the same key"
    assert (await again.row(execution))["status"] == "COMPLETED"


async def test_without_a_cache_it_goes_on_from_its_last_checkpoint(database: Database, told: Told) -> None:
    house = House(database, told, "here")
    await house.define(ABC)
    told.hangs_at = "c"
    execution = await house.start()
    await told.hanging.wait()
    told.hangs_at = None
    again = House(database, told, "here")
    await again.define_again(ABC)
    assert await again.instance.take_back() == 1
    await again.instance.ended(execution)
    assert told.said == ["a", "b", "c", "a", "b", "c"]
    assert len({key for key, _ in told.did}) == 3


async def test_what_an_owner_before_the_last_has_left_is_not_taken(
    database: Database, told: Told, shelf: Shelf
) -> None:
    """Since then the last one, which began anew and left nothing, may have done it differently."""
    execution = await crashed_at(database, told, Hand(shelf), "c", ABC)
    kept = dict(shelf.texts)
    shelf.texts.clear()
    told.hangs_at = "b"
    await back_again(database, told, Hand(shelf), ABC)
    await told.hanging.wait()
    told.hangs_at = None
    shelf.texts.update(kept)
    hand = Hand(shelf)
    house = await back_again(database, told, hand, ABC)
    await house.instance.ended(execution)
    assert told.said == ["a", "b", "c", "a", "b", "b", "c"]
    assert hand.counted.counts["stale"] == 1


async def test_the_first_step_after_a_takeover_is_written_so_that_it_counts_as_progress(
    database: Database, told: Told, shelf: Shelf
) -> None:
    execution = await crashed_at(database, told, Hand(shelf), "b", ABC)
    told.hangs_at = "c"
    house = await back_again(database, told, Hand(shelf), ABC)
    await told.hanging.wait()
    assert await house.journal(execution) == [("a", "", DONE), ("b", "", DONE)]
    assert (await house.row(execution))["takeovers"] == 0


@pytest.mark.parametrize("flushed", [True, False])
async def test_a_node_that_must_not_be_repeated_unasked_is_journaled_all_the_same(
    database: Database, told: Told, shelf: Shelf, flushed: bool
) -> None:
    definition = in_cache(chain(node("a"), node("b", in_doubt="ask"), node("c")))
    execution = await crashed_at(database, told, Hand(shelf), "b", definition)
    if flushed:
        shelf.texts.clear()
    house = await back_again(database, told, Hand(shelf), definition)
    await house.instance.ended(execution)
    assert told.said == ["a", "b"], "a is journaled with it: what comes before b is not done again either"
    assert (await house.row(execution))["status"] == "WAITING"


async def test_a_signal_that_was_taken_is_not_taken_again(
    database: Database, told: Told, shelf: Shelf
) -> None:
    """It was answered, and went on; the answer is not for the second time that it asks."""
    hand = Hand(shelf)
    ways = (Edge("a", "b"), Edge("a", "c"), Edge("b", "d"))
    nodes = (node("a"), node("b", "ASK"), node("c"), node("d"))
    definition = in_cache(Definition("fork", nodes, ways))
    house = House(database, told, "here", at_hand=hand.contexts)
    await house.define(definition)
    told.pauses_at = "c"
    execution = await house.start()
    await told.hanging.wait()
    told.hanging.clear()
    told.hangs_at = "d"
    await house.signal(execution, SignalKind.ANSWER, {"node": "b", "visit": 1, "answer": "yes"})
    await house.instance.take_signals()
    await told.hanging.wait()
    told.hangs_at = told.pauses_at = None
    await hand.contexts.tell()
    again = await back_again(database, told, Hand(shelf), definition)
    await again.instance.ended(execution)
    assert (await again.row(execution))["status"] == "COMPLETED"
    assert sorted(map(str, told.said)) == ["a", "c", "c", "d", "d"]
    assert await again.signals_left(execution) == 0


async def test_a_long_loop_is_written_every_so_often(database: Database, told: Told, shelf: Shelf) -> None:
    hand = Hand(shelf)
    back, on = (Edge("a", to, EdgeType.CONDITIONAL, condition="#{n < 300}", value=to == "a") for to in "ab")
    count = node("a", "TELL", config={"say": "#{n}"})
    house = House(database, told, "here", at_hand=hand.contexts)
    await house.define(in_cache(Definition("loop", (count, node("b")), (back, on))))
    told.answers = [Done({}, {"n": number}) for number in range(1, 301)]
    told.pauses_at = "b"
    execution = await house.start(n=0)
    await told.hanging.wait()
    assert len(await house.journal(execution)) == MOST_UNWRITTEN
    told.go_on.set()
    await house.instance.ended(execution)
    assert len(await house.journal(execution)) == 301
