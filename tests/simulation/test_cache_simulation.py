"""The cache in the engine's simulation: that it is of use there, and that believing it blindly is noticed."""

import os
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from hashlib import sha256

import pytest

from muster.engine.cache import Away, Entry, Version
from muster.engine.cached_context import Kept
from muster.sim.redis import SimulatedRedis
from muster.sim.scenarios.engine import simulate, story
from muster.sim.scenarios.engine.caching import CACHED_IN, IN_CACHE_IN, Caching
from muster.sim.scenarios.engine.ledger import Ledger
from muster.sim.seeds import first_failure
from muster.sim.world import World

LOCK = timedelta(seconds=3)
CACHED = [seed for seed in range(200) if World(seed).chance("caching").random() < CACHED_IN]


def asks_for_no_more(seed: int) -> bool:
    return World(seed).chance("durability").random() < IN_CACHE_IN


@pytest.mark.slow
def test_it_is_hit_missed_stale_and_loses_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    ledgers: list[Ledger] = []

    class Remembered(Caching):
        def __init__(self, world: World, ledger: Ledger) -> None:
            super().__init__(world, ledger)
            ledgers.append(ledger)

    monkeypatch.setattr(story, "Caching", Remembered)
    assert first_failure(simulate, CACHED[:12]) is None
    counts = sum((ledger.cached for ledger in ledgers), Counter[str]())
    assert {what for what, number in counts.items() if number} == {"hit", "miss", "stale", "lock_lost"}


def test_half_of_the_runs_have_one_and_some_workflows_ask_for_no_more() -> None:
    assert 80 < len(CACHED) < 120
    assert 10 < len([seed for seed in CACHED if asks_for_no_more(seed)]) < 60


@pytest.mark.slow
def test_a_run_with_a_cache_repeats_exactly_whatever_the_hash_seed() -> None:
    seed = next(seed for seed in CACHED if asks_for_no_more(seed))

    def digest(hash_seed: str) -> bytes:
        environment = dict(os.environ) | {"PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-m", "muster.sim", "--only", "engine", "--seed", str(seed)]
        shown = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
        assert shown.count(b"redis") > 10
        return sha256(shown).digest()

    assert digest("1") == digest("2")


@pytest.mark.slow
def test_a_cache_that_is_believed_blindly_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kept, "is_of", lambda *_: True)
    assert first_failure(simulate, CACHED) is not None


# --- the Redis of the simulation ---------------------------------------------------------------------------


def entry(fence: int) -> Entry:
    return Entry("k", Version(fence), "{}")


def test_it_forgets_what_came_after_its_copy_when_it_fails_over() -> None:
    async def main(world: World) -> list[Entry | None]:
        redis = SimulatedRedis(world, lambda: False)
        cache, _ = redis.client("a", "a/1", LOCK)
        await cache.put([entry(1)])
        redis.copy()
        await cache.put([entry(2)])
        redis.fail_over()
        return list(await cache.get(["k"]))

    assert World(1).run(main) == [entry(1)]


def test_who_is_cut_off_is_told_so_and_the_others_go_on() -> None:
    async def main(world: World) -> list[bool]:
        redis = SimulatedRedis(world, lambda: False)
        (_, one), (_, other) = redis.client("a", "a/1", LOCK), redis.client("b", "b/1", LOCK)
        redis.cut_off("a", 1.0)
        with pytest.raises(Away):
            await one.acquire(["x"])
        return list(await other.acquire(["x"]))

    assert World(1).run(main) == [True]


def test_what_it_was_asked_happens_when_it_thaws_whether_or_not_anybody_waits() -> None:
    async def main(world: World) -> list[Entry | None]:
        redis = SimulatedRedis(world, lambda: False)
        cache, _ = redis.client("a", "a/1", LOCK)
        process = world.process("a")
        redis.freeze(1.0)
        process.start(cache.put([entry(1)]))
        world.loop.call_later(0.5, process.crash)
        await process.ended()
        return list(await cache.get(["k"]))

    assert World(1).run(main) == [entry(1)]
