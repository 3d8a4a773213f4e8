"""Clocks that jump by two hours, forward and back: no occurrence is started twice, and what was missed is
dealt with as the schedule says."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from clocks import FakeClock
from muster.model.workflow import Schedule
from muster.store.database import Database
from muster.store.migrations import migrate
from muster.store.open import inline_database
from scheduled_house import Scheduled, text

NINE = datetime(2026, 3, 4, 9, tzinfo=UTC)
NODE = {"id": "a", "type": "NOOP"}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NINE - timedelta(minutes=1))


@pytest.fixture
async def database(clock: FakeClock, tmp_path: Path) -> AsyncIterator[Database]:
    """SQLite by a clock that the test moves: the database's clock is the only one that decides."""
    opened = inline_database(tmp_path / "muster.db", clock)
    await migrate(opened)
    yield opened
    await opened.close()


@pytest.fixture
async def house(database: Database) -> Scheduled:
    found = Scheduled(database)
    await found.save("w", NODE)
    return found


async def at(house: Scheduled, clock: FakeClock, moment: datetime) -> None:
    clock.time = moment
    await house.fire()


def _every_ten(misfire: str) -> Schedule:
    return Schedule("CRON", cron_expression="*/10 * * * *", misfire=misfire, overlap="allow")


def minutes(*given: int) -> list[str]:
    return [text(NINE + timedelta(minutes=each)) for each in given]


async def test_back_by_two_hours(house: Scheduled, clock: FakeClock) -> None:
    made = await house.make(_every_ten("fire_once"))
    await at(house, clock, NINE + timedelta(seconds=1))
    await at(house, clock, NINE + timedelta(minutes=10, seconds=1))
    for step in range(24):
        await at(house, clock, NINE - timedelta(hours=2) + timedelta(minutes=5 * step, seconds=2))
        assert await house.times(made.id) == minutes(0, 10)
    await at(house, clock, NINE + timedelta(minutes=20))
    assert await house.times(made.id) == minutes(0, 10, 20)


@pytest.mark.parametrize(
    ("misfire", "fired"),
    [("fire_once", [0, 120, 130]), ("skip", [0, 130]), ("fire_all", list(range(0, 140, 10)))],
)
async def test_forward_by_two_hours(
    house: Scheduled, clock: FakeClock, misfire: str, fired: list[int]
) -> None:
    made = await house.make(_every_ten(misfire))
    await at(house, clock, NINE + timedelta(seconds=1))
    await at(house, clock, NINE + timedelta(hours=2, minutes=5))
    await at(house, clock, NINE + timedelta(hours=2, minutes=10))
    assert await house.times(made.id) == minutes(*fired)


async def test_forward_and_back_again(house: Scheduled, clock: FakeClock) -> None:
    made = await house.make(_every_ten("fire_all"))
    await at(house, clock, NINE + timedelta(hours=2, minutes=5))
    there = minutes(*range(0, 130, 10))
    assert await house.times(made.id) == there
    await at(house, clock, NINE + timedelta(minutes=15))
    assert await house.times(made.id) == there
    await at(house, clock, NINE + timedelta(hours=2, minutes=11))
    assert await house.times(made.id) == [*there, *minutes(130)]


async def test_an_instance_whose_own_clock_is_wrong_fires_when_the_database_says(
    house: Scheduled, clock: FakeClock
) -> None:
    made = await house.make(_every_ten("fire_once"))
    assert house.clock.now() > NINE
    await house.fire()
    assert await house.times(made.id) == []
    await at(house, clock, NINE)
    assert await house.times(made.id) == minutes(0)
