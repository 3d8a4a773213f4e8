"""A topic that the outbox is published to: what is written for it, and what a reader of it sees."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from sqlalchemy import Connection, func, select

from clocks import NOON
from kafka_stranger import Stranger
from muster.engine.commands import REFERENCE, CommandOpening
from muster.engine.outbox import OutgoingMessage
from muster.nodes.commanding import Outbound
from muster.store.commands import open_commands
from muster.store.database import Database
from muster.store.dialect import insert_new
from muster.store.outbox import add_messages
from muster.store.tables import (
    outbox_message,
    workflow,
    workflow_execution,
    workflow_kafka_commands,
    workflow_version,
)

TOPIC, PARTITIONS = "orders", 3
TOGETHER = 20


def make_topic(brokers: str, copies: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": brokers})
    [made] = admin.create_topics([NewTopic(TOPIC, PARTITIONS, copies)]).values()
    made.result()


async def write(database: Database, count: int, seconds: float) -> None:
    """So many commands, some in each transaction, spread over this time."""
    await database.write(_make_execution)
    for first in range(0, count, TOGETHER):
        some = [_command(number) for number in range(first, min(count, first + TOGETHER))]
        await database.write(partial(_write, some=some))
        await asyncio.sleep(seconds * TOGETHER / count)


def _command(number: int) -> Outbound:
    """One of the only execution there is."""
    opening = CommandOpening(
        f"c{number}", "send", 1, 1, f"c{number}", "w", "", TOPIC, "replies", {}, {}, timedelta(hours=1), NOON
    )
    value, key, reference = str(number).encode(), f"key-{number % 7}".encode(), f"{REFERENCE}c{number}"
    return Outbound(opening, OutgoingMessage(f"m{number}", TOPIC, value, key, reference=reference))


def _write(connection: Connection, some: Sequence[Outbound]) -> None:
    open_commands(connection, [("e", each.opening) for each in some])
    add_messages(connection, [each.message for each in some])


def _make_execution(connection: Connection) -> None:
    made = {"created_at": NOON, "updated_at": NOON}
    kinds = {"kind": "orchestrated", "status": "ACTIVE", "workflow_type": "MANUAL"}
    version = {"id": 1, "workflow_id": "w", "version": 1, "definition": {}, "checksum": "", "created_by": ""}
    stands = {"workflow_version_id": 1, "status": "WAITING", "given": {}, "context": {}, "fence": 1}
    insert_new(connection, workflow, [{"id": "w", "key": "w", "name": "w", **kinds, **made}], ("id",))
    insert_new(connection, workflow_version, [{**version, "created_at": NOON}], ("id",))
    times = {"started_at": NOON, "updated_at": NOON}
    insert_new(connection, workflow_execution, [{"id": "e", "workflow_id": "w", **stands, **times}], ("id",))


async def check_sent(database: Database, count: int) -> None:
    """Every command knows that it was sent, and was told so once: whoever tells it again changes when."""
    rows = await database.read(lambda connection: connection.execute(select(workflow_kafka_commands)).all())
    assert {row.status for row in rows} == {"SENT"}
    assert [row.id for row in rows if row.sent_at is None or row.sent_at != row.updated_at] == []
    assert len(rows) == count


async def none_waits(database: Database) -> bool:
    left = select(func.count()).where(outbox_message.c.published_at.is_(None))
    return await database.read(lambda connection: connection.scalar(left)) == 0


def read(brokers: str) -> list[tuple[bytes, int]]:
    """Key and number of all that is committed; those of a partition are in its order."""
    return [(seen.key or b"", int(seen.value or b"")) for seen in Stranger(brokers).read(TOPIC)]


def check_once_each(found: list[tuple[bytes, int]], count: int) -> None:
    """Every message is there once, and those of one key are in their order."""
    counts = Counter(number for _, number in found)
    assert [number for number, times in counts.items() if times > 1] == []
    assert sorted(counts) == list(range(count))
    for key in {key for key, _ in found}:
        numbers = [number for each, number in found if each == key]
        assert numbers == sorted(numbers), "messages of one key are in their order"
