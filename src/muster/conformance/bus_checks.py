"""What every bus promises: the embedded one, on whichever database, and Kafka."""

import asyncio
from collections.abc import Sequence

from muster.conformance.buses import BusHouse, Taking, crash, numbered, values
from muster.conformance.checks import Check, NotKept, come_to, same, until
from muster.engine.bus import Batch, Outgoing, Rejected, TooLarge, dead_letter_topic

MESSAGES = 200
SURELY_TOO_LARGE = 3_000_000


async def _in_order(house: BusHouse) -> None:
    topic, taking = await house.topic(), Taking()
    async with house.consuming([topic], taking):
        for start in range(0, MESSAGES, 50):
            await house.publish(*numbered(topic, 50, start=start))
        await come_to(lambda: len(taking.messages) >= MESSAGES)
    same(sorted(map(bytes.decode, _given(taking))), sorted(map(str, range(MESSAGES))), "what came")
    for key in range(5):
        expected = [str(each).encode() for each in range(key, MESSAGES, 5)]
        same(taking.by_key()[f"key-{key}".encode()], expected, f"what came of key {key}")


def _given(taking: Taking) -> list[bytes]:
    return [value for value in taking.values if value is not None]


async def _as_published(house: BusHouse) -> None:
    topic, taking = await house.topic(), Taking()
    headers = (("a", b"1"), ("b", b"\xff\x00"), ("a", b"2"))
    await house.publish(Outgoing(topic, b"\x00\xfe", b"\xff", headers), Outgoing(topic, None, b"\xff"))
    async with house.consuming([topic], taking):
        await come_to(lambda: len(taking.messages) >= 2)
    first, second = taking.messages
    found = (first.topic, first.key, first.value, first.headers)
    same(found, (topic, b"\xff", b"\x00\xfe", headers), "the first message")
    same((second.value, second.headers), (None, ()), "the second, which has no value")
    same(second.offset, first.offset + 1, "the place of the second")
    same(first.at.tzinfo is not None, True, "that its time has a zone")


async def _handled_once(house: BusHouse) -> None:
    topic, before, after = await house.topic(), Taking(), Taking()
    await house.publish(*numbered(topic, 20))
    async with house.consuming([topic], before):
        await come_to(lambda: len(house.heard.messages) >= 20)
    await house.publish(Outgoing(topic, b"last"))
    async with house.consuming([topic], after):
        await come_to(lambda: bool(after.messages))
    same((len(before.messages), after.values), (20, [b"last"]), "what came before and after")


async def _crashed(house: BusHouse) -> None:
    topic, stuck, taking = await house.topic(), asyncio.Event(), Taking()

    async def handled_but_never_recorded(batch: Batch) -> Sequence[Rejected]:
        stuck.set()
        await asyncio.Event().wait()
        return []

    await house.publish(*numbered(topic, 20))
    consumer = house.consumer([topic], handled_but_never_recorded)
    task = asyncio.create_task(consumer.run())
    await stuck.wait()
    await crash(consumer, task)
    async with house.consuming([topic], taking):
        await come_to(lambda: len(taking.messages) >= 20)
    same(sorted(_given(taking)), sorted(values(20)), "what came again")


async def _dead_letter(house: BusHouse) -> None:
    topic, taking, buried = await house.topic(), Taking(), Taking()

    async def rejecting(batch: Batch) -> Sequence[Rejected]:
        await taking(batch)
        bad = [message for message in batch.messages if message.value == b"bad"]
        return [Rejected(message, "UNPARSABLE", "It is no JSON.") for message in bad]

    await house.publish(
        Outgoing(topic, b"bad", b"k", (("trace", b"1"),)),
        Outgoing(topic, b"good", b"k"),
        Outgoing(topic, b"x"),
    )
    async with house.consuming([topic], rejecting):
        await come_to(lambda: len(house.heard.messages) >= 3)
    async with house.consuming([dead_letter_topic(topic)], buried, name="b"):
        await come_to(lambda: bool(buried.messages))
    [letter] = buried.messages
    same((letter.key, letter.value), (b"k", b"bad"), "the dead letter")
    headers = dict(letter.headers)
    same(headers.pop("X-Error-Timestamp", b"")[:2], b"20", "when it was given up")
    expected = {
        "trace": b"1",
        "X-Error-Message": b"It is no JSON.",
        "X-Error-Type": b"UNPARSABLE",
        "X-Original-Topic": topic.encode(),
    }
    same(headers, expected, "what is said of it")
    [row] = [each for each in await house.letters() if each["source"] == topic]
    found = (row["error_type"], row["status"], row["headers"])
    same(found, ("UNPARSABLE", "open", {"trace": "1"}), "its record")


