"""Secrets planted everywhere they can be given, used by workflows that succeed and that fail, and then looked
for everywhere that anything is kept or shown: there are none, but encrypted ones."""

import io
import json
import logging
import os
import subprocess
import sys
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import httpx
import pytest
import structlog
from sqlalchemy import make_url, text

from databases import Kind, fresh_database, server_of
from muster.app.build import opened
from muster.app.logs import configure_logs
from muster.app.settings import LogSettings, Settings
from muster.store.open import open_database
from muster.store.tables import metadata
from stand_ins.certificates import certificate_file, server_tls
from stand_ins.http_site import Asked, Reply, site
from stand_ins.mail_server import mail_server
from stand_ins.whatsapp import PHONE, TOKEN, Refusal, cloud_api

STORED = 'planted-Store/5ecret+&="x%20 end'
SOURCE = "planted.Source_5ecret"
SMTP = "planted SMTP 5ecret"
KEY = b64encode(b"planted key for the encryption 1").decode()
VERIFY, APP = "planted-Verify-5ecret", "planted-App-5ecret"
PLANTED = {
    "verify": VERIFY,
    "app": APP,
    "stored": STORED,
    "source": SOURCE,
    "smtp": SMTP,
    "whatsapp": TOKEN,
    "key": KEY,
}
MUSTER = Path(sys.executable).with_name("muster")

PLUGIN = """
def betray(params, call):
    raise RuntimeError("the token is " + params["token"])

def tell(params, call):
    return {"told": params["token"], params["token"]: ["as a key", {"deep": "x" + params["token"] + "y"}]}

def register(registry):
    registry.action("betray", betray)
    registry.action("tell", tell)
"""


def spellings(secret: str) -> list[str]:
    """How a secret might look where it has come out: a part of it that is the same in most spellings, too."""
    plain = [secret, quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1], secret[:13]]
    inside = b64encode(b"ada:" + secret.encode()).decode()[7:-4]
    return [*plain, b64encode(secret.encode()).decode()[:-4], inside]


def found_in(place: str, content: str | bytes) -> list[str]:
    held = content if isinstance(content, bytes) else content.encode()
    return [
        f"{name} in {place}"
        for name, secret in PLANTED.items()
        if any(spelling.encode() in held for spelling in spellings(secret))
    ]


def echo(asked: Asked) -> Reply:
    """Answers with all that it was asked."""
    body = {"target": asked.target, "headers": dict(asked.headers), "body": asked.body.decode("latin-1")}
    status = int(asked.target.partition("status=")[2][:3] or 200)
    return Reply(status, {"Content-Type": "application/json"}, json.dumps(body).encode())


def rest(url: str, **more: object) -> dict[str, Any]:
    return {
        "type": "REST_SYNC",
        "config": {"url": url, "method": "POST", **more},
        "retry": {"maxAttempts": 1},
    }


