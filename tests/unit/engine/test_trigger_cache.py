"""Triggers kept in memory: read once a second, and anew when something has changed."""

import asyncio
from collections.abc import Sequence

from muster.engine.trigger_cache import FRESH_SECONDS, MOST_KEPT, MOST_MISSED, KeptStartables
from muster.engine.triggering import Startable
from muster.model.trigger import TriggerSettings


class Shelf:
    """What there is, how often it was looked at, and a door that can be held shut."""

    def __init__(self) -> None:
        self.there: list[Startable] = []
        self.looks = 0
        self.now = 0.0
        self.open = asyncio.Event()
        self.open.set()
        self.looked = asyncio.Event()

    async def _look(self) -> Sequence[Startable]:
        self.looks += 1
        self.looked.set()
        seen = list(self.there)
        await self.open.wait()
        return seen

    async def by_id(self, trigger_id: str) -> Startable | None:
        return next((each for each in await self._look() if each.id == trigger_id), None)

    async def by_path(self, path: str) -> Startable | None:
        return next((each for each in await self._look() if each.settings.path == path), None)

    async def by_event(self, institute_id: str | None, name: str) -> Sequence[Startable]:
        found = [each for each in await self._look() if each.settings.event_name == name]
        return [each for each in found if institute_id in (None, each.institute_id)]

    async def by_topic(self, topic: str) -> Sequence[Startable]:
        return [each for each in await self._look() if each.settings.topic == topic]


def trigger(id: str, institute: str = "") -> Startable:
    return Startable(id, "w1", 1, institute, TriggerSettings(path=f"path-{id}", event_name="PAID"))


def kept(shelf: Shelf) -> KeptStartables:
    return KeptStartables(shelf, lambda: shelf.now)


async def test_it_is_read_once_while_it_is_fresh_and_then_anew() -> None:
    shelf = Shelf()
    shelf.there = [trigger("t1"), trigger("t2", "other")]
    found = kept(shelf)
    for _ in range(3):
        assert await found.by_id("t1") == await found.by_path("path-t1") == shelf.there[0]
        assert await found.by_event(None, "PAID") == shelf.there
        assert await found.by_event("other", "PAID") == shelf.there[1:]
        assert await found.by_id("none") is None
    assert shelf.looks == 5
    first, shelf.there = shelf.there, []
    shelf.now += FRESH_SECONDS / 2
    assert await found.by_event(None, "PAID") == first
    shelf.now += FRESH_SECONDS / 2
    assert await found.by_event(None, "PAID") == []
    assert await found.by_id("t1") is None


async def test_what_was_changed_here_is_seen_at_once() -> None:
    shelf = Shelf()
    found = kept(shelf)
    assert await found.by_path("path-t1") is None
    shelf.there = [trigger("t1")]
    found.forget()
    assert await found.by_path("path-t1") == shelf.there[0]


async def test_a_look_that_began_before_a_change_is_not_kept() -> None:
    shelf = Shelf()
    shelf.there = [trigger("t1")]
    found = kept(shelf)
    shelf.open.clear()
    looking = asyncio.create_task(found.by_id("t1"))
    await shelf.looked.wait()
    shelf.there = []
    found.forget()
    shelf.open.set()
    assert await looking is not None
    assert await found.by_id("t1") is None


async def test_many_who_ask_at_once_share_a_look() -> None:
    shelf = Shelf()
    shelf.there = [trigger("t1")]
    found = kept(shelf)
    assert len(set(await asyncio.gather(*(found.by_id("t1") for _ in range(50))))) == 1
    assert shelf.looks == 1


async def test_no_more_are_kept_than_there_is_room_for() -> None:
    shelf = Shelf()
    found = kept(shelf)
    for number in range(MOST_MISSED + 10):
        await found.by_path(f"none-{number}")
    assert len(found._missed) == MOST_MISSED
    assert len(found._kept) == 0


async def test_what_is_not_there_drives_out_nothing_that_is() -> None:
    shelf = Shelf()
    shelf.there = [trigger("t1")]
    found = kept(shelf)
    await found.by_path("path-t1")
    for number in range(MOST_KEPT + 10):
        await found.by_path(f"none-{number}")
    looks = shelf.looks
    assert await found.by_path("path-t1") == shelf.there[0]
    assert shelf.looks == looks
