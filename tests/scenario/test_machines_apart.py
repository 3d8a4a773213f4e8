"""Two instances whose machines' clocks are hours apart, on one database: only its clock counts."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from clocks import ShiftedClock
from databases import fresh_database
from muster.app.build import House, opened
from muster.app.settings import Settings
from muster.engine.control import Start
from muster.engine.instances import InstanceStatus
from muster.model.access import Caller, How, Role
from muster.model.stored import Page
from muster.store.database import Database
from muster.store.dialect import now
from muster.store.instances import InstanceRepository
from muster.store.open import open_database
from muster.store.tables import node_execution, workflow_execution
from polling import until

ME = Caller("me", frozenset({Role.ADMIN}), None, How.LOOPBACK)
E, J = workflow_execution.c, node_execution.c
HOURS = {"ahead": 2, "behind": -3}
SHORT, LONG = timedelta(milliseconds=1200), timedelta(minutes=10)


@pytest.fixture(
    params=[
        pytest.param("postgres", marks=pytest.mark.postgres),
        pytest.param("mariadb", marks=pytest.mark.mariadb),
    ]
)
async def url(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    async with fresh_database(request.param, request.getfixturevalue(f"{request.param}_url")) as found:
        yield found


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    found = open_database(url)
    yield found
    await found.close()


@pytest.fixture
async def houses(url: str, tmp_path: Any) -> AsyncIterator[dict[str, House]]:
    async with AsyncExitStack() as stack:
        found = {}
        for name, hours in HOURS.items():
            given = {"instance_id": name, "data_dir": str(tmp_path), "database": {"url": url}}
            clock = ShiftedClock()
            clock.ahead = timedelta(hours=hours)
            found[name] = await stack.enter_async_context(opened(Settings.model_validate(given), clock))
        yield found


def resting(key: str, rest: timedelta) -> dict[str, Any]:
    config = {"duration": rest / timedelta(milliseconds=1), "unit": "milliseconds"}
    return {
        "workflow": {"key": key, "name": key, "nodes": [{"id": "rest", "type": "delay", "config": config}]}
    }


async def test_delays_rest_as_long_as_they_say_whoever_began_them(
    houses: dict[str, House], database: Database
) -> None:
    await houses["ahead"].library.create(resting("short", SHORT), ME)
    await houses["ahead"].library.create(resting("long", LONG), ME)
    for house in houses.values():
        for key in ("short", "short", "short", "long"):
            await house.control.start(Start(key, {}), ME)

    async def have_ended() -> bool:
        ended = select(E.id).where(E.status == "COMPLETED")
        return len(await database.read(lambda connection: connection.execute(ended).all())) == 6

    await until(have_ended, every=0.1)
    rests = select(J.started_at, J.completed_at).where(J.completed_at.is_not(None))
    rows = await database.read(lambda connection: connection.execute(rests).all())
    assert len(rows) == 6
    assert min(row.completed_at - row.started_at for row in rows) >= SHORT
    parked = select(E.resume_at, E.started_at).where(E.status == "PAUSED")
    resting_still = await database.read(lambda connection: connection.execute(parked).all())
    at = await database.read(now)
    for row in resting_still:
        assert timedelta(0) < row.resume_at - at <= LONG, "by the database's clock"
        assert at - row.started_at < timedelta(hours=1)
        assert LONG <= row.resume_at - row.started_at < LONG + timedelta(minutes=2)


async def test_neither_takes_the_other_for_gone(houses: dict[str, House], database: Database) -> None:
    async def both() -> bool:
        found, _ = await InstanceRepository(database).list(Page())
        return {(each.who.name, each.status) for each in found} == {
            ("ahead", InstanceStatus.LIVE),
            ("behind", InstanceStatus.LIVE),
        }

    await until(both)
