"""Checkpoints that are large themselves, or keep large answers: whoever takes them up goes on from them."""

from typing import Any

import pytest

from clocks import NOON
from engine_house import Told, chain, node
from muster.engine.codec import encode
from muster.engine.journal import SignalKind
from muster.engine.owned import FIRST_FENCE, Checkpoint, NewExecution, Progress
from muster.engine.rebuilding import take_over
from muster.engine.state import ExecutionStatus, State
from muster.model.json import Json
from muster.store.database import Database
from waiting_house import Waiting

LARGE = "ä" * 70_000
ASK = {"id": "ask", "type": "ASK", "config": {}}
TELL = {"id": "b", "type": "TELL", "config": {"say": "#{_nodes.ask.answer}"}}


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def house(database: Database, told: Told) -> Waiting:
    return Waiting(database, told)


@pytest.mark.parametrize("answer", [LARGE, {"rows": [LARGE], "n": 1}], ids=["all of it", "a member"])
async def test_a_held_execution_goes_on_with_a_large_answer(house: Waiting, told: Told, answer: Json) -> None:
    await house.save("w", ASK, TELL)
    execution = await house.begin("w")
    await house.settle()
    await house.signal(execution, SignalKind.HOLD, {})
    await house.settle()
    given = {"node": "ask", "visit": 1, "answer": answer}
    await house.signal(execution, SignalKind.ANSWER, given)
    await house.settle()
    row: Any = await house.row(execution)
    assert (row["status"], row["aside"][0][:3]) == ("PAUSED", ["state", "answers", "ask/1"])
    await house.signal(execution, SignalKind.HOLD, {})  # taken up and put back, unread
    await house.settle()
    await house.signal(execution, SignalKind.RELEASE, {})
    await house.settle()
    assert (await house.row(execution))["status"] == "COMPLETED"
    assert told.said == [answer]


async def test_an_execution_is_handed_on_with_a_large_answer(
    database: Database, house: Waiting, told: Told
) -> None:
    await house.save("child", {"id": "a", "type": "NOOP"}, output={"text": "#{text}"})
    call = {"id": "call", "type": "SUB_WORKFLOW", "config": {"workflow": "child", "input": {"text": LARGE}}}
    both = [{"type": "goto", "targetNodeId": each} for each in ("call", "slow")]
    nodes = [
        {"id": "start", "type": "NOOP", "routing": both},
        {**call, "routing": [{"type": "goto", "targetNodeId": "b"}]},
        {"id": "slow", "type": "TELL", "config": {"say": "slow"}},
        {"id": "b", "type": "TELL", "config": {"say": "#{text}"}},
    ]
    await house.save_document("parent", {"key": "parent", "name": "parent", "nodes": nodes})
    told.pauses_at = "slow"
    parent = await house.begin("parent")
    await told.hanging.wait()
    staying = Waiting(database, told, "staying")

    async def answered() -> bool:
        return [child.status for child in await staying.children(parent)] == ["COMPLETED"]

    await staying.until(answered)
    house.instance.retire()
    assert await house.instance.take_signals() == 1
    told.go_on.set()
    await house.instance.ended(parent)
    row: Any = await house.row(parent)
    assert (row["status"], row["owner"]) == ("RUNNING", None)
    assert ["state", "answers", "call/1", "output", "text"] in row["aside"]
    await staying.settle()
    assert ((await staying.row(parent))["status"], told.said) == ("COMPLETED", ["slow", LARGE])


async def test_5000_compensable_visits_are_checkpointed_and_come_back(house: Waiting) -> None:
    to_undo = tuple(("a-node-that-can-be-undone", visit) for visit in range(1, 5001))
    await house.define(chain(node("a")))
    new = NewExecution(house.ids.new(), "w1", 1, "", "somebody", {}, NOON)
    await house.executions.start(new)
    state = encode(State(to_undo=to_undo))
    parked = Checkpoint(ExecutionStatus.PAUSED, {}, state, resume_at=NOON)
    await house.executions.write(Progress(execution_id=new.id, fence=FIRST_FENCE, rows=(), checkpoint=parked))
    [owned] = await house.executions.claim_due("another", 10)
    live, _ = take_over(owned, house.programs[1])
    assert live.state.to_undo == to_undo
