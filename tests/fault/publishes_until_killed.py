"""A process that publishes the outbox until it is killed: `publishes_until_killed.py BROKERS URL NAME`."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import uuid4

from muster.bus.kafka_transactions import KafkaChannels
from muster.engine.bus import BusAway
from muster.engine.outbox import Stream
from muster.engine.ports import NotWritten
from muster.engine.publishing import Queued
from muster.engine.stream_publisher import StreamPublisher
from muster.kit.loop import Loop
from muster.store.command_sending import CommandSenders
from muster.store.open import open_database
from muster.store.outbox_streams import Lessee, OutboxStreamRepository

# Short, so that others take over soon from who is gone; who is frozen comes back as a zombie.
LEASE = timedelta(seconds=1)


class Unheard:
    def published(self, stream: Stream, batch: Sequence[Queued]) -> None:
        return

    def refused(self, stream: Stream, reasons: Mapping[int, str]) -> None:
        return

    def took_over(self, stream: Stream) -> None:
        return

    def sent(self, topics: Mapping[str, int]) -> None:
        return

    def buried(self, topics: Mapping[str, int]) -> None:
        return


async def main(brokers: str, url: str, name: str) -> None:
    lessee = Lessee(f"{name}/{uuid4()}", f"{name}/", LEASE)
    streams = OutboxStreamRepository(open_database(url), lessee, CommandSenders(Unheard()))
    channels = KafkaChannels({"bootstrap.servers": brokers})
    publisher = StreamPublisher(Stream.EXECUTIONS, streams, channels, Unheard(), batch_size=50)
    await Loop("outbox", publisher.work, (BusAway, NotWritten)).run()


asyncio.run(main(*sys.argv[1:]))
