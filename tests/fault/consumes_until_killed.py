"""Consumes a topic into a database, position and effect in one transaction. Its test kills it.

consumes_until_killed.py BROKERS TOPIC DATABASE_URL
"""

import asyncio
import sys
from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import Connection, insert

from muster.bus.kafka import KafkaBus
from muster.engine.bus import Batch, Message, Place, Rejected
from muster.engine.consuming import Consumer
from muster.engine.ports import NotWritten
from muster.kit.clock import SystemClock
from muster.store.database import CommitUnknown, Database, Unavailable
from muster.store.message_letters import RejectedMessages
from muster.store.open import open_database
from muster.store.positions import ConsumerPositions, record_positions
from muster.store.tables import audit_log


class Keeping:
    records_positions = True

    def __init__(self, database: Database) -> None:
        self._database = database

    async def __call__(self, batch: Batch) -> Sequence[Rejected]:
        await self._database.write(lambda connection: self._write(connection, batch))
        await asyncio.sleep(0.05)  # so that there is time to be killed before the position is recorded
        return []

    def _write(self, connection: Connection, batch: Batch) -> None:
        record_positions(connection, batch.positions)
        told = {"entity_type": "message", "actor": "", "details": {}}
        rows = [
            {**told, "entity_id": each.name, "action": (each.value or b"").decode(), "created_at": each.at}
            for each in batch.messages
        ]
        connection.execute(insert(audit_log), rows)


class Nobody:
    def handled(self, messages: Sequence[Message]) -> None:
        return

    def rejected(self, rejected: Sequence[Rejected]) -> None:
        return

    def waiting(self, group: str, lag: Mapping[Place, int]) -> None:
        return


async def main(brokers: str, topic: str, url: str) -> None:
    database = open_database(url)
    bus = KafkaBus({"bootstrap.servers": brokers, "session.timeout.ms": 6_000})

    async def topics() -> Collection[str]:
        return [topic]

    trouble = (NotWritten, Unavailable, CommitUnknown)
    letters, known = RejectedMessages(database), ConsumerPositions(database)
    consumer = Consumer(
        bus, f"g-{topic}", topics, Keeping(database), letters, SystemClock(), Nobody(), trouble, known
    )
    await consumer.run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
