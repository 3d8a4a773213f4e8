"""Triggers kept in memory: whoever fires one often reads it once a second."""

from collections import OrderedDict
from collections.abc import Callable, Sequence

from muster.engine.triggering import Startable, Startables
from muster.kit.shared import Shared

FRESH_SECONDS = 1.0
MOST_KEPT = 10_000
# What is not there is kept by itself: anybody may ask for any number of names, and drive out what is.
MOST_MISSED = 1_000

_Key = tuple[str, str | None, str]
_Kept = OrderedDict[_Key, tuple[float, Sequence[Startable]]]


class KeptStartables:
    """`Startables` by way of others. What this process changes is seen at once, if it says so with `forget`;
    what others change is seen within a second."""

    def __init__(self, behind: Startables, monotonic: Callable[[], float]) -> None:
        self._behind, self._monotonic = behind, monotonic
        self._kept, self._missed = _Kept(), _Kept()
        self._looks = Shared[_Key, Sequence[Startable]](self._look)
        self._forgotten = 0

    def forget(self) -> None:
        """Something has changed."""
        self._forgotten += 1
        self._kept.clear()
        self._missed.clear()

    async def by_id(self, trigger_id: str) -> Startable | None:
        return next(iter(await self._get(("id", None, trigger_id))), None)

    async def by_path(self, path: str) -> Startable | None:
        return next(iter(await self._get(("path", None, path))), None)

    async def by_event(self, institute_id: str | None, name: str) -> Sequence[Startable]:
        return await self._get(("event", institute_id, name))

    async def by_topic(self, topic: str) -> Sequence[Startable]:
        return await self._get(("topic", None, topic))

    async def _get(self, key: _Key) -> Sequence[Startable]:
        kept = self._kept.get(key) or self._missed.get(key)
        if kept is not None and self._monotonic() - kept[0] < FRESH_SECONDS:
            return kept[1]
        return await self._looks.get(key)

    async def _look(self, key: _Key) -> Sequence[Startable]:
        began, forgotten = self._monotonic(), self._forgotten
        found = await self._read(key)
        if forgotten == self._forgotten:  # else it may be what was there before the change
            self._keep(key, began, found)
        return found

    def _keep(self, key: _Key, began: float, found: Sequence[Startable]) -> None:
        here, there, most = (
            (self._kept, self._missed, MOST_KEPT) if found else (self._missed, self._kept, MOST_MISSED)
        )
        there.pop(key, None)
        here[key] = (began, found)
        here.move_to_end(key)
        if len(here) > most:
            here.popitem(last=False)

    async def _read(self, key: _Key) -> Sequence[Startable]:
        kind, institute_id, name = key
        if kind == "event":
            return await self._behind.by_event(institute_id, name)
        if kind == "topic":
            return await self._behind.by_topic(name)
        found = await (self._behind.by_id(name) if kind == "id" else self._behind.by_path(name))
        return [] if found is None else [found]
