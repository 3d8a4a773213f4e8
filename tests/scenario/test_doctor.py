"""`muster doctor` on real services that are there, and on such as are not."""

import asyncio
import json
from base64 import b64encode
from collections import namedtuple
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, Executable, delete, insert

from clocks import NOON
from databases import fresh_database
from muster.app import doctor_store
from muster.app.doctor import examine
from muster.app.findings import Finding
from muster.app.load import load
from muster.store.migrations import migrate
from muster.store.migrations.runner import NOTED, revisions
from muster.store.open import open_database
from muster.store.secrets import place
from muster.store.tables import secret
from muster.store.vault import Vault
from oidc_for_tests import OpenIdProvider
from ports import free_port
from stand_ins.mail_server import mail_server

KEY, OTHER = (b64encode(bytes([number]) * 32).decode() for number in (1, 2))
Usage = namedtuple("Usage", "total used free")


async def examined(folder: Path, **environment: str) -> dict[str, Finding]:
    loaded = load({"MUSTER_PORT": "0", **environment}, {}, folder)
    return {finding.name: finding for finding in await examine(loaded)}


async def test_with_nothing_set_all_is_well(tmp_path: Path) -> None:
    found = await examined(tmp_path, MUSTER_DATA_DIR=str(tmp_path / "data"))
    assert [finding for finding in found.values() if not finding.ok] == []
    assert found["migrations"].found == "all are made at the first start"
    assert found["secrets key"].found == "none: no secrets can be kept"
    assert not (tmp_path / "data").exists(), "it makes nothing"


@pytest.mark.postgres
@pytest.mark.redis
@pytest.mark.kafka
@pytest.mark.registry
@pytest.mark.oidc
async def test_services_that_are_there_are_well(
    postgres_url: str,
    redis_url: str,
    kafka_bootstrap: str,
    registry_url: str,
    oidc: OpenIdProvider,
    tmp_path: Path,
) -> None:
    async with fresh_database("postgres", postgres_url) as url, mail_server() as mail:
        database = open_database(url)
        await migrate(database)
        await database.close()
        found = await examined(
            tmp_path,
            DB_URL=url,
            REDIS_URL=redis_url,
            KAFKA_BOOTSTRAP_SERVERS=kafka_bootstrap,
            MUSTER_SCHEMAS_REGISTRY_URL=registry_url,
            OIDC_ISSUER_URI=oidc.issuer,
            OIDC_AUDIENCE=oidc.audience,
            MUSTER_SMTP_HOST="127.0.0.1",
            MUSTER_SMTP_PORT=str(mail.port),
            MUSTER_SMTP_SECURITY="none",
        )
    assert [finding for finding in found.values() if not finding.ok] == []
    assert found["migrations"].found == "up to date"
    assert "compatibility" in found["schema registry"].found
    assert mail.arrived == []


async def test_of_services_that_are_not_there_each_is_named_with_what_to_do(tmp_path: Path) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    found = await examined(
        tmp_path,
        DB_URL=f"postgresql://me:hunter2@{nobody}/x",
        REDIS_URL=f"redis://:hunter2@{nobody}",
        KAFKA_BOOTSTRAP_SERVERS=nobody,
        MUSTER_SCHEMAS_REGISTRY_URL=f"http://{nobody}",
        OIDC_ISSUER_URI=f"http://{nobody}",
        MUSTER_SMTP_HOST="127.0.0.1",
        MUSTER_SMTP_PORT=nobody.rpartition(":")[2],
    )
    wrong = [finding for finding in found.values() if not finding.ok]
    assert [finding.name for finding in wrong] == [
        "database",
        "Redis",
        "Kafka",
        "schema registry",
        "mail server",
        "OpenID provider",
    ]
    assert all(finding.advice for finding in wrong)
    assert "hunter2" not in json.dumps([(finding.found, finding.advice) for finding in found.values()])


async def made(folder: Path) -> dict[str, str]:
    url = f"sqlite:///{folder / 'muster.db'}"
    database = open_database(url)
    await migrate(database)
    await database.close()
    return {"DB_URL": url}


async def written(settings: dict[str, str], *statements: Executable) -> None:
    database = open_database(settings["DB_URL"])

    def work(connection: Connection) -> None:
        for statement in statements:
            connection.execute(statement)

    await database.write(work)
    await database.close()


async def test_a_schema_that_is_behind_is_told_from_a_database_that_is_away(tmp_path: Path) -> None:
    settings = await made(tmp_path)
    await written(settings, delete(NOTED), insert(NOTED).values(version_num=revisions()[-2]))
    found = await examined(tmp_path, **settings)
    assert (found["database"].ok, found["migrations"].ok) == (True, False)
    assert found["migrations"].found == f"1 are missing, the first is {revisions()[-1]}"
    assert "muster migrate" in found["migrations"].advice


async def test_a_key_that_opens_no_secret_is_found_out(tmp_path: Path) -> None:
    settings = await made(tmp_path)
    sealed = Vault.of(KEY).seal("hush", *place("", "mail"))
    row = {"institute_id": "", "name": "mail", "value": sealed, "created_at": NOON, "updated_at": NOON}
    await written(settings, insert(secret).values(row))
    for key, ok, told in (
        (None, False, "none, and 1 secrets are kept"),
        (OTHER, False, "it does not open mail"),
        ("short", False, "32 bytes"),
        (KEY, True, "it opens all 1 secrets"),
        (f"{OTHER},{KEY}", True, "it opens all 1 secrets"),
    ):
        keyed = {} if key is None else {"MUSTER_SECRET_KEY": key}
        found = (await examined(tmp_path, **settings, **keyed))["secrets key"]
        assert (found.ok, told in found.found) == (ok, True), found
        assert bool(found.advice) is (key != KEY)


async def test_a_clock_that_is_set_wrong_and_a_full_disk_are_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = await made(tmp_path)
    monkeypatch.setattr(doctor_store, "FAR_APART", timedelta(0))
    monkeypatch.setattr(doctor_store.shutil, "disk_usage", lambda _: Usage(1, 1, 5 * 1024 * 1024))
    found = await asyncio.wait_for(examined(tmp_path, **settings), 120)
    assert (found["clock"].ok, found["disk space"].ok) == (False, False)
    assert "NTP" in found["clock"].advice
    assert found["disk space"].found.startswith("5 MiB free")
