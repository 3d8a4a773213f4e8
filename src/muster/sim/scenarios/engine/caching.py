"""The cache in this world: in half of the runs there is one, and whatever can befall it does."""

import asyncio
from dataclasses import replace
from datetime import timedelta

from muster.engine.contexts import CachedContexts, What, breaker_of
from muster.model.workflow import Definition
from muster.sim.redis import SimulatedRedis
from muster.sim.scenarios.engine.ledger import Ledger
from muster.sim.world import World

CACHED_IN, IN_CACHE_IN = 0.5, 0.3
LOCK = timedelta(seconds=3)
PATIENCE_SECONDS = 0.5
BLOWS = ["flush", "copy", "copy", "fail over", "freeze", "freeze", "cut off", "cut off"]


class Caching:
    """`redis` is None in runs without. Draws from sources of its own: without a cache, a run is as if there
    were none in the world."""

    def __init__(self, world: World, ledger: Ledger) -> None:
        self._world, self._ledger = world, ledger
        self._chance = world.chance("caching")
        has_one = self._chance.random() < CACHED_IN
        self.redis = SimulatedRedis(world, lambda: not ledger.calm) if has_one else None

    def contexts(self, name: str, owner: str) -> CachedContexts | None:
        """What one life of an instance keeps at hand."""
        if self.redis is None:
            return None
        cache, locks = self.redis.client(name, owner, LOCK)
        return CachedContexts(cache, locks, breaker_of(PATIENCE_SECONDS, _nobody), self, LOCK.total_seconds())

    def counted(self, what: What, number: int) -> None:
        self._ledger.cached[what] += number

    async def go_wrong(self, names: list[str]) -> None:
        """One blow after another, until it is calm."""
        while self.redis is not None and not self._ledger.calm:
            await asyncio.sleep(self._chance.random() * 0.7)
            seconds, name = self._chance.choice([0.3, 1.0, 3.0]), self._chance.choice(names)
            match self._chance.choice(BLOWS):
                case "flush":
                    self.redis.flush()
                case "copy":
                    self.redis.copy()
                case "fail over":
                    self.redis.fail_over()
                case "freeze":
                    self.redis.freeze(seconds)
                case _:
                    self.redis.cut_off(name, seconds)


def content_with_a_cache(world: World, definition: Definition) -> Definition:
    """Some workflows ask for no more than a cache, whether or not there is one."""
    if world.chance("durability").random() >= IN_CACHE_IN:
        return definition
    return replace(definition, durability="cache")


def _nobody() -> None:
    """Nobody counts failures here."""
