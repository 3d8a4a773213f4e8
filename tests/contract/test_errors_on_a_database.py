"""What becomes of failing nodes, through the real store: timeouts, detours, undoing, trying again."""

from types import SimpleNamespace

import pytest

from contract.test_bulk_jobs import ADA, Desk
from engine_house import TYPES, House, Told, chain, node
from muster.engine.actions import By, Retry
from muster.engine.control import Conflict
from muster.engine.handlers import Done
from muster.engine.journal import SignalKind
from muster.engine.program import compile_program
from muster.engine.state import Failure
from muster.model.workflow import Definition, Edge
from muster.store.database import Database

NOT_TODAY = Failure("Refused", "not today")


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> House:
    return House(database, told)


def undo(name: str) -> dict[str, object]:
    return {"compensate": {"type": "TELL", "config": {"say": f"undo {name}"}}}


async def retried(house: House, execution: str, retry: Retry) -> None:
    await Desk(house).actions.retry(execution, By(ADA, "mended"), retry)
    assert await house.instance.take_due() == 1
    await house.instance.ended(execution)


async def test_a_node_that_takes_too_long_is_tried_again_and_then_fails(house: House, told: Told) -> None:
    told.hangs_at = "a"
    again = {"maxAttempts": 2, "initialDelay": 0.01}
    await house.define(chain(node("a", timeout=0.05, retry=again)))
    row = await house.row(await house.run())
    assert (row["status"], row["error_type"], told.said) == ("FAILED", "Timeout", ["a", "a"])


async def test_an_error_leads_elsewhere_or_is_passed_over(house: House, told: Told) -> None:
    told.answers = [NOT_TODAY, NOT_TODAY]
    elsewhere = node("c", config={"say": "#{_error.node}: #{_error.message}"})
    nodes = (node("a", on_error="continue"), node("b", on_error={"goto": "c"}), elsewhere, node("d"))
    await house.define(Definition("detour", nodes, (Edge("a", "b"), Edge("b", "d"))))
    row = await house.row(await house.run())
    assert (row["status"], told.said) == ("COMPLETED", ["a", "b", "b: not today"])


async def test_a_failure_is_undone_in_reverse_order_of_completion(house: House, told: Told) -> None:
    # b and c run side by side, and c is the first to be done.
    nodes = (node("a", **undo("a")), node("b", **undo("b")), node("c", **undo("c")), node("d"))
    edges = tuple(Edge(*pair) for pair in ("ab", "ac", "bd", "cd"))
    await house.define(Definition("fork", nodes, edges))
    told.pauses_at = "b"
    execution = await house.start()
    await told.hanging.wait()
    await house.until_journaled(execution, ("c", "", "completed"))
    told.answers = [Done(), NOT_TODAY]
    told.go_on.set()
    await house.instance.ended(execution)
    assert (await house.row(execution))["status"] == "FAILED"
    assert told.said[-3:] == ["undo b", "undo c", "undo a"]


async def test_a_failed_node_is_tried_again_with_a_patched_context_as_the_same_visit(
    house: House, told: Told
) -> None:
    told.answers = [Done(), NOT_TODAY]
    await house.define(chain(node("a"), node("b", config={"say": "#{who}"}), node("c")))
    execution = await house.run(who="Bob")
    await retried(house, execution, Retry(patch={"who": "Ada"}))
    assert told.said == ["a", "Bob", "Ada", "c"]
    assert told.did[1][0] == told.did[2][0], "the far side can tell that it is the same"
    assert (await house.row(execution))["status"] == "COMPLETED"


async def test_an_earlier_node_and_all_that_follows_is_visited_anew(house: House, told: Told) -> None:
    told.answers = [Done(), Done(), NOT_TODAY]
    await house.define(chain(node("a"), node("b"), node("c")))
    execution = await house.run()
    await retried(house, execution, Retry(node="b"))
    assert told.said == ["a", "b", "c", "b", "c"]
    assert told.did[1][0] != told.did[3][0], "a further visit has a key of its own"


async def test_what_was_undone_is_done_anew_from_an_earlier_node_and_undone_again(
    house: House, told: Told
) -> None:
    told.answers = [Done(), NOT_TODAY, Done(), Done(), NOT_TODAY]
    await house.define(chain(node("a", **undo("a")), node("b")))
    execution = await house.run()
    assert told.said == ["a", "b", "undo a"]
    await retried(house, execution, Retry(node="a"))
    assert told.said == ["a", "b", "undo a", "a", "b", "undo a"]
    keys = [key for key, params in told.did if params["say"] == "undo a"]
    assert len(set(keys)) == 2


async def test_a_version_without_the_nodes_that_are_needed_is_refused(house: House, told: Told) -> None:
    told.answers = [Done(), NOT_TODAY]
    await house.define(chain(node("a"), node("b"), node("c")))
    execution = await house.run()
    house.programs[2] = compile_program(chain(node("a"), node("c")), TYPES)
    desk = Desk(house, library=SimpleNamespace(version=_second))
    for retry, missing in ((Retry(version=2), "b"), (Retry(node="z", version=2), "z")):
        with pytest.raises(Conflict, match=f"That version has no node {missing}"):
            await desk.actions.retry(execution, By(ADA, ""), retry)
    assert (await house.row(execution))["status"] == "FAILED"


async def test_a_version_must_know_how_to_undo_what_is_still_to_be_undone(house: House) -> None:
    rest = node("b", "SLEEP", config={"seconds": 3600})
    await house.define(chain(node("a", **undo("a")), rest))
    execution = await house.run()
    await house.signal(execution, SignalKind.CANCEL, {"compensate": False})
    await house.instance.take_due()
    await house.instance.ended(execution)
    house.programs[2] = compile_program(chain(rest), TYPES)
    desk = Desk(house, library=SimpleNamespace(version=_second))
    with pytest.raises(Conflict, match="That version has no node a"):
        await desk.actions.retry(execution, By(ADA, ""), Retry(version=2))


async def _second(*_: object) -> object:
    return SimpleNamespace(id=2)
