"""When API tokens were last used: written a minute at a time, beside the requests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TypeAlias

import structlog

from muster.kit.clock import Clock
from muster.kit.loop import Loop
from muster.kit.tasks import ended

_log = structlog.get_logger("muster.auth")

EVERY_SECONDS = 60.0

Touch: TypeAlias = Callable[[Mapping[str, datetime]], Awaitable[None]]


class TokenUses:
    """Keeps the last use of each token until the next pass writes all of them at once."""

    def __init__(self, touch: Touch, clock: Clock) -> None:
        self._touch, self._clock = touch, clock
        self._noted: dict[str, datetime] = {}

    def note(self, token_id: str) -> None:
        self._noted[token_id] = self._clock.now()

    async def write(self) -> float:
        """One pass. What could not be written is kept for the next."""
        writing, self._noted = self._noted, {}
        try:
            if writing:
                await self._touch(writing)
        except BaseException:
            self._noted = {**writing, **self._noted}
            raise
        return EVERY_SECONDS


@asynccontextmanager
async def noting(uses: TokenUses, trouble: tuple[type[Exception], ...] = ()) -> AsyncIterator[None]:
    """Write what is noted every minute, and once more at the end. `trouble` says that the store is away."""
    writing = asyncio.create_task(Loop("token uses", uses.write, trouble).run())
    try:
        yield
    finally:
        await ended(writing)
        try:
            await uses.write()
        except Exception as error:
            # Nobody is told later than this, and nothing but a minute's uses is lost.
            _log.warning("the last uses of tokens were not written", reason=type(error).__name__)
