"""How many at once for each host, and how many a second."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class PerHost:
    """Lets `most` through for each host; others wait their turn. Hosts that nobody calls are forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._gates: dict[str, tuple[asyncio.Semaphore, int]] = {}

    @asynccontextmanager
    async def turn(self, host: str) -> AsyncIterator[None]:
        gate, users = self._gates.get(host) or (asyncio.Semaphore(self._most), 0)
        self._gates[host] = (gate, users + 1)
        try:
            async with gate:
                yield
        finally:
            self._leave(host)

    def _leave(self, host: str) -> None:
        gate, users = self._gates[host]
        if users == 1:
            del self._gates[host]
        else:
            self._gates[host] = (gate, users - 1)

    def __len__(self) -> int:
        return len(self._gates)


class Pace:
    """Evenly spaced turns: so many a second, 0 for any number. Each waits for the turn that it was given."""

    def __init__(self, per_second: float) -> None:
        self._gap = 1 / per_second if per_second > 0 else 0.0
        self._next = 0.0

    async def turn(self) -> None:
        now = asyncio.get_running_loop().time()
        mine = max(now, self._next)
        self._next = mine + self._gap
        if mine > now:
            await asyncio.sleep(mine - now)
