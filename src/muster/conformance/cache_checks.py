"""What every cache, and every kind of locks, promises: those in this process, and Redis."""

import json
from collections.abc import Sequence
from datetime import timedelta

from muster.conformance.caches import CachePlace
from muster.conformance.checks import Check, same, until
from muster.conformance.histories import cache_histories, lock_histories
from muster.engine.cache import Entry, Version

SHORT = timedelta(seconds=2)
HISTORIES = 3
MANY = 1_000


def _entry(key: str, fence: int, step: int = 0, **value: object) -> Entry:
    return Entry(key, Version(fence, step), json.dumps(value))


async def _there(place: CachePlace) -> None:
    kept = _entry(place.key(), 3, 7, variables={"name": "Zoë 🦜", "n": [1.5, None, 2**70]}, status="RUNNING")
    async with place.caches(2) as (one, other):
        same(list(await one.put([kept])), [True], "whether it was put")
        [found] = await other.get([kept.key])
        missing = place.key()
        same(list(await other.get([missing])), [None], "what was never put")
        same(list(await other.remove({missing: Version(1)})), [False], "whether that was removed")
        same(list(await other.renew([missing])), [False], "whether that was renewed")
    same(found and found.version, kept.version, "the version that another finds")
    same(found and json.loads(found.text), json.loads(kept.text), "what another finds")


async def _stale_writers(place: CachePlace) -> None:
    async with place.caches() as [cache]:
        for there, new, taken in (
            ((2, 5), (3, 0), True),
            ((2, 5), (2, 6), True),
            ((2, 5), (2, 5), True),
            ((2, 5), (2, 4), False),
            ((2, 5), (1, 9), False),
            ((10, 0), (9, 0), False),
        ):
            key = place.key()
            await cache.put([_entry(key, *there, by="the first")])
            what = f"{new} after {there}"
            same(
                list(await cache.put([_entry(key, *new, by="the second")])),
                [taken],
                f"whether it took {what}",
            )
            [found] = await cache.get([key])
            same(found and found.version, Version(*(new if taken else there)), f"what is there, {what}")


async def _stale_removers(place: CachePlace) -> None:
    key = place.key()
    async with place.caches() as [cache]:
        await cache.put([_entry(key, 2, 5)])
        for version, removed in ((Version(1, 9), False), (Version(2, 4), False), (Version(2, 5), True)):
            what = f"whether {tuple(version)} removed (2, 5)"
            same(list(await cache.remove({key: version})), [removed], what)
        same(list(await cache.get([key])), [None], "what is there after that")


