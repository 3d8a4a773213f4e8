"""When streams look again, and what keeps them alive."""

import asyncio

import pytest
from starlette.types import Message

from muster.api import event_stream
from muster.api.event_stream import EventStream, Streams, Timetable
from muster.api.problems import Refused
from muster.kit.changes import Changes
from polling import PATIENCE


async def test_a_stream_with_nothing_to_say_gives_a_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    timetable = Timetable(asyncio.Event(), every=0.01, shortest=0.0)
    timetable.begin()
    assert not await timetable.rest(sent=False)
    monkeypatch.setattr(event_stream, "HEARTBEAT_SECONDS", 0.0)
    assert await timetable.rest(sent=False)


async def test_what_is_told_during_a_look_brings_the_next_one_at_once() -> None:
    changes = Changes()
    with changes.listening("one", "all") as heard:
        timetable = Timetable(heard, every=3600, shortest=0.0)
        timetable.begin()
        changes.tell("all")
        async with asyncio.timeout(PATIENCE):
            await timetable.rest(sent=False)
    changes.tell("one")  # nobody listens any more
    assert changes._listening == {}


async def test_a_look_that_took_long_holds_up_neither_the_next_nor_a_sign_of_life_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_stream, "LONGEST_PAUSE", 0.01)
    monkeypatch.setattr(event_stream, "HEARTBEAT_SECONDS", 0.0)
    timetable = Timetable(asyncio.Event(), every=0.01, shortest=0.0)
    timetable.begin()
    timetable._began -= 3600
    async with asyncio.timeout(PATIENCE):
        assert await timetable.rest(sent=False)


async def test_no_stream_is_taken_once_the_end_has_come_and_those_that_are_open_end() -> None:
    streams, sent = Streams(1), list[Message]()

    async def forever():  # type: ignore[no-untyped-def]  # an asynchronous generator of bytes
        yield b"first"
        await asyncio.Event().wait()

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)
        if message.get("body") == b"first":
            streams.close()

    async with asyncio.timeout(PATIENCE):
        await EventStream(forever, streams)({"type": "http"}, receive, send)
    assert [message.get("body") for message in sent] == [None, b"first", b""]
    assert streams.count == 0
    with pytest.raises(Refused):
        EventStream(forever, streams)
