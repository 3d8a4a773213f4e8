"""A suite that cannot fail proves nothing: stores, buses and caches with a fault, each found by its check."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest

from muster.cache.memory import MemoryLocks, Shelf
from muster.conformance.bus_checks import BUS_CHECKS
from muster.conformance.buses import BusHouse, EmbeddedBuses
from muster.conformance.cache_checks import CACHE_CHECKS
from muster.conformance.caches import LONG, CachePlace, Yielding
from muster.conformance.checks import Result, Verdict, judged
from muster.conformance.stores import Store
from muster.conformance.suite import BUS, CACHE, ON_STORES, STORE
from muster.engine.bus import Bus, Member, Place
from muster.engine.cache import Locks
from muster.kit.clock import SystemClock
from muster.store.address import parse_address
from muster.store.database import AsyncDatabase, Database
from muster.store.open import server_engine


def without_transactions(url: str) -> Database:
    """A database in which every statement is committed by itself, as behind a pooler that shares sessions
    between statements."""
    engine = server_engine(parse_address(url))
    return AsyncDatabase(engine.execution_options(isolation_level="AUTOCOMMIT"))


async def failed(store: Store, *names: str) -> list[str]:
    checks = [check for check in ON_STORES if check.name in names]
    results = [await judged(STORE, check, store) for check in checks]
    return [result.name for result in results if result.verdict is Verdict.FAILED]


@pytest.mark.postgres
@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_a_database_without_transactions_is_found_out(database: Database, database_url: str) -> None:
    url = database_url
    wanted = "transactions_are_whole", "nobody_sees_what_is_not_committed", "locks_show_the_last_state"
    faulty = without_transactions(url)
    assert await failed(Store(faulty, lambda _: faulty), *wanted) == [*wanted]
    assert await failed(Store(database, lambda _: database), *wanted) == []
    await faulty.close()


class Forgetful:
    """A member that says it records its position, and does not."""

    def __init__(self, inner: Member) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    async def record(self, ends: Mapping[Place, int]) -> None:
        return


class ForgetfulBus:
    def __init__(self, inner: Bus) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def member(self, group: str) -> Forgetful:
        return Forgetful(self._inner.member(group))


class ForgetfulBuses(EmbeddedBuses):
    def bus(self, name: str) -> Bus:
        return ForgetfulBus(super().bus(name))


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("buses", "verdict"), [(ForgetfulBuses, "failed"), (EmbeddedBuses, "ok")])
async def test_a_bus_that_forgets_positions_is_found_out(
    database: Database, buses: type[EmbeddedBuses], verdict: str
) -> None:
    house = BusHouse(buses(database), database)
    [check] = [check for check in BUS_CHECKS if check.name == "what_was_handled_does_not_come_again"]
    result = await judged(BUS, check, house)
    await house.close()
    assert result.verdict.value == verdict
    assert ("instead of" in result.found) is (verdict == "failed")


class Careless(MemoryLocks):
    """Locks that anybody releases, as by a `DEL` without a look at who has it."""

    def _release(self, key: str) -> bool:
        had = self._shelf.get(key) is not None
        self._shelf.remove(key)
        return had


@dataclass
class CarelessPlace(CachePlace):
    @asynccontextmanager
    async def locks(self, *instances: str, ttl: timedelta = LONG) -> AsyncIterator[list[Locks]]:
        shelf = Shelf(lambda: 0.0)
        yield [Yielding(Careless(shelf, each, SystemClock(), ttl)) for each in instances]


async def on_locks(place: CachePlace) -> Sequence[Result]:
    names = ("locks_are_compared", "locks_are_linearizable", "locks_have_one_holder")
    return [await judged(CACHE, check, place) for check in CACHE_CHECKS if check.name in names]


async def test_locks_that_anybody_releases_are_found_out() -> None:
    found = {result.name: result.verdict.value for result in await on_locks(CarelessPlace())}
    assert found == {
        "locks_are_compared": "failed",
        "locks_are_linearizable": "failed",
        "locks_have_one_holder": "ok",
    }
    assert {result.verdict for result in await on_locks(CachePlace())} == {Verdict.OK}
