"""Server-sent events: answers that go on until they are over, their reader leaves, or this process ends."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

import structlog
from fastapi import Response
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from muster.api.problems import Code, Refused

MEDIA_TYPE = "text/event-stream"
# So that a token which has run out does not go on reading: whoever comes back shows theirs again.
LONGEST_SECONDS = 900.0
HEARTBEAT_SECONDS = 15.0
# However long a look takes on a database that is busy: a follower is told in the end, and so is the proxy.
LONGEST_PAUSE = 5.0
HEARTBEAT = b": still here\n\n"
AGAIN = b"retry: 1000\n\n"

_log = structlog.get_logger("muster.streams")


class Streams:
    """The open streams of this process: only so many, and all of them end when it does."""

    def __init__(self, most: int) -> None:
        self._most, self._open = most, 0
        self.closing = asyncio.Event()

    def close(self) -> None:
        self.closing.set()

    def check_room(self) -> None:
        if self._open >= self._most or self.closing.is_set():
            told = f"{self._open} streams are open here, and no more are taken."
            raise Refused(Code.TOO_MANY_STREAMS, told, headers={"Retry-After": "5"})

    @contextmanager
    def opened(self) -> Iterator[None]:
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    @property
    def count(self) -> int:
        return self._open


def event(name: str, data: BaseModel, place: str) -> bytes:
    """One event: JSON has no line breaks of its own."""
    return f"id: {place}\nevent: {name}\ndata: {data.model_dump_json(by_alias=True)}\n\n".encode()


class EventStream(Response):
    """An answer made of what `chunks` gives. It holds nothing but its place in memory: a reader who is slow
    keeps it waiting, and one who is gone, or too slow for the server to bear, ends it."""

    def __init__(self, chunks: Callable[[], AsyncIterator[bytes]], streams: Streams) -> None:
        super().__init__(media_type=MEDIA_TYPE, headers={"X-Accel-Buffering": "no"})
        # Of no known length.
        del self.headers["content-length"]
        self._chunks, self._streams = chunks, streams
        streams.check_room()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        await send(start)
        with self._streams.opened():
            flowing = asyncio.create_task(self._flow(send))
            ends = (asyncio.create_task(_left(receive)), asyncio.create_task(self._streams.closing.wait()))
            try:
                await asyncio.wait(
                    [flowing, *ends], timeout=LONGEST_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
            finally:
                for task in (flowing, *ends):
                    task.cancel()
                await asyncio.gather(flowing, *ends, return_exceptions=True)
        if not flowing.cancelled() and (fault := flowing.exception()):
            # What was sent already counts; the reader comes back for the rest.
            _log.error("stream failed", exc_info=fault)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _flow(self, send: Send) -> None:
        async for chunk in self._chunks():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class Timetable:
    """When a stream looks again: at once when it hears of something, every second if not; and never so often
    that looking takes more than a small part of the time."""

    def __init__(self, heard: asyncio.Event, every: float = 1.0, shortest: float = 0.05) -> None:
        self._heard, self._every, self._shortest = heard, every, shortest
        self._began = self._sent = _time()

    def begin(self) -> None:
        """A look begins: what is heard from now on is not in it."""
        self._heard.clear()
        self._began = _time()

    async def rest(self, sent: bool) -> bool:
        """Wait until it is time to look again. True: it is time for a sign of life as well."""
        took = _time() - self._began
        pause = min(max(self._shortest, 20 * took), LONGEST_PAUSE)
        await asyncio.sleep(pause)
        try:
            async with asyncio.timeout(max(self._every - pause, 0.0)):
                await self._heard.wait()
        except TimeoutError:
            pass
        if sent:
            self._sent = self._began
        if _time() - self._sent < HEARTBEAT_SECONDS:
            return False
        self._sent = _time()
        return True


def _time() -> float:
    return asyncio.get_running_loop().time()