async def _many(place: CachePlace) -> None:
    keys = [place.key() for _ in range(MANY)]
    async with place.caches() as [cache]:
        await cache.put([_entry(key, 9) for key in keys[::3]])
        answers = await cache.put([_entry(key, 1, number) for number, key in enumerate(keys)])
        same(list(answers), [number % 3 != 0 for number in range(MANY)], "which were put")
        found = await cache.get(keys)
        same([each and each.version.fence for each in found], [9, 1, 1] * (MANY // 3) + [9], "what is there")
        removed = await cache.remove({key: Version(1, MANY) for key in keys})
        same(list(removed), list(answers), "which were removed")


async def _runs_out(place: CachePlace) -> None:
    left, renewed = place.key(), place.key()
    async with place.caches(ttl=SHORT) as [cache]:
        await cache.put([_entry(left, 1), _entry(renewed, 1)])

        async def is_gone() -> bool:
            await cache.put([_entry(renewed, 1)])
            return list(await cache.get([left])) == [None]

        await until(is_gone, "an entry that nobody uses has not gone")
        same(list(await cache.renew([left, renewed])), [False, True], "which could be renewed")


async def _one_holder(place: CachePlace) -> None:
    execution, free = place.execution(), place.execution()
    async with place.locks("a/1", "b/1") as (one, other):
        same(list(await one.acquire([execution])), [True], "whether the first got it")
        same(list(await other.acquire([execution])), [False], "whether the second did, too")
        same(list(await one.acquire([execution])), [False], "whether the first got it again")
        same(list(await other.holders([execution, free])), ["a/1", None], "who has it")
        same(list(await one.release([execution])), [True], "whether the first released it")
        same(list(await other.acquire([execution])), [True], "whether the second got it then")


async def _compared(place: CachePlace) -> None:
    execution = place.execution()
    async with place.locks("a/1", "b/1", "a/2") as (one, other, later):
        await one.acquire([execution])
        for who, named in ((other, "another"), (later, "another incarnation")):
            same(list(await who.release([execution])), [False], f"whether {named} released it")
            same(list(await who.renew([execution])), [False], f"whether {named} renewed it")
        same(list(await one.holders([execution])), ["a/1"], "who has it still")
        same(list(await one.renew([execution])), [True], "whether its holder renewed it")
        await one.release([execution])
        same(list(await one.release([execution])), [False], "whether it was released twice")


async def _lock_runs_out(place: CachePlace) -> None:
    left, renewed = place.execution(), place.execution()
    async with place.locks("a/1", "b/1", ttl=SHORT) as (one, other):
        await one.acquire([left, renewed])

        async def can_be_had() -> bool:
            await one.renew([renewed])
            return list(await other.acquire([left])) == [True]

        await until(can_be_had, "a lock that nobody renews has not run out")
        same(list(await one.renew([left, renewed])), [False, True], "which its first holder could renew")
        same(list(await one.release([left])), [False], "whether its first holder released it")
        same((await other.holders([renewed]))[0], "a/1", "who has the one that was renewed")


async def _cache_histories(place: CachePlace) -> None:
    await cache_histories(place, HISTORIES)


async def _lock_histories(place: CachePlace) -> None:
    await lock_histories(place, HISTORIES)


CACHE_CHECKS: Sequence[Check[CachePlace]] = (
    Check(
        "what_was_put_is_there",
        "What one client has put, another finds as it was.",
        "Contexts are read from the database each time: slower, but right.",
        _there,
    ),
    Check(
        "stale_writers_overwrite_nothing",
        "Who was overtaken overwrites nothing newer.",
        "Contexts of earlier owners come back; the database's fence finds out, at the price of another look.",
        _stale_writers,
    ),
    Check(
        "stale_removers_remove_nothing",
        "Who was overtaken removes nothing newer.",
        "Contexts are lost from the cache, and read from the database.",
        _stale_removers,
    ),
    Check(
        "many_keys_in_one_round_trip",
        f"{MANY:,} keys are answered at once, each in its place.",
        "Batches fail. In a Redis Cluster keys are spread over nodes: Muster needs a single primary.",
        _many,
    ),
    Check(
        "entries_run_out",
        "What nobody uses goes by itself, and what is renewed stays.",
        "Memory fills with contexts of executions that ended long ago.",
        _runs_out,
    ),
    Check(
        "locks_have_one_holder",
        "Of two who want a lock one gets it, and the other when it is released.",
        "Two instances try the same execution; the database's fence keeps one of them from writing.",
        _one_holder,
    ),
    Check(
        "locks_are_compared",
        "Nobody releases or renews a lock that is another's.",
        "An instance that was overtaken takes the lock of its successor away.",
        _compared,
    ),
    Check(
        "locks_run_out",
        "A lock that nobody renews runs out, and its first holder can tell.",
        "What a dead instance had stays locked.",
        _lock_runs_out,
    ),
    Check(
        "cache_is_linearizable",
        "What eight clients are told at once could have happened one thing after another.",
        "Readers see contexts come and go. Is it one primary, without reads from replicas?",
        _cache_histories,
    ),
    Check(
        "locks_are_linearizable",
        "The same holds for locks.",
        "Two may hold one lock. Is it one primary, and has it failed over meanwhile?",
        _lock_histories,
    ),
)
