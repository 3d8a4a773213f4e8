"""What only the embedded bus promises: messages that are part of anybody's transaction."""

from collections.abc import Sequence

from sqlalchemy import Connection

from muster.conformance.buses import BusHouse, Taking
from muster.conformance.checks import Check, come_to, same
from muster.engine.bus import Outgoing
from muster.store.bus_log import publish_messages


class _OnPurpose(Exception):
    """Ends a transaction that was about to commit."""


async def _with_its_transaction(house: BusHouse) -> None:
    topic, taking = await house.topic(), Taking()

    def undone(connection: Connection) -> None:
        publish_messages(connection, [Outgoing(topic, b"undone", b"k")])
        raise _OnPurpose

    try:
        await house.database.write(undone)
    except _OnPurpose:
        await house.database.write(
            lambda connection: publish_messages(connection, [Outgoing(topic, b"kept", b"k")])
        )
    async with house.consuming([topic], taking):
        await come_to(lambda: b"kept" in taking.values)
    same((taking.values, taking.messages[0].offset), ([b"kept"], 0), "what came, and its place")


EMBEDDED_CHECKS: Sequence[Check[BusHouse]] = (
    Check(
        "messages_go_with_their_transaction",
        "A message that is part of a transaction is there if the rest is, and leaves no gap if not.",
        "Commands are published for executions that never got so far, or never although they did.",
        _with_its_transaction,
    ),
)
