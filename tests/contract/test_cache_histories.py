"""Caches and locks under many clients at once: every history could have happened one operation at a time."""

import pytest

from caches import place
from muster.conformance.caches import CachePlace
from muster.conformance.histories import cache_histories, lock_histories

__all__ = ["place"]

IN_MEMORY, IN_REDIS = 20, 250


@pytest.mark.slow
async def test_every_history_of_a_cache_is_explained(place: CachePlace) -> None:
    await cache_histories(place, IN_REDIS if place.url else IN_MEMORY)


@pytest.mark.slow
async def test_every_history_of_locks_is_explained(place: CachePlace) -> None:
    await lock_histories(place, IN_REDIS if place.url else IN_MEMORY)
