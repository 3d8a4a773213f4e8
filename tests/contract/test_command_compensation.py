"""What commands have done is undone by commands, latest first, whoever goes down meanwhile."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from clocks import NOON
from command_house import REPLIES, Commanding, headers_of
from muster.engine.commands import CORRELATION_ID, CommandOpening
from muster.engine.outbox import OutgoingMessage
from muster.engine.ports import Lost
from muster.model.json import JsonObject
from muster.nodes.commanding import Outbound
from muster.store.database import Database
from muster.store.tables import workflow_execution, workflow_kafka_commands
from polling import until

K = workflow_kafka_commands.c
FAILS: JsonObject = {"id": "fails", "type": "FAIL", "config": {"message": "no"}}


def step(node: str, **compensation: Any) -> JsonObject:
    undo = {"command": {"type": f"UNDO_{node}", "payload": {"id": f"#{{{node}}}"}}, **compensation}
    config = {
        "commandTopic": "commands",
        "replyTopic": REPLIES,
        "command": {"type": f"DO_{node}"},
        "outputMapping": {node: "$.exportId"},
        "compensation": undo,
    }
    return {"id": node, "type": "KAFKA_COMMAND", "config": config}


@pytest.fixture
def house(database: Database) -> Commanding:
    return Commanding(database)


async def answered(house: Commanding, key: str, *replies: int) -> str:
    """Begin an execution, and answer its commands one after the other."""
    execution = await house.begin_command(key)
    for number in replies:
        await house.publish(execution)
        await house.reply(execution, {"exportId": number})
        await house.instance.take_due()
        if number != replies[-1]:
            await house.settle()
    return execution


async def undoing(house: Commanding, execution: str) -> list[Any]:
    mine = select(workflow_kafka_commands).where(K.workflow_instance_id == execution, K.compensates != "")
    return await house.all(mine.order_by(K.created_at, K.attempt))


async def sent_types(house: Commanding) -> list[str]:
    found = [*await house.outgoing("commands"), *await house.outgoing("undo")]
    return [str(row.value.decode().split('"')[3]) for row in sorted(found, key=lambda row: row.id)]


async def test_completed_commands_are_undone_in_reverse_order(house: Commanding) -> None:
    await house.save("two", step("a"), step("b", topic="undo"), FAILS)
    execution = await answered(house, "two", 7, 8)
    await house.settle()
    assert await house.status(execution) == "FAILED"
    assert await sent_types(house) == ["DO_a", "DO_b", "UNDO_b", "UNDO_a"]
    [b, a] = await undoing(house, execution)
    assert (a.command_payload["payload"], b.command_payload["payload"]) == ({"id": 7}, {"id": 8})
    done = {row.step_id: row for row in await house.commands(execution) if row.compensates is None}
    assert (a.compensates, b.compensates) == (done["a"].correlation_id, done["b"].correlation_id)
    [message] = await house.outgoing("undo")
    assert headers_of(message)["X-Compensates"] == done["b"].correlation_id
    assert await house.deliver({}, (CORRELATION_ID, a.correlation_id)) == [], "nobody waits, but it is known"
    assert await house.signals_left(execution) == 0


async def test_a_compensation_that_waits_is_answered_once_across_a_crash(house: Commanding) -> None:
    await house.save("two", step("a", waitForReply=True), step("b", waitForReply=True), FAILS)
    execution = await answered(house, "two", 7, 8)

    async def is_undoing() -> bool:
        return len(await undoing(house, execution)) == 1

    await until(is_undoing)
    # Its instance goes down while it waits for the reply; the reply comes meanwhile.
    driven = house.instance._driven.pop(execution)
    driven.task.cancel()
    await asyncio.gather(driven.task, return_exceptions=True)
    [first] = await undoing(house, execution)
    await house.deliver({}, (CORRELATION_ID, first.correlation_id))
    await house.change(workflow_execution.c.id == execution, lease_until=NOON)
    heir = Commanding(house.database, "there")
    await heir.instance.take_abandoned()

    async def is_next() -> bool:
        return len(await undoing(heir, execution)) == 2

    await until(is_next)
    assert [row.step_id for row in await undoing(heir, execution)] == ["b", "a"], "b is not undone again"
    second = (await undoing(heir, execution))[-1]
    await heir.deliver({}, (CORRELATION_ID, second.correlation_id))
    await heir.instance.ended(execution)
    assert await sent_types(heir) == ["DO_a", "DO_b", "UNDO_b", "UNDO_a"], "each of them once"
    assert await heir.status(execution) == "FAILED"


async def test_a_second_attempt_at_undoing_is_the_same_across_a_crash(house: Commanding) -> None:
    await house.save("one", step("a", waitForReply=True), FAILS)
    execution = await answered(house, "one", 7)

    async def attempts(count: int) -> list[Any]:
        found = await undoing(house, execution)
        return found if len(found) == count else []

    [first] = await until(lambda: attempts(1))
    await house.deliver({}, (CORRELATION_ID, first.correlation_id), ("X-Error-Message", "not now"))
    [_, second] = await until(lambda: attempts(2))
    # Its instance goes down while it waits for the reply to that; the reply comes meanwhile.
    driven = house.instance._driven.pop(execution)
    driven.task.cancel()
    await asyncio.gather(driven.task, return_exceptions=True)
    await house.deliver({}, (CORRELATION_ID, second.correlation_id))
    await house.change(workflow_execution.c.id == execution, lease_until=NOON)
    heir = Commanding(house.database, "there")
    await heir.instance.take_abandoned()
    await heir.instance.ended(execution)
    rows = await undoing(heir, execution)
    assert [(row.attempt, row.status) for row in rows] == [(1, "ERROR"), (2, "REPLY_RECEIVED")]
    assert await sent_types(heir) == ["DO_a", "UNDO_a", "UNDO_a"], "each attempt once"
    stood = await heir.row(execution)
    assert (stood["status"], "undoing" in str(stood["error_message"])) == ("FAILED", False)


async def test_a_compensation_without_a_reply_is_tried_again_and_then_said(house: Commanding) -> None:
    await house.save("one", step("a", waitForReply=True, timeout=0), FAILS)
    execution = await answered(house, "one", 7)

    async def publish() -> bool:
        await house.publish(execution)
        return await house.status(execution) == "FAILED"

    await until(publish)
    rows = await undoing(house, execution)
    assert [(row.attempt, row.status) for row in rows] == [(1, "TIMEOUT"), (2, "TIMEOUT"), (3, "TIMEOUT")]
    assert len({row.correlation_id for row in rows}) == 3
    assert "undoing a failed: Reply timeout" in str((await house.row(execution))["error_message"])


async def test_who_was_overtaken_sends_nothing_to_undo(house: Commanding) -> None:
    await house.save("one", step("a"), FAILS)
    execution = await house.begin_command("one")
    [row] = await house.commands(execution)
    opening = CommandOpening(
        row.id.replace("-7", "-6"),
        "a",
        1,
        1,
        "undo",
        row.workflow_id,
        "",
        "commands",
        REPLIES,
        {},
        {},
        timedelta(seconds=5),
        row.created_at,
        compensates=row.correlation_id,
    )
    message = OutgoingMessage(opening.id, "commands", b"{}")
    with pytest.raises(Lost):
        await house.sent.send(execution, 7, Outbound(opening, message))
    assert len(await house.outgoing("commands")) == 1
    kept = await house.sent.send(execution, 1, Outbound(opening, message))
    assert await house.sent.send(execution, 1, Outbound(opening, message)) == kept
    assert len(await house.outgoing("commands")) == 2
