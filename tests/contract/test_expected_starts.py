"""Runs that are to begin by the clock: expected once for each occurrence, and missed where none begins."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, update

from muster.store.database import Database
from muster.store.tables import (
    event_occurrence,
    expectation,
    expected_start,
    outbox_message,
    workflow_run,
)
from muster.store.watch_starts import ExpectedStarts
from muster.watch.stage_messages import read_evaluated
from muster.watch.stages import Stage
from watch_house import EVERY_STAGE, WatchHouse, event


@pytest.fixture
async def house(database: Database) -> AsyncIterator[WatchHouse]:
    made = WatchHouse(database)
    yield made
    await made.close()


def document(**expected: Any) -> dict[str, Any]:
    start = {"cron": "0 6 * * *", **expected}
    return {
        "name": "Files",
        "key": "files",
        "graph": {
            "nodes": [
                {"key": "file", "eventType": "FILE_CAME", "start": True, "expectStart": start},
                {"key": "read", "eventType": "FILE_READ"},
            ],
            "edges": [{"from": "file", "to": "read", "maxLatencySec": 3_600}],
        },
    }


async def six_has_come(house: WatchHouse) -> tuple[ExpectedStarts, datetime]:
    """Wait for the occurrences, and move the next one to the last six o'clock there was."""
    due = house.due
    starts = ExpectedStarts(house.database, due.graphs, EVERY_STAGE, due.topics, due.wanted)
    assert await starts.look() == 1
    today = datetime.now(UTC).replace(hour=6, minute=0, second=0, microsecond=0)
    six = today if today <= datetime.now(UTC) else today - timedelta(days=1)
    moved = update(expected_start).values(next_at=six)
    await house.database.write(lambda connection: connection.execute(moved))
    return starts, six


async def test_a_run_that_never_begins_is_missed(house: WatchHouse) -> None:
    await house.watch(document(key="in-{date}"))
    starts, six = await six_has_come(house)
    assert await starts.open(10) == 1
    assert await starts.open(10) == 0
    [run] = await house.runs()
    assert run["correlation_key"] == f"in-{six.date()}"
    assert await house.totals() == {"file": (1, 0, 0, 0)}
    assert await house.due.fire(10) == 1
    [alert] = await house.alerts()
    assert (alert["reason"], alert["node_key"]) == ("EXPECTED_MISSED", "file")
    await house.take(event("FILE_CAME", run["correlation_key"], datetime.now(UTC)))
    assert (await house.totals())["file"] == (0, 1, 1, 0)
    assert (await house.totals())["read"] == (1, 0, 0, 0)
    assert [each["state"] for each in await house.alerts()] == ["resolved"]


async def test_one_that_has_begun_is_not_expected(house: WatchHouse) -> None:
    await house.watch(document(key="in-{date}"))
    starts, six = await six_has_come(house)
    await house.take(event("FILE_CAME", f"in-{six.date()}", six - timedelta(minutes=5)))
    assert await starts.open(10) == 1
    assert [each["to_node_key"] for each in await house.expectations()] == ["read"]


async def on_the_next_day(house: WatchHouse, starts: ExpectedStarts, six: datetime) -> None:
    """All that is there is a day older, and six has come once more."""
    day, e, r = timedelta(days=1), expectation.c, workflow_run.c
    rows = {each["id"]: each for each in await house.expectations()}
    runs = {each["id"]: each for each in await house.runs()}

    def work(connection: Connection) -> None:
        for number, row in rows.items():
            older = {"due_at": row["due_at"] - day, "created_at": row["created_at"] - day}
            connection.execute(update(expectation).where(e.id == number).values(older))
        for number, row in runs.items():
            older = {"started_at": row["started_at"] - day}
            connection.execute(update(workflow_run).where(r.id == number).values(older))
        connection.execute(update(event_occurrence).values(received_at=six - day))
        connection.execute(update(expected_start).values(next_at=six))

    await house.database.write(work)
    assert await starts.open(10) == 1


