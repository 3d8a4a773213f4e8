"""What a schedule has started and is retried waits for its turn like any other of that schedule."""

from datetime import timedelta

import pytest

from muster.engine.actions import Retry
from muster.store.database import Database
from scheduled_house import Scheduled
from waiting_house import BY_HAND

ASK = {"id": "ask", "type": "ASK", "config": {}}


@pytest.mark.parametrize(("overlap", "status"), [("queue", "QUEUED"), ("allow", "RESUMING")])
async def test_a_retried_one_queues_behind_what_is_under_way(
    database: Database, overlap: str, status: str
) -> None:
    house = Scheduled(database)
    await house.save("w", ASK)
    made = await house.make(house.hourly(overlap=overlap))
    await house.put_back(made.id, house.last_hour - timedelta(hours=1))
    await house.fire()
    await house.settle()
    first, second = sorted(await house.rows(), key=lambda row: str(row.given["_trigger"]["scheduledTime"]))
    await house.actions.cancel(first.id, BY_HAND)
    await house.settle()
    assert (await house.row(second.id))["status"] == "WAITING", "it has come in"
    await house.actions.retry(first.id, BY_HAND, Retry())
    assert (await house.row(first.id))["status"] == status
