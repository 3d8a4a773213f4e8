"""What has happened and is not written yet: it is written together, and there is never much of it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Window(Generic[T]):
    """What gathers while one batch is written goes with the next. Whoever hands something over while `most`
    are not written yet waits for room, so a crash forgets no more than that, and what was under way."""

    def __init__(self, write: Callable[[list[T]], Awaitable[None]], most: int) -> None:
        self._write, self._most = write, most
        self._gathered: list[T] = []
        self._writing: list[T] = []
        self._changed, self._room = asyncio.Event(), asyncio.Event()
        self._closed = False

    @property
    def unwritten(self) -> list[T]:
        return [*self._writing, *self._gathered]

    async def put(self, thing: T) -> None:
        """Hand it over; returns when there is room for more."""
        self._gathered.append(thing)
        self._changed.set()
        held = len(self._gathered) + len(self._writing)
        if held >= self._most:
            self._room.clear()
            await self._room.wait()
        elif held == self._most // 2:
            # Who never waits for anything would fill the window first: this way half of it is being written.
            await asyncio.sleep(0)

    def close(self) -> None:
        """Nothing more will come."""
        self._closed = True
        self._changed.set()

    async def run(self) -> None:
        """Write what comes, until it is closed and all is written."""
        while self._gathered or not self._closed:
            await self._changed.wait()
            self._changed.clear()
            self._writing, self._gathered = self._gathered, []
            if self._writing:
                await self._write(self._writing)
            self._writing = []
            self._room.set()
