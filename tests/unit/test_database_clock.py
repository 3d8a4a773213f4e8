"""A process tells the database's clock by a counter of its own, whatever its machine takes for the time."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

from clocks import NOON, FakeClock
from muster.store.clock import REMEMBERED, DatabaseClock
from muster.store.open import inline_database

HOUR = timedelta(hours=1)


class Counter:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


class SlowDatabase:
    """A database that takes its time: so long until it looks at its clock, and so long to answer."""

    def __init__(self, counter: Counter, there: FakeClock) -> None:
        self.counter, self.there, self.takes = counter, there, (0.0, 0.0)
        self.database = inline_database(clock=there)
        self.dialect_name = self.database.dialect_name

    def pass_time(self, seconds: float) -> None:
        self.counter.seconds += seconds
        self.there.forward(seconds=seconds)

    async def read(self, work: Any, *, single: bool = False) -> Any:
        before, after = self.takes
        self.pass_time(before)
        found = await self.database.read(work, single=single)
        self.pass_time(after)
        return found


class House:
    def __init__(self) -> None:
        self.there, self.counter = FakeClock(NOON), Counter()
        self.database = SlowDatabase(self.counter, self.there)
        self.clock = DatabaseClock(self.database, FakeClock(NOON - 5 * HOUR), self.counter)  # type: ignore[arg-type]  # it only reads

    def look(self, before: float = 0.0, after: float = 0.0) -> None:
        self.database.takes = (before, after)
        asyncio.run(self.clock.look())

    def ahead(self) -> timedelta:
        return self.clock.now() - self.there.now()


def about(seconds: float, found: timedelta) -> bool:
    return abs(found.total_seconds() - seconds) < 0.00001


def test_until_the_first_look_it_is_the_machines_clock() -> None:
    assert House().clock.now() == NOON - 5 * HOUR


def test_it_is_the_databases_clock_and_goes_on_between_looks() -> None:
    house = House()
    house.look()
    house.database.pass_time(4.0)
    assert about(0, house.ahead())
    assert isinstance(house.clock.now(), datetime)


def test_it_is_never_behind_and_ahead_by_what_the_quickest_look_took_to_get_there() -> None:
    house = House()
    house.look(before=0.2, after=0.5)
    assert about(0.2, house.ahead())
    house.look(before=0.01, after=0.5)
    assert about(0.01, house.ahead())
    house.look(before=0.3, after=0.5)
    assert about(0.01, house.ahead())


def test_a_quick_look_is_forgotten_after_a_while() -> None:
    house = House()
    house.look()
    for _ in range(REMEMBERED):
        house.look(before=0.1)
    assert about(0.1, house.ahead())


def test_it_follows_a_clock_that_is_put_forward_or_back() -> None:
    house = House()
    for by in (HOUR, -2 * HOUR):
        house.look(before=0.01)
        house.there.time += by
        house.look(before=0.2)
        assert about(0.2, house.ahead())
