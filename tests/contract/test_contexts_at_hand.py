"""Contexts that are kept at hand in a cache, on every database: they save reading, and decide nothing."""

import json
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import pytest
from sqlalchemy import update

from caches import Hand
from engine_house import House, Told, chain, node
from muster.cache.memory import Shelf
from muster.engine.cache import context_key, lock_key, node_key
from muster.engine.contexts import AT_ONCE
from muster.engine.handlers import Done
from muster.engine.journal import SignalKind
from muster.engine.live import Live
from muster.engine.state import Failure
from muster.store.database import Database
from muster.store.tables import workflow_execution

# All that is looked at of what somebody else had before.
AS_RESUMED = {"fence": 2, "program": SimpleNamespace(in_cache=False)}


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


async def paused_at_b(house: House, told: Told, hand: Hand) -> str:
    """An execution that is in the middle of its second node, and all that is to be told of it is told."""
    await house.define(chain(node("a"), node("b"), node("c")))
    told.pauses_at = "b"
    execution = await house.start(n=1)
    await told.hanging.wait()
    await hand.contexts.tell()
    return execution


async def slept(house: House, execution: str) -> None:
    """Let its time come, and wait until it has parked or ended again."""
    await house.pass_time(hours=1)
    assert await house.instance.take_due() == 1
    await house.instance.ended(execution)


async def spoil(house: House, execution: str) -> None:
    """Let what the database has be recognised where it is read."""
    row = await house.row(execution)
    assert isinstance(row["context"], dict)
    changed = update(workflow_execution).where(workflow_execution.c.id == execution)
    context = {**row["context"], "from": "the database"}
    await house.database.write(lambda connection: connection.execute(changed.values(context=context)))


async def test_while_an_execution_runs_its_context_is_at_hand(house: House, told: Told, hand: Hand) -> None:
    execution = await paused_at_b(house, told, hand)
    kept = hand.there(context_key(execution))
    assert kept is not None
    assert kept.keys() >= {
        *("executionId", "workflowId", "triggerId", "triggerNodeId", "currentNodeId"),
        *("nodeOutputs", "variables", "metadata"),
    }
    assert (kept["executionId"], kept["workflowId"]) == (execution, "w1")
    assert (kept["triggerNodeId"], kept["currentNodeId"]) == ("a", "b")
    assert kept["nodeOutputs"] == {"a": {"told": "a"}}
    assert kept["variables"] == {"n": 1}
    told_of_a = hand.there(node_key(execution, "a"))
    assert told_of_a is not None
    assert {name: told_of_a[name] for name in ("nodeId", "inputData", "outputData", "status")} == {
        "nodeId": "a",
        "inputData": None,
        "outputData": {"told": "a"},
        "status": "completed",
    }
    told.go_on.set()
    await house.instance.ended(execution)


@pytest.mark.parametrize("end", [Done(), Failure("Refused", "no")])
async def test_what_has_ended_is_at_hand_no_longer(
    house: House, told: Told, hand: Hand, shelf: Shelf, end: Done | Failure
) -> None:
    execution = await paused_at_b(house, told, hand)
    assert hand.there(lock_key(execution)) is not None
    told.answers = [end]
    told.go_on.set()
    await house.instance.ended(execution)
    await hand.contexts.tell()
    assert shelf.texts == {}


