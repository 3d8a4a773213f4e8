"""What was sent to people is kept once for each message, on every database."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from muster.model.stored import Page
from muster.nodes.ports import Channel, Delivery, DeliveryStatus
from muster.store.committer import GroupCommitter
from muster.store.database import CommitUnknown, Database, Unavailable
from muster.store.deliveries import DeliveryRepository

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)
MAIL = Delivery(
    key="e1:welcome:1:ada",
    execution_id="e1",
    node_id="welcome",
    item_key="ada",
    institute_id="north",
    channel=Channel.EMAIL,
    recipient="ada@example.com",
    subject="Welcome",
    body="Your enrollment is confirmed. ✓",
    status=DeliveryStatus.SENT,
    created_at=AT,
    provider_id="<1@muster>",
    sent_at=AT,
)


@pytest.fixture
def deliveries(database: Database) -> DeliveryRepository:
    return DeliveryRepository(database, GroupCommitter(database))


async def listed(deliveries: DeliveryRepository, **wanted: str) -> list[Delivery]:
    found, _ = await deliveries.list(wanted.get("institute"), Page(), wanted.get("execution"))
    return list(found)


async def test_a_delivery_is_read_back_as_it_was_recorded(deliveries: DeliveryRepository) -> None:
    await deliveries.record(MAIL)
    (found,) = await listed(deliveries)
    assert replace(found, key=MAIL.key) == MAIL


async def test_a_repeat_changes_the_record_and_keeps_when_it_was_made(deliveries: DeliveryRepository) -> None:
    failed = replace(MAIL, status=DeliveryStatus.FAILED, error="busy", provider_id=None, sent_at=None)
    await deliveries.record(failed)
    await deliveries.record(replace(MAIL, created_at=AT + timedelta(hours=1), sent_at=AT))
    (found,) = await listed(deliveries)
    assert (found.status, found.error, found.created_at) == (DeliveryStatus.SENT, None, AT)


async def test_what_was_sent_does_not_become_failed(deliveries: DeliveryRepository) -> None:
    await deliveries.record(MAIL)
    await deliveries.record(replace(MAIL, status=DeliveryStatus.FAILED, error="refused"))
    (found,) = await listed(deliveries)
    assert (found.status, found.error) == (DeliveryStatus.SENT, None)


async def test_many_at_once_are_all_there_newest_first(deliveries: DeliveryRepository) -> None:
    many = [replace(MAIL, key=f"k{number}", recipient=f"{number}") for number in range(120)]
    await asyncio.gather(*(deliveries.record(one) for one in many))
    first, cursor = await deliveries.list(None, Page(100))
    rest, end = await deliveries.list(None, Page(100, cursor))
    assert {one.recipient for one in [*first, *rest]} == {str(number) for number in range(120)}
    assert (len(first), len(rest), end) == (100, 20, None)


async def test_a_tenant_sees_its_own_and_an_execution_its_own(deliveries: DeliveryRepository) -> None:
    await deliveries.record(MAIL)
    await deliveries.record(replace(MAIL, key="other", institute_id="south", execution_id="e2"))
    assert [one.execution_id for one in await listed(deliveries, institute="south")] == ["e2"]
    assert [one.institute_id for one in await listed(deliveries, execution="e1")] == ["north"]
    assert await listed(deliveries, institute="west") == []


async def test_while_the_store_is_away_the_record_waits_instead_of_failing_the_message(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    committer = GroupCommitter(database)
    submit, troubles = committer.submit, [Unavailable("away"), CommitUnknown("no answer")]

    async def fails_at_first(*write: object) -> object:
        if troubles:
            raise troubles.pop(0)
        return await submit(*write)

    monkeypatch.setattr(committer, "submit", fails_at_first)
    deliveries = DeliveryRepository(database, committer)
    await deliveries.record(MAIL)
    assert len(await listed(deliveries)) == 1
