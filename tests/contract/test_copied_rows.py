"""Many new rows at once: whichever way they go, the same is there."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from muster.store.database import Database
from muster.store.sets import COPIED, add_new, add_others
from muster.store.tables import event_raw
from muster.store.types import Unstorable

KEY = ("institute_id", "source_system", "source_event_id")
AT = datetime(2026, 3, 1, 12, 0, 0, 250, tzinfo=UTC)
MANY = 2 * COPIED
HARD = 'a\\tb\t"c"\nd\re\\N\\.%_ü😀'


def row(number: int, **changes: object) -> dict[str, object]:
    return {
        "institute_id": "",
        "source_system": "shop",
        "source_event_id": f"e{number}",
        "event_type": "ORDERED",
        "event_time": AT,
        "received_at": AT,
        "correlation_key": "k",
        "workflow_keys": None,
        "event_group": None,
        "payload": None,
        **changes,
    }


def rows(**changes: object) -> list[dict[str, object]]:
    return [row(number, **changes) for number in range(MANY)]


async def there(database: Database) -> list[Any]:
    chosen = select(event_raw).order_by(event_raw.c.id)
    return list(await database.read(lambda connection: connection.execute(chosen).all()))


def begun(connection: Connection) -> None:
    """A transaction is under way with its first statement."""
    connection.execute(select(event_raw.c.id).limit(1)).all()


async def test_every_value_arrives_as_it_was_given(database: Database) -> None:
    elsewhere = AT.astimezone(timezone(timedelta(hours=5, minutes=30)))
    given = rows(
        correlation_key=HARD,
        event_time=elsewhere,
        payload={HARD: [HARD, None, 1.5, True, 2**70]},
        workflow_keys=[HARD],
    )

    def work(connection: Connection) -> None:
        begun(connection)
        assert add_new(connection, event_raw, given, KEY)

    await database.write(work)
    found = await there(database)
    assert len(found) == MANY
    for each in found:
        assert each.correlation_key == HARD
        assert each.event_time == AT
        assert each.payload == {HARD: [HARD, None, 1.5, True, 2**70]}
        assert each.workflow_keys == [HARD]
        assert each.event_group is None


async def test_a_key_that_is_taken_is_said(database: Database) -> None:
    await database.write(lambda connection: connection.execute(insert(event_raw).values(row(7))) and None)

    def work(connection: Connection) -> None:
        begun(connection)
        with connection.begin_nested() as savepoint:
            assert not add_new(connection, event_raw, rows(), KEY)
            savepoint.rollback()

    await database.write(work)
    assert [each.source_event_id for each in await there(database)] == ["e7"]

    def unforeseen(connection: Connection) -> None:
        begun(connection)
        add_new(connection, event_raw, rows())

    with pytest.raises(IntegrityError):
        await database.write(unforeseen)


async def test_the_others_are_added_time_and_again(database: Database) -> None:
    await database.write(lambda connection: connection.execute(insert(event_raw).values(row(7))) and None)

    def work(connection: Connection) -> set[tuple[Any, ...]] | None:
        return add_others(connection, event_raw, rows(), KEY)

    found = await database.write(work)
    assert found == {("", "shop", f"e{number}") for number in range(MANY) if number != 7}
    assert await database.write(work) == set()
    assert len(await there(database)) == MANY


async def test_what_cannot_be_stored_is_named(database: Database) -> None:
    for bad in ("nul\0", "half \ud800", "x" * 300):

        def work(connection: Connection, text: str = bad) -> None:
            begun(connection)
            add_new(connection, event_raw, rows(correlation_key=text))

        with pytest.raises(Unstorable):
            await database.write(work)
    assert await there(database) == []


async def test_rows_are_copied_only_in_a_transaction(database: Database) -> None:
    def work(connection: Connection) -> bool:
        return add_new(connection, event_raw, rows())

    if database.dialect_name == "postgresql":
        with pytest.raises(RuntimeError, match="under way"):
            await database.write(work)
        assert await there(database) == []
    else:
        assert await database.write(work)
