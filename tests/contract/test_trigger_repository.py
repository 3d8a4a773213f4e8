"""Triggers in the database: written with their audit entries, found by who fires them."""

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import select, update

from clocks import FakeClock
from contract.library_of_things import audit, version
from muster.definitions.document import to_document
from muster.definitions.ports import PathTaken, Stale
from muster.definitions.trigger_library import secret_bytes
from muster.model.stored import NewVersion, Page
from muster.model.trigger import Authentication, Trigger, TriggerSettings, TriggerStatus, TriggerType
from muster.model.workflow import Node, WorkflowStatus
from muster.nodes.data_ports import NotConfigured
from muster.store.database import Database
from muster.store.secrets import SecretRepository
from muster.store.startables import StartableRepository
from muster.store.tables import audit_log, workflow_trigger
from muster.store.triggers import TriggerRepository
from muster.store.vault import Vault
from muster.store.workflows import WorkflowRepository

KEY, OTHER_KEY = "A" * 43 + "=", "B" * 43 + "="
SECRET = "whsec_" + KEY
SIGNED = TriggerSettings(path="orders", authentication=Authentication.HMAC)
ACTIVE = WorkflowStatus.ACTIVE


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def triggers(database: Database, clock: FakeClock) -> TriggerRepository:
    return TriggerRepository(database, clock, Vault.of(KEY))


@pytest.fixture
def startables(database: Database) -> StartableRepository:
    return StartableRepository(database, Vault.of(KEY))


@pytest.fixture
async def workflows(database: Database, clock: FakeClock) -> WorkflowRepository:
    found = WorkflowRepository(database, clock)
    await found.create("w1", "orders", version(), ACTIVE, audit())
    return found


async def make(
    triggers: TriggerRepository, settings: TriggerSettings, id: str = "t1", institute: str = ""
) -> Trigger:
    secret = SECRET if settings.authentication is Authentication.HMAC else None
    return await triggers.create(id, "w1", institute, settings, secret, audit(entity_id=id))


async def test_what_is_kept_is_what_was_given(
    triggers: TriggerRepository, workflows: WorkflowRepository, clock: FakeClock
) -> None:
    settings = TriggerSettings(
        TriggerType.EVENT,
        "ENROLLED",
        None,
        None,
        {"a.b": [1, None, "x"]},
        "#{age > 17}",
        Authentication.NONE,
        {"strategy": "UUID"},
        TriggerStatus.INACTIVE,
    )
    made = await make(triggers, settings)
    expected = Trigger("t1", "w1", "", settings, None, (), 1, clock.now(), clock.now())
    assert made == await triggers.get(None, "t1") == expected
    assert await triggers.list(None, "w1", Page()) == ([expected], None)
    assert await triggers.list("other", None, Page()) == ([], None)
    assert await triggers.get("other", "t1") is None
    assert await triggers.get(None, "\0") is None


async def test_a_change_wins_against_who_has_not_seen_it(
    triggers: TriggerRepository, workflows: WorkflowRepository
) -> None:
    await make(triggers, TriggerSettings(path="orders"))
    found = await triggers.replace("t1", TriggerSettings(path="paid"), None, 1, audit("replace"))
    assert found is not None
    changed, _ = found
    assert (changed.settings.path, changed.version) == ("paid", 2)
    with pytest.raises(Stale):
        await triggers.replace("t1", TriggerSettings(), None, 1, audit("replace"))
    assert await triggers.replace("none", TriggerSettings(), None, None, audit("replace")) is None
    assert await triggers.delete("t1", audit("delete"))
    assert not await triggers.delete("t1", audit("delete"))


async def test_every_change_has_its_entry_in_the_audit_log(
    database: Database, triggers: TriggerRepository, workflows: WorkflowRepository
) -> None:
    await make(triggers, SIGNED)
    await triggers.replace("t1", SIGNED, None, None, audit("replace", "t1"))
    await triggers.add_secret("t1", SECRET, audit("rotate", "t1"))
    await triggers.keep_newest_secret("t1", audit("revoke", "t1"))
    await triggers.delete("t1", audit("delete", "t1"))
    await triggers.delete("t1", audit("delete again", "t1"))
    noted = select(audit_log.c.action).where(audit_log.c.entity_id == "t1").order_by(audit_log.c.id)
    actions = await database.read(lambda connection: connection.execute(noted).scalars().all())
    assert list(actions) == ["create", "replace", "rotate", "revoke", "delete"]


