"""Node templates, on every database."""

import asyncio
from dataclasses import replace

import pytest

from clocks import FakeClock
from contract.library_of_things import audit, template
from muster.definitions.ports import Stale, Taken
from muster.model.stored import BadCursor, Page
from muster.store.audit import AuditLog
from muster.store.database import Database
from muster.store.templates import TemplateRepository


@pytest.fixture
def templates(database: Database) -> TemplateRepository:
    return TemplateRepository(database, FakeClock())


async def actions(database: Database) -> list[str]:
    records, _ = await AuditLog(database).list(None, "workflow", "w1", Page())
    return [record.entry.action for record in records]


async def test_a_template_is_read_back_as_it_was_created(templates, database) -> None:
    made = await templates.create(template(), audit("create"))
    assert made == template()
    assert await templates.get("", "template_query") == made
    assert await actions(database) == ["create"]


async def test_an_id_in_use_is_refused_in_its_tenant_only(templates, database) -> None:
    await templates.create(template(), audit("create"))
    with pytest.raises(Taken) as refused:
        await templates.create(template(config={"other": 1}), audit("create"))
    assert refused.value.key == "template_query"
    await templates.create(template(institute="north"), audit("create"))
    assert len(await actions(database)) == 2


async def test_of_twenty_who_create_one_id_at_once_one_wins(templates, database) -> None:
    results = await asyncio.gather(
        *(templates.create(template(), audit("create")) for _ in range(20)), return_exceptions=True
    )
    assert sum(isinstance(result, Taken) for result in results) == 19
    assert await actions(database) == ["create"]


async def test_each_replacing_raises_the_version(templates, database) -> None:
    await templates.create(template(), audit("create"))
    changed = replace(template(config={"limit": 9}), name="Renamed", node_type="HTTP")
    assert await templates.replace(changed, 1, audit("update")) == replace(changed, version=2)
    assert await templates.replace(changed, None, audit("update")) == replace(changed, version=3)
    assert await templates.get("", "template_query") == replace(changed, version=3)
    assert await actions(database) == ["update", "update", "create"]


async def test_who_saw_an_older_template_is_told_the_current_version(templates, database) -> None:
    await templates.create(template(), audit("create"))
    await templates.replace(template(), None, audit("update"))
    with pytest.raises(Stale) as refused:
        await templates.replace(template(config={"late": 1}), 1, audit("late"))
    assert refused.value.current == 2
    assert (await templates.get("", "template_query")).config == {"limit": 5}
    assert "late" not in await actions(database)


async def test_of_twenty_who_replace_the_one_they_saw_one_wins(templates) -> None:
    await templates.create(template(), audit("create"))
    results = await asyncio.gather(
        *(templates.replace(template(config={"n": n}), 1, audit("update")) for n in range(20)),
        return_exceptions=True,
    )
    losers = [result for result in results if isinstance(result, Stale)]
    assert len(losers) == 19
    assert {loser.current for loser in losers} == {2}


async def test_what_is_not_there_cannot_be_replaced_or_deleted(templates, database) -> None:
    assert await templates.replace(template(), None, audit()) is None
    assert await templates.replace(template(), 1, audit()) is None
    for impossible in ("none", "", "x" * 300, "nul\0"):
        assert not await templates.delete("", impossible, None, audit())
        assert await templates.get("", impossible) is None
    assert await actions(database) == []


async def test_a_tenant_reaches_only_its_own(templates) -> None:
    await templates.create(template(institute="north"), audit())
    await templates.create(template(institute="south"), audit())
    assert not await templates.delete("east", "template_query", None, audit())
    assert await templates.replace(template(institute="east"), None, audit()) is None
    assert await templates.find("east", ["template_query"]) == {}
    assert (await templates.find("south", ["template_query"]))["template_query"].institute_id == "south"
    assert await templates.delete("south", "template_query", None, audit())
    assert await templates.get("south", "template_query") is None
    assert await templates.get("north", "template_query") is not None


async def test_across_tenants_what_is_deleted_is_what_would_be_shown(templates) -> None:
    await templates.create(template(institute="south"), audit())
    await templates.create(template(institute="north"), audit())
    assert (await templates.get(None, "template_query")).institute_id == "north"
    assert await templates.delete(None, "template_query", None, audit())
    assert (await templates.get(None, "template_query")).institute_id == "south"


async def test_many_are_found_at_once_and_the_unknown_are_left_out(templates) -> None:
    for name in ("a", "A", "b", "b "):
        await templates.create(template(name), audit())
    assert set(await templates.find("", ["a", "A", "b ", "none", "nul\0", "x" * 999])) == {"a", "A", "b "}
    assert await templates.find("", []) == {}


async def test_lists_are_paged_by_tenant_and_id(templates) -> None:
    for institute in ("", "north"):
        for name in ("c", "B", "a", "é"):
            await templates.create(template(name, institute), audit())
    page, cursor, found = Page(3), "", []
    while cursor is not None:
        items, cursor = await templates.list(None, page)
        found += [(item.institute_id, item.id) for item in items]
        page = Page(3, cursor)
    assert found == [(institute, name) for institute in ("", "north") for name in ("B", "a", "c", "é")]
    assert [item.id for item in (await templates.list("north", Page()))[0]] == ["B", "a", "c", "é"]
    with pytest.raises(BadCursor):
        await templates.list("", Page(3, "nonsense"))
