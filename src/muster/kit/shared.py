"""Reading once for many: those who want the same thing at the same time share a look at it."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Shared(Generic[K, V]):
    """Reads by key. A look begins after all who share it have asked, so what they get is as fresh as if each
    had looked for itself; while one is under way, those who come later gather for the next."""

    def __init__(self, read: Callable[[K], Awaitable[V]]) -> None:
        self._read = read
        self._gathering: dict[K, asyncio.Task[V]] = {}
        self._looking: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K) -> V:
        look = self._gathering.get(key)
        if look is None:
            look = self._gathering[key] = asyncio.create_task(self._look(key, self._looking.get(key)))
        return await asyncio.shield(look)  # whoever stops waiting does not stop the others

    async def _look(self, key: K, before: "asyncio.Task[V] | None") -> V:
        if before is not None:
            await asyncio.wait([before])
        look = self._looking[key] = self._gathering.pop(key)
        try:
            return await self._read(key)
        finally:
            if self._looking.get(key) is look:
                del self._looking[key]