async def test_of_those_who_want_a_path_one_gets_it(
    triggers: TriggerRepository, workflows: WorkflowRepository
) -> None:
    made = await asyncio.gather(
        *(make(triggers, TriggerSettings(path="orders"), f"t{number}") for number in range(4)),
        return_exceptions=True,
    )
    assert sum(isinstance(each, Trigger) for each in made) == 1
    assert sum(isinstance(each, PathTaken) for each in made) == 3
    assert len([await make(triggers, TriggerSettings(), f"u{number}") for number in range(3)]) == 3


async def test_secrets_are_kept_encrypted_for_their_trigger_alone(
    database: Database,
    triggers: TriggerRepository,
    startables: StartableRepository,
    workflows: WorkflowRepository,
) -> None:
    await make(triggers, SIGNED)
    await make(triggers, replace(SIGNED, path="others"), "t2")
    rows = select(workflow_trigger.c.id, workflow_trigger.c.secrets)
    kept = {
        row.id: row.secrets for row in await database.read(lambda connection: connection.execute(rows).all())
    }
    assert SECRET not in str(kept)
    assert KEY not in str(kept)
    found = await startables.by_path("orders")
    assert found is not None
    assert found.secrets == (secret_bytes(SECRET),)
    moved = update(workflow_trigger).where(workflow_trigger.c.id == "t1").values(secrets=kept["t2"])
    await database.write(lambda connection: connection.execute(moved))
    found = await startables.by_path("orders")
    assert found is not None
    assert found.secrets == ()


async def test_without_the_key_no_secret_is_made_or_read(
    database: Database, triggers: TriggerRepository, workflows: WorkflowRepository, clock: FakeClock
) -> None:
    await make(triggers, SIGNED)
    for vault in (None, Vault.of(OTHER_KEY)):
        found = await StartableRepository(database, vault).by_path("orders")
        assert found is not None
        assert found.secrets == ()
    with pytest.raises(NotConfigured):
        await make(TriggerRepository(database, clock, None), replace(SIGNED, path="b"), "t2")


async def test_secrets_come_under_a_new_key_with_all_others(
    database: Database, triggers: TriggerRepository, workflows: WorkflowRepository, clock: FakeClock
) -> None:
    await make(triggers, SIGNED)
    await triggers.add_secret("t1", SECRET, audit("rotate"))
    both = SecretRepository(database, clock, Vault.of(f"{OTHER_KEY},{KEY}"))
    assert await both.encrypt_anew() == 1
    assert await both.encrypt_anew() == 0
    found = await StartableRepository(database, Vault.of(OTHER_KEY)).by_id("t1")
    assert found is not None
    assert found.secrets == (secret_bytes(SECRET),) * 2


async def test_only_what_can_be_started_is_found(
    database: Database,
    triggers: TriggerRepository,
    startables: StartableRepository,
    workflows: WorkflowRepository,
) -> None:
    named = TriggerSettings(TriggerType.EVENT, "PAID")
    await make(triggers, replace(named, type=TriggerType.WEBHOOK, path="orders"), "t1")
    await make(triggers, named, "t2", "other")
    await make(triggers, replace(named, status=TriggerStatus.INACTIVE), "t3")
    assert [found.id for found in await startables.by_event(None, "PAID")] == ["t1", "t2"]
    assert [found.id for found in await startables.by_event("other", "PAID")] == ["t2"]
    assert await startables.by_event(None, "paid") == []
    assert await startables.by_id("t3") is None
    assert await startables.by_path("orders/") is None
    active = await workflows.get(None, "w1")
    found = await startables.by_path("orders")
    assert active is not None
    assert found is not None
    assert found.version_id == active.active_version_id
    await workflows.archive("w1", None, audit("archive"))
    assert await startables.by_path("orders") is None
    assert await startables.by_id("t1") is None


