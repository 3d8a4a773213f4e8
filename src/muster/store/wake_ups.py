"""Wake-ups between instances, by PostgreSQL's LISTEN and NOTIFY.

They make things quick, and nothing depends on them: whoever hears nothing looks every second. One small
channel: a message names the owner whose executions have something waiting for them, a stream of the outbox
that messages were written to, or nobody: then something is due that whoever sent it does not take.
"""

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

from muster.engine.outbox import Stream
from muster.store.database import Unavailable
from muster.store.failures import cannot_connect, reason

CHANNEL = "muster_wake"
SOMETHING_IS_DUE = ""
# A ring carries what came within it; and a connection that is silent for long is tried.
TOGETHER_SECONDS = 0.005
TRY_EVERY = 30.0
TRIED_SECONDS = 10.0
FLUSH_SECONDS = 0.5
WAKE_OWNERS = text(
    f"SELECT pg_notify('{CHANNEL}', owner) FROM (SELECT DISTINCT owner FROM workflow_execution"
    " WHERE id = ANY(:ids) AND owner IS NOT NULL) AS owners"
)
RING = f"SELECT pg_notify('{CHANNEL}', $1)"
# No owner is called so: their names have a slash in them.
WRITTEN = "outbox:"


def wake_owners(connection: Connection, ids: Collection[str]) -> None:
    """Let the owners of these executions, wherever they are, look at once when this transaction commits."""
    if connection.dialect.name == "postgresql":
        connection.execute(WAKE_OWNERS, {"ids": sorted(ids)})


@dataclass(frozen=True, slots=True)
class Listener:
    """Who listens, and what is done on hearing that something is `due`, or has `reached` what it holds, or
    that messages were `written` to a stream."""

    owner: str
    due: Callable[[], None]
    reached: Callable[[], None]
    written: Callable[[Stream], object] | None = None


class WakeUps:
    """One connection that listens for others and rings for them."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._stirred, self._told = asyncio.Event(), asyncio.Event()
        self._told.set()
        self._words: dict[str, None] = {}

    def ring(self, word: str = SOMETHING_IS_DUE) -> None:
        """Let others look for what is due, soon. Where nobody can be told they look within a second."""
        self._words[word] = None
        self._told.clear()
        self._stirred.set()

    def ring_written(self, stream: Stream) -> None:
        """The same for messages of the outbox."""
        self.ring(f"{WRITTEN}{stream}")

    async def listen(self, listener: Listener) -> float:
        """Listen as long as the connection lasts; when to come again. Raises `Unavailable`."""
        try:
            async with self._engine.connect() as connection:
                try:
                    await self._listen((await connection.get_raw_connection()).driver_connection, listener)
                finally:
                    # It is closed, or in a state that nobody else expects: the next listens on a new one.
                    await connection.invalidate()
        except Exception as error:
            if not cannot_connect(error):
                raise
            raise Unavailable(reason(error)) from error
        return 0.0

    async def _listen(self, raw: Any, listener: Listener) -> None:
        """`raw` is the driver's own connection, which has no types."""
        raw.add_termination_listener(lambda _: self._stirred.set())
        await raw.add_listener(CHANNEL, lambda _connection, _process, _channel, said: _hear(listener, said))
        # Nobody knows what was said before.
        listener.due()
        listener.reached()
        while not raw.is_closed():
            try:
                async with asyncio.timeout(TRY_EVERY):
                    await self._stirred.wait()
            except TimeoutError:
                await raw.execute("SELECT 1", timeout=TRIED_SECONDS)
                continue
            await asyncio.sleep(TOGETHER_SECONDS)
            await self._send(raw)

    async def _send(self, raw: Any) -> None:
        self._stirred.clear()
        if not self._told.is_set() and not raw.is_closed():
            words, self._words = self._words, {}
            for word in words:
                await raw.execute(RING, word, timeout=TRIED_SECONDS)
            if not self._words:
                self._told.set()

    async def flush(self) -> None:
        """Wait until others were told what they were to be told, or for a moment."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await self._told.wait()

    async def close(self) -> None:
        await self._engine.dispose()


def _hear(listener: Listener, said: str) -> None:
    if said == SOMETHING_IS_DUE:
        listener.due()
    elif said == listener.owner:
        listener.reached()
    elif said.startswith(WRITTEN) and listener.written is not None:
        with suppress(ValueError):  # of a later version, say
            listener.written(Stream(said.removeprefix(WRITTEN)))
