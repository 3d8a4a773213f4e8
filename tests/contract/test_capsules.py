"""Capsules: what a database keeps of an execution or an item, taken along in one file and run again."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from engine_house import TYPES, House, Told, chain, node
from muster.capsule import Differs, replay
from muster.capsule.document import Capsule, ExecutionCapsule, NoCapsule, read, to_json
from muster.capsule.export import capsule_of
from muster.capsule.rerun import Rerun, rerun
from muster.capsule.secrets import without_secrets
from muster.capsule.steps import steps_of
from muster.engine.handlers import Done
from muster.engine.journal import SignalKind
from muster.engine.state import Failure
from muster.model.json import JsonObject
from muster.model.stored import AuditEntry
from muster.model.workflow import Definition, Edge, EdgeType
from muster.store.audit import add_audit
from muster.store.capsules import CapsuleRepository, TooMuch
from muster.store.database import Database
from watch_house import WatchHouse, event

LARGE = "x" * 100_000
COMPUTED = [
    {"field": "total", "expression": "#{amount * 2}"},
    {"field": "at", "expression": "#{now()}"},
    {"field": "name", "expression": "#{uuid()}"},
]


@pytest.fixture
def house(database: Database) -> House:
    return House(database, Told())


async def taken_along(database: Database, name: str) -> Capsule:
    """As it is after it was written to a file and read from it."""
    found = await capsule_of(CapsuleRepository(database), name, TYPES)
    assert found is not None
    text = json.dumps(without_secrets(to_json(found), ()))
    return read(text.encode())


async def an_execution(house: House, execution: str) -> ExecutionCapsule:
    found = await taken_along(house.database, execution)
    assert isinstance(found, ExecutionCapsule)
    return found


async def again(capsule: Capsule) -> Rerun:
    """Beside the loop that the test runs on: it has one of its own."""
    return await asyncio.to_thread(rerun, capsule)


def with_everything() -> Definition:
    """A choice, a wait, an effect over a list, one that fails and is passed over, and what is computed."""
    nodes = (
        node("a", "TRANSFORM", config={"transformations": COMPUTED}),
        node("b", "SLEEP", config={"seconds": 3600}),
        node("c", config={"on": "#{users}", "forEach": {"eval": "#{item}", "say": "#{item.name}"}}),
        node("d", on_error="continue"),
        node("e"),
        node("f"),
    )
    edges = (
        Edge("a", "b"),
        Edge("b", "c"),
        Edge("c", "d"),
        Edge("d", "e", EdgeType.CONDITIONAL, "#{total > 100}", value=True),
        Edge("d", "f", EdgeType.CONDITIONAL, "#{total > 100}", value=False),
    )
    return Definition("everything", nodes, edges)


async def run_everything(house: House) -> str:
    await house.define(with_everything())
    users = [{"name": "Ada"}, {"name": "Zoë"}]
    execution = await house.run(amount=70, users=users, large=LARGE)
    house.told.answers = [
        Done({"told": "Ada"}),
        Done({"told": "Zoë"}),
        Failure("Refused", "no"),
        Done({"large": LARGE, "answer": 7}),
    ]
    await house.pass_time(hours=2)
    assert await house.instance.take_due() == 1
    await house.instance.ended(execution)
    assert (await house.row(execution))["status"] == "COMPLETED"
    return execution


async def test_an_execution_comes_out_as_it_did_on_the_real_engine(house: House) -> None:
    capsule = await an_execution(house, await run_everything(house))
    done = await again(capsule)
    assert done.differences == ()
    assert done.status == "COMPLETED"
    assert [(place[0], place[2]) for place in done.path] == [
        ("a", "completed"),
        ("b", "completed"),
        ("c", "completed"),
        ("d", "failed"),
        ("e", "completed"),
    ]
    assert await again(capsule) == done, "it repeats"
    assert capsule.given["large"] == LARGE, "what was kept aside is in it"


async def test_what_is_different_is_said(house: House) -> None:
    capsule = await an_execution(house, await run_everything(house))
    text = json.dumps(capsule.document).replace("amount * 2", "amount * 1")
    other = replace(capsule, document=json.loads(text))
    with pytest.raises(Differs) as differs:
        await asyncio.to_thread(replay, other)
    told = str(differs.value).splitlines()
    assert "e was visited, and is not" in told
    assert "f is visited, and was not" in told
    assert any(line.startswith("the output of a was") for line in told)


async def test_steps_are_in_the_order_of_time_with_what_each_changed(house: House) -> None:
    capsule = await an_execution(house, await run_everything(house))
    steps = steps_of(capsule)
    assert [step.at for step in steps] == sorted(step.at for step in steps)
    assert steps[0].what == "start"
    assert steps[-1].what == "end"
    [computed] = [step for step in steps if (step.what, step.node) == ("done", "a")]
    assert computed.changed["total"] == 140
    [said] = [
        step for step in steps if step.node == "c[0]" or (step.node.startswith("c[") and "Ada" in step.told)
    ]
    assert said.status == "completed"


async def test_one_that_failed_and_was_undone_comes_out_the_same(house: House) -> None:
    undoing = {"type": "TELL", "config": {"say": "undo"}}
    await house.define(chain(node("a", compensate=undoing), node("b")))
    house.told.answers = [Done({"x": 1}), Failure("Refused", "no")]
    capsule = await an_execution(house, await house.run())
    assert capsule.status == "FAILED"
    assert (await again(capsule)).differences == ()
    assert [visit.item for visit in capsule.visits if visit.node == "a"] == ["", "compensation"]


async def test_one_that_still_waits_comes_to_the_same_wait(house: House) -> None:
    await house.define(chain(node("a"), node("b", "ASK"), node("c")))
    capsule = await an_execution(house, await house.run())
    assert capsule.status == "WAITING"
    done = await again(capsule)
    assert done.differences == ()
    assert [place[0] for place in done.path] == ["a", "b"]


async def test_an_answer_comes_again_after_as_long_as_it_took(house: House) -> None:
    await house.define(chain(node("a", "ASK"), node("b")))
    execution = await house.run()
    await house.pass_time(days=30)
    await house.signal(execution, SignalKind.ANSWER, {"node": "a", "visit": 1, "answer": {"yes": True}})
    await house.instance.take_due()
    await house.instance.ended(execution)
    capsule = await an_execution(house, execution)
    assert capsule.status == "COMPLETED"
    assert (await again(capsule)).differences == ()


async def test_one_that_was_cancelled_by_hand_is_cancelled_again(house: House) -> None:
    await house.define(chain(node("a"), node("b", "ASK"), node("c")))
    execution = await house.run()
    details: JsonObject = {"reason": "enough"}
    note = AuditEntry("execution", execution, "cancel", "me", "", details)
    await house.signal(execution, SignalKind.CANCEL, details)
    await house.database.write(lambda connection: add_audit(connection, note, house.clock.now()))
    await house.instance.take_due()
    await house.instance.ended(execution)
    capsule = await an_execution(house, execution)
    assert (capsule.status, [moment.name for moment in capsule.moments]) == ("CANCELLED", ["cancel"])
    assert (await again(capsule)).differences == ()
    assert (await again(replace(capsule, moments=()))).differences != ()


async def test_no_secret_goes_along(house: House) -> None:
    await house.define(
        chain(node("a", config={"say": "x", "headers": {"Authorization": "Bearer planted-1"}}))
    )
    house.told.answers = [Done({"access_token": "planted-2", "echo": "it was planted-3, really"})]
    given = {"password": "planted-3", "pin": {"apiKey": 4711}, "note": "planted-2 and planted-1"}
    execution = await house.run(**given)
    found = await capsule_of(CapsuleRepository(house.database), execution, TYPES)
    assert found is not None
    text = json.dumps(without_secrets(to_json(found), ["planted-4"]))
    assert "planted" not in text
    assert "4711" not in text
    assert (await again(read(text.encode()))).differences == ()


async def test_what_is_known_to_be_a_secret_is_starred_however_it_is_written() -> None:
    text = json.dumps(without_secrets({"a": ["x hush%21 y", "hush!", {"hush!": 1}]}, ["hush!"]))
    assert "hush" not in text


async def test_what_is_too_much_for_a_file_is_refused(house: House) -> None:
    execution = await run_everything(house)
    with pytest.raises(TooMuch):
        await capsule_of(CapsuleRepository(house.database, most=2), execution, TYPES)


async def test_there_is_none_of_what_is_not_there(database: Database) -> None:
    for name in ("nobody", "x" * 300, "a\0"):
        assert await capsule_of(CapsuleRepository(database), name, TYPES) is None


async def test_an_item_comes_to_the_same_runs_misses_and_alerts(database: Database) -> None:
    house = WatchHouse(database)
    await house.watch()
    await house.take(event("TRADE_INGEST", "TR1"), event("TRADE_INGEST", "TR2"))
    assert await house.due.fire(10) == 4
    capsule = await taken_along(database, "TR1")
    await house.close()
    assert (await again(capsule)).differences == ()
    document: dict[str, Any] = json.loads(json.dumps(capsule.document))
    for edge in document["graph"]["edges"]:
        edge["maxLatencySec"] = 315_360_000
        edge.pop("absoluteDeadline", None)
    differences = (await again(replace(capsule, document=document))).differences
    assert any(line.startswith("misses: ") for line in differences)
    assert steps_of(capsule)[0].what == "event"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"{", "not JSON"),
        (b"[]", '"format"'),
        (b'{"format": "muster.capsule", "version": 99}', "version 99"),
        (b'{"format": "muster.capsule", "version": 1, "kind": "execution"}', "'workflow' is missing"),
        (b'{"format": "muster.capsule", "version": 1, "kind": "item", "workflow": 7}', "no object"),
    ],
)
def test_a_file_that_is_none_is_refused_with_what_is_wrong(text: bytes, said: str) -> None:
    with pytest.raises(NoCapsule, match=said):
        read(text)
