"""Instances on PostgreSQL wake each other. Here nobody looks by themselves for an hour: who finds something
was woken."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
from sqlalchemy import text

from databases import MigratedUrls
from engine_house import House, Told, chain, node
from muster.engine import instance as engine_instance
from muster.engine.journal import SignalKind
from muster.engine.outbox import Stream
from muster.engine.owned import NewExecution
from muster.kit.loop import Loop
from muster.store.address import parse_address
from muster.store.database import Database, Unavailable
from muster.store.open import open_database, server_engine
from muster.store.wake_ups import Listener, WakeUps
from polling import until

pytestmark = pytest.mark.postgres


@pytest.fixture
def url(migrated_urls: MigratedUrls) -> str:
    return migrated_urls.of("postgres")


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    found = open_database(url)
    yield found
    await found.write(lambda connection: connection.execute(text("TRUNCATE workflow CASCADE")))
    await found.write(lambda connection: connection.execute(text("TRUNCATE workflow_version CASCADE")))
    await found.close()


class Ears:
    """What somebody has heard, and how often."""

    def __init__(self) -> None:
        self.due = self.reached = 0

    def hear_due(self) -> None:
        self.due += 1

    def hear_reached(self) -> None:
        self.reached += 1


@asynccontextmanager
async def listening(url: str, listener: Listener) -> AsyncIterator[WakeUps]:
    found = WakeUps(server_engine(parse_address(url), pool_size=1))
    running = asyncio.create_task(Loop("test", partial(found.listen, listener), (Unavailable,)).run())
    try:
        yield found
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await found.close()


async def heard(ears: Ears, due: int, reached: int) -> None:
    async def has() -> bool:
        return (ears.due, ears.reached) == (due, reached)

    await until(has)


async def test_who_rings_is_heard_by_all(url: str) -> None:
    one, two = Ears(), Ears()
    async with (
        listening(url, Listener("one", one.hear_due, one.hear_reached)) as bell,
        listening(url, Listener("two", two.hear_due, two.hear_reached)),
    ):
        await heard(one, 1, 1)
        await heard(two, 1, 1)
        bell.ring()
        bell.ring()
        await heard(two, 2, 1)
        await heard(one, 2, 1)


async def test_who_publishes_a_stream_hears_that_messages_were_written(url: str) -> None:
    ears, other, written = Ears(), Ears(), list[Stream]()
    async with (
        listening(url, Listener("one", ears.hear_due, ears.hear_reached, written.append)),
        listening(url, Listener("two", other.hear_due, other.hear_reached)) as bell,
    ):
        await heard(ears, 1, 1)
        await heard(other, 1, 1)
        bell.ring_written(Stream.WATCH)
        bell.ring("outbox:of-a-later-version")
        bell.ring()
        await heard(ears, 2, 1)
        assert written == [Stream.WATCH]


async def test_who_was_deaf_for_a_while_looks_once(url: str, database: Database) -> None:
    ears = Ears()
    cut_off = text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname ="
        " current_database()"
    )
    async with listening(url, Listener("one", ears.hear_due, ears.hear_reached)) as bell:
        await heard(ears, 1, 1)
        await database.write(lambda connection: connection.execute(cut_off).all())
        await heard(ears, 2, 2)
        bell.ring()
        await heard(ears, 3, 2)


async def test_what_is_rung_before_the_end_is_heard(url: str) -> None:
    ears = Ears()
    async with listening(url, Listener("one", ears.hear_due, ears.hear_reached)):
        await heard(ears, 1, 1)
        other = Ears()
        async with listening(url, Listener("two", other.hear_due, other.hear_reached)) as bell:
            await heard(other, 1, 1)
            bell.ring()
            await bell.flush()
        await heard(ears, 2, 1)


@asynccontextmanager
async def running(url: str, house: House, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ears]:
    """An instance that looks by itself once an hour, and hears others."""
    monkeypatch.setattr(engine_instance, "LOOK_EVERY", 3600.0)
    ears = Ears()

    def due() -> None:
        ears.hear_due()
        house.instance.hear_due()

    listener = Listener(house.instance.name.owner, due, house.instance.hear_reached)
    async with listening(url, listener):
        task = asyncio.create_task(house.instance.run())
        await heard(ears, 1, 0)
        yield ears
        await house.instance.leave(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_what_one_starts_that_drives_nothing_is_taken_up_at_once(
    url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, ears = House(database, Told()), Ears()
    await engine.define(chain(node("a")))
    async with (
        running(url, engine, monkeypatch),
        listening(url, Listener("web", ears.hear_due, ears.hear_reached)) as bell,
    ):
        web = House(database, Told(), "web", ring=bell.ring)
        web.programs = engine.programs
        web.instance.retire()
        new = NewExecution(web.ids.new(), "w1", 1, "", web.instance.name.owner, {}, web.clock.now())
        await web.instance.start(new)

        async def has_ended() -> bool:
            return (await engine.row(new.id))["status"] == "COMPLETED"

        await until(has_ended)
    assert engine.told.said == ["a"]


async def test_what_one_hands_on_is_taken_up_by_another_at_once(
    url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, told, ears = House(database, Told()), Told(pauses_at="a"), Ears()
    await engine.define(chain(node("a"), node("b")))
    async with (
        running(url, engine, monkeypatch),
        listening(url, Listener("ending", ears.hear_due, ears.hear_reached)) as bell,
    ):
        ending = House(database, told, "ending", ring=bell.ring)
        ending.programs = engine.programs
        execution = await ending.start()
        await told.hanging.wait()
        ending.instance.retire()
        told.go_on.set()

        async def has_ended() -> bool:
            return (await engine.row(execution))["status"] == "COMPLETED"

        await until(has_ended)
    assert (told.said, engine.told.said) == (["a"], ["b"])


async def test_a_signal_reaches_an_owner_elsewhere_at_once(
    url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = House(database, Told(pauses_at="a"))
    await engine.define(chain(node("a"), node("b")))
    async with running(url, engine, monkeypatch):
        execution = await engine.start()
        await engine.told.hanging.wait()
        elsewhere = House(database, Told(), "elsewhere")
        assert await elsewhere.signal(execution, SignalKind.CANCEL, {})

        async def has_arrived() -> bool:
            return engine.instance._driven[execution].live.is_asked_to_stop()

        await until(has_arrived)
        engine.told.go_on.set()
        await engine.instance.ended(execution)
    assert (await engine.row(execution))["status"] == "CANCELLED"
