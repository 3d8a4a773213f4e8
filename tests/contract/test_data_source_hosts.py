"""Data sources go where the web may be called: looked at when they are saved and whenever they connect."""

from collections.abc import AsyncIterator, Sequence
from ipaddress import ip_address
from pathlib import Path

import pytest
from sqlalchemy import make_url

from clocks import FakeClock
from databases import Kind, fresh_database, server_of
from muster.engine.state import Failure
from muster.model.problems import AuthorError
from muster.model.registered import SourceDraft
from muster.model.stored import AuditEntry
from muster.net.connect import CheckedHosts, NotResolved
from muster.net.database_hosts import DatabaseHosts
from muster.net.egress import Address, EgressPolicy, parse_networks
from muster.nodes.data_ports import Statement, Target
from muster.store.database import Database
from muster.store.migrations.runner import migrate
from muster.store.open import sqlite_database
from muster.store.sources import SourceRepository
from muster.store.sql_runner import FRESH_SECONDS, SqlRunner

AUDIT = AuditEntry("data_source", "x", "create", "ada")
HERE = EgressPolicy(loopback=True)
BEYOND = EgressPolicy(loopback=False)

# Each leads to an address that is never connected to, whatever is configured.
NEVER = [
    "postgresql://u@169.254.169.254/db",
    "postgresql://u@169.254.169.254:80/db",
    "postgresql://u@[fe80::1]/db",
    "postgresql://u@[::ffff:169.254.169.254]/db",
    "postgresql://u@[fd00:ec2::254]/db",
    "postgresql://u@2852039166/db",
    "postgresql://u@0xA9FEA9FE/db",
    "postgresql://u@0251.0376.0251.0376/db",
    "postgresql://u@169.254.43518/db",
    "postgresql://u@100.100.100.200/db",
    "postgresql://u@0.0.0.0/db",
    "postgresql://u@[::]/db",
    "postgresql://u@224.0.0.1/db",
    "postgresql://u@metadata.test/db",
    "postgresql://u@both.test/db",
    "postgresql://u@127.0.0.1:5432,169.254.169.254:5432/db",
    "postgresql://u@127.0.0.1/db?host=169.254.169.254",
    "postgresql://u@127.0.0.1/db?host=/var/run/postgresql",
    "jdbc:postgresql://169.254.169.254/db?user=u",
    "mariadb://u@169.254.169.254/db",
    "mysql://u@[::ffff:a9fe:a9fe]:3306/db",
    "mariadb://u@metadata.test/db",
    "mariadb://u@0/db",
]
NAMES = {
    "metadata.test": ["169.254.169.254"],
    "both.test": ["93.184.216.34", "169.254.169.254"],
    "public.test": ["93.184.216.34"],
    "inside.test": ["10.1.2.3"],
}


class Names:
    """A resolver whose answers change as a test says."""

    def __init__(self) -> None:
        self.answers, self.asked = dict(NAMES), 0

    async def __call__(self, host: str) -> Sequence[Address]:
        self.asked += 1
        if host not in self.answers:
            raise NotResolved(f"the name {host} could not be resolved")
        return [ip_address(each) for each in self.answers[host]]


@pytest.fixture
async def own(tmp_path: Path) -> AsyncIterator[Database]:
    database = sqlite_database(tmp_path / "muster.db")
    await migrate(database)
    yield database
    await database.close()


def sources(database: Database, names: Names, policy: EgressPolicy) -> SourceRepository:
    hosts = DatabaseHosts(CheckedHosts(policy, names))
    return SourceRepository(database, FakeClock(), None, Path("nowhere"), None, hosts)


async def save(repository: SourceRepository, url: str) -> str | None:
    """What is wrong with it; None: it was saved."""
    try:
        await repository.create(SourceDraft("shop", "", url), AUDIT)
    except AuthorError as error:
        return f"{error.problems[0].pointer}: {error}"
    await repository.delete("", "shop", AUDIT)
    return None


