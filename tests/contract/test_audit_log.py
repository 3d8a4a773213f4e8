"""The audit log, on every database."""

import pytest
from sqlalchemy import Connection

from clocks import NOON
from contract.library_of_things import audit
from muster.model.stored import AuditEntry, Page
from muster.store.audit import AuditLog, add_audit
from muster.store.database import Database


async def test_entries_are_listed_by_what_they_are_about_newest_first(database: Database) -> None:
    for action in ("create", "update", "archive"):
        await database.write(lambda c, what=action: add_audit(c, audit(what), NOON))
    await database.write(lambda c: add_audit(c, audit("other", "w2"), NOON))
    log = AuditLog(database)
    first, cursor = await log.list("", "workflow", "w1", Page(2))
    rest, end = await log.list("", "workflow", "w1", Page(2, cursor))
    assert [record.entry.action for record in [*first, *rest]] == ["archive", "update", "create"]
    assert end is None
    assert rest[0].entry == audit("create")
    assert rest[0].created_at == NOON


async def test_a_tenant_sees_only_its_own_entries(database: Database) -> None:
    entry = AuditEntry("workflow", "w1", "create", "editor", "north", {"n": 1})
    await database.write(lambda c: add_audit(c, entry, NOON))
    log = AuditLog(database)
    assert await log.list("south", "workflow", "w1", Page()) == ([], None)
    for institute in ("north", None):
        records, _ = await log.list(institute, "workflow", "w1", Page())
        assert [record.entry for record in records] == [entry]


async def test_an_entry_of_a_transaction_that_failed_is_not_there(database: Database) -> None:
    def work(connection: Connection) -> None:
        add_audit(connection, audit(), NOON)
        raise KeyError("on purpose")

    with pytest.raises(KeyError):
        await database.write(work)
    assert await AuditLog(database).list(None, "workflow", "w1", Page()) == ([], None)
