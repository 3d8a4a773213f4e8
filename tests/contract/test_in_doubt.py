"""`inDoubt: ask` on every database: what may have been done is not repeated unasked."""

import asyncio
from typing import Any, cast

import pytest

from contract.test_bulk_jobs import ADA, Desk
from engine_house import House, Told, chain, node
from muster.engine.actions import By, Retry, Verdict
from muster.engine.control import Conflict
from muster.engine.handlers import Done
from muster.engine.journal import SignalKind
from muster.engine.state import Failure
from muster.store.database import Database


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> House:
    return House(database, told)


def successor(house: House) -> House:
    """The same instance, started again."""
    after = House(house.database, house.told)
    after.programs = house.programs
    return after


async def crashed(house: House, told: Told, *nodes: Any) -> tuple[str, House]:
    """An execution whose instance went away while `b` was being done, and the one that came after."""
    await house.define(chain(node("a"), node("b", in_doubt="ask"), node("c"), *nodes))
    told.hangs_at = "b"
    execution = await house.start()
    await told.hanging.wait()
    told.hangs_at = None
    after = successor(house)
    assert await after.instance.take_back() == 1
    await after.instance.ended(execution)
    return execution, after


async def decide(house: House, execution: str, redo: bool, output: object = None) -> None:
    verdict = Verdict("b", redo, output=cast("Any", output))
    await Desk(house).actions.decide(execution, By(ADA, "seen"), verdict)
    assert await house.instance.take_due() == 1
    await house.instance.ended(execution)


async def test_an_effect_without_a_result_is_not_repeated_but_asked_about(house: House, told: Told) -> None:
    execution, after = await crashed(house, told)
    assert told.said == ["a", "b"]
    row = await after.row(execution)
    assert (row["status"], row["owner"], row["resume_at"]) == ("WAITING", None, None)
    assert await after.journal(execution) == [("a", "", "completed"), ("b", "", "waiting_for_task")]


async def test_its_start_is_there_before_it_begins(house: House, told: Told) -> None:
    await house.define(chain(node("a", in_doubt="ask")))
    told.hangs_at = "a"
    execution = await house.start()
    await told.hanging.wait()
    assert await house.journal(execution) == [("a", "", "running")]


async def test_what_was_done_goes_on_with_the_output_that_is_given(house: House, told: Told) -> None:
    execution, after = await crashed(house, told)
    await decide(after, execution, redo=False, output={"number": 7})
    row = await after.row(execution)
    assert (row["status"], told.said) == ("COMPLETED", ["a", "b", "c"])
    assert cast("dict[str, object]", row["context"])["number"] == 7
    assert ("b", "", "completed") in await after.journal(execution)


async def test_what_is_to_be_done_again_is_done_again_once(house: House, told: Told) -> None:
    execution, after = await crashed(house, told)
    told.hangs_at = "b"
    told.hanging.clear()
    await Desk(after).actions.decide(execution, By(ADA, "seen"), Verdict("b", redo=True))
    assert await after.instance.take_due() == 1
    await told.hanging.wait()
    told.hangs_at = None
    # It goes away once more: what was said the first time is not said of the second.
    last = successor(after)
    assert await last.instance.take_back() == 1
    await last.instance.ended(execution)
    assert told.said == ["a", "b", "b"]
    assert (await last.row(execution))["status"] == "WAITING"
    await decide(last, execution, redo=True)
    assert told.said == ["a", "b", "b", "b", "c"]
    assert (await last.row(execution))["status"] == "COMPLETED"


async def test_a_doubt_is_answered_once(house: House, told: Told) -> None:
    execution, after = await crashed(house, told)
    desk = Desk(after)
    answers = await asyncio.gather(
        *(desk.actions.decide(execution, By(ADA, ""), Verdict("b", redo)) for redo in (True, False, True)),
        return_exceptions=True,
    )
    assert sorted(type(answer).__name__ for answer in answers) == ["Conflict", "Conflict", "NoneType"]
    for verdict in (Verdict("a", redo=True), Verdict("b", redo=True, visit=2)):
        with pytest.raises(Conflict, match="is not in doubt"):
            await desk.actions.decide(execution, By(ADA, ""), verdict)


async def test_neither_a_release_nor_an_answer_nor_a_retry_gets_past_a_doubt(
    house: House, told: Told
) -> None:
    execution, after = await crashed(house, told)
    for kind, payload in (
        (SignalKind.HOLD, {}),
        (SignalKind.RELEASE, {}),
        (SignalKind.ANSWER, {"node": "b", "visit": 1, "answer": "yes"}),
    ):
        await after.signal(execution, kind, cast("Any", payload))
        assert await after.instance.take_due() == 1
        await after.instance.ended(execution)
    assert (await after.row(execution))["status"] == "WAITING"
    await after.signal(execution, SignalKind.CANCEL, {})
    await after.instance.take_due()
    await after.instance.ended(execution)
    await Desk(after).actions.retry(execution, By(ADA, ""), Retry())
    await after.instance.take_due()
    await after.instance.ended(execution)
    assert (await after.row(execution))["status"] == "WAITING"
    assert told.said == ["a", "b"]
    await decide(after, execution, redo=False)
    assert told.said == ["a", "b", "c"]


async def test_an_answer_is_a_result_and_a_failure_that_is_one_is_tried_again(
    house: House, told: Told
) -> None:
    told.answers = [Failure("Busy", "later", retryable=True), Done()]
    again = {"maxAttempts": 2, "initialDelay": 0.01}
    await house.define(chain(node("a", in_doubt="ask", retry=again)))
    execution = await house.run()
    assert (await house.row(execution))["status"] == "COMPLETED"
    assert len(told.did) == 2


@pytest.mark.parametrize("kind", ["a timeout", "an unsure failure"])
async def test_what_nobody_heard_the_end_of_is_in_doubt(house: House, told: Told, kind: str) -> None:
    if kind == "a timeout":
        told.hangs_at = "a"
    else:
        told.answers = [Failure("NetworkError", "it broke off", retryable=True, unsure=True)]
    await house.define(chain(node("a", in_doubt="ask", timeout=0.05), node("b")))
    execution = await house.run()
    assert (await house.row(execution))["status"] == "WAITING"
    assert told.said == ["a"]
    told.hangs_at = None
    await Desk(house).actions.decide(execution, By(ADA, ""), Verdict("a", redo=True))
    assert await house.instance.take_due() == 1
    await house.instance.ended(execution)
    assert told.said == ["a", "a", "b"]


async def test_of_a_list_in_doubt_only_what_has_no_result_is_done_again(house: House, told: Told) -> None:
    each = {"on": "#{people}", "forEach": {"say": "#{item}", "concurrency": 1}}
    await house.define(chain(node("a", "SET", config={}), node("b", in_doubt="ask", config=each)))
    told.hangs_at = "y"
    execution = await house.start(people=["x", "y", "z"])
    await told.hanging.wait()
    await house.until_journaled(execution, ("b", "0", "completed"))
    told.hangs_at = None
    after = successor(house)
    assert await after.instance.take_back() == 1
    await after.instance.ended(execution)
    assert told.said == ["x", "y"]
    await decide(after, execution, redo=True)
    assert told.said == ["x", "y", "y", "z"]
    assert (await after.row(execution))["status"] == "COMPLETED"
