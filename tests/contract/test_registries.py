"""What administrators register is kept, guarded and found again, on every database."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from clocks import NOON, FakeClock
from muster.definitions.ports import Stale, Taken
from muster.model.problems import AuthorError
from muster.model.registered import ActionDefinition, PrebuiltQuery, SourceDraft
from muster.model.stored import AuditEntry, Page
from muster.nodes.data_ports import InUse, NotConfigured
from muster.store.audit import AuditLog
from muster.store.database import Database
from muster.store.queries import ActionRepository, QueryRepository, RegisteredRepository
from muster.store.secrets import SecretRepository
from muster.store.sources import SourceRepository
from muster.store.tables import data_source, secret
from muster.store.vault import Unreadable, Vault

OLD, NEW = "A" * 43 + "=", "B" * 42 + "A="
AUDIT = AuditEntry("thing", "x", "create", "ada")
SHOP = SourceDraft("shop", "", "postgresql://ada:hunter2@db.example/shop?sslmode=require")
ORDERS = PrebuiltQuery("getOrders", "", "shop", "SELECT :a AS a", "orders", NOON, NOON, {"type": "object"})
SHIP = ActionDefinition("ship", "", "shop", ("UPDATE t SET a = :a", "DELETE FROM t"), NOON, NOON)


@pytest.fixture
def vault() -> Vault:
    return Vault.of(OLD)


@pytest.fixture
def secrets(database: Database, vault: Vault) -> SecretRepository:
    return SecretRepository(database, FakeClock(), vault)


@pytest.fixture
def sources(database: Database, vault: Vault, tmp_path: Path) -> SourceRepository:
    return SourceRepository(database, FakeClock(), vault, tmp_path, tmp_path / "muster.db")


@pytest.fixture
def queries(database: Database) -> QueryRepository:
    return QueryRepository(database, FakeClock())


@pytest.fixture
def actions(database: Database) -> ActionRepository:
    return ActionRepository(database, FakeClock())


async def everything_in(database: Database) -> str:
    """All that is kept of secrets and sources, as whoever reads the tables sees it."""
    tables = (secret, data_source)
    rows = [await database.read(lambda c, t=table: c.execute(select(t)).all()) for table in tables]
    return repr(rows)


# --- secrets ---------------------------------------------------------------------------------------


async def test_a_secret_is_listed_by_name_and_its_value_is_nowhere_to_be_seen(
    secrets: SecretRepository, database: Database
) -> None:
    made = await secrets.create("north", "smtp", "hunter2", AUDIT)
    found, _ = await secrets.list("north", Page())
    assert [made] == list(found)
    assert "hunter2" not in repr(found) + await everything_in(database)
    assert await secrets.reveal("north") == {"smtp": "hunter2"}
    assert await secrets.reveal("south") == {}


async def test_a_secret_is_made_once_and_given_a_new_value_as_often_as_wanted(
    secrets: SecretRepository,
) -> None:
    await secrets.create("", "smtp", "one", AUDIT)
    with pytest.raises(Taken):
        await secrets.create("", "smtp", "two", AUDIT)
    await secrets.put("", "smtp", "three", AUDIT)
    await secrets.put("", "other", "four", AUDIT)
    assert await secrets.reveal("") == {"smtp": "three", "other": "four"}


async def test_without_a_key_a_secret_is_refused_in_a_sentence_that_says_what_to_set(
    database: Database,
) -> None:
    with pytest.raises(NotConfigured, match="set MUSTER_SECRET_KEY to 32 random bytes"):
        await SecretRepository(database, FakeClock(), None).create("", "smtp", "hunter2", AUDIT)


async def test_a_secret_that_was_moved_to_another_name_does_not_open(
    secrets: SecretRepository, database: Database
) -> None:
    await secrets.create("", "one", "hunter2", AUDIT)
    await database.write(lambda c: c.execute(secret.update().values(institute_id="south")))
    with pytest.raises(Unreadable, match="moved"):
        await secrets.reveal("south")


async def test_keys_rotate(secrets: SecretRepository, sources: SourceRepository, database: Database) -> None:
    await secrets.create("", "smtp", "hunter2", AUDIT)
    await sources.create(SHOP, AUDIT)
    both, newest = Vault.of(f"{NEW},{OLD}"), Vault.of(NEW)
    rotating = SecretRepository(database, FakeClock(), both)
    await rotating.create("", "later", "written with the newest", AUDIT)
    assert await rotating.encrypt_anew() == 2
    assert await rotating.encrypt_anew() == 0
    assert await SecretRepository(database, FakeClock(), newest).reveal("") == {
        "smtp": "hunter2",
        "later": "written with the newest",
    }
    opening = await SourceRepository(database, FakeClock(), newest, Path("x")).opening("", "shop")
    assert opening is not None
    assert opening.address.password == "hunter2"
    with pytest.raises(Unreadable, match="not in MUSTER_SECRET_KEY"):
        await secrets.reveal("")


# --- data sources ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "draft",
    [
        SHOP,
        replace(SHOP, url="postgresql://db.example/shop?user=ada&password=hunter2&sslmode=require"),
        replace(SHOP, url="postgresql://ada@db.example/shop?sslmode=require", password="hunter2"),
    ],
)
async def test_a_sources_password_is_taken_out_and_kept_encrypted(
    draft: SourceDraft, sources: SourceRepository, database: Database
) -> None:
    made = await sources.create(draft, AUDIT)
    assert "hunter2" not in repr(made) + await everything_in(database)
    assert made.has_password
    opening = await sources.opening("", "shop")
    assert opening is not None
    assert (opening.address.username, opening.address.password) == ("ada", "hunter2")


async def test_a_sources_password_may_be_a_secret(
    sources: SourceRepository, secrets: SecretRepository
) -> None:
    draft = SourceDraft("shop", "", "mariadb://ada@db.example/shop", password_secret="shop_password")
    with pytest.raises(AuthorError, match="no secret `shop_password`"):
        await sources.create(draft, AUDIT)
    await secrets.create("", "shop_password", "hunter2", AUDIT)
    await sources.create(draft, AUDIT)
    before = await sources.opening("", "shop")
    await secrets.put("", "shop_password", "hunter3", AUDIT)
    after = await sources.opening("", "shop")
    assert before is not None
    assert after is not None
    assert (before.address.password, after.address.password) == ("hunter2", "hunter3")
    with pytest.raises(InUse):
        await secrets.delete("", "shop_password", AUDIT)


async def test_a_password_stays_with_the_address_that_it_was_for(sources: SourceRepository) -> None:
    await sources.create(SHOP, AUDIT)
    kept = await sources.replace(replace(SHOP, url="postgresql://ada@db.example/other"), None, AUDIT)
    assert kept is not None
    assert (kept.has_password, kept.version) == (True, 2)
    for url in (
        "postgresql://ada@evil.example/shop",
        "postgresql://ada@db.example:1/shop",
        "mariadb://a@db/s",
    ):
        with pytest.raises(AuthorError, match="give the password"):
            await sources.replace(replace(SHOP, url=url), None, AUDIT)
    bare = await sources.replace(replace(SHOP, url="postgresql://evil.example/shop", password=""), 2, AUDIT)
    assert bare is not None
    assert not bare.has_password
    with pytest.raises(Stale):
        await sources.replace(SHOP, 2, AUDIT)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("shop", "no database address"),
        ("oracle://db/x", "no database address"),
        ("postgresql://db", "no database address"),
        ("postgresql://ada:hunter2/shop", "no database address"),
        ("postgresql://db/x?passfile=/etc/passwd", "`passfile`"),
        ("mariadb://db/x?init_command=DROP", "`init_command`"),
        ("mariadb://db/x?read_default_file=x", "`read_default_file`"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite:///muster.db", "Muster's own database"),
        ("sqlite:///./x/../muster.db", "Muster's own database"),
    ],
)
async def test_an_address_that_cannot_be_one_is_refused(
    sources: SourceRepository, url: str, told: str
) -> None:
    with pytest.raises(AuthorError, match=told) as refused:
        await sources.create(SourceDraft("x", "", url, may_use_files=True), AUDIT)
    assert refused.value.problems[0].pointer == "/url"
    assert "hunter2" not in str(refused.value)


async def test_who_may_not_choose_files_of_this_machine_gets_none(sources: SourceRepository) -> None:
    with pytest.raises(AuthorError, match="A file of this machine"):
        await sources.create(SourceDraft("x", "north", "sqlite:///x.db"), AUDIT)


# --- queries and actions ---------------------------------------------------------------------------


async def test_queries_and_actions_are_read_back_as_they_were_made(
    sources: SourceRepository, queries: QueryRepository, actions: ActionRepository
) -> None:
    await sources.create(SHOP, AUDIT)
    assert await queries.create(ORDERS, AUDIT) == ORDERS == await queries.get(None, "getOrders")
    assert await actions.create(SHIP, AUDIT) == SHIP == await actions.get("", "ship")
    assert (await queries.list(None, Page()))[0] == [ORDERS]
    with pytest.raises(Taken):
        await queries.create(ORDERS, AUDIT)
    changed = await queries.replace(replace(ORDERS, sql="SELECT 2"), 1, AUDIT)
    assert changed == replace(ORDERS, sql="SELECT 2", version=2)
    with pytest.raises(Stale):
        await queries.replace(ORDERS, 1, AUDIT)


async def test_nothing_runs_on_a_source_that_is_not_there_and_none_goes_while_it_is_used(
    sources: SourceRepository, queries: QueryRepository, actions: ActionRepository
) -> None:
    with pytest.raises(AuthorError, match="no data source `shop`"):
        await queries.create(ORDERS, AUDIT)
    await sources.create(SHOP, AUDIT)
    with pytest.raises(AuthorError, match="no data source `shop`"):
        await actions.create(replace(SHIP, institute_id="north"), AUDIT)
    await actions.create(SHIP, AUDIT)
    with pytest.raises(InUse):
        await sources.delete(None, "shop", AUDIT)
    assert await actions.delete(None, "ship", AUDIT)
    assert await sources.delete(None, "shop", AUDIT)
    assert not await sources.delete(None, "shop", AUDIT)


async def test_an_institutes_own_comes_before_what_is_shared_and_never_is_anothers(
    database: Database, sources: SourceRepository, queries: QueryRepository, actions: ActionRepository
) -> None:
    for institute in ("", "north", "south"):
        await sources.create(replace(SHOP, institute_id=institute), AUDIT)
    await queries.create(ORDERS, AUDIT)
    own = replace(ORDERS, institute_id="north", result_key="mine")
    await queries.create(own, AUDIT)
    await actions.create(replace(SHIP, institute_id="south"), AUDIT)
    registered = RegisteredRepository(database)
    assert await registered.query("north", "getOrders") == own
    assert await registered.query("south", "getOrders") == ORDERS
    assert await registered.action("north", "ship") is None
    assert (await registered.names("north")).queries == {"getOrders": "mine"}
    assert (await registered.names("south")).actions == {"ship"}
    assert (await registered.names("")).actions == frozenset()


async def test_every_change_is_in_the_audit_log_of_the_institute_it_concerns(
    database: Database, sources: SourceRepository
) -> None:
    north = replace(SHOP, institute_id="north")
    entry = AuditEntry("data_source", "shop", "create", "ada", "north")
    await sources.create(north, entry)
    await sources.replace(north, None, replace(entry, action="replace"))
    await sources.delete(None, "shop", replace(entry, action="delete", institute_id=""))
    found, _ = await AuditLog(database).list("north", "data_source", "shop", Page())
    assert [record.entry.action for record in found] == ["delete", "replace", "create"]
    assert "hunter2" not in repr(found)