async def _shared(house: BusHouse) -> None:
    topic, first, second = await house.topic(), Taking(), Taking()
    sent = 0

    async def send_until(enough: list[Taking]) -> None:
        before = [len(each.messages) for each in enough]

        async def all_have_some() -> bool:
            nonlocal sent
            if all(len(each.messages) > was for each, was in zip(enough, before, strict=True)):
                return True
            await house.publish(*numbered(topic, 20, keys=50, start=sent))
            sent += 20
            await asyncio.sleep(0.05)
            return False

        await until(all_have_some, "not every member got messages")

    async with house.consuming([topic], first, name="a"):
        await send_until([first])
        async with house.consuming([topic], second, name="b"):
            await send_until([first, second])
        await send_until([first])
        await come_to(lambda: len({*first.values, *second.values}) >= sent)
    same({*first.values, *second.values}, set(values(sent)), "what both got together")


async def _groups(house: BusHouse) -> None:
    topic, one, other = await house.topic(), Taking(), Taking()
    await house.publish(*numbered(topic, 10))
    async with (
        house.consuming([topic], one, group=f"{house.group}-1"),
        house.consuming([topic], other, group=f"{house.group}-2"),
    ):
        await come_to(lambda: len(one.messages) >= 10 and len(other.messages) >= 10)
    same(sorted(_given(one)), sorted(values(10)), "what the one group got")
    same(sorted(_given(other)), sorted(values(10)), "what the other group got")


async def _lag(house: BusHouse) -> None:
    topic, taking = await house.topic(), Taking()
    await house.publish(*numbered(topic, 10))
    consumer = house.consumer([topic], taking)
    await consumer.member.subscribe([topic])
    fetched = 0

    async def all_fetched() -> bool:
        nonlocal fetched
        fetched += len(await consumer.member.fetch(100, 1.0))
        return fetched >= 10

    await until(all_fetched)
    same(sum((await consumer.member.lag()).values()), 10, "how many messages wait")
    await consumer.member.leave()


async def _too_large(house: BusHouse) -> None:
    topic, taking = await house.topic(), Taking()
    try:
        await house.publish(Outgoing(topic, b"x" * SURELY_TOO_LARGE))
    except TooLarge:
        await house.publish(Outgoing(topic, b"small"))
    else:
        raise NotKept(f"a message of {SURELY_TOO_LARGE:,} bytes was taken")
    async with house.consuming([topic], taking):
        await come_to(lambda: b"small" in taking.values)
    same(taking.values, [b"small"], "what came")


BUS_CHECKS: Sequence[Check[BusHouse]] = (
    Check(
        "as_it_was_published",
        "A message comes as it was published: bytes, headers in their order, no value where there is none.",
        "Messages lose headers (traces, correlation ids) or are changed on their way.",
        _as_published,
    ),
    Check(
        "one_key_in_order",
        "Messages of one key come in their order, each once.",
        "What happens to one order or customer may be dealt with in the wrong order.",
        _in_order,
    ),
    Check(
        "what_was_handled_does_not_come_again",
        "What a group has recorded does not come again to its next member.",
        "Every restart repeats messages that were dealt with: triggers without a key start twice.",
        _handled_once,
    ),
    Check(
        "what_was_not_recorded_comes_again",
        "What a member had when it crashed comes again to the next one.",
        "Messages are lost whenever an instance dies.",
        _crashed,
    ),
    Check(
        "members_share_and_take_over",
        "Two members of a group share a topic, and one has all of it when the other leaves.",
        "More instances do not share the load, or messages wait after one has left.",
        _shared,
    ),
    Check(
        "each_group_gets_everything",
        "Each group gets every message.",
        "Events that start workflows are missing where they are watched, or the other way round.",
        _groups,
    ),
    Check(
        "dead_letters",
        "What cannot be dealt with goes to the topic's dead letters with all it had, and the rest goes on.",
        "One bad message stops its partition, or is lost. Muster has to be allowed to make `{topic}.dlq`.",
        _dead_letter,
    ),
    Check(
        "too_large_is_refused",
        "A message that is too large is refused, and the next one is taken.",
        "A message that the bus cannot take would be tried for ever, with everything behind it waiting.",
        _too_large,
    ),
    Check(
        "lag_is_known",
        "It can be told how many messages wait.",
        "`muster_consumer_lag` and the alert on it say nothing.",
        _lag,
    ),
)
