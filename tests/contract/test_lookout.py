"""One look tells of everything that has something to do, and how long it is until then."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert, select

from engine_house import LEASE
from muster.engine.bulk import JobAction, JobTarget, Options, Order
from muster.engine.lookout import AHEAD, Lookout, Seen, Sight
from muster.model.stored import AuditEntry
from muster.store.bulk_jobs import BulkJobRepository
from muster.store.database import Database
from muster.store.lookout import DatabaseSights
from muster.store.tables import expected_start, wait_topic, workflow_execution, workflow_version
from scheduled_house import ADA, Scheduled

HOUR = timedelta(hours=1)


@pytest.fixture
async def house(database: Database) -> Scheduled:
    house = Scheduled(database)
    await house.save("w", {"id": "a", "type": "TELL"})
    return house


async def test_where_there_is_nothing_to_do_nothing_is_seen(database: Database) -> None:
    assert await DatabaseSights(database).look() == Seen({}, frozenset())


async def test_of_each_the_next_is_seen(house: Scheduled) -> None:
    look = DatabaseSights(house.database).look
    schedule = await house.make()
    await house.put_back(schedule.id, datetime.now(UTC) + 3 * HOUR)
    await park(house, "parked", resume_at=datetime.now(UTC) + HOUR)
    await park(house, "later", resume_at=datetime.now(UTC) + 9 * HOUR)
    await park(house, "held", owner="there/1", lease_until=datetime.now(UTC) + 2 * HOUR)
    version = select(workflow_version.c.id).limit(1).scalar_subquery()
    start = {"workflow_version_id": version, "node_key": "a", "next_at": datetime.now(UTC) + 4 * HOUR}
    await house.database.write(lambda connection: connection.execute(insert(expected_start).values(start)))
    seen = (await look()).left
    hours = {sight: round(left / HOUR) for sight, left in seen.items()}
    assert hours == {Sight.DUE: 1, Sight.LEASES: 2, Sight.SCHEDULES: 3, Sight.STARTS: 4}


async def test_a_job_is_due_while_nobody_works_on_it(house: Scheduled) -> None:
    jobs, look = BulkJobRepository(house.database, LEASE), DatabaseSights(house.database).look
    order = Order(JobTarget.EXECUTION, JobAction.CANCEL, ("nobody",), "why", Options())
    await jobs.accept("job", order, ADA, AuditEntry("job", "job", "accept", "ada"))
    assert (await look()).left[Sight.JOBS] <= timedelta(0)
    assert await jobs.claim("there/1", "there/", 10) is not None
    assert (await look()).left[Sight.JOBS] > timedelta(0), "until its lease is over"


async def test_topics_that_waits_want_are_seen(house: Scheduled) -> None:
    rows = [
        {"topic": topic, "correlation_field": field, "execution_field": "e"}
        for topic, field in (("orders", "id"), ("orders", "number"), ("bills", "id"))
    ]
    await house.database.write(lambda connection: connection.execute(insert(wait_topic), rows))
    assert (await DatabaseSights(house.database).look()).topics == {"orders", "bills"}


class Once:
    """Sights that tell what they are given."""

    def __init__(self, *seen: Seen) -> None:
        self._seen = list(seen)

    async def look(self) -> Seen:
        return self._seen.pop(0)


async def test_whoever_has_something_to_do_is_woken_and_nobody_else() -> None:
    seen = Seen({Sight.DUE: AHEAD, Sight.JOBS: AHEAD + timedelta(seconds=1)}, frozenset())
    lookout, woken = Lookout(Once(seen)), list[Sight]()
    for sight in Sight:
        lookout.watch(sight, lambda sight=sight: woken.append(sight))  # type: ignore[misc]  # its default
    await lookout.look()
    assert woken == [Sight.DUE]


async def test_who_reads_topics_is_woken_when_others_are_wanted() -> None:
    kept = [frozenset[str](), frozenset({"orders"}), frozenset({"orders"}), frozenset({"bills"})]
    lookout, woken = Lookout(Once(*(Seen({}, topics) for topics in kept))), list[int]()
    for number in range(len(kept)):
        lookout.watch_topics(lambda number=number: woken.append(number))  # type: ignore[misc]  # its default
        await lookout.look()
    assert woken == [0, 1, 0, 1, 2, 3], "all who read some, twice"


async def park(house: Scheduled, execution_id: str, **values: object) -> None:
    """An execution that nobody will look at here."""
    at, version = house.clock.now(), select(workflow_version.c.id)
    row = {
        "id": execution_id,
        "workflow_id": "w",
        "workflow_version_id": await house.database.read(lambda connection: connection.scalar(version)),
        "status": "PAUSED",
        "given": {},
        "context": {},
        "fence": 1,
        "started_at": at,
        "updated_at": at,
        **values,
    }
    await house.database.write(lambda connection: connection.execute(insert(workflow_execution), [row]))
