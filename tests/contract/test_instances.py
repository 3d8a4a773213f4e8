"""Who is there: instances join, are heard of, leave, and are gone by the database's clock alone."""

from dataclasses import replace
from datetime import timedelta

from sqlalchemy import update

from muster.engine.instances import (
    FORGOTTEN_AFTER,
    GONE_AFTER,
    Counts,
    Heartbeat,
    Identity,
    InstanceStatus,
    Standing,
)
from muster.model.stored import Page
from muster.store.database import Database
from muster.store.instances import InstanceRepository
from muster.store.tables import instance

HERE = Identity("here", "1", "machine", 4711, ("web", "engine"), "1.0")
THERE = Identity("there", "1", "other", 4712, ("engine",), "1.0")


async def present(instances: InstanceRepository) -> list[tuple[str, str, str]]:
    found, _ = await instances.list(Page())
    return [(each.who.name, each.who.incarnation, each.status.value) for each in found]


async def not_heard_of(database: Database, name: str, since: timedelta) -> None:
    """As if an instance had been silent for so long."""
    silent = update(instance).where(instance.c.name == name)
    earlier = {"heartbeat_at": (await one(database, name)).heartbeat_at - since}
    await database.write(lambda connection: connection.execute(silent.values(earlier)))


async def one(database: Database, name: str) -> Standing:
    found, _ = await InstanceRepository(database).list(Page())
    return next(each for each in found if each.who.name == name)


async def test_who_has_joined_is_listed_with_what_it_said_of_itself(database: Database) -> None:
    instances = InstanceRepository(database)
    await instances.join(THERE)
    await instances.join(HERE)
    await instances.beat(HERE, 7, leaving=False)
    found = await one(database, "here")
    assert (found.who, found.driving, found.status) == (HERE, 7, InstanceStatus.LIVE)
    assert found.started_at <= found.heartbeat_at
    assert await present(instances) == [("here", "1", "live"), ("there", "1", "live")]


async def test_lists_go_on_where_a_page_ended(database: Database) -> None:
    instances = InstanceRepository(database)
    for name in "cab":
        await instances.join(replace(HERE, name=name))
    first, cursor = await instances.list(Page(2))
    rest, end = await instances.list(Page(2, cursor))
    assert [each.who.name for each in (*first, *rest)] == ["a", "b", "c"]
    assert end is None


async def test_who_is_not_heard_of_is_gone_and_is_there_again_with_its_next_beat(database: Database) -> None:
    instances = InstanceRepository(database)
    await instances.join(HERE)
    await instances.join(THERE)
    await not_heard_of(database, "there", GONE_AFTER)
    counts = await instances.beat(HERE, 0, leaving=True)
    assert counts == {InstanceStatus.LIVE: 0, InstanceStatus.LEAVING: 1, InstanceStatus.GONE: 1}
    assert await present(instances) == [("here", "1", "leaving"), ("there", "1", "gone")]
    await instances.beat(THERE, 0, leaving=False)
    assert await present(instances) == [("here", "1", "leaving"), ("there", "1", "live")]


async def test_who_is_gone_for_a_day_is_forgotten(database: Database) -> None:
    instances = InstanceRepository(database)
    await instances.join(HERE)
    await instances.join(THERE)
    await not_heard_of(database, "there", FORGOTTEN_AFTER)
    await instances.beat(HERE, 0, leaving=False)
    assert await present(instances) == [("here", "1", "live")]


async def test_who_says_goodbye_is_not_listed(database: Database) -> None:
    instances = InstanceRepository(database)
    await instances.join(HERE)
    await instances.leave(HERE)
    assert await present(instances) == []


async def test_a_start_takes_the_place_of_earlier_ones_of_its_name(database: Database) -> None:
    instances = InstanceRepository(database)
    await instances.join(HERE)
    await instances.join(replace(HERE, incarnation="2"))
    assert await present(instances) == [("here", "2", "live")]


async def test_two_that_have_one_name_by_mistake_are_both_seen(database: Database) -> None:
    instances = InstanceRepository(database)
    await instances.join(HERE)
    await instances.join(replace(HERE, incarnation="2"))
    await instances.beat(HERE, 0, leaving=False)
    assert await present(instances) == [("here", "1", "live"), ("here", "2", "live")]


async def test_a_heartbeat_joins_once_and_says_when_it_is_leaving(database: Database) -> None:
    instances, told = InstanceRepository(database), list[Counts]()
    heart = Heartbeat(instances, HERE, lambda: 3, told.append)
    assert await heart.beat() > 0
    began = (await one(database, "here")).started_at
    heart.retire()
    await heart.beat()
    found = await one(database, "here")
    assert (found.status, found.driving, found.started_at) == (InstanceStatus.LEAVING, 3, began)
    assert [counts[InstanceStatus.LIVE] for counts in told] == [1, 0]