def workflows(url: str) -> dict[str, dict[str, Any]]:
    bearer = {"type": "bearer", "token": "#{_vars.api_token}"}
    basic = {"type": "basic", "username": "ada", "password": "#{_vars.api_token}"}
    header = {"type": "header", "header": "X-Key", "value": "#{_vars.api_token}"}
    tokens = {"token": "#{_vars.api_token}"}
    echoed = {"said": "$.body.headers.authorization", "all": "$.body"}
    mail = {"to": "ada@example.com", "subject": "Your key #{_vars.api_token}", "body": "#{_vars.api_token}"}
    phone = {"to": "+491511234567", "message": "#{_vars.api_token}"}
    return {
        "bearer": rest(f"{url}/a", auth=bearer, outputMapping=echoed),
        "basic": rest(f"{url}/a", auth=basic),
        "header": rest(f"{url}/a", auth=header, body={"deep": ["#{_vars.api_token}"]}),
        "query": rest(f"{url}/a", query={"k": "#{_vars.api_token}"}),
        "bad_url": rest(f"{url}/a?key=#{{_vars.api_token}}"),
        "refused": rest(f"{url}/a?status=400", auth=bearer, body="#{_vars.api_token}"),
        "broken": rest(f"{url}/a?status=500", auth=basic),
        "unexpected": rest(f"{url}/a", auth=bearer, expect="status == 299 && _vars.api_token != null"),
        "nowhere": rest("http://#{_vars.api_token}.example/", auth=bearer),
        "schema": rest(f"{url}/a", auth=bearer, schema={"type": "array"}),
        "mail": {"type": "SEND_EMAIL", "config": mail},
        "mails": {
            "type": "SEND_EMAIL",
            "itemKey": "#{_vars.api_token}-#{index}",
            "config": {"on": "#{people}", "forEach": {**mail, "to": "#{item}"}},
        },
        "whatsapp": {"type": "SEND_WHATSAPP", "config": phone, "retry": {"maxAttempts": 1}},
        "whatsapp_refused": {"type": "SEND_WHATSAPP", "config": phone, "retry": {"maxAttempts": 1}},
        "tell": {"type": "ACTION", "config": {"actionType": "tell", "params": tokens}},
        "betray": {"type": "ACTION", "config": {"actionType": "betray", "params": tokens}},
        "write": {"type": "ACTION", "config": {"actionType": "keep", "params": tokens}},
        "write_again": {"type": "ACTION", "config": {"actionType": "keepTwice", "params": tokens}},
        "read": {"type": "QUERY", "config": {"prebuiltKey": "getKept", "params": tokens}},
        "locked": {"type": "QUERY", "config": {"prebuiltKey": "getLocked"}},
        "expression": rest(f"{url}/#{{_vars.api_token.substring(999)}}"),
        "no_number": rest(f"{url}/#{{_vars.api_token * 2}}"),
        "pure": {
            "type": "TRANSFORM",
            "config": {"transformations": [{"field": "t", "expression": "#{_vars.api_token}"}]},
        },
    }


@pytest.fixture
def logs() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield io.StringIO()
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


@asynccontextmanager
async def sources(
    client: httpx.AsyncClient, kind: Kind, request: pytest.FixtureRequest
) -> AsyncIterator[None]:
    """A data source whose password is the planted one, and one whose password is refused."""
    address: Kind = "postgres" if kind == "sqlite" else kind
    async with fresh_database(address, server_of(address, request)) as url:
        who = make_url(url)
        made = ["CREATE TABLE kept (token VARCHAR(200) PRIMARY KEY)"]
        gone: list[str] = []
        if address == "mariadb":  # which, unlike the other, asks for the password
            who = who.set(username=str(who.database)[:30])
            whom = f"'{who.username}'@'127.0.0.1'"
            made += [
                f"CREATE USER {whom} IDENTIFIED BY '{SOURCE}'",
                f"GRANT ALL ON {who.database}.* TO {whom}",
            ]
            gone += [f"DROP USER {whom}"]
        await directly(url, *made)
        good, bad = who.set(password=SOURCE), who.set(username="nobody", password=SOURCE, port=1)
        for key, given in (("kept", good), ("locked", bad)):
            body = {"key": key, "url": given.render_as_string(hide_password=False)}
            answer = await client.post("/api/data-sources", json=body)
            assert answer.status_code == 201, answer.text
            assert answer.json()["hasPassword"]
        try:
            yield
        finally:
            await directly(url, *gone)


async def directly(url: str, *statements: str) -> None:
    database = open_database(url)
    for statement in statements:
        await database.write(lambda c, sql=statement: c.execute(text(sql)))  # type: ignore[misc]  # bound at once
    await database.close()


async def registered(client: httpx.AsyncClient) -> None:
    insert = "INSERT INTO kept VALUES (:token)"
    for path, body in (
        ("secrets", {"name": "api_token", "value": STORED}),
        ("actions", {"key": "keep", "dataSource": "kept", "sql": insert}),
        ("actions", {"key": "keepTwice", "dataSource": "kept", "sql": [insert, insert]}),
        (
            "queries",
            {"key": "getKept", "dataSource": "kept", "sql": "SELECT token FROM kept WHERE token = :token"},
        ),
        ("queries", {"key": "getLocked", "dataSource": "locked", "sql": "SELECT 1 AS one"}),
    ):
        made = await client.post(f"/api/{path}", json=body)
        assert made.status_code == 201, made.text


