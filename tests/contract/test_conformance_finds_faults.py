"""A suite that cannot fail proves nothing: stores, buses and caches with a fault, each found by its check."""

from collections.abc import Mapping

import pytest

from caches import place
from muster.cache import scripts
from muster.cache.memory import MemoryLocks
from muster.conformance.bus_checks import BUS_CHECKS
from muster.conformance.buses import BusHouse, EmbeddedBuses
from muster.conformance.cache_checks import CACHE_CHECKS
from muster.conformance.caches import CachePlace
from muster.conformance.checks import Verdict, judged
from muster.conformance.stores import Store
from muster.conformance.suite import BUS, CACHE, ON_STORES, STORE
from muster.engine.bus import Bus, Member, Place
from muster.store.address import parse_address
from muster.store.database import AsyncDatabase, Database
from muster.store.open import server_engine

__all__ = ["place"]


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


def anybody_releases(locks: MemoryLocks, key: str) -> bool:
    had = locks._shelf.get(key) is not None
    locks._shelf.remove(key)
    return had


def anybody_renews(locks: MemoryLocks, key: str) -> bool:
    return locks._shelf.get(key) is not None


# Locks without a look at who has them, in this process and in Redis.
CARELESS = {
    "release": (
        anybody_releases,
        "holder(key) == ARGV[1] and redis.call('DEL', key) or 0",
        "redis.call('DEL', key)",
    ),
    "renew": (anybody_renews, "if lock and instance == ARGV[2] then", "if lock then"),
}


async def on_locks(place: CachePlace) -> dict[str, str]:
    names = ("locks_are_compared", "locks_are_linearizable", "locks_have_one_holder")
    results = [await judged(CACHE, check, place) for check in CACHE_CHECKS if check.name in names]
    return {result.name: result.verdict.value for result in results}


@pytest.mark.parametrize("verb", CARELESS)
async def test_locks_that_anybody_releases_or_renews_are_found_out(
    place: CachePlace, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert set((await on_locks(place)).values()) == {"ok"}
    in_memory, compared, careless = CARELESS[verb]
    script = getattr(scripts, verb.upper())
    assert compared in script
    monkeypatch.setattr(MemoryLocks, f"_{verb}", in_memory)
    monkeypatch.setattr(scripts, verb.upper(), script.replace(compared, careless))
    assert await on_locks(place) == {
        "locks_are_compared": "failed",
        "locks_are_linearizable": "failed",
        "locks_have_one_holder": "ok",
    }
