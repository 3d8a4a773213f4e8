"""A registry that does not answer holds up the replies that need it, and no others; none is lost by it."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select, update

from clocks import FakeClock
from command_house import REPLIES, Commanding
from muster.engine.bus import Batch, Message, Rejected
from muster.engine.commands import CORRELATION_ID
from muster.engine.lookout import SELDOM, Sight
from muster.engine.ports import NotWritten
from muster.model.json import Json, JsonObject
from muster.nodes import command_replies
from muster.nodes.command_replies import ReplyMessages
from muster.nodes.message_schemas import MessageSchemas, SchemaAway, SchemaViolation
from muster.nodes.replies_aside import ReturningReplies
from muster.store.database import Database
from muster.store.lookout import DatabaseSights
from muster.store.replies_aside import AsideRepository
from muster.store.tables import reply_aside
from polling import PATIENCE

HERE, GONE = "http://127.0.0.1:1/here", "http://127.0.0.1:1/gone"


class Schemas:
    """`MessageSchemas` of registries that can be away: some say so, and some say nothing. What was read once
    is known. Whoever replies `{"wrong": …}` violates its schema, and `{"bug": …}` finds one."""

    def __init__(self, plain: MessageSchemas) -> None:
        self._plain = plain
        self.away: set[str] = set()
        self.silent: set[str] = set()
        self.known: set[str] = set()
        self.asked: list[str] = []

    async def encode(self, schema: JsonObject | None, topic: str, value: Json) -> bytes:
        return await self._plain.encode(None, topic, value)

    async def decode(self, schema: JsonObject | None, topic: str, data: bytes) -> Json:
        if schema is not None and (at := str(schema["registry"])) not in self.known:
            await self._ask(at)
        found = await self._plain.decode(None, topic, data)
        if schema is not None and isinstance(found, dict) and "wrong" in found:
            raise SchemaViolation("it is wrong")
        if schema is not None and isinstance(found, dict) and "bug" in found:
            raise ZeroDivisionError("a bug")
        return found

    async def _ask(self, at: str) -> None:
        self.asked.append(at)
        await asyncio.sleep(0)
        if at in self.silent:
            await asyncio.Event().wait()
        if at in self.away:
            raise SchemaAway("no route")


class House(Commanding):
    """Replies whose schemas may be away, and the pass over those that were set aside."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.registries = Schemas(self.schemas)
        self.aside = AsideRepository(database)
        self.handle = self.handler()
        self.buried: list[Rejected] = []

    def handler(self) -> ReplyMessages:
        """Somebody who has not heard of any registry yet."""
        return ReplyMessages(self.replies, self.registries, self.counted, self.look, self.aside)

    async def bury(self, rejected: Sequence[Rejected]) -> None:
        self.buried += rejected

    async def try_again(self, clock: FakeClock | None = None) -> None:
        """As if it were time to."""
        due = update(reply_aside).values(next_try_at=datetime(2000, 1, 1, tzinfo=UTC))
        await self.database.write(lambda connection: connection.execute(due))
        own = clock or FakeClock(datetime.now(UTC))
        returning = ReturningReplies(self.aside, self.handle.again, self.bury, own, (NotWritten,), SELDOM)
        await returning.work()
        await self.settle()

    async def awaiting(self, name: str, registry: str) -> str:
        execution = await self.command(name, replySchema={"type": "AVRO", "registry": registry})
        await self.publish(execution)
        return execution

    async def answer_to(self, execution: str, value: Json = None) -> Message:
        correlation = (await self.the_command(execution)).correlation_id
        return self.message(value or {"exportId": 7}, (CORRELATION_ID, correlation))

    async def deliver_all(self, *messages: Message) -> None:
        self.buried += await self.handle(Batch(messages))
        await self.settle()

    async def statuses(self, *executions: str) -> list[str]:
        return [(await self.the_command(each)).status for each in executions]

    async def aside_count(self) -> int:
        count = select(func.count()).select_from(reply_aside)
        return int(await self.database.read(lambda connection: connection.scalar(count)) or 0)


@pytest.fixture
def house(database: Database) -> House:
    return House(database)


@pytest.mark.parametrize("how", ["away", "silent"])
async def test_a_registry_that_is_away_holds_up_its_own_replies_alone(
    house: House, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_replies, "BRIEFLY", 0.05)
    first, second = await house.awaiting("first", GONE), await house.awaiting("second", HERE)
    house.registries.known.add(HERE)
    getattr(house.registries, how).add(GONE)
    messages = [await house.answer_to(first), await house.answer_to(second)]
    async with asyncio.timeout(PATIENCE):
        await house.deliver_all(*messages)
    assert await house.statuses(first, second) == ["SENT", "REPLY_RECEIVED"]
    assert await house.status(second) == "COMPLETED"
    house.registries.silent.clear()  # the pass waits for it as long as it takes
    house.registries.away.add(GONE)
    await house.try_again()
    assert await house.statuses(first) == ["SENT"]
    assert await house.aside_count() == 1
    house.registries.away.clear()
    await house.try_again()
    assert await house.statuses(first) == ["REPLY_RECEIVED"]
    assert await house.status(first) == "COMPLETED"
    assert (await house.context(first))["exportId"] == 7
    assert (await house.aside_count(), house.buried) == (0, [])


