"""Writes without end from twenty callers, and prints each write once it is durable. Its test kills it."""

import asyncio
import sys
from collections.abc import Sequence

from sqlalchemy import Column, Connection, Integer, MetaData, String, Table

from muster.store.committer import GroupCommitter, Locks
from muster.store.dialect import insert_rows
from muster.store.open import open_database

STEPS = Table("committed_step", MetaData(), Column("execution", String(40)), Column("number", Integer))


class Journal:
    key_may_repeat = True
    locks = Locks.NOTHING
    is_single_statement = True

    def write(self, connection: Connection, items: Sequence[tuple[str, int]]) -> Sequence[None]:
        insert_rows(connection, STEPS, [{"execution": name, "number": number} for name, number in items])
        return [None] * len(items)


async def write(url: str) -> None:
    committer, journal = GroupCommitter(open_database(url)), Journal()

    async def call(name: str) -> None:
        for number in range(1_000_000):
            await committer.submit(journal, (name, number), name)
            sys.stdout.write(f"{name} {number}\n")

    await asyncio.gather(*(call(f"caller-{number}") for number in range(20)))


asyncio.run(write(sys.argv[1]))