async def test_what_is_never_called_is_never_a_data_source(own: Database) -> None:
    everything = EgressPolicy(loopback=True, allowed=parse_networks(["0.0.0.0/0", "::/0"]))
    repository = sources(own, Names(), everything)
    taken = [url for url in NEVER if await save(repository, url) is None]
    assert taken == []


async def test_loopback_is_for_those_who_listen_there_only(own: Database) -> None:
    names = Names()
    for url in ("postgresql://u@127.0.0.1/db", "mariadb://u@[::1]/db", "postgresql://u@0x7f.1/db"):
        assert await save(sources(own, names, HERE), url) is None
        refusal = await save(sources(own, names, BEYOND), url)
        assert refusal is not None
        assert refusal.startswith("/url: ")
        assert "a loopback address" in refusal


async def test_private_networks_are_open_as_configured(own: Database) -> None:
    names, opened = Names(), EgressPolicy(allowed=parse_networks(["10.0.0.0/8"]))
    assert "a private address" in str(
        await save(sources(own, names, BEYOND), "postgresql://u@inside.test/db")
    )
    assert await save(sources(own, names, opened), "postgresql://u@inside.test/db") is None
    assert await save(sources(own, names, opened), "mariadb://u@192.168.0.1/db") is not None
    assert await save(sources(own, names, BEYOND), "postgresql://u@public.test/db") is None


async def test_a_name_without_an_address_may_be_saved_and_is_looked_at_later(own: Database) -> None:
    names = Names()
    repository = sources(own, names, HERE)
    await repository.create(SourceDraft("shop", "", "postgresql://u@later.test/db"), AUDIT)
    runner = SqlRunner(repository, FakeClock())
    unknown = await runner.read(Target("", "shop", 5), Statement("SELECT 1 AS one", {}), 10)
    assert isinstance(unknown, Failure)
    assert (unknown.type, unknown.retryable) == ("SourceUnavailable", True)
    names.answers["later.test"] = ["169.254.169.254"]
    refused = await runner.write(Target("", "shop", 5), [Statement("DELETE FROM x", {})])
    assert isinstance(refused, Failure)
    assert (refused.type, refused.retryable) == ("EgressRefused", False)
    await runner.close()


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("postgres", marks=pytest.mark.postgres),
        pytest.param("mariadb", marks=pytest.mark.mariadb),
    ],
)
async def test_an_answer_that_changes_is_looked_at_whenever_a_connection_is_made(
    kind: Kind, own: Database, request: pytest.FixtureRequest
) -> None:
    names, clock = Names(), FakeClock()
    names.answers["rebound.test"] = ["127.0.0.1"]
    repository = sources(own, names, HERE)
    async with fresh_database(kind, server_of(kind, request)) as url:
        # Nobody else can resolve the name: what is connected to is the address that was looked at.
        renamed = make_url(url).set(host="rebound.test").render_as_string(hide_password=False)
        made = await repository.create(SourceDraft("shop", "", renamed), AUDIT)
        runner = SqlRunner(repository, clock)
        target, one = Target("", "shop", 5), Statement("SELECT 1 AS one", {})
        assert await runner.read(target, one, 10) == [{"one": 1}]
        assert names.asked == 2, "once to save it, once to connect"
        names.answers["rebound.test"] = ["169.254.169.254"]
        draft = SourceDraft("shop", "", renamed, pool_size=2)
        with pytest.raises(AuthorError, match=r"rebound\.test may not be called"):
            await repository.replace(draft, made.version, AUDIT)
        await runner.close()
        clock.forward(seconds=FRESH_SECONDS + 1)
        refused = await runner.read(target, one, 10)
        assert isinstance(refused, Failure)
        assert refused.type == "EgressRefused"
        assert "an address that is never called" in refused.message
        names.answers["rebound.test"] = ["127.0.0.1", "127.0.0.1"]
        assert await runner.read(target, one, 10) == [{"one": 1}]
        await runner.close()