async def ran(client: httpx.AsyncClient, name: str, node: dict[str, Any]) -> dict[str, Any]:
    after = {"id": "log", "type": "LOG", "config": {"message": "after: #{nodeOutputs}"}}
    vars_ = {"vars": {"region": "eu"}}
    document = {"workflow": {"id": name, "name": name, "nodes": [{"id": "n", **node}, after], **vars_}}
    made = await client.post("/api/workflow", json=document)
    assert made.status_code == 201, made.text
    body = {"key": name, "context": {"people": ["a@example.com", "b@example.com"]}}
    ended = await client.post("/api/workflow/execute?wait=60", json=body)
    assert ended.status_code == 200, ended.text
    result: dict[str, Any] = (
        await client.get(f"/api/workflow/executions/{ended.json()['executionId']}")
    ).json()
    return result


NEVER_END = {"/api/stream"}


async def answers(client: httpx.AsyncClient) -> AsyncIterator[tuple[str, str]]:
    """All that the API shows, by path: whatever takes no parameters, and what is shown of each thing."""
    documented = (await client.get("/openapi.json")).json()["paths"]
    for path, methods in documented.items():
        if "get" in methods and "{" not in path and path not in NEVER_END:
            yield path, (await client.get(path)).text  # whatever it answers to somebody who says no more
    executions = [
        row["id"] for row in (await client.get("/api/workflow/executions?limit=200")).json()["items"]
    ]
    keys = [row["key"] for row in (await client.get("/api/workflow?limit=200")).json()["items"]]
    letters = [row["id"] for row in (await client.get("/api/dead-letters?limit=200")).json()["items"]]
    assert len(letters) >= 10, "what failed has left one"
    paths = ["/openapi.json", "/api/dead-letters?limit=200", "/api/workflow/executions?limit=200"]
    paths += [f"/api/dead-letters/{letter}" for letter in letters]
    paths += [f"/api/workflow/{key}{more}" for key in keys for more in ("", "/versions", "/versions/1")]
    forms = ("json", "svg", "dot", "mermaid")
    paths += [f"/api/workflow/visualize/{key}?format={form}" for key in keys for form in forms]
    shown = ("", "/nodes", "/events")
    paths += [f"/api/workflow/executions/{each}{more}" for each in executions for more in shown]
    paths += [f"/api/audit?entityType=execution&entityId={each}" for each in executions]
    paths += ["/api/secrets", "/api/data-sources/kept", "/api/audit?entityType=secret&entityId=api_token"]
    for path in paths:
        answer = await client.get(path)
        assert answer.status_code == 200, (path, answer.text)
        yield path, answer.text


