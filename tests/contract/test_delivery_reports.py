"""What a provider reports of messages: monotone, once, on every database."""

from datetime import UTC, datetime

import pytest

from muster.model.stored import Page
from muster.nodes.ports import Channel, Delivery, DeliveryReport, DeliveryStatus, Reported
from muster.store.committer import GroupCommitter
from muster.store.database import Database
from muster.store.deliveries import DeliveryRepository

SENT, DELIVERED, READ, FAILED = (DeliveryStatus(name) for name in ("sent", "delivered", "read", "failed"))


@pytest.fixture
def deliveries(database: Database) -> DeliveryRepository:
    return DeliveryRepository(database, GroupCommitter(database))


def sent(key: str, provider_id: str | None) -> Delivery:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    facts = ("e1", "a", "", "", Channel.WHATSAPP, "+491511234567", None, "Hi", SENT, at)
    return Delivery(key, *facts, provider_id=provider_id, sent_at=at)


async def status(deliveries: DeliveryRepository) -> list[tuple[str, str | None]]:
    found, _ = await deliveries.list(None, Page())
    return [(each.status.value, each.error) for each in found]


@pytest.mark.parametrize(
    ("reported", "known"),
    [
        ([DELIVERED, SENT], "delivered"),
        ([READ, DELIVERED, SENT], "read"),
        ([SENT, DELIVERED, DELIVERED, READ, READ], "read"),
        ([DELIVERED, FAILED], "delivered"),
        ([FAILED, FAILED], "failed"),
        ([FAILED, DELIVERED], "delivered"),
    ],
)
async def test_a_report_that_comes_late_or_twice_takes_nothing_back(
    deliveries: DeliveryRepository, reported: list[DeliveryStatus], known: str
) -> None:
    await deliveries.record(sent("k", "w1"))
    for each in reported:
        await deliveries.report([DeliveryReport("w1", each)])
    assert await status(deliveries) == [(known, None)]


async def test_many_reports_at_once_are_counted(deliveries: DeliveryRepository) -> None:
    for number in range(3):
        await deliveries.record(sent(f"k{number}", f"w{number}"))
    reports = [
        DeliveryReport("w0", DELIVERED),
        DeliveryReport("w0", READ),
        DeliveryReport("w1", FAILED, "no such number (131026)"),
        DeliveryReport("w2", SENT),
        DeliveryReport("elsewhere", READ),
    ]
    assert await deliveries.report(reports) == Reported(changed=2, unchanged=1, unknown=1)
    assert await deliveries.report(reports) == Reported(changed=0, unchanged=3, unknown=1)
    assert await status(deliveries) == [("sent", None), ("failed", "no such number (131026)"), ("read", None)]
    assert await deliveries.report([]) == Reported(0, 0, 0)


async def test_a_repeat_of_a_message_that_arrived_does_not_say_that_it_failed(
    deliveries: DeliveryRepository,
) -> None:
    await deliveries.record(sent("k", "w1"))
    await deliveries.report([DeliveryReport("w1", READ)])
    failed = sent("k", None)
    await deliveries.record(
        Delivery(**{**{name: getattr(failed, name) for name in failed.__slots__}, "status": FAILED})
    )
    assert await status(deliveries) == [("read", None)]
