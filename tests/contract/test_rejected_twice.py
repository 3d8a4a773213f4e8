"""Dead letters of messages on every database: one each, though it comes again, or to several at once."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sqlalchemy import select

from muster.engine.bus import Message, Rejected
from muster.store.database import Database
from muster.store.message_letters import RejectedMessages
from muster.store.tables import dead_letter

AT = datetime(2026, 1, 1, tzinfo=UTC)
MESSAGES = [Message("orders", 0, offset, None, b"poison {", (), AT) for offset in range(40)]


async def names(database: Database) -> Counter[str]:
    chosen = select(dead_letter.c.key)
    return Counter(await database.read(lambda connection: connection.scalars(chosen).all()))


async def test_a_message_that_several_reject_at_once_has_one_letter(database: Database) -> None:
    """As where it goes to another instance while the first is at it."""
    rejected = [Rejected(each, "Unreadable", "no JSON") for each in MESSAGES]
    several = [RejectedMessages(database).keep(order) for order in (rejected, rejected[::-1]) for _ in "1234"]
    await asyncio.gather(*several)
    assert await names(database) == Counter(each.name for each in MESSAGES)


async def test_only_what_has_no_letter_gets_one(database: Database) -> None:
    letters = RejectedMessages(database)
    first, second, third = (Rejected(each, "Unreadable", "no JSON") for each in MESSAGES[:3])
    await letters.keep([first, second])
    await letters.keep([second, third, third])
    assert await names(database) == Counter(each.name for each in MESSAGES[:3])


async def test_a_topic_that_is_made_anew_has_letters_of_its_own(database: Database) -> None:
    letters, again = RejectedMessages(database), replace(MESSAGES[0], at=AT + timedelta(days=1))
    for each in (MESSAGES[0], again, again):
        await letters.keep([Rejected(each, "Unreadable", "no JSON")])
    assert await names(database) == Counter({MESSAGES[0].name: 2})


async def test_the_longest_name_of_a_topic_has_room(database: Database) -> None:
    poison = replace(MESSAGES[0], topic="t" * 249, partition=100, offset=10**12)
    await RejectedMessages(database).keep([Rejected(poison, "Unreadable", "no JSON")])
    assert await names(database) == Counter({poison.name[-255:]: 1})
