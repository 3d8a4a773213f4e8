"""Handlers of messages, put one after another."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from muster.engine.bus import Batch, Message, Place, Position, Rejected, in_order

AT = datetime(2026, 3, 1, tzinfo=UTC)


def message(offset: int, headers: tuple[tuple[str, bytes], ...] = ()) -> Message:
    return Message("orders", 0, offset, None, b"{}", headers, AT)


class Seeing:
    """A handler that remembers what it was given, and rejects some of it."""

    def __init__(self, *rejected: int) -> None:
        self._rejected, self.batch = rejected, Batch([])

    async def __call__(self, batch: Batch) -> Sequence[Rejected]:
        self.batch = batch
        return [Rejected(each, "BAD", "no") for each in batch.messages if each.offset in self._rejected]

    @property
    def offsets(self) -> list[int]:
        return [each.offset for each in self.batch.messages]


BATCH = Batch([message(each) for each in range(4)], [Position("g", Place("orders", 0), None, 4)])


def test_what_a_handler_rejects_reaches_none_after_it() -> None:
    first, second = Seeing(1), Seeing(3)
    rejected = asyncio.run(in_order(first, second)(BATCH))
    assert (first.offsets, second.offsets) == ([0, 1, 2, 3], [0, 2, 3])
    assert [each.message.offset for each in rejected] == [1, 3]


def test_only_the_last_handler_may_record_positions() -> None:
    first, second = Seeing(), Seeing()
    asyncio.run(in_order(first, second)(BATCH))
    assert first.batch.positions == ()
    assert second.batch.positions == BATCH.positions


def test_no_position_is_recorded_past_a_message_that_is_not_a_dead_letter_yet() -> None:
    last = Seeing()
    asyncio.run(in_order(Seeing(1), last)(BATCH))
    assert last.batch.positions == ()


def test_a_header_is_found_in_any_case_and_the_last_one_counts() -> None:
    found = message(0, (("X-Id", b"1"), ("x-id", b"2"), ("other", b"3")))
    assert (found.header("X-ID"), found.header("none")) == (b"2", None)
