"""The publisher, put together: who brings the outbox to the bus, whichever that is."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Protocol

from muster.app.bus import client_of
from muster.app.ground import Ground
from muster.app.passes import TROUBLE, making
from muster.app.publishing_metrics import OutboxFigures, PublishingMetrics, counting_outbox
from muster.app.settings.watching import ProducerSettings
from muster.engine.bus import BusAway
from muster.engine.lookout import SELDOM, Sight
from muster.engine.outbox import Stream
from muster.engine.stream_publisher import StreamPublisher
from muster.kit.loop import Loop
from muster.store.bus import EmbeddedBus
from muster.store.outbox_draining import StreamDraining
from muster.store.outbox_lists import OutboxLists
from muster.store.outbox_streams import Lessee, OutboxStreamRepository, Senders

LEAVE_SECONDS = 5.0
AWAY = (*TROUBLE, BusAway)


class Publishing(Protocol):
    @property
    def has_it(self) -> bool:
        """Whether the stream is published here."""
        ...

    def wake(self) -> None:
        """Messages were written, maybe while others are being published."""
        ...

    async def work(self) -> float:
        """Publish all that waits; when to come again."""
        ...


@asynccontextmanager
async def publishing(ground: Ground, senders: Senders | None = None) -> AsyncIterator[None]:
    """Publish what is in the outbox until the end of the block, if this instance has the role `publisher`.
    `senders` are told what became of their messages."""
    if "publisher" not in ground.settings.roles:
        yield
        return
    async with AsyncExitStack() as stack:
        metrics = PublishingMetrics(ground.registry, ground.clock)
        figures = OutboxFigures(OutboxLists(ground.database), ground.registry, ground.clock)
        await stack.enter_async_context(counting_outbox(figures))
        loops = []
        for stream in Stream:
            if isinstance(ground.bus, EmbeddedBus):
                work: Publishing = _draining(ground, ground.bus, stream, metrics, senders)
            else:
                work = await stack.enter_async_context(_leasing(ground, stream, metrics, senders))
            loop = Loop(f"outbox {stream}", work.work, AWAY)
            wake = partial(_wake, work, loop)
            ground.written.hear(stream, wake, partial(_has_it, work))
            ground.lookout.watch(Sight.OUTBOX, wake)
            loops.append(loop)
        await stack.enter_async_context(making(loops, LEAVE_SECONDS))
        yield


def _wake(work: Publishing, loop: Loop) -> None:
    work.wake()
    loop.wake()


def _has_it(work: Publishing) -> bool:
    return work.has_it


def _draining(
    ground: Ground, bus: EmbeddedBus, stream: Stream, metrics: PublishingMetrics, senders: Senders | None
) -> StreamDraining:
    batch_size = ground.settings.publisher.batch_size
    return StreamDraining(stream, ground.database, bus.tell, metrics, batch_size, senders, SELDOM)


@asynccontextmanager
async def _leasing(
    ground: Ground, stream: Stream, metrics: PublishingMetrics, senders: Senders | None
) -> AsyncIterator[StreamPublisher]:
    # Here, since it loads Kafka's library.
    from muster.bus.kafka_transactions import KafkaChannels

    settings = ground.settings
    lessee = Lessee(
        f"{settings.instance_id}/{ground.ids.new()}",
        "" if ground.is_alone else f"{settings.instance_id}/",
        timedelta(seconds=settings.publisher.lease),
    )
    streams = OutboxStreamRepository(ground.database, lessee, senders)
    client = client_of(settings.kafka, settings.instance_id)
    channels = KafkaChannels(client, producer=producer_of(stream, settings.ingestion.producer))
    publisher = StreamPublisher(
        stream, streams, channels, metrics, settings.publisher.batch_size, settings.publisher.linger
    )
    try:
        yield publisher
    finally:
        # Who cannot say that it leaves is missed after a while.
        with suppress(*AWAY):
            await publisher.leave()


def producer_of(stream: Stream, settings: ProducerSettings) -> Mapping[str, str | int]:
    """How whoever publishes this stream sends: of watched events it has settings of its own."""
    if stream is not Stream.WATCH:
        return {}
    return {"linger.ms": settings.linger_ms, "compression.type": settings.compression}
