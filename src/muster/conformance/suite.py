"""The suite: every check, on the places that were named."""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TypeVar
from uuid import uuid4

from muster.bus.kafka_client import Config
from muster.conformance.bus_checks import BUS_CHECKS
from muster.conformance.buses import Buses, BusHouse, EmbeddedBuses
from muster.conformance.cache_checks import CACHE_CHECKS
from muster.conformance.checks import Check, Result, Verdict, judged
from muster.conformance.embedded_checks import EMBEDDED_CHECKS
from muster.conformance.execution_checks import EXECUTION_CHECKS
from muster.conformance.kafka import Broker, KafkaBuses
from muster.conformance.kafka_checks import KAFKA_CHECKS
from muster.conformance.places import own_keys, own_store, own_topics
from muster.conformance.store_checks import STORE_CHECKS
from muster.conformance.stores import Store
from muster.conformance.value_checks import VALUE_CHECKS
from muster.store.database import Database

On = TypeVar("On")

ON_STORES: Sequence[Check[Store]] = (*STORE_CHECKS, *EXECUTION_CHECKS, *VALUE_CHECKS)
STORE, BUS, CACHE = "store", "bus", "cache"
PARTS = frozenset((STORE, BUS, CACHE))


@dataclass(frozen=True, slots=True)
class Named:
    """What the checks are run on. Nothing: SQLite in a temporary folder, the embedded bus on that database,
    and the cache in this process. `kafka` is what Kafka's clients are set to."""

    database: str | None = None
    user: str | None = None
    password: str | None = None
    kafka: Config | None = None
    redis: str = ""


def names() -> list[str]:
    """Every check, as `part.name`."""
    return [
        *(f"{STORE}.{check.name}" for check in ON_STORES),
        *(f"{BUS}.{check.name}" for check in (*BUS_CHECKS, *EMBEDDED_CHECKS)),
        *(f"{BUS}.{check.name}" for check in KAFKA_CHECKS),
        *(f"{CACHE}.{check.name}" for check in CACHE_CHECKS),
    ]


async def run_suite(named: Named, told: Callable[[Result], None], left_out: Collection[str] = ()) -> bool:
    """Run everything but what is `left_out` (as `part` or `part.name`), and tell of each; whether all hold.
    Raises `CannotBegin`, `BadAddress`, `Unavailable`, `BusAway`, and `Away` for Redis."""
    tag, well = uuid4().hex[:12], True
    prefix = f"muster-conformance-{tag}-"
    async with AsyncExitStack() as stack:
        place = await stack.enter_async_context(own_keys(named.redis, prefix))
        if named.kafka is not None:
            await stack.enter_async_context(own_topics(named.kafka, prefix))
        schema = own_store(named.database, named.user, named.password, f"muster_conformance_{tag}")
        store = await stack.enter_async_context(schema)
        for results in (
            _each(STORE, ON_STORES, store, left_out),
            _on_buses(named.kafka, store.database, prefix, left_out),
            _each(CACHE, CACHE_CHECKS, place, left_out),
        ):
            async for result in results:
                told(result)
                well = well and result.verdict is not Verdict.FAILED
    return well


async def _each(
    part: str, checks: Sequence[Check[On]], on: On, left_out: Collection[str]
) -> AsyncIterator[Result]:
    for check in checks:
        yield await _judged(part, check, on, left_out)


async def _on_buses(
    kafka: Config | None, database: Database, prefix: str, left_out: Collection[str]
) -> AsyncIterator[Result]:
    """Each has topics and groups of its own."""
    for check in BUS_CHECKS if kafka is not None else (*BUS_CHECKS, *EMBEDDED_CHECKS):
        buses: Buses = EmbeddedBuses(database) if kafka is None else KafkaBuses(kafka)
        house = BusHouse(buses, database, prefix)
        try:
            yield await _judged(BUS, check, house, left_out)
        finally:
            await house.close()
    if kafka is not None:
        async for result in _each(BUS, KAFKA_CHECKS, Broker(kafka, prefix), left_out):
            yield result


async def _judged(part: str, check: Check[On], on: On, left_out: Collection[str]) -> Result:
    if part not in left_out and f"{part}.{check.name}" not in left_out:
        return await judged(part, check, on)
    return Result(part, check.name, check.promise, check.otherwise, Verdict.SKIPPED, "left out as asked", 0.0)