async def every_row(url: str) -> AsyncIterator[tuple[str, str]]:
    database = open_database(url)
    for table in metadata.sorted_tables:
        rows = await database.read(lambda c, t=table: c.execute(text(f"SELECT * FROM {t.name}")).all())  # type: ignore[misc]  # bound at once
        yield f"the table {table.name}", repr(rows)
        yield f"the table {table.name} in JSON", json.dumps([list(map(str, row)) for row in rows])
    await database.close()


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("kind", "form"),
    [
        pytest.param("sqlite", "json"),
        pytest.param("postgres", "text"),
        pytest.param("mariadb", "json", marks=pytest.mark.mariadb),
    ],
)
async def test_no_secret_comes_out_anywhere(
    kind: Kind,
    form: str,
    tmp_path: Path,
    logs: io.StringIO,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "betrayer.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate_file(tmp_path)))
    configure_logs(LogSettings.model_validate({"level": "debug", "format": form}), logs)
    logging.getLogger("mail.log").setLevel(logging.WARNING)  # the mail server's, which is not ours
    found: list[str] = []
    results: dict[str, dict[str, Any]] = {}
    async with (
        fresh_database(kind, server_of(kind, request)) as url,
        site(echo) as web,
        mail_server(starttls=server_tls(), login=True) as mail,
        cloud_api() as whatsapp,
    ):
        mail.password = SMTP
        settings = {
            "database": {"url": url},
            "data_dir": str(tmp_path),
            "secret_key": KEY,
            "plugins": ["betrayer"],
            "smtp": {
                "host": "127.0.0.1",
                "port": mail.port,
                "username": "ada",
                "password": SMTP,
            },
            "whatsapp": {
                "phone_number_id": PHONE,
                "token": TOKEN,
                "base_url": whatsapp.base,
                "verify_token": VERIFY,
                "app_secret": APP,
            },
        }
        async with (
            opened(Settings.model_validate(settings)) as house,
            httpx.AsyncClient(
                transport=httpx.ASGITransport(house.api), base_url="http://127.0.0.1:8080", timeout=60
            ) as client,
            sources(client, kind, request),
        ):
            await registered(client)
            for name, node in workflows(web.url("")).items():
                if name == "whatsapp_refused":
                    whatsapp.next_refusals.append(
                        Refusal(401, 190, f"Malformed access token {TOKEN} {STORED}")
                    )
                results[name] = await ran(client, name, node)
            async for path, answer in answers(client):
                found += found_in(path, answer)
        async for place, rows in every_row(url):
            found += found_in(place, rows)
        if kind == "sqlite":
            file = Path(make_url(url).database or "")
            for each in file.parent.iterdir():
                found += found_in(f"the file {each.name}", each.read_bytes())
    found += found_in("the log", logs.getvalue())
    assert found == []
    # They were used, though: else this would prove nothing.
    assert any(dict(asked.headers).get("authorization") == f"Bearer {STORED}" for asked in web.asked)
    assert any("k=planted-Store" in asked.target for asked in web.asked)
    assert mail.logins[0] == ("ada", SMTP)
    assert any(STORED in str(arrived.message["subject"]) for arrived in mail.arrived)
    assert len(whatsapp.taken) == 1
    assert STORED in str(whatsapp.taken[0]["text"])
    ended = {name: result["status"] for name, result in results.items()}
    failing = {
        "bad_url",
        "refused",
        "broken",
        "unexpected",
        "nowhere",
        "schema",
        "whatsapp_refused",
        "betray",
        "write_again",
        "locked",
        "expression",
        "no_number",
    }
    assert {name for name, status in ended.items() if status == "FAILED"} == failing
    assert {name for name, status in ended.items() if status == "COMPLETED"} == ended.keys() - failing
    assert results["bearer"]["context"]["said"] == "Bearer ***"
    assert results["tell"]["nodes"][0]["output"]["told"] == "***"
    assert results["read"]["context"]["kept"] == [{"token": "***"}]
    assert results["pure"]["context"]["t"] is None, "what only computes has no secrets"


@pytest.mark.parametrize("arguments", [("config",), ("config", "--json"), ("doctor", "--json")])
def test_no_command_shows_one(arguments: tuple[str, ...], tmp_path: Path) -> None:
    given = {
        "DB_URL": f"postgresql://ada:{quote(SOURCE)}@127.0.0.1:1/x",
        "DB_PASSWORD": SOURCE,
        "MUSTER_SECRET_KEY": KEY,
        "MUSTER_SMTP_PASSWORD": SMTP,
        "MUSTER_WHATSAPP_TOKEN": TOKEN,
        "REDIS_URL": f"redis://:{quote(SOURCE)}@127.0.0.1:1/0",
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MUSTER_", "DB_"))}
    done = subprocess.run(
        [MUSTER, *arguments], env=kept | given, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout
    assert found_in("standard output", done.stdout) == []
    assert found_in("standard error", done.stderr) == []
