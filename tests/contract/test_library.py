"""The library's use cases, on a real store."""

import re
import threading
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from muster.definitions.library import Invalid, Library, NotFound
from muster.definitions.ports import Stale, Taken
from muster.definitions.render import Format
from muster.kit.clock import SystemClock
from muster.kit.ids import TimeOrderedIds
from muster.model.access import Caller, How, Role
from muster.model.json import JsonObject, JsonView
from muster.model.problems import Problem
from muster.model.stored import Page
from muster.model.workflow import WorkflowStatus
from muster.store.audit import AuditLog
from muster.store.database import Database
from muster.store.migrations import migrate
from muster.store.open import inline_database
from muster.store.templates import TemplateRepository
from muster.store.workflows import WorkflowRepository
from unit.definitions.catalogue_for_tests import CATALOGUE


def caller(name: str, institute_id: str | None) -> Caller:
    return Caller(name, frozenset({Role.EDITOR}), institute_id, How.TOKEN)


ANYONE, ONE, OTHER = caller("ada", None), caller("ada", "one"), caller("bob", "other")


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    opened = inline_database()
    await migrate(opened)
    yield opened
    await opened.close()


@pytest.fixture
def library(database: Database) -> Library:
    clock = SystemClock()
    workflows, templates = WorkflowRepository(database, clock), TemplateRepository(database, clock)
    return Library(workflows, templates, CATALOGUE, TimeOrderedIds(clock))


def document(name: str = "Student Onboarding", **more: object) -> JsonObject:
    return {"name": name, "nodes": [{"type": "NOOP"}], **more}  # type: ignore[dict-item]


async def test_a_saved_workflow_is_read_back_by_id_and_by_key(library: Library) -> None:
    saved = await library.create(document(), ANYONE)
    assert saved.workflow.key == "student-onboarding"
    assert (saved.workflow.latest_version, saved.workflow.active_version) == (1, 1)
    for name in (saved.workflow.id, saved.workflow.key):
        workflow, version = await library.get(name, ANYONE)
        assert workflow.id == saved.workflow.id
        assert version.document["nodes"] == [
            {"id": "node_1", "type": "NOOP", "nodeOrder": 1, "isStartNode": True, "config": {}}
        ]


async def test_warnings_come_with_what_was_saved(library: Library) -> None:
    saved = await library.create(
        {"name": "x", "nodes": [{"type": "LOG", "config": {"message": "#{nobody}"}}]}, ANYONE
    )
    assert [problem.code for problem in saved.warnings] == ["UNSET_VARIABLE"]


async def test_what_is_wrong_is_not_saved(library: Library) -> None:
    with pytest.raises(Invalid) as caught:
        await library.create({"name": "x", "nodes": [{"type": "NOPE"}]}, ANYONE)
    assert [problem.code for problem in caught.value.problems] == ["UNKNOWN_NODE_TYPE"]
    assert await library.list(ANYONE, Page()) == ([], None)


async def test_a_workflow_needs_a_name_to_be_saved_but_not_to_be_checked(library: Library) -> None:
    nameless: JsonObject = {"steps": [{"id": "a", "type": "NOOP"}]}
    assert (await library.validate(nameless, ANYONE)).errors == ()
    with pytest.raises(Invalid, match="needs a `name`"):
        await library.create(nameless, ANYONE)


async def test_a_missing_name_is_said_with_all_else_that_is_wrong(library: Library) -> None:
    with pytest.raises(Invalid) as caught:
        await library.create({"instituteId": "other", "nodes": [{"type": "X"}]}, ONE)
    codes = [problem.code for problem in caught.value.problems]
    assert codes == ["UNKNOWN_NODE_TYPE", "FOREIGN_TENANT", "MISSING_NAME"]


async def test_a_name_that_is_wrong_is_not_called_missing(library: Library) -> None:
    with pytest.raises(Invalid) as caught:
        await library.create({"name": 5, "nodes": [{"type": "NOOP"}]}, ONE)
    assert [problem.code for problem in caught.value.problems] == ["WRONG_TYPE"]


async def test_a_status_that_a_further_version_cannot_set_is_pointed_out(library: Library) -> None:
    saved = await library.create(document(), ANYONE)
    changed = await library.update(saved.workflow.id, document(status="INACTIVE"), ANYONE)
    assert [(p.code, p.pointer) for p in changed.warnings] == [("IGNORED_FIELD", "/status")]
    assert changed.workflow.status is saved.workflow.status
    kept = await library.update(saved.workflow.id, document(status="ACTIVE"), ANYONE)
    assert kept.warnings == ()


async def test_a_key_made_of_the_name_is_numbered_when_taken(library: Library) -> None:
    keys = [(await library.create(document(), ANYONE)).workflow.key for _ in range(3)]
    assert keys == ["student-onboarding", "student-onboarding-2", "student-onboarding-3"]