async def test_a_start_that_was_missed_hides_none_that_is_missed_after_it(house: WatchHouse) -> None:
    await house.watch(document(key="the-file"))
    starts, six = await six_has_come(house)
    assert await starts.open(10) == 1
    assert await house.due.fire(10) == 1
    await on_the_next_day(house, starts, six)
    assert await house.due.fire(10) == 1
    assert (await house.totals())["file"] == (2, 0, 2, 0)
    [alert] = await house.alerts()
    assert (alert["count"], alert["state"]) == (2, "open")
    # One of the two comes, and then the other.
    for left in ("open", "resolved"):
        await house.take(event("FILE_CAME", "the-file", datetime.now(UTC), group=None))
        assert [each["state"] for each in await house.alerts()] == [left]


async def test_one_whose_run_is_not_over_is_expected_once_more(house: WatchHouse) -> None:
    await house.watch(document(key="the-file"))
    starts, six = await six_has_come(house)
    await house.take(event("FILE_CAME", "the-file", six, group=None))
    assert await starts.open(10) == 1
    assert [each["to_node_key"] for each in await house.expectations()] == ["read"]
    await on_the_next_day(house, starts, six)
    assert [each["to_node_key"] for each in await house.expectations()] == ["read", "file"]
    assert len(await house.runs()) == 1


@pytest.mark.parametrize("how", ["comes", "missed", "begins elsewhere"])
async def test_what_is_counted_is_told_to_whoever_counts_elsewhere(database: Database, how: str) -> None:
    house = WatchHouse(database, wanted=("rule.evaluated",))
    await house.watch(document(**({} if how == "begins elsewhere" else {"key": "in-{date}"})))
    starts, six = await six_has_come(house)
    assert await starts.open(10) == 1
    assert await told(house) == await house.totals() == {"file": (1, 0, 0, 0)}
    if how != "missed":
        key = f"in-{six.date()}" if how == "comes" else "whatever"
        await house.take(event("FILE_CAME", key, datetime.now(UTC), group=None))
    await house.due.fire(10)
    assert await told(house) == await house.totals()
    assert (await house.totals())["file"][0] == (how == "missed")
    await house.close()


async def told(house: WatchHouse) -> dict[str, tuple[int, int, int, int]]:
    """What the messages on `rule.evaluated` come to, as an aggregate stage elsewhere reads them."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in await house.rows(outbox_message):
        each = read_evaluated(row["value"], row["created_at"])
        done = {"completed": each.completed, "late": each.late, "failed": each.failed}
        found[each.node].update(done)
        for node, change in each.in_flight.items():
            found[node]["in_flight"] += change
    return {node: (c["in_flight"], c["completed"], c["late"], c["failed"]) for node, c in found.items()}


@pytest.mark.parametrize("came", [True, False])
async def test_without_a_key_any_beginning_will_do(house: WatchHouse, came: bool) -> None:
    await house.watch(document())
    starts, six = await six_has_come(house)
    assert await starts.open(10) == 1
    if came:
        await house.take(event("FILE_CAME", "whatever", six - timedelta(minutes=5)))
    await house.due.fire(10)
    [start] = [each for each in await house.expectations() if each["from_node_key"] == ""]
    assert start["status"] == ("cleared" if came else "fired")
    alerts = [each for each in await house.alerts() if each["node_key"] == "file"]
    assert len(alerts) == (0 if came else 1)


@pytest.mark.parametrize("stages", [EVERY_STAGE, [each for each in EVERY_STAGE if each != Stage.AGGREGATE]])
@pytest.mark.parametrize("key", [None, "in-{date}"])
async def test_with_a_key_no_other_beginning_will_do(
    database: Database, key: str | None, stages: list[Stage]
) -> None:
    house = WatchHouse(database, stages=stages)
    await house.watch(document(key=key) if key else document())
    starts, six = await six_has_come(house)
    assert await starts.open(10) == 1
    await house.take(event("FILE_CAME", "whatever", six - timedelta(minutes=5)))
    await house.due.fire(10)
    [start] = [each for each in await house.expectations() if each["from_node_key"] == ""]
    assert start["status"] == ("fired" if key else "cleared")
    await house.close()


async def test_a_version_that_watches_no_more_expects_nothing(house: WatchHouse) -> None:
    await house.watch(document())
    starts, _ = await six_has_come(house)
    plain = document()
    del plain["graph"]["nodes"][0]["expectStart"]
    await house.watch(plain)
    assert await starts.look() == 0
    assert await starts.open(10) == 0
