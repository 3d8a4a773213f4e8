"""Ids in blocks: taken from the database many at a time, and given out without asking it."""

import asyncio

from sqlalchemy import Connection, select, update

from muster.store.database import Database
from muster.store.dialect import insert_new
from muster.store.tables import watch_sequence

S = watch_sequence.c
BLOCK = 10_000


class IdBlocks:
    """One sequence. An id that was given is never given again; those of a block that is lost with its process
    are nobody's."""

    def __init__(self, database: Database, name: str) -> None:
        self._database, self._name = database, name
        self._next = self._end = 0
        self._asking = asyncio.Lock()

    async def take(self, count: int) -> int:
        """So many ids in a row: the first of them."""
        if self._end - self._next < count:
            async with self._asking:
                if self._end - self._next < count:
                    await self._ask(max(count, BLOCK))
        first, self._next = self._next, self._next + count
        return first

    async def _ask(self, count: int) -> None:
        end = await self._database.write(lambda connection: reserve(connection, self._name, count))
        self._next, self._end = end - count, end


def reserve(connection: Connection, name: str, count: int) -> int:
    """Take so many ids; the answer is the one after the last. It holds a lock until the transaction ends."""
    found = select(S.next_id).where(S.name == name)
    moved = update(watch_sequence).where(S.name == name).values(next_id=S.next_id + count)
    if connection.execute(moved).rowcount == 0:
        insert_new(connection, watch_sequence, [{"name": name, "next_id": 1}], ("name",))
        connection.execute(moved)
    end: int = connection.execute(found).scalar_one()
    return end