async def test_a_key_that_somebody_takes_meanwhile_is_not_a_conflict(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    await library.create(document(), ANYONE)
    keys_like = library._workflows.keys_like
    stale = [frozenset[str](), frozenset[str]()]

    async def late(tenant: str, prefix: str) -> frozenset[str]:
        return stale.pop() if stale else await keys_like(tenant, prefix)

    monkeypatch.setattr(library._workflows, "keys_like", late)
    key = (await library.create(document(), ANYONE)).workflow.key
    assert re.fullmatch(r"student-onboarding-[234]", key)
    assert stale == []


async def test_a_chosen_key_that_is_taken_is_a_conflict(library: Library) -> None:
    await library.create(document(key="mine"), ANYONE)
    with pytest.raises(Taken):
        await library.create(document(id="mine"), ANYONE)


async def test_two_tenants_may_choose_the_same_key(library: Library) -> None:
    await library.create(document(key="mine"), ONE)
    assert (await library.create(document(key="mine"), OTHER)).workflow.institute_id == "other"


async def test_what_belongs_to_another_tenant_does_not_exist(library: Library) -> None:
    saved = await library.create(document(), ONE)
    for call in (
        library.get(saved.workflow.id, OTHER),
        library.update(saved.workflow.id, document(), OTHER),
        library.archive(saved.workflow.id, OTHER),
        library.activate(saved.workflow.id, 1, OTHER),
        library.versions(saved.workflow.id, OTHER, Page()),
        library.visualize(saved.workflow.id, OTHER, Format.JSON),
    ):
        with pytest.raises(NotFound):
            await call
    assert await library.list(OTHER, Page()) == ([], None)


async def test_a_tenants_caller_cannot_save_for_another(library: Library) -> None:
    with pytest.raises(Invalid) as caught:
        await library.create(document(instituteId="other"), ONE)
    assert [(p.code, p.pointer) for p in caught.value.problems] == [("FOREIGN_TENANT", "/instituteId")]


async def test_a_draft_is_not_active(library: Library) -> None:
    saved = await library.create(document(status="DRAFT"), ANYONE)
    assert saved.workflow.status is WorkflowStatus.DRAFT
    assert saved.workflow.active_version is None


async def test_a_further_version_waits_until_it_is_activated(library: Library) -> None:
    saved = await library.create(document(), ANYONE)
    changed = await library.update(saved.workflow.key, document("Renamed"), ANYONE, expected=1)
    assert (changed.workflow.latest_version, changed.workflow.active_version) == (2, 1)
    active = await library.activate(saved.workflow.key, None, ANYONE)
    assert active.active_version == 2
    versions, _ = await library.versions(saved.workflow.key, ANYONE, Page())
    assert [version.number for version in versions] == [2, 1]
    assert (await library.version(saved.workflow.key, 1, ANYONE)).number == 1


async def test_a_version_may_be_active_at_once(library: Library) -> None:
    saved = await library.create(document(), ANYONE)
    changed = await library.update(saved.workflow.id, document(), ANYONE, activate=True)
    assert changed.workflow.active_version == 2


async def test_who_has_not_seen_the_latest_version_is_told(library: Library) -> None:
    saved = await library.create(document(), ANYONE)
    await library.update(saved.workflow.id, document(), ANYONE, expected=1)
    with pytest.raises(Stale):
        await library.update(saved.workflow.id, document(), ANYONE, expected=1)


async def test_a_workflow_keeps_its_key(library: Library) -> None:
    saved = await library.create(document(key="mine"), ANYONE)
    await library.update("mine", document(id="mine"), ANYONE)
    await library.update("mine", document(id=saved.workflow.id), ANYONE)
    with pytest.raises(Invalid) as caught:
        await library.update("mine", document(key="yours"), ANYONE)
    assert [(p.code, p.pointer) for p in caught.value.problems] == [("KEY_CHANGED", "/key")]


async def test_what_is_not_there_is_not_found(library: Library) -> None:
    saved = await library.create(document(), ANYONE)
    for call in (
        library.get("nowhere", ANYONE),
        library.version(saved.workflow.id, 9, ANYONE),
        library.activate(saved.workflow.id, 9, ANYONE),
        library.template("nowhere", ANYONE),
        library.delete_template("nowhere", ANYONE),
        library.replace_template("nowhere", "x", "NOOP", {}, ANYONE),
    ):
        with pytest.raises(NotFound):
            await call


async def test_an_archived_workflow_is_listed_only_if_asked_for(library: Library) -> None:
    saved = await library.create(document(), ANYONE)
    await library.archive(saved.workflow.key, ANYONE)
    assert await library.list(ANYONE, Page()) == ([], None)
    found, _ = await library.list(ANYONE, Page(), WorkflowStatus.ARCHIVED)
    assert [workflow.id for workflow in found] == [saved.workflow.id]


async def test_a_saved_and_an_unsaved_definition_are_drawn_alike(library: Library) -> None:
    saved = await library.create(document(), ANYONE)
    drawn = await library.visualize(saved.workflow.key, ANYONE, Format.MERMAID)
    assert drawn == await library.visualize_document(document(), ANYONE, Format.MERMAID)
    with pytest.raises(Invalid):
        await library.visualize_document({}, ANYONE, Format.SVG)


async def test_a_stored_template_is_what_nodes_build_on(library: Library) -> None:
    await library.create_template("greet", "Greeting", "log", {"message": "Hello"}, ONE)
    templated: JsonObject = {"name": "x", "nodes": [{"nodeTemplateId": "greet"}]}
    saved = await library.create(templated, ONE)
    await library.replace_template("greet", "Greeting", "LOG", {"message": "Bye"}, ONE, expected=1)
    _, version = await library.get(saved.workflow.id, ONE)
    nodes = version.document["nodes"]
    assert isinstance(nodes, list)
    assert nodes[0] == {
        "id": "node_1",
        "type": "LOG",
        "nodeOrder": 1,
        "isStartNode": True,
        "nodeTemplateId": "greet",
        "overrideConfig": {},
        "config": {"message": "Hello"},
    }
    assert (await library.validate(templated, OTHER)).definition is None


async def test_templates_are_kept_listed_and_deleted(library: Library) -> None:
    made = await library.create_template(None, "Ask", "QUERY", {"params": {"a": 1}}, ONE)
    assert (made.node_type, made.version, made.institute_id) == ("QUERY", 1, "one")
    listed, _ = await library.templates(ONE, Page())
    assert [template.id for template in listed if not template.built_in] == [made.id]
    with pytest.raises(Taken):
        await library.create_template(made.id, "Again", "QUERY", {}, ONE)
    await library.delete_template(made.id, ONE)
    with pytest.raises(NotFound):
        await library.template(made.id, ONE)


async def test_a_template_may_be_incomplete_but_not_wrong(library: Library) -> None:
    await library.create_template("ok", "Ok", "QUERY", {}, ANYONE)
    for node_type, config, place in (
        ("QUERI", {}, ("UNKNOWN_NODE_TYPE", "/nodeType")),
        ("QUERY", {"prebuiltKey": "nope"}, ("UNKNOWN_QUERY", "/config/prebuiltKey")),
        ("LOG", {"mesage": "x"}, ("UNKNOWN_FIELD", "/config/mesage")),
        ("LOG", {"message": "#{"}, ("INVALID_EXPRESSION", "/config/message")),
    ):
        with pytest.raises(Invalid) as caught:
            await library.create_template("bad", "Bad", node_type, config, ANYONE)  # type: ignore[arg-type]
        assert [(p.code, p.pointer) for p in caught.value.problems] == [place]


async def test_whoever_changes_a_workflow_its_templates_are_its_own_tenants(library: Library) -> None:
    await library.create_template("greet", "Greeting", "LOG", {"message": "Hello from one"}, ONE)
    await library.create_template("greet", "Greeting", "LOG", {"message": "Hello from other"}, OTHER)
    await library.create_template("greet", "Greeting", "LOG", {"message": "Hello from nobody"}, ANYONE)
    saved = await library.create(document(), ONE)
    templated: JsonObject = {"name": "x", "nodes": [{"nodeTemplateId": "greet"}]}
    await library.update(saved.workflow.id, templated, ANYONE)
    _, version = await library.get(saved.workflow.id, ONE)
    nodes = version.document["nodes"]
    assert isinstance(nodes, list)
    assert isinstance(nodes[0], dict)
    assert nodes[0]["config"] == {"message": "Hello from one"}


async def test_what_happens_to_a_template_is_noted_for_its_own_tenant(
    library: Library, database: Database
) -> None:
    await library.create_template("greet", "Greeting", "LOG", {}, ONE)
    await library.replace_template("greet", "Greeting", "LOG", {"message": "Hello"}, ANYONE)
    await library.delete_template("greet", ANYONE)
    noted, _ = await AuditLog(database).list(None, "node_template", "greet", Page())
    assert [(record.entry.action, record.entry.institute_id) for record in noted] == [
        ("delete", "one"),
        ("replace", "one"),
        ("create", "one"),
    ]


@pytest.mark.parametrize(("length", "beside"), [(1_000, False), (100_000, True)])
async def test_a_large_definition_is_checked_beside_the_event_loop(
    database: Database, length: int, beside: bool
) -> None:
    ran_on: list[threading.Thread] = []

    def check(config: JsonView) -> tuple[Problem, ...]:
        ran_on.append(threading.current_thread())
        return ()

    log = replace(CATALOGUE.node_types["LOG"], check=check)
    catalogue = replace(CATALOGUE, node_types={**CATALOGUE.node_types, "LOG": log})
    clock = SystemClock()
    library = Library(
        WorkflowRepository(database, clock),
        TemplateRepository(database, clock),
        catalogue,
        TimeOrderedIds(clock),
    )
    large: JsonObject = {"name": "x", "nodes": [{"type": "LOG", "config": {"message": "x" * length}}]}
    saved = await library.create(large, ANYONE)
    await library.validate(large, ANYONE)
    await library.update(saved.workflow.id, large, ANYONE)
    await library.visualize_document(large, ANYONE, Format.SVG)
    assert [thread is not threading.main_thread() for thread in ran_on] == [beside] * 4