async def test_a_registry_that_is_known_to_be_away_is_not_waited_for(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_replies, "BRIEFLY", 10 * PATIENCE)
    sent = [await house.awaiting(f"w{number}", GONE) for number in range(3)]
    house.registries.away.add(GONE)
    await house.deliver_all(await house.answer_to(sent[0]))
    house.registries.away.clear()
    house.registries.silent.add(GONE)
    async with asyncio.timeout(PATIENCE):
        await house.deliver_all(await house.answer_to(sent[1]))
    house.registries.known.add(GONE)
    await house.deliver_all(await house.answer_to(sent[2]))
    assert await house.statuses(*sent) == ["SENT", "SENT", "REPLY_RECEIVED"], "what is known is read at once"
    await house.try_again()
    assert await house.statuses(*sent) == ["REPLY_RECEIVED"] * 3


async def test_a_registry_that_is_still_away_is_asked_once_in_a_pass(house: House) -> None:
    sent = [await house.awaiting(f"w{number}", GONE) for number in range(3)]
    other = await house.awaiting("other", HERE)
    house.registries.away |= {GONE, HERE}
    await house.deliver_all(*[await house.answer_to(each) for each in (*sent, other)])
    house.registries.asked.clear()
    house.registries.away.remove(HERE)
    await house.try_again()
    assert sorted(house.registries.asked) == sorted([GONE, HERE])
    assert await house.statuses(*sent, other) == ["SENT", "SENT", "SENT", "REPLY_RECEIVED"]
    assert await house.aside_count() == 3


async def test_a_reply_that_was_set_aside_and_comes_again_is_there_once(house: House) -> None:
    execution = await house.awaiting("w", GONE)
    house.registries.away.add(GONE)
    message = await house.answer_to(execution)
    await house.deliver_all(message)
    await house.deliver_all(message)
    assert await house.aside_count() == 1
    [taken] = await house.aside.take(10)
    assert taken.message == message
    assert await house.aside.take(10) == [], "nobody else is given it for a while"


async def test_a_reply_that_turns_out_to_be_wrong_is_a_dead_letter_then(house: House) -> None:
    execution = await house.awaiting("w", GONE)
    house.registries.away.add(GONE)
    await house.deliver_all(await house.answer_to(execution, {"wrong": 1}))
    house.registries.away.clear()
    await house.try_again()
    assert [(each.type, each.message.topic) for each in house.buried] == [("SCHEMA_VIOLATION", REPLIES)]
    assert (await house.statuses(execution), await house.aside_count()) == (["SENT"], 0)


async def test_one_that_nobody_can_deal_with_is_a_dead_letter_and_the_others_go_on(house: House) -> None:
    sent = [await house.awaiting(f"w{number}", GONE) for number in range(3)]
    house.registries.away.add(GONE)
    await house.deliver_all(*[await house.answer_to(each) for each in sent[:2]])
    await house.deliver_all(await house.answer_to(sent[2], {"bug": 1}))
    house.registries.away.clear()
    await house.try_again()
    assert [(each.type, each.reason) for each in house.buried] == [("ZeroDivisionError", "a bug")]
    assert await house.statuses(*sent) == ["REPLY_RECEIVED", "REPLY_RECEIVED", "SENT"]
    assert await house.aside_count() == 0


async def test_what_could_not_be_read_for_a_day_is_a_dead_letter(house: House) -> None:
    execution = await house.awaiting("w", GONE)
    house.registries.away.add(GONE)
    await house.deliver_all(await house.answer_to(execution))
    await house.try_again(FakeClock(datetime.now(UTC) + timedelta(hours=23)))
    assert await house.aside_count() == 1
    await house.try_again(FakeClock(datetime.now(UTC) + timedelta(hours=25)))
    assert [each.type for each in house.buried] == ["SCHEMA_AWAY"]
    assert await house.aside_count() == 0


async def test_the_lookout_sees_what_was_set_aside(house: House) -> None:
    execution = await house.awaiting("w", GONE)
    sights = DatabaseSights(house.database)
    assert Sight.ASIDE not in (await sights.look()).left
    house.registries.away.add(GONE)
    await house.deliver_all(await house.answer_to(execution))
    assert (await sights.look()).left[Sight.ASIDE] <= timedelta()
