"""Caches and locks under many clients at once: every history could have happened one operation at a time."""

import os
import sys

import pytest

from caches import place
from muster.conformance.caches import CachePlace
from muster.conformance.histories import CLIENTS, OPERATIONS, cache_histories, lock_histories

__all__ = ["place"]

IN_MEMORY, IN_REDIS = 20, int(os.environ.get("HISTORIES", "250"))


def many(place: CachePlace) -> int:
    return IN_REDIS if place.url else IN_MEMORY


def tell(what: str, histories: int) -> None:
    """For whoever runs more of them by hand."""
    count = histories * CLIENTS * OPERATIONS
    sys.stdout.write(f"\n{histories} histories of {what}, {count} operations: all explained\n")


@pytest.mark.slow
async def test_every_history_of_a_cache_is_explained(place: CachePlace) -> None:
    await cache_histories(place, many(place))
    tell("a cache", many(place))


@pytest.mark.slow
async def test_every_history_of_locks_is_explained(place: CachePlace) -> None:
    await lock_histories(place, many(place))
    tell("locks", many(place))
