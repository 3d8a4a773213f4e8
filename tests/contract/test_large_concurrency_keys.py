"""A concurrency key is made of what an execution was started with, large or not, on every database."""

import pytest
from sqlalchemy import select

from muster.engine.actions import Retry
from muster.store.database import Database
from muster.store.tables import execution_limit
from waiting_house import BY_HAND, Waiting

BIG = {"id": "c1", "rows": ["x" * 100] * 1000}
L = execution_limit.c


@pytest.fixture
def house(database: Database) -> Waiting:
    return Waiting(database)


async def test_what_is_tried_again_or_anew_comes_under_the_same_limit(house: Waiting) -> None:
    ask = {"id": "ask", "type": "ASK", "config": {}}
    await house.save("w", ask, concurrency={"limit": 5, "key": "#{customer.id}-#{customer.rows.size()}"})
    first = await house.begin("w", customer=BIG)
    await house.settle()
    [key] = await keys(house)
    await house.actions.replay(first, BY_HAND)
    assert await keys(house) == [key, key]
    await house.actions.cancel(first, BY_HAND)
    await house.settle()
    await house.actions.retry(first, BY_HAND, Retry())
    assert await keys(house) == [key, key]


async def keys(house: Waiting) -> list[str]:
    wanted = select(L.concurrency_key)
    return await house.database.read(lambda connection: list(connection.scalars(wanted)))
