"""`dedupe` on a node: done once for a key, in any execution of the workflow, on every database."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from engine_house import Told
from muster.engine.handlers import Done
from muster.engine.node_claims import DoneBefore, NodeClaim, Standing
from muster.engine.owned import FIRST_FENCE
from muster.engine.state import Failure
from muster.model.json import JsonObject
from muster.store.database import Database
from muster.store.tables import node_dedupe, node_execution, workflow_execution
from polling import PATIENCE
from waiting_house import Waiting

D = node_dedupe.c
J = node_execution.c


def tell(node: str = "tell", key: str = "#{order}", **more: Any) -> JsonObject:
    dedupe = {"key": key, **({"ttl": more.pop("ttl")} if "ttl" in more else {})}
    return {"id": node, "type": "TELL", "config": {"say": "#{order}"}, "dedupe": dedupe, **more}


@pytest.fixture
def house(database: Database) -> Waiting:
    return Waiting(database)


async def run(house: Waiting, workflow: str = "w", **context: object) -> dict[str, Any]:
    execution = await house.begin(workflow, **context)
    await house.instance.ended(execution)
    return await house.row(execution)


async def visits(house: Waiting, execution: object) -> list[tuple[str, str]]:
    found = select(J.node_id, J.status).where(J.execution_id == execution, J.item_key == "").order_by(J.seq)
    rows = await house.database.read(lambda connection: connection.execute(found).all())
    return [(row.node_id, row.status) for row in rows]


async def test_what_was_done_for_a_key_is_skipped_with_what_it_came_to(house: Waiting) -> None:
    await house.save(
        "w", tell(), {"id": "then", "type": "SET", "config": {"seen": "#{nodeOutputs.tell.told}"}}
    )
    first = await run(house, order=7)
    again = await run(house, order=7)
    other = await run(house, order=8)
    assert house.told.said == [7, 8]
    assert [row["status"] for row in (first, again, other)] == ["COMPLETED"] * 3
    assert await visits(house, first["id"]) == [("tell", "completed"), ("then", "completed")]
    assert await visits(house, again["id"]) == [("tell", "skipped"), ("then", "completed")]
    assert again["context"]["seen"] == 7


async def test_other_nodes_and_workflows_have_keys_of_their_own(house: Waiting) -> None:
    await house.save("w", tell("a"), tell("b"))
    await house.save("v", tell("a"))
    await run(house, order=7)
    await run(house, "v", order=7)
    assert house.told.said == [7, 7, 7]


async def test_a_key_counts_for_its_time(house: Waiting) -> None:
    await house.save("w", tell(ttl="1h"))
    await run(house, order=7)
    await run(house, order=7)
    assert house.told.said == [7]
    past = update(node_dedupe).values(expires_at=house.clock.now() - timedelta(seconds=1))
    await house.database.write(lambda connection: connection.execute(past))
    await run(house, order=7)
    await run(house, order=7)
    assert house.told.said == [7, 7]


async def test_what_failed_is_done_by_the_next(house: Waiting) -> None:
    house.told.answers = [Failure("No", "no")]
    await house.save("w", tell())
    assert (await run(house, order=7))["status"] == "FAILED"
    again = await run(house, order=7)
    assert await visits(house, again["id"]) == [("tell", "completed")]


async def test_what_failed_and_went_on_lets_go_of_its_key(house: Waiting) -> None:
    house.told.answers = [Failure("No", "no")]
    await house.save("w", tell(onError="continue"), {"id": "ask", "type": "ASK", "config": {}})
    assert (await run(house, order=7))["status"] == "WAITING"
    again = await run(house, order=7)
    assert (await visits(house, again["id"]))[0] == ("tell", "completed")


async def test_who_is_second_waits_for_the_first_and_takes_its_result(house: Waiting) -> None:
    house.told.pauses_at = 7
    await house.save("w", tell())
    first = await house.begin("w", order=7)
    await house.told.hanging.wait()
    second = await house.begin("w", order=7)

    async def waits() -> bool:
        return await visits(house, second) == [("tell", "paused")]

    await house.until(waits)
    house.told.go_on.set()

    async def ended() -> bool:
        return (await house.row(second))["status"] == "COMPLETED"

    await house.until(ended)
    assert house.told.said == [7]
    assert [await visits(house, each) for each in (first, second)] == [
        [("tell", "completed")],
        [("tell", "skipped")],
    ]


async def test_who_crashed_while_doing_it_does_it_again_itself(database: Database) -> None:
    gone, told = Waiting(database, name="gone"), Told()
    gone.told.hangs_at = 7
    await gone.save("w", tell())
    execution = await gone.begin("w", order=7)
    await gone.told.hanging.wait()
    back = Waiting(database, told, name="gone")  # the same name: it takes back what it held
    assert await back.instance.take_back() == 1
    async with asyncio.timeout(PATIENCE):  # who waits for itself waits for ever
        await back.instance.ended(execution)
    assert (await back.row(execution))["status"] == "COMPLETED"
    assert told.said == [7]
    assert await visits(back, execution) == [("tell", "completed")]
    await gone.instance.leave(0)


async def test_what_was_undone_may_be_done_again_and_what_was_skipped_is_not_undone(house: Waiting) -> None:
    undo = {"type": "TELL", "config": {"say": "undo"}}
    await house.save("w", tell(compensate=undo), {"id": "end", "type": "FAIL", "config": {"message": "x"}})
    await run(house, order=7)
    assert house.told.said == [7, "undo"]
    await run(house, order=7)
    assert house.told.said == [7, "undo", 7, "undo"]
    # Where it stays done, whoever skips it has nothing to undo.
    done = update(node_dedupe).values(execution_id="kept", done=True)
    await house.database.write(lambda connection: connection.execute(done))
    skipping = await run(house, order=7)
    assert (await visits(house, skipping["id"]))[0] == ("tell", "skipped")
    assert house.told.said == [7, "undo", 7, "undo"]


async def test_large_results_are_handed_on_whole(house: Waiting) -> None:
    text = "x" * 100_000
    house.told.answers = [Done({"text": text}, {"text": text})]
    await house.save("w", tell(), {"id": "then", "type": "SET", "config": {"size": "#{text.length()}"}})
    await run(house, order=7)
    again = await run(house, order=7)
    assert (again["status"], again["context"]["size"]) == ("COMPLETED", 100_000)


@pytest.mark.parametrize("key", ["#{nothing}", "#{order / 0}"])
async def test_a_key_that_cannot_be_computed_fails_the_node(house: Waiting, key: str) -> None:
    await house.save("w", tell(key=key))
    failed = await run(house, order=7)
    assert (failed["status"], failed["error_type"]) == ("FAILED", "ExpressionError")
    assert house.told.said == []


async def test_what_became_of_an_execution_that_was_removed_is_no_longer_known(house: Waiting) -> None:
    await house.save("w", tell())
    first = await run(house, order=7)
    for table, name in ((node_execution, J.execution_id), (workflow_execution, workflow_execution.c.id)):
        gone = table.delete().where(name == first["id"])
        await house.database.write(lambda connection, g=gone: connection.execute(g))
    again = await run(house, order=7)
    assert await visits(house, again["id"]) == [("tell", "skipped")]
    assert house.told.said == [7]


async def test_of_many_at_once_one_has_it(database: Database) -> None:
    houses = [Waiting(database, name=f"i{number}") for number in range(4)]
    await houses[0].save("w", {"id": "ask", "type": "ASK", "config": {}})
    waiting = [await house.begin("w") for house in houses]
    for house, each in zip(houses, waiting, strict=True):
        await house.instance.ended(each)
    claims = [
        [NodeClaim(f"h{number}", each, "tell", 1, FIRST_FENCE) for number in range(10)] for each in waiting
    ]
    asked = [
        house.executions.claim_node(claim)
        for house, mine in zip(houses, claims, strict=True)
        for claim in mine
    ]
    answers = await asyncio.gather(*asked)
    for number in range(10):
        assert sorted(map(str, answers[number::10])) == ["busy"] * 3 + ["mine"]


async def test_whoever_ended_without_having_done_it_has_it_no_longer(house: Waiting) -> None:
    await house.save("w", {"id": "ask", "type": "ASK", "config": {}})
    one, two = (await run(house))["id"], (await run(house))["id"]
    assert await house.executions.claim_node(NodeClaim("h", one, "tell", 1, FIRST_FENCE)) is Standing.MINE
    assert await house.executions.claim_node(NodeClaim("h", one, "tell", 1, FIRST_FENCE)) is Standing.MINE
    assert await house.executions.claim_node(NodeClaim("h", two, "tell", 1, FIRST_FENCE)) is Standing.BUSY
    await house.change(workflow_execution.c.id == one, status="FAILED")
    assert await house.executions.claim_node(NodeClaim("h", two, "tell", 1, FIRST_FENCE)) is Standing.MINE
    # It comes back, and finds another at it.
    await house.change(workflow_execution.c.id == one, status="RUNNING")
    assert await house.executions.claim_node(NodeClaim("h", one, "tell", 1, FIRST_FENCE)) is Standing.BUSY
    done = update(node_dedupe).values(done=True)
    await house.database.write(lambda connection: connection.execute(done))
    assert await house.executions.claim_node(NodeClaim("h", one, "tell", 1, FIRST_FENCE)) == DoneBefore(
        two, None, {}
    )
