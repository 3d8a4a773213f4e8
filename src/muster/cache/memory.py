"""A cache and locks in this process: whoever shares a shelf shares them."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from muster.cache.texts import holder_of, lock_text, moment, read_entry, text_of, version_of
from muster.engine.cache import Entry, Version, lock_key
from muster.kit.clock import Clock


class Shelf:
    """Texts by their keys, each for a while. `seconds` is a clock that only goes forward."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self.texts: dict[str, tuple[str, float]] = {}

    def get(self, key: str) -> str | None:
        text, until = self.texts.get(key, ("", 0.0))
        if until <= self._seconds():
            self.texts.pop(key, None)
            return None
        return text

    def put(self, key: str, text: str, ttl: timedelta) -> None:
        self.texts[key] = text, self._seconds() + ttl.total_seconds()

    def remove(self, key: str) -> None:
        self.texts.pop(key, None)


class MemoryCache:
    """`engine.cache.Cache` on a shelf."""

    def __init__(self, shelf: Shelf, ttl: timedelta) -> None:
        self._shelf, self._ttl = shelf, ttl

    async def put(self, entries: Sequence[Entry]) -> Sequence[bool]:
        return [self._put(entry) for entry in entries]

    async def get(self, keys: Sequence[str]) -> Sequence[Entry | None]:
        return [read_entry(key, self._shelf.get(key)) for key in keys]

    async def remove(self, last: Mapping[str, Version]) -> Sequence[bool]:
        return [self._remove(key, version) for key, version in last.items()]

    async def renew(self, keys: Sequence[str]) -> Sequence[bool]:
        found = [(key, self._shelf.get(key)) for key in keys]
        for key, text in found:
            if text is not None:
                self._shelf.put(key, text, self._ttl)
        return [text is not None for _, text in found]

    def _put(self, entry: Entry) -> bool:
        if self._is_overtaken(entry.key, entry.version):
            return False
        self._shelf.put(entry.key, text_of(entry), self._ttl)
        return True

    def _remove(self, key: str, version: Version) -> bool:
        if self._shelf.get(key) is None or self._is_overtaken(key, version):
            return False
        self._shelf.remove(key)
        return True

    def _is_overtaken(self, key: str, version: Version) -> bool:
        there = version_of(self._shelf.get(key) or "")
        return there is not None and there > version


class MemoryLocks:
    """`engine.cache.Locks` on a shelf."""

    def __init__(self, shelf: Shelf, instance: str, clock: Clock, ttl: timedelta) -> None:
        self._shelf, self._instance, self._clock, self._ttl = shelf, instance, clock, ttl

    async def acquire(self, executions: Sequence[str]) -> Sequence[bool]:
        return [self._acquire(lock_key(execution)) for execution in executions]

    async def renew(self, executions: Sequence[str]) -> Sequence[bool]:
        return [self._renew(lock_key(execution)) for execution in executions]

    async def release(self, executions: Sequence[str]) -> Sequence[bool]:
        return [self._release(lock_key(execution)) for execution in executions]

    async def holders(self, executions: Sequence[str]) -> Sequence[str | None]:
        return [holder_of(self._shelf.get(lock_key(execution))) for execution in executions]

    def _acquire(self, key: str) -> bool:
        if self._shelf.get(key) is not None:
            return False
        self._shelf.put(key, lock_text(self._instance, self._clock.now(), self._ttl), self._ttl)
        return True

    def _renew(self, key: str) -> bool:
        text = self._shelf.get(key)
        if text is None or holder_of(text) != self._instance:
            return False
        lock = {**json.loads(text), "expiresAt": moment(self._clock.now() + self._ttl)}
        self._shelf.put(key, json.dumps(lock, separators=(",", ":")), self._ttl)
        return True

    def _release(self, key: str) -> bool:
        if holder_of(self._shelf.get(key)) != self._instance:
            return False
        self._shelf.remove(key)
        return True