async def test_what_begins_and_ends_within_a_moment_is_told_to_nobody(
    house: House, hand: Hand, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    put: list[str] = []
    monkeypatch.setattr(shelf, "put", lambda key, *_: put.append(key))
    await house.define(chain(node("a"), node("b")))
    await house.run()
    await hand.contexts.tell()
    assert put == []


async def test_who_resumes_has_the_context_from_the_cache(house: House, told: Told, hand: Hand) -> None:
    say = node("b", config={"say": "#{n + 1}"})
    await house.define(chain(node("a", "SLEEP", config={"seconds": 3600}), say))
    execution = await house.run(n=1)
    await hand.contexts.tell()
    await spoil(house, execution)
    await slept(house, execution)
    assert told.said == [2]
    assert (await house.row(execution))["context"] == {"n": 1}
    assert hand.counted.counts == {"hit": 1, "miss": 0, "stale": 0}


async def test_without_it_the_database_has_the_context(house: House, hand: Hand, shelf: Shelf) -> None:
    await house.define(chain(node("a", "SLEEP", config={"seconds": 3600}), node("b")))
    execution = await house.run(n=1)
    await hand.contexts.tell()
    shelf.texts.clear()
    await spoil(house, execution)
    await slept(house, execution)
    assert (await house.row(execution))["context"] == {"n": 1, "from": "the database"}
    assert hand.counted.counts == {"hit": 0, "miss": 1, "stale": 0}


@pytest.mark.parametrize(
    ("spoilt", "as_what"),
    [
        ({"fence": 7}, "stale"),
        ({"fence": 0}, "stale"),
        ({"parked": False}, "stale"),
        ({"seq": 0}, "stale"),
        ({"state": {"tokens": [{"node": "a", "phase": "dancing", "attempt": 1}], "seq": 1}}, "miss"),
        ({"aside": [["variables", "n"]]}, "miss"),
        ({"text": "{"}, "miss"),
        ({"text": "[]"}, "miss"),
        ({"text": '{"fence":1,"step":3,"metadata":' + "[" * 100_000}, "miss"),
        ({"text": '{"fence":' + "9" * 5_000 + ',"step":3}'}, "miss"),
    ],
)
async def test_what_is_not_its_last_checkpoint_is_not_taken(
    house: House, hand: Hand, shelf: Shelf, spoilt: dict[str, object], as_what: str
) -> None:
    await house.define(chain(node("a", "SLEEP", config={"seconds": 3600}), node("b")))
    execution = await house.run(n=1)
    await hand.contexts.tell()
    text, until = shelf.texts[context_key(execution)]
    kept = json.loads(text)
    kept["fence"] = spoilt.get("fence", kept["fence"])
    kept["variables"] = {"from": "elsewhere"}
    for name in ("parked", "state", "aside"):
        kept["metadata"][name] = spoilt.get(name, kept["metadata"].get(name, []))
    kept["metadata"]["state"]["seq"] = spoilt.get("seq", kept["metadata"]["state"]["seq"])
    new = str(spoilt.get("text", json.dumps(kept, separators=(",", ":"))))
    shelf.texts[context_key(execution)] = new, until
    await slept(house, execution)
    assert (await house.row(execution))["context"] == {"n": 1}
    assert hand.counted.counts[as_what] == 1
    assert hand.counted.counts["hit"] == 0


async def test_another_instance_goes_on_with_what_this_one_has_left(
    database: Database, told: Told, shelf: Shelf
) -> None:
    first, second = Hand(shelf, "here/1"), Hand(shelf, "there/1")
    here = House(database, told, "here", at_hand=first.contexts)
    there = House(database, told, "there", clock=here.clock, at_hand=second.contexts)
    await here.define(chain(node("a", "ASK"), node("b", "SLEEP", config={"seconds": 3600}), node("c")))
    there.programs = here.programs
    execution = await here.run(n=1)
    await first.contexts.tell()
    assert shelf.get(lock_key(execution)) is None
    await here.signal(execution, SignalKind.ANSWER, {"node": "a", "visit": 1, "answer": "yes"})
    assert await there.instance.take_due() == 1
    await there.instance.ended(execution)
    await second.contexts.tell()
    await slept(here, execution)
    assert (first.counted.counts["hit"], second.counted.counts["hit"]) == (1, 1)
    assert (await here.row(execution))["context"] == {"n": 1}


async def test_what_is_large_comes_back_whole(house: House, hand: Hand) -> None:
    """It is in the cache while it is in memory, and stands aside there when it does in the database."""
    large = "x" * 100_000
    naps = [node(name, "SLEEP", config={"seconds": 3600}) for name in "abc"]
    await house.define(chain(*naps, node("d", "SET", config={"n": "#{text.length()}"})))
    execution = await house.run(text=large)
    hand.shelf.texts.clear()  # the database has it, aside
    await slept(house, execution)
    await hand.contexts.tell()
    await slept(house, execution)
    await hand.contexts.tell()
    await slept(house, execution)
    assert hand.counted.counts == {"hit": 2, "miss": 1, "stale": 0}
    context = (await house.row(execution))["context"]
    assert isinstance(context, dict)
    assert context["n"] == 100_000


async def test_what_cannot_be_kept_at_hand_is_read_from_the_database(
    house: House, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.engine.contexts.MOST_CHARACTERS", 100)
    await house.define(chain(node("a", "SLEEP", config={"seconds": 3600}), node("b")))
    execution = await house.run(n="x" * 100)
    await hand.contexts.tell()
    await slept(house, execution)
    assert hand.counted.counts["miss"] == 1
    assert (await house.row(execution))["status"] == "COMPLETED"


async def test_an_owner_that_loses_its_lock_asks_the_database_and_goes_on(
    house: House, told: Told, hand: Hand, shelf: Shelf
) -> None:
    execution, losses = await paused_at_b(house, told, hand), list[None]()
    hand.contexts._on_loss = lambda: losses.append(None)
    text, until = shelf.texts[lock_key(execution)]
    shelf.texts[lock_key(execution)] = text.replace("here/1", "there/9"), until
    await hand.contexts._renew_locks()
    assert hand.counted.counts["lock_lost"] == 1
    assert len(losses) == 1
    await hand.contexts._renew_locks()
    assert len(losses) == 1, "it is told once"
    told.go_on.set()
    await house.instance.ended(execution)
    assert (await house.row(execution))["status"] == "COMPLETED"
    await hand.contexts.tell()
    assert "there/9" in (shelf.get(lock_key(execution)) or ""), "it releases nobody else's"


async def test_a_lock_that_is_gone_is_taken_again(house: House, told: Told, hand: Hand, shelf: Shelf) -> None:
    execution = await paused_at_b(house, told, hand)
    shelf.remove(lock_key(execution))
    await hand.contexts._renew_locks()
    assert await hand.locks.holders([execution]) == ["here/1"]
    told.go_on.set()
    await house.instance.ended(execution)


async def test_all_locks_that_are_held_are_renewed_together(
    hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [f"e{number}" for number in range(3 * AT_ONCE)]
    for execution in many:
        hand.contexts.took(cast("Live", SimpleNamespace(facts=SimpleNamespace(id=execution), **AS_RESUMED)))
    await hand.contexts.tell()
    asked: list[Sequence[str]] = []

    async def renew(executions: Sequence[str]) -> Sequence[bool]:
        asked.append(executions)
        return [True] * len(executions)

    monkeypatch.setattr(hand.locks, "renew", renew)
    await hand.contexts._renew_locks()
    assert asked == [many]


async def test_who_leaves_holds_no_lock(house: House, told: Told, hand: Hand, shelf: Shelf) -> None:
    execution = await paused_at_b(house, told, hand)
    await hand.contexts.close()
    assert shelf.get(lock_key(execution)) is None
    told.go_on.set()
    await house.instance.ended(execution)