def saying(*paths: str) -> NewVersion:
    """A version with a webhook for each of these paths, whose nodes are called a, b, …"""
    base = version()
    nodes = tuple(
        Node("abc"[place], "TRIGGER", {"triggerType": "webhook", "path": path, "authentication": "HMAC"})
        for place, path in enumerate(paths)
    )
    definition = replace(base.definition, nodes=(*base.definition.nodes, *nodes))
    return replace(base, definition=definition, document=to_document(definition))


async def paths(triggers: TriggerRepository) -> dict[str | None, str | None]:
    found, _ = await triggers.list(None, "w1", Page())
    return {trigger.node_id: trigger.settings.path for trigger in found}


async def test_a_version_brings_its_triggers_when_it_becomes_the_active_one(
    triggers: TriggerRepository, startables: StartableRepository, workflows: WorkflowRepository
) -> None:
    await make(triggers, TriggerSettings(path="own"))
    await workflows.add_version("w1", saying("x", "y"), None, True, audit("update"))
    assert await paths(triggers) == {None: "own", "a": "x", "b": "y"}
    before = await startables.by_path("x")
    assert before is not None
    await triggers.add_secret(before.id, SECRET, audit("rotate"))

    await workflows.add_version("w1", saying("y", "x"), None, False, audit("update"))
    assert await paths(triggers) == {None: "own", "a": "x", "b": "y"}
    await workflows.activate("w1", 3, None, audit("activate"))
    assert await paths(triggers) == {None: "own", "a": "y", "b": "x"}
    moved = await startables.by_path("y")
    assert moved is not None
    assert (moved.id, moved.secrets) == (before.id, (secret_bytes(SECRET),))
    await workflows.activate("w1", 1, None, audit("activate"))
    assert await paths(triggers) == {None: "own"}


async def test_a_version_that_wants_anothers_path_is_not_activated_at_all(
    triggers: TriggerRepository, workflows: WorkflowRepository
) -> None:
    await make(triggers, TriggerSettings(path="own"))
    await workflows.add_version("w1", saying("x"), None, True, audit("update"))
    await workflows.add_version("w1", saying("own"), None, False, audit("update"))
    with pytest.raises(PathTaken):
        await workflows.activate("w1", 3, None, audit("activate"))
    with pytest.raises(PathTaken):
        await workflows.add_version("w1", saying("z", "z"), None, True, audit("update"))
    found = await workflows.get(None, "w1")
    assert found is not None
    assert (found.active_version, found.latest_version) == (2, 3)
    assert await paths(triggers) == {None: "own", "a": "x"}


async def test_a_secret_that_can_be_read_is_valid_beside_one_that_cannot(
    database: Database, triggers: TriggerRepository, workflows: WorkflowRepository, clock: FakeClock
) -> None:
    await make(triggers, SIGNED)
    other = TriggerRepository(database, clock, Vault.of(OTHER_KEY))
    await other.add_secret("t1", SECRET, audit("rotate"))
    for key in (KEY, OTHER_KEY):
        found = await StartableRepository(database, Vault.of(key)).by_id("t1")
        assert found is not None
        assert found.secrets == (secret_bytes(SECRET),)


async def test_a_secret_is_given_with_the_change_that_needs_it_or_nothing_changes(
    database: Database, triggers: TriggerRepository, workflows: WorkflowRepository, clock: FakeClock
) -> None:
    await make(triggers, TriggerSettings(path="orders"))
    keyless = TriggerRepository(database, clock, None)
    with pytest.raises(NotConfigured):
        await keyless.replace("t1", SIGNED, SECRET, None, audit("replace"))
    unchanged = await triggers.get(None, "t1")
    assert unchanged is not None
    assert (unchanged.settings, unchanged.version) == (TriggerSettings(path="orders"), 1)
    for is_given in (True, False):
        changed = await triggers.replace("t1", SIGNED, SECRET, None, audit("replace"))
        assert changed is not None
        assert (len(changed[0].secrets), changed[1]) == (1, is_given)
